//! The kernel: one thread copies, two warpgroups multiply and store, until no tile is left.
//!
//! - A block computes tiles of 128 rows and 64 to 256 columns. One thread of the first warpgroup fills a ring of stages
//!   with boxes of both factors, 64 of the depth each; the warpgroup gives its registers to the others.
//! - The other two warpgroups multiply 64 rows each. A stage is released when the products of the next have started, so
//!   that the tensor cores never wait for the threads.
//! - Each warp rounds its sums, 16 rows of 64 columns at a time, to shared memory in the order of a swizzled box, and
//!   one thread stores the box. Two stores are under way while the next is written, and the other warpgroup multiplies.
//! - Tiles that are computed at the same time lie close together, so that their factors are found in the L2 cache.

use super::ring::{COPIES, COPY_ROWS, DEPTH, Position, ROWS, Ring, WARPGROUPS, shared, stage};
use super::{Accumulator, Bf16, F16, Half};
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, TensorMap, fence_copies, wait_copies_read};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warpgroup::{Sums, Tile, commit, grow_registers, shrink_registers, wait_but};

/// The idea in one line.
pub const IDEA: &str = "tensor maps feed a ring of stages: one thread copies, two warpgroups multiply and store boxes";

/// Threads per block.
pub const BLOCK: u32 = (WARPGROUPS + 1) * 128;

/// Bit of `how`: without tensor cores, element by element.
pub const PLAIN: u32 = 1;

/// Bit of `how`: C cannot be stored by its map.
pub const BY_ELEMENTS: u32 = 2;

/// Rows of tiles that are computed together.
const GROUP: u32 = 16;

/// The part of the product that a block computes at a time, with [`ROWS`] rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its columns.
    pub columns: u32,
    /// Dynamic shared memory of the launch, in bytes.
    pub shared: u32,
}

const fn size<S: Accumulator>() -> Size {
    Size { columns: S::COLUMNS, shared: shared::<S>() }
}

/// The matrices and their sizes.
#[derive(Clone, Copy)]
struct Problem {
    a: TensorMap,
    b: TensorMap,
    c: TensorMap,
    out: *mut u16,
    m: u32,
    n: u32,
    k: u32,
    how: u32,
}

impl Problem {
    /// Tiles along the rows and along the columns.
    #[inline(always)]
    fn tiles<S: Accumulator>(&self) -> [u32; 2] {
        [self.m.div_ceil(ROWS), self.n.div_ceil(S::COLUMNS)]
    }

    /// First row and column of tile `index`. Tiles that are computed at the same time cover a region about as high as
    /// wide.
    #[inline(always)]
    fn place<S: Accumulator>(&self, index: u32) -> [u32; 2] {
        let [down, across] = self.tiles::<S>();
        // There is no tile to place if there is none across; without `max` the compiler would keep panics.
        let group = (GROUP * across).max(1);
        let first = index / group * GROUP;
        let left = (down - first).min(GROUP);
        let height = left.max(1);
        let within = index % group;
        [(first + within % height) * ROWS, within / height * S::COLUMNS]
    }
}

