//! The rung to use: copies by one warp, products by two warpgroups, and clusters of two blocks that share B.
//!
//! - A block computes tiles of 128x192, one after the other, until none is left. Its first warpgroup only copies: one
//!   thread fills a ring of five stages by bulk copies of whole tiles of slices, and gives its registers to the others.
//! - The other two warpgroups multiply 64 rows each. A stage has 32 of the depth; its six products (low by high, high
//!   by low, high by high, twice) run while the next stage is awaited.
//! - After each piece of 64 the sums move to a second set of registers, scaled back by the powers of two of their row
//!   and their column. While one warpgroup does so, the tensor cores work for the other.
//! - The two blocks of a cluster have neighbouring rows and the same columns: each copies half of B's tile, to both.
//! - Tiles that are computed at the same time lie close together, so that their factors are found in the L2 cache.
//! - Sums that become something else (see [`Epilogue`]) do so two rows and two columns at a time.
//! - An element that is NaN is computed again, by fused multiply-adds of the matrices themselves: elements that have no
//!   slices (infinities, NaN, and those from 2^105 on) make those of their row or column NaN.
//!
//! Sources: those of the [family](super); NVIDIA's "Parallel Thread Execution" (wgmma, mbarrier, bulk copies).

use super::problem::Problem;
use super::ring::{A_STAGE, B_STAGE, Ring, SCALES, STAGE, STAGES, SUMS, WARPGROUPS};
use super::store::Output;
use super::{DEPTH, PIECE};
use crate::epilogue::Epilogue;
use crate::position::Position;
use crate::unroll::unroll;
use cuda_std::cluster;
use cuda_std::memory::{SharedAddress, copy_bulk, copy_bulk_to_blocks};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warpgroup::{self, Sums, commit, grow_registers, shrink_registers, wait_but};

pub use super::ring::{CLUSTER, COLUMNS, ROWS, SHARED};

/// The idea in one line.
pub const IDEA: &str =
    "f32 as two f16 on tensor cores: one warp copies, two warpgroups multiply, and clusters of 2 share B";

/// Threads per block.
pub const BLOCK: u32 = (WARPGROUPS + 1) * 128;

/// Multiplies `count` pairs of matrices of f32, `m` by `k` and `k` by `n`, with their slices and scales (of
/// [`tensor_slices`](super::slices::tensor_slices), for tiles of [`ROWS`] and [`COLUMNS`], A's lines padded to whole
/// clusters). The matrices A, B and the products start every `steps` elements, with 0 for a factor that all products
/// have. `stored` says how A and B lie, as for the family `matmul`; rows in memory of A, B and the product start
/// every `pitches` elements. With [`FINISHED`](crate::epilogue::FINISHED) in `how`, sums become what [`Epilogue`] says;
/// addends start every `steps[2]` elements, as the products do.
///
/// # Safety
/// [`BLOCK`] threads, [`SHARED`] bytes of dynamic shared memory, a number of blocks that [`CLUSTER`] divides, and a
/// GPU of sm_90; `a` and `b` have the elements of their matrices, `c` room for the products, which do not overlap, and
/// overlaps nothing but, exactly, the addend; the other pointers of the epilogue are null or have their elements; there
/// are less than 2^31 tiles of clusters.
#[kernel(launch_bounds(BLOCK, 1), cluster(CLUSTER))]
pub unsafe fn tensor_best(
    a_slices: &[u128],
    b_slices: &[u128],
    a_scales: &[u128],
    b_scales: &[u128],
    a: &[f32],
    b: &[f32],
    c: *mut f32,
    m: u32,
    n: u32,
    k: u32,
    count: u32,
    steps: [u64; 3],
    pitches: [u32; 3],
    stored: u32,
    how: u32,
    alpha: f32,
    beta: f32,
    addend: *const u8,
    row_scales: *const f32,
    column_scales: *const f32,
    bias: *const f32,
) {
    let epilogue = Epilogue { alpha, beta, addend, row_scales, column_scales, bias };
    let output = Output { c, how, epilogue };
    let slices = [a_slices.as_ptr().cast(), b_slices.as_ptr().cast()];
    let scales = [a_scales.as_ptr().cast(), b_scales.as_ptr().cast()];
    let factors = [a.as_ptr(), b.as_ptr()];
    let problem = Problem { slices, scales, factors, m, n, k, count, steps, pitches, stored };
    if !cfg!(target_feature = "sm_90") {
        // SAFETY: the caller upholds this function's contract.
        unsafe { without_tensor_cores(&problem, output) };
        return;
    }
    // SAFETY: the launch has `SHARED` bytes, and all threads of the cluster reach the barriers.
    unsafe {
        let ring = Ring::at(SharedAddress::of(dynamic_shared_mem::<u8>()));
        if thread::thread_idx_x() == 0 {
            ring.barriers().init(WARPGROUPS * CLUSTER);
        }
        cluster::sync();
        let warpgroup = warpgroup::index();
        if warpgroup == 0 {
            shrink_registers::<40>();
            if thread::thread_idx_x() == 0 {
                fill(&problem, ring);
            }
            // The barrier below takes whole warps.
            warp::sync_warp(warp::ALL);
        } else {
            grow_registers::<232>();
            multiply(&problem, ring, warpgroup - 1, output);
        }
        // No block ends while others copy to its shared memory or arrive at its barriers.
        cluster::sync();
    }
}

