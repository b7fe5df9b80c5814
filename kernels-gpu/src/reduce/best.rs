//! The rung to use: one launch at the speed of memory, with the same bits in every run.
//!
//! - Each thread has `UNROLL` independent 16-byte loads in flight, enough to cover the latency of memory; the elements
//!   before the first 16-byte boundary and after the last one are added singly, so the slice may start at any element.
//! - The last block to finish reduces the partial results of all blocks, in the order of the blocks: no second launch,
//!   and no dependence on which block is last. CUB still launches two kernels.

use super::{Max, Min, Op, Sum, collective::grid_reduce};
use crate::number::Number;
use cuda_std::{kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str = "16-byte loads in flight, one launch, and the last block finishes in a fixed order";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 512;

/// Blocks per multiprocessor. Two of 512 threads keep enough loads in flight; more only add to the work of the last
/// block. (H200, 2^22 f32 from cold memory: 12.0 us with 2, 13.9 us with 4.)
pub const BLOCKS_PER_SM: u32 = 2;

/// 16-byte loads in flight per thread.
pub const UNROLL: usize = 8;

/// Reduces the input to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `partials` has one element per block and is used by this launch only; `ticket` is 0.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_best<O: Op<T>, T: Number>(input: &[T], partials: *mut T, ticket: *mut u32, output: *mut T) {
    let value = thread_reduce::<O, T>(input);
    // SAFETY: every thread of the grid reaches this call, in blocks of whole warps; the caller upholds the rest of the
    // contract.
    if let Some(value) = unsafe { grid_reduce::<O, T>(value, partials, ticket) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(value) };
    }
}

/// The thread's share of the input.
#[inline(always)]
fn thread_reduce<O: Op<T>, T: Number>(input: &[T]) -> T {
    match size_of::<T>() {
        4 => slice_reduce::<O, T, 4>(input),
        _ => slice_reduce::<O, T, 2>(input),
    }
}

/// The same for elements of which `W` fill 16 bytes: the elements between 16-byte boundaries as vectors, the others
/// singly.
#[inline(always)]
fn slice_reduce<O: Op<T>, T: Number, const W: usize>(input: &[T]) -> T {
    // Not `Vector::split`, which would let the loads go through the read-only cache: those ptxas moves after the
    // additions of a round's first vectors, and only four of them are in flight.
    // SAFETY: a vector is an array of `T`, and any bits of `T`s are a vector.
    let (head, vectors, tail) = unsafe { input.align_to::<Vector<T, W>>() };
    let me = thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize;

    let results = vectors_reduce::<O, T, W>(vectors, me);
    let mut value = results[0];
    let mut k = 1;
    while k < W {
        value = O::combine(value, results[k]);
        k += 1;
    }
    if me < head.len() {
        value = O::combine(value, head[me]);
    }
    if me < tail.len() {
        value = O::combine(value, tail[me]);
    }
    value
}

/// `W` running results over vectors `me`, `me + threads`, `me + 2 * threads`, …, in rounds of [`UNROLL`] loads that
/// do not wait for each other. Only the last round has to test for the end of the input.
#[inline(always)]
fn vectors_reduce<O: Op<T>, T: Number, const W: usize>(vectors: &[Vector<T, W>], me: usize) -> [T; W] {
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut results = [O::identity(); W];
    let mut i = me;
    while i + (UNROLL - 1) * threads < vectors.len() {
        // SAFETY: `i + k * threads` is below the length for every `k < UNROLL`.
        let round = core::array::from_fn(|k| unsafe { *vectors.get_unchecked(i + k * threads) });
        results = combine::<O, T, W>(results, tree::<O, T, W>(round));
        i += UNROLL * threads;
    }
    if i < vectors.len() {
        // Past the end the last vector is loaded and not used: a load that no branch guards can start at once.
        let last = vectors.len() - 1;
        // SAFETY: `last` is an index.
        let mut round: [Vector<T, W>; UNROLL] =
            core::array::from_fn(|k| unsafe { *vectors.get_unchecked(last.min(i + k * threads)) });
        let mut k = 1;
        while k < UNROLL {
            if i + k * threads > last {
                round[k] = Vector([O::identity(); W]);
            }
            k += 1;
        }
        results = combine::<O, T, W>(results, tree::<O, T, W>(round));
    }
    results
}

/// Combines the vectors of a round pairwise. A chain would take as many additions, but its first one is the most
/// urgent, and ptxas then starts it before the last loads: 2 % of the time at 2^28.
#[inline(always)]
fn tree<O: Op<T>, T: Number, const W: usize>(mut round: [Vector<T, W>; UNROLL]) -> [T; W] {
    const { assert!(UNROLL.is_power_of_two()) };
    let mut half = UNROLL / 2;
    while half > 0 {
        let mut k = 0;
        while k < half {
            round[k] = Vector(combine::<O, T, W>(round[k].0, round[k + half].0));
            k += 1;
        }
        half /= 2;
    }
    round[0].0
}

/// Combines two vectors element by element.
#[inline(always)]
fn combine<O: Op<T>, T: Number, const W: usize>(mut a: [T; W], b: [T; W]) -> [T; W] {
    let mut k = 0;
    while k < W {
        a[k] = O::combine(a[k], b[k]);
        k += 1;
    }
    a
}