/// Defines the kernel for tiles with as many columns as these sums have.
macro_rules! kernel {
    ($name:ident $size:ident $sums:ty) => {
        #[doc = concat!("The tile of [`", stringify!($name), "`].")]
        pub const $size: Size = size::<$sums>();

        /// Multiplies two matrices of `H`, `m` by `k` and `k` by `n`. `A`: the first is stored transposed; `B`: the
        /// second is not.
        ///
        /// The maps have swizzles of 128 bytes and boxes of 64 columns, with 16 rows for C. A factor that lies along
        /// the depth has a box of all its rows in a tile (128 of A, the tile's columns of B), another boxes of 64 rows.
        /// `a` and `b`, which `how` = [`PLAIN`] takes instead, are the matrices without padding.
        ///
        /// # Safety
        /// [`BLOCK`] threads, any number of blocks; the maps describe matrices of these sizes, and `out` has room for
        /// `m * n` elements, the map's, which overlap nothing. Without [`PLAIN`]: a GPU of sm_90, and the tile's
        /// dynamic shared memory; with it, no maps are used, but `a` and `b` have their elements.
        #[kernel(for H in [F16, Bf16], for A in [false, true], for B in [false, true], launch_bounds(BLOCK, 1))]
        pub unsafe fn $name<H: Half, const A: bool, const B: bool>(
            a_map: TensorMap,
            b_map: TensorMap,
            c_map: TensorMap,
            a: *const u16,
            b: *const u16,
            out: *mut u16,
            m: u32,
            n: u32,
            k: u32,
            how: u32,
        ) {
            let problem = Problem { a: a_map, b: b_map, c: c_map, out, m, n, k, how };
            // SAFETY: this kernel has the same contract.
            unsafe { run::<H, $sums, A, B>(problem, a, b) };
        }
    };
}
kernel!(tensor_half_256 COLUMNS_256 Sums<128>);
kernel!(tensor_half_192 COLUMNS_192 Sums<96>);
kernel!(tensor_half_128 COLUMNS_128 Sums<64>);
kernel!(tensor_half_64 COLUMNS_64 Sums<32>);

/// # Safety
/// That of [`tensor_half_256`].
#[inline(always)]
unsafe fn run<H: Half, S: Accumulator, const A: bool, const B: bool>(problem: Problem, a: *const u16, b: *const u16) {
    if !cfg!(target_feature = "sm_90") || problem.how & PLAIN != 0 {
        // SAFETY: the caller upholds this function's contract.
        unsafe { plain::<H, A, B>(&problem, a, b) };
        return;
    }
    // SAFETY: the launch has the shared memory, and all threads of the block reach the barrier.
    unsafe {
        let ring = Ring::<S>::at(SharedAddress::of(dynamic_shared_mem::<u8>()));
        if thread::thread_idx_x() == 0 {
            problem.a.prefetch();
            problem.b.prefetch();
            if problem.how & BY_ELEMENTS == 0 {
                problem.c.prefetch();
            }
            ring.init();
        }
        thread::sync_threads();
        // The same in all lanes, which the compiler cannot see otherwise.
        let warpgroup = warp::shuffle_idx(warp::ALL, thread::thread_idx_x() / 128, 0);
        if warpgroup == 0 {
            shrink_registers::<40>();
            if thread::thread_idx_x() == 0 {
                fill::<S, A, B>(&problem, ring);
            }
        } else {
            grow_registers::<232>();
            multiply::<H, S, A, B>(&problem, ring, warpgroup - 1);
        }
    }
}

/// Computes the product element by element, with fused multiply-adds in the order of the depth.
///
/// # Safety
/// That of [`tensor_half_256`] with [`PLAIN`].
#[inline(always)]
unsafe fn plain<H: Half, const A: bool, const B: bool>(problem: &Problem, a: *const u16, b: *const u16) {
    let (m, n, depth) = (problem.m as usize, problem.n as usize, problem.k as usize);
    // Without `max` the compiler would keep a panic for a division by 0.
    let columns = n.max(1);
    let mut i = thread::global_index();
    while i < m * columns {
        let (row, column) = (i / columns, i % columns);
        // Start, and distance from one of the depth to the next.
        let (a_start, along_a) = if A { (row, m) } else { (row * depth, 1) };
        let (b_start, along_b) = if B { (column, n) } else { (column * depth, 1) };
        let (mut sum, mut at) = (0.0_f32, 0);
        while at < depth {
            // SAFETY: both elements are inside their matrices.
            let (x, y) = unsafe { (*a.add(a_start + at * along_a), *b.add(b_start + at * along_b)) };
            sum = Float::mul_add(H::widen(x), H::widen(y), sum);
            at += 1;
        }
        // SAFETY: the element is inside the product.
        unsafe { problem.out.add(i).write(H::pack(sum, 0.0) as u16) };
        i += thread::grid_stride();
    }
}