/// Computes the products element by element: what PTX for older GPUs does, on which the library uses `matmul`.
///
/// # Safety
/// The output has room for the products.
#[inline(always)]
unsafe fn without_tensor_cores(problem: &Problem, output: Output) {
    // Without `max` the compiler would keep a panic for a division by 0.
    let columns = (problem.n as usize).max(1);
    let mut i = thread::global_index();
    let each = (problem.m as usize * columns).max(1);
    let elements = problem.m as usize * problem.n as usize * problem.count as usize;
    while i < elements {
        let (product, row, column) = ((i / each) as u32, (i % each / columns) as u32, (i % columns) as u32);
        let of = problem.of(product);
        // SAFETY: the element is inside the product.
        unsafe { output.of(problem, product).write(&of, [row, column], of.plain(row, column)) };
        i += thread::grid_stride();
    }
}

/// Fills the ring with all stages of all tiles of the block.
///
/// # Safety
/// One thread of each block of the cluster calls it.
#[inline(always)]
unsafe fn fill(problem: &Problem, ring: Ring) {
    let rank = cluster::block_rank();
    let [down, across] = problem.tiles();
    let steps = problem.pieces() * (PIECE / DEPTH);
    // Tiles of the slices of one A and one B, and lines of those of all.
    let tiles = [down * CLUSTER, across];
    let lines = [tiles[0] * problem.matrices(0) * ROWS, tiles[1] * problem.matrices(1) * COLUMNS];
    let part = B_STAGE / CLUSTER;
    let mut position = Position::FIRST;
    let (mut slot, mut first_round) = (0, true);
    let mut tile = thread::block_idx_x() / CLUSTER;
    while tile < problem.all_tiles() {
        let place = problem.place(tile, rank);
        let [row, column] = [
            problem.matrix(0, place.product) * tiles[0] + place.row,
            problem.matrix(1, place.product) * tiles[1] + place.column,
        ];
        let start = |index: u32, bytes: u32| index as usize * steps as usize * bytes as usize;
        let mut a = problem.slices[0].wrapping_add(start(row, A_STAGE));
        let mut b = problem.slices[1].wrapping_add(start(column, B_STAGE) + (rank * part) as usize);
        let mut a_scales = problem.scales[0].wrapping_add((row * ROWS) as usize);
        let mut b_scales = problem.scales[1].wrapping_add((column * COLUMNS) as usize);
        let mut step = 0;
        while step < steps {
            let (stage, begins) = (position.stage, step.is_multiple_of(PIECE / DEPTH));
            let full = ring.barriers().full(stage);
            // SAFETY: after the wait, no block of the cluster reads the stage any more. The copies bring the announced
            // bytes: in each block its own of A, and the part of B that each block copies to all.
            unsafe {
                if !first_round {
                    ring.barriers().empty(stage).wait(position.parity ^ 1);
                }
                full.arrive_expecting(if begins { STAGE + SCALES } else { STAGE });
                copy_bulk(ring.a(stage), a, A_STAGE, full);
                copy_bulk_to_blocks(ring.b(stage).add(rank * part), b, part, full, (1 << CLUSTER) - 1);
                if begins {
                    let scales = ring.scales(slot);
                    copy_bulk(scales, a_scales, ROWS * 4, full);
                    copy_bulk(scales.add(ROWS * 4), b_scales, COLUMNS * 4, full);
                    a_scales = a_scales.wrapping_add(lines[0] as usize);
                    b_scales = b_scales.wrapping_add(lines[1] as usize);
                    slot = Ring::next_slot(slot);
                }
            }
            (a, b) = (a.wrapping_add(A_STAGE as usize), b.wrapping_add(B_STAGE as usize));
            position.advance(STAGES);
            first_round &= position.stage != 0;
            step += 1;
        }
        tile += thread::grid_dim_x() / CLUSTER;
    }
}

