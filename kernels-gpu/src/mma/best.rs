//! The tiles come by asynchronous copies, several stages ahead of the products, and each warp multiplies a larger part:
//! 64 by 64 elements in large products, whose registers are loaded while the products of the last 32 bytes of the depth
//! run.
//!
//! - A stage has 64 bytes of the depth. While its first part is multiplied, copies to the stage that was released last
//!   are started; before its last part the block waits for the next stage.
//! - Factors that lie across the depth stay so in shared memory. `ldmatrix` turns elements of 16 bits; those of 32 bits
//!   are loaded one by one, and pairs of bytes are turned and taken apart.
//! - Sums leave through shared memory, with scales, an addend, a bias and an activation on the way.
//! - Tiles that are computed at the same time lie close together, so that their factors are found in the L2 cache.

use super::fill::Source;
use super::layout::start_along;
use super::store::{room, store};
use super::sums::Tile;
use super::{Bf16, F16, Factor, S8, Tf32};
use crate::tensor::mixed::epilogue::Epilogue;
use crate::tensor::mixed::problem::{Product, place};
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, sm_80};
use cuda_std::mma::{Left, Right};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

/// The idea in one line.
pub const IDEA: &str = "stages of asynchronous copies, registers loaded one step ahead, warps of 64x64 elements";

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Bytes of the depth in a stage.
pub const ROW: u32 = 64;

/// Stages.
const STAGES: u32 = 4;

/// Parts of a stage: 32 bytes of the depth, as an instruction has.
const STEPS: usize = (ROW / 32) as usize;

/// Bit of `how`: rows of the first factor do not start at multiples of 16 bytes.
pub const A_UNALIGNED: u32 = 1;

/// Bit of `how`: those of the second.
pub const B_UNALIGNED: u32 = 2;

/// The part of the product that a block computes, with the launch that it needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its rows.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
    /// Dynamic shared memory of the launch, in bytes.
    pub shared: u32,
}

/// The part with `down` by `BLOCK / 32 / down` warps, of `m` and `n` blocks of 16 rows and columns.
const fn size(down: u32, m: usize, n: usize) -> Size {
    let (rows, columns) = (down * m as u32 * 16, BLOCK / 32 / down * n as u32 * 16);
    let stages = STAGES * (rows + columns) * ROW;
    assert!(stages >= BLOCK / 32 * room(n), "sums leave through the room of the stages");
    Size { rows, columns, shared: stages + ALIGNMENT }
}

/// Alignment of the stages: the swizzle is a function of the address within it.
const ALIGNMENT: u32 = 128;

macro_rules! kernels {
    ($name:ident $size:ident $any:literal: $down:literal $m:literal $n:literal) => {
        #[doc = concat!("The part of the product that a block of [`", stringify!($name), "`] computes.")]
        pub const $size: Size = size($down, $m, $n);

        /// Multiplies two matrices of `P`, `m` by `k` and `k` by `n`. `A`: the first is stored transposed; `B`: the
        /// second is not. The product has the type of the factors, or f32 with
        /// [`WIDE`](crate::tensor::mixed::epilogue::WIDE), of bytes i32; with
        /// [`FINISHED`](crate::tensor::mixed::epilogue::FINISHED), sums become what
        /// [`Epilogue`](crate::tensor::mixed::epilogue::Epilogue) says.
        ///
        /// # Safety
        /// [`BLOCK`] threads, one block for each part of the product, with its dynamic shared memory. `a` and `b` have
        /// their elements, with rows `a_pitch` and `b_pitch` elements apart, `out` room for `m * n`, which overlap nothing but, exactly, the addend; the other pointers are
        /// null or have their elements. Rows of `a` and `b` start at multiples of 16 bytes unless `how` says otherwise.
        /// A GPU of sm_80 or later.
        #[kernel(
            for P in [F16, Bf16, Tf32, S8], for A in [false, true], for B in [false, true], launch_bounds(BLOCK, 1)
        )]
        pub unsafe fn $name<P: Factor, const A: bool, const B: bool>(
            a: *const u8,
            b: *const u8,
            out: *mut u8,
            m: u32,
            n: u32,
            k: u32,
            a_pitch: u32,
            b_pitch: u32,
            how: u32,
            alpha: f32,
            beta: f32,
            addend: *const u8,
            row_scales: *const f32,
            column_scales: *const f32,
            bias: *const f32,
        ) {
            let epilogue = Epilogue { alpha, beta, addend, row_scales, column_scales, bias };
            let product = Product { out, m, n, how, epilogue };
            // SAFETY: this kernel has the same contract.
            unsafe { run::<P, A, B, $m, $n, { $size.rows }, { $size.columns }, $any>([a, b], k, [a_pitch, b_pitch], &product) };
        }
    };
}
kernels!(mma_best LARGE false: 2 4 4);
kernels!(mma_best_small SMALL true: 4 2 2);

/// # Safety
/// That of [`mma_best`].
#[inline(always)]
unsafe fn run<
    P: Factor,
    const A: bool,
    const B: bool,
    const M: usize,
    const N: usize,
    const ROWS: u32,
    const COLUMNS: u32,
    const ANY: bool,