/// Fills the ring with all stages of all tiles of the block.
///
/// # Safety
/// One thread of the block calls it.
#[inline(always)]
unsafe fn fill<S: Accumulator, const A: bool, const B: bool>(problem: &Problem, ring: Ring<S>) {
    /// Bytes of a box of 64 by 64.
    const BOX: u32 = 64 * 128;
    let [down, across] = problem.tiles::<S>();
    let mut position = Position::<S>::FIRST;
    let mut tile = thread::block_idx_x();
    while tile < down * across {
        let [row, column] = problem.place::<S>(tile);
        let mut k = 0;
        while k < problem.k {
            let (a, b, full) = (ring.a(position.stage), ring.b(position.stage), ring.full(position.stage));
            // SAFETY: after the wait, which the first round passes at once, no warpgroup reads the stage any more. The
            // boxes have the announced bytes.
            unsafe {
                ring.empty(position.stage).wait(position.parity ^ 1);
                full.arrive_expecting(stage::<S>());
                if A {
                    problem.a.copy_in(a, [row, k], full);
                    problem.a.copy_in(a.add(BOX), [row + 64, k], full);
                } else {
                    problem.a.copy_in(a, [k, row], full);
                }
                if B {
                    unroll!(part < (S::COLUMNS / 64) as usize => {
                        let part = part as u32;
                        problem.b.copy_in(b.add(part * BOX), [column + part * 64, k], full);
                    });
                } else {
                    problem.b.copy_in(b, [k, column], full);
                }
            }
            position.advance();
            k += DEPTH;
        }
        tile += thread::grid_dim_x();
    }
}

/// Multiplies and stores the 64 rows of a warpgroup in all tiles of the block.
///
/// # Safety
/// All threads of the warpgroup call it together.
#[inline(always)]
unsafe fn multiply<H: Half, S: Accumulator, const A: bool, const B: bool>(
    problem: &Problem,
    ring: Ring<S>,
    warpgroup: u32,
) {
    let warp = warpgroup * 4 + thread::thread_idx_x() / 32 % 4;
    // One thread says that the warpgroup has read a stage, if there is one.
    let release = |stage: u32, there: bool| {
        if there && thread::thread_idx_x().is_multiple_of(128) {
            // SAFETY: this warpgroup's products with the stage have been waited for.
            unsafe { ring.empty(stage).arrive() };
        }
    };
    let [down, across] = problem.tiles::<S>();
    let (mut position, mut copy) = (Position::<S>::FIRST, 0);
    let mut tile = thread::block_idx_x();
    while tile < down * across {
        let mut sums = S::zero();
        let mut k = 0;
        while k < problem.k {
            // SAFETY: the whole warpgroup is here, and the stage is full after the wait.
            unsafe {
                ring.full(position.stage).wait(position.parity);
                products::<H, S, A, B>(&mut sums, ring, position.stage, warpgroup);
                wait_but::<1>();
            }
            release(position.previous(), k > 0);
            position.advance();
            k += DEPTH;
        }
        // SAFETY: the whole warpgroup is here.
        unsafe { sums.wait() };
        release(position.previous(), k > 0);
        let [row, column] = problem.place::<S>(tile);
        let row = row + warp * 16;
        // SAFETY: the whole warp is here; by contract of the kernel there is room for the product.
        unsafe {
            store::<H, S>(problem, &sums, ring, warp, &mut copy, [column, row]);
        }
        tile += thread::grid_dim_x();
    }
    // Shared memory stays until the last stores have read it.
    wait_copies_read::<0>();
}