/// Multiplies and writes the 64 rows of a warpgroup in all tiles of the block.
///
/// # Safety
/// All threads of the warpgroup call it together.
#[inline(always)]
unsafe fn multiply(problem: &Problem, ring: Ring, warpgroup: u32, output: Output) {
    let rank = cluster::block_rank();
    let thread = thread::thread_idx_x() % 128;
    let (lane, warp) = (thread % 32, thread / 32);
    // The thread's first row and column in the tile.
    let (row, column) = (warpgroup * 64 + warp * 16 + lane / 4, lane % 4 * 2);
    // A thread for each block of the cluster says that a stage has been read.
    let release = |stage: u32| {
        if thread < CLUSTER {
            // SAFETY: this warpgroup's products with the stage have been waited for.
            unsafe { ring.barriers().empty(stage).arrive_at(thread) };
        }
    };
    let mut position = Position::FIRST;
    let mut slot = 0;
    let mut tile = thread::block_idx_x() / CLUSTER;
    while tile < problem.all_tiles() {
        let mut total = Sums::<SUMS>::zero();
        let mut piece = 0;
        while piece < problem.pieces() {
            let mut sums = Sums::<SUMS>::zero();
            unroll!(step < (PIECE / DEPTH) as usize => {
                let stage = position.stage;
                // SAFETY: the whole warpgroup is here, the stage is full after the wait, and is released after its
                // products have been waited for.
                unsafe {
                    ring.barriers().full(stage).wait(position.parity);
                    products(&mut sums, ring, stage, warpgroup, step > 0);
                    if step > 0 {
                        wait_but::<1>();
                        release(position.previous(STAGES));
                    }
                }
                position.advance(STAGES);
            });
            // SAFETY: the whole warpgroup is here; the scales came with the piece's first stage.
            unsafe {
                sums.wait();
                release(position.previous(STAGES));
                let scales = ring.scales(slot);
                add_scaled(&mut total, &sums, scales.add(row * 4), scales.add((ROWS + column) * 4));
            }
            slot = Ring::next_slot(slot);
            piece += 1;
        }
        let place = problem.place(tile, rank);
        let (of, output) = (problem.of(place.product), output.of(problem, place.product));
        // SAFETY: by contract of the kernel there is room for the product.
        unsafe { output.store(&of, &total, place.row * ROWS + row, place.column * COLUMNS + column) };
        tile += thread::grid_dim_x() / CLUSTER;
    }
}

/// Starts the products of a stage as a group, the small ones first: sums round by their largest term.
///
/// # Safety
/// The whole warpgroup calls it; the stage is full.
#[inline(always)]
unsafe fn products(sums: &mut Sums<SUMS>, ring: Ring, stage: u32, warpgroup: u32, add: bool) {
    let (a, b) = (ring.tile_of_a(stage, warpgroup), ring.tile_of_b(stage));
    // Halves of the depth, 32 bytes each, of the high and, 64 bytes further, of the low parts.
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        sums.fence();
        sums.add_f16(a.from_byte(64), b, add);
        sums.add_f16(a.from_byte(96), b.from_byte(32), true);
        sums.add_f16(a, b.from_byte(64), true);
        sums.add_f16(a.from_byte(32), b.from_byte(96), true);
        sums.add_f16(a, b, true);
        sums.add_f16(a.from_byte(32), b.from_byte(32), true);
        commit();
    }
}

/// Adds the sums of a piece to the total, times the scales of their row and of their column.
///
/// # Safety
/// The scales of the thread's first row and first column are at these addresses, and have been waited for.
#[inline(always)]
unsafe fn add_scaled(total: &mut Sums<SUMS>, sums: &Sums<SUMS>, rows: SharedAddress, columns: SharedAddress) {
    // SAFETY: the caller upholds this function's contract.
    let (upper, lower) = unsafe { (rows.load::<f32>(), rows.add(8 * 4).load::<f32>()) };
    let (sums, total) = (sums.get(), total.get_mut());
    unroll!(block < SUMS / 4 => {
        // SAFETY: the caller upholds this function's contract.
        let [even, odd] = unsafe { columns.add(block as u32 * 32).load::<[f32; 2]>() };
        let first = block * 4;
        total[first] = Float::mul_add(sums[first] * upper, even, total[first]);
        total[first + 1] = Float::mul_add(sums[first + 1] * upper, odd, total[first + 1]);
        total[first + 2] = Float::mul_add(sums[first + 2] * lower, even, total[first + 2]);
        total[first + 3] = Float::mul_add(sums[first + 3] * lower, odd, total[first + 3]);
    });
}