>(
    [a, b]: [*const u8; 2],
    k: u32,
    pitches: [u32; 2],
    product: &Product,
) {
    let Product { m, n, how, .. } = *product;
    let [row, column] = place(thread::block_idx_x(), [m.div_ceil(ROWS), n.div_ceil(COLUMNS)], [ROWS, COLUMNS]);
    let source_a = Source::<P, A, ROWS, ANY>::new(a, row, [m, k], pitches[0], how & A_UNALIGNED == 0);
    let source_b = Source::<P, B, COLUMNS, ANY>::new(b, column, [n, k], pitches[1], how & B_UNALIGNED == 0);
    let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
    let (down, across) =
        (warp % (ROWS / (M as u32 * 16)) * (M as u32 * 16), warp / (ROWS / (M as u32 * 16)) * (N as u32 * 16));
    let pitches = [Source::<P, A, ROWS, ANY>::PITCH, Source::<P, B, COLUMNS, ANY>::PITCH];
    let starts = [start::<P, A, false>(pitches[0], down, lane), start::<P, B, true>(pitches[1], across, lane)];
    // SAFETY: the launch has the shared memory.
    let first = unsafe { SharedAddress::of(dynamic_shared_mem::<u8>()) }.align_up(ALIGNMENT);
    let stage = |number: u32| first.add(number * (ROWS + COLUMNS) * ROW);
    // SAFETY: the stage is released, and the factors have their elements.
    let fill = |number: u32, k: u32| unsafe {
        source_a.copy(stage(number), k);
        source_b.copy(stage(number).add(ROWS * ROW), k);
        sm_80::commit();
    };
    let depth = ROW / P::SIZE;
    let mut filled = 0;
    while filled < STAGES - 1 {
        fill(filled, filled * depth);
        filled += 1;
    }
    sm_80::wait::<{ STAGES - 2 }>();
    thread::sync_threads(); // the first stage is complete before any thread reads it
    let mut sums = Tile::<P, M, N>::zero();
    // The registers of two steps: those of one are loaded while the others are multiplied.
    // SAFETY: the stage is complete, and all lanes of the warp are here.
    let load_a = |number, step| unsafe { lefts::<P, A, M>(stage(number), pitches[0], starts[0], step) };
    let load_b =
        // SAFETY: as above.
        |number: u32, step| unsafe { rights::<P, B, N>(stage(number).add(ROWS * ROW), pitches[1], starts[1], step) };
    let mut of_a = [load_a(0, 0); 2];
    let mut of_b = [load_b(0, 0); 2];
    let (mut reading, mut at) = (0, 0);
    while at < k {
        let released = if reading == 0 { STAGES - 1 } else { reading - 1 };
        unroll!(step < STEPS => {
            if step == STEPS - 1 {
                reading = if reading == STAGES - 1 { 0 } else { reading + 1 };
                sm_80::wait::<{ STAGES - 2 }>();
                // The next stage is complete, and every thread has read all of this one.
                thread::sync_threads();
            }
            let next = (step as u32 + 1) % STEPS as u32;
            of_a[(step + 1) % 2] = load_a(reading, next);
            of_b[(step + 1) % 2] = load_b(reading, next);
            if step == 0 {
                fill(released, at + (STAGES - 1) * depth);
            }
            // SAFETY: all lanes of the warp are here.
            unsafe { sums.add(&of_a[step % 2], &of_b[step % 2]) };
        });
        at += depth;
    }
    sm_80::wait::<0>();
    thread::sync_threads(); // the room of the stages is used for the sums from here on
    // SAFETY: the room is this warp's, and by contract there is room for the product.
    unsafe { store::<P, A, B, M, N>(product, &sums, first.add(warp * room(N)), [row + down, column + across]) };
}

/// Offset in a stage from which the lane loads the lines from `line` on.
#[inline(always)]
fn start<P: Factor, const ACROSS: bool, const RIGHT: bool>(pitch: u32, line: u32, lane: u32) -> u32 {
    if ACROSS { P::start_across::<RIGHT>(pitch, line, lane) } else { start_along::<RIGHT>(pitch, line, lane) }
}

/// Loads `M` blocks of 16 lines of A, for step `step` of a stage.
///
/// # Safety
/// All lanes of the warp call it together; the stage is complete.
#[inline(always)]
unsafe fn lefts<P: Factor, const ACROSS: bool, const M: usize>(
    tile: SharedAddress,
    pitch: u32,
    start: u32,
    step: u32,
) -> [Left<P::Type>; M] {
    let mut out = [Left::from_registers([0; 4]); M];
    unroll!(block < M => {
        // SAFETY: the caller upholds this function's contract.
        out[block] = unsafe {
            if ACROSS {
                P::left_across(tile, pitch, start, block as u32, step * P::STEP)
            } else {
                Left::load(along(tile, pitch, start, block as u32, step))
            }
        };
    });
    out
}

/// Loads `N` blocks of 16 lines of B, for step `step` of a stage.
///
/// # Safety
/// As for [`lefts`].
#[inline(always)]
unsafe fn rights<P: Factor, const ACROSS: bool, const N: usize>(
    tile: SharedAddress,
    pitch: u32,
    start: u32,
    step: u32,
) -> [[Right<P::Type>; 2]; N] {
    let mut out = [[Right::from_registers([0; 2]); 2]; N];
    unroll!(block < N => {
        // SAFETY: the caller upholds this function's contract.
        out[block] = unsafe {
            if ACROSS {
                P::right_across(tile, pitch, start, block as u32, step * P::STEP)
            } else {
                Right::load_two(along(tile, pitch, start, block as u32, step))
            }
        };
    });
    out
}

/// Where the lane loads its part of a block of 16 lines that lie along the depth.
#[inline(always)]
fn along(tile: SharedAddress, pitch: u32, start: u32, block: u32, step: u32) -> SharedAddress {
    tile.add((start ^ (step * 32)) + block * 16 * pitch)
}