/// Starts the products of a stage as a group.
///
/// # Safety
/// The whole warpgroup calls it; the stage is full.
#[inline(always)]
unsafe fn products<H: Half, S: Accumulator, const A: bool, const B: bool>(
    sums: &mut S,
    ring: Ring<S>,
    stage: u32,
    warpgroup: u32,
) {
    let (a, b) = (ring.rows_of_a(stage, warpgroup), ring.b(stage));
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        sums.fence();
        unroll!(step < (DEPTH / 16) as usize => {
            let step = step as u32;
            let (along_a, along_b) = (Tile::at(a).from_byte(step * 32), Tile::at(b).from_byte(step * 32));
            let across_a = Tile::across(a, DEPTH).from_row(step * 16);
            let across_b = Tile::across(b, DEPTH).from_row(step * 16);
            match (A, B) {
                (false, false) => H::add(sums, along_a, along_b),
                (false, true) => H::add(sums, along_a, across_b),
                (true, false) => H::add(sums, across_a, along_b),
                (true, true) => H::add(sums, across_a, across_b),
            }
        });
        commit();
    }
}

/// Stores a warp's 16 rows in boxes of 64 columns: by the map of C, or element by element, if its rows do not start at
/// multiples of 16 bytes.
///
/// # Safety
/// The whole warp calls it; `warp` is its number among those that multiply, and `copy` that of its room.
#[inline(always)]
unsafe fn store<H: Half, S: Accumulator>(
    problem: &Problem,
    sums: &S,
    ring: Ring<S>,
    warp: u32,
    copy: &mut u32,
    [column, row]: [u32; 2],
) {
    let lane = warp::lane_id();
    unroll!(part < (S::COLUMNS / 64) as usize => {
        let room = ring.store(warp * COPIES + *copy);
        // SAFETY: the whole warp is here. The last store from this room has read it, and the lane's row of the box is
        // there.
        unsafe {
            if lane == 0 {
                wait_copies_read::<{ COPIES - 1 }>();
            }
            warp::sync_warp(warp::ALL);
            write_box::<H, S>(sums, part * 32, room.add(lane % 16 * 128), lane);
            let column = column + part as u32 * 64;
            if problem.how & BY_ELEMENTS == 0 {
                fence_copies();
                warp::sync_warp(warp::ALL);
                if lane == 0 {
                    problem.c.copy_out(room, [column, row]);
                }
            } else {
                warp::sync_warp(warp::ALL);
                copy_elements(problem, room, [column + lane * 2, row], lane);
            }
        }
        *copy = (*copy + 1) % COPIES;
    });
}

/// Writes the box of the elements from `first` on, in the order of a swizzle of 128 bytes.
///
/// # Safety
/// The whole warp calls it, each lane with the address of row `lane % 16`.
#[inline(always)]
unsafe fn write_box<H: Half, S: Accumulator>(sums: &S, first: usize, row: SharedAddress, lane: u32) {
    unroll!(run < 4 => {
        let at = first + run * 8;
        let pair = |i: usize| H::pack(sums.get(at + i), sums.get(at + i + 1));
        let place = (run as u32 * 2 + lane / 16) ^ (lane % 8);
        // SAFETY: the caller upholds this function's contract.
        unsafe { row.add(place * 16).store_matrices([pair(0), pair(2), pair(4), pair(6)]) };
    });
}

/// Copies a box from shared memory to the product, two elements of each row by each lane.
///
/// # Safety
/// The whole warp calls it, each lane with its own column; the box is there, and there is room for the product.
#[inline(always)]
unsafe fn copy_elements(problem: &Problem, room: SharedAddress, [column, first]: [u32; 2], lane: u32) {
    let mut i = 0;
    while i < COPY_ROWS {
        let (row, place) = (first + i, (lane / 4) ^ (i % 8));
        let to = problem.out.wrapping_add(row as usize * problem.n as usize + column as usize);
        // SAFETY: the pair is in the box; the elements are inside the product.
        unsafe {
            let pair = room.add(i * 128 + place * 16 + lane % 4 * 4).load::<u32>();
            if row < problem.m && column < problem.n {
                to.write(pair as u16);
            }
            if row < problem.m && column + 1 < problem.n {
                to.add(1).write((pair >> 16) as u16);
            }
        }
        i += 1;
    }
}
