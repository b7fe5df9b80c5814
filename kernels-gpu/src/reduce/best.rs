//! The rung to use: one launch at the speed of memory, with the same bits in every run.
//!
//! - Each thread has `UNROLL` independent 16-byte loads in flight, enough to cover the latency of memory; the elements
//!   before the first 16-byte boundary and after the last one are added singly, so the slice may start at any element.
//! - The block that starts last waits for the results of all others, and reduces them in the order of the blocks: no
//!   second launch, and no dependence on which block that is ([`gather`](super::gather)). CUB still launches two
//!   kernels.

use super::{
    Max, Min, Op, Sum,
    form::{Faster, faster},
    gather::Gather,
    keys::{Keys, Largest, Smallest},
    ordered,
};
use crate::{
    number::{Bf16, Entry, F16},
    operator::{
        Operator, Pod,
        chunk::{Chunk, fits, most_rows, width, with_width},
    },
    unroll::unroll,
};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "16-byte loads in flight, one launch, and the block that starts last finishes in a fixed order";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 512;

/// Blocks per multiprocessor. Two of 512 threads keep enough loads in flight; more only add to the work of the block
/// that gathers. (H200, 2^22 f32 from cold memory: 12.0 us with 2, 13.9 us with 4.)
pub const BLOCKS_PER_SM: u32 = 2;

/// Registers of a thread that leave room for those blocks; 0, no limit, before compute capability 9.0, where ptxas
/// would spill some. Without a limit it takes fewer, and starts fewer loads before the first addition. (H200, 2^28, us:
/// sums of f64 484 instead of 487, maxima 487 instead of 491.)
pub const REGISTERS: u32 = if cfg!(target_feature = "sm_90") { 65_536 / (BLOCKS_PER_SM * BLOCK) } else { 0 };

/// Bytes that one block reads alone, as measured on an H200. Several blocks would read them sooner, but then wait for
/// each other.
pub const ALONE_BYTES: u64 = 1 << 16;

/// 16-byte loads in flight per thread; a power of two, at most 8.
// tune: 2 4 8
pub const UNROLL: usize = 8;

/// Reduces the input to `output[0]`; f16 and bf16 are widened to f32 as they are read.
///
/// # Safety
/// The block is a multiple of 32; `words` are those of [`Gather::start`] for results of this type.
#[cfg_attr(
    feature = "reduce",
    kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64, F16, Bf16], max_registers(REGISTERS))
)]
pub unsafe fn reduce_best<O: Op<<T as Entry>::Sum>, T: Entry>(
    input: &[<T as Entry>::Bits],
    words: *mut u64,
    output: *mut <T as Entry>::Sum,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        let gather = Gather::start(words);
        match const { faster::<O, T::Sum>() } {
            Faster::ByLargest => keyed::<Largest, T>(input, gather, output),
            Faster::BySmallest => keyed::<Smallest, T>(input, gather, output),
            Faster::AsTheyAre => {
                let value = with_width!(size_of::<T::Word>(), W => {
                    slice_reduce::<O, T::Bits, T::Word, T::Sum, W>(input, T::widen, T::reduce::<O>)
                });
                if let Some(value) = gather.reduce::<O, T::Sum>(value) {
                    output.write(value); // Only one thread of the grid takes this branch.
                }
            }
        }
    }
}

/// The maximum or minimum of `f64`, by their keys.
///
/// # Safety
/// The requirements are those of [`reduce_best()`]; `T` is `f64`.
#[inline(always)]
unsafe fn keyed<K: Keys, T: Entry>(input: &[T::Bits], gather: Gather, output: *mut T::Sum) {
    // SAFETY: `T` is `f64`.
    let input = unsafe { core::slice::from_raw_parts(input.as_ptr().cast::<f64>(), input.len()) };
    let key = with_width!(size_of::<f64>(), W => slice_reduce::<K, f64, f64, u64, W>(input, K::key, K::key));
    // SAFETY: the caller upholds this function's contract; a key has the size of `T`.
    if let Some(key) = unsafe { gather.reduce::<K, u64>(key) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.cast::<f64>().write(K::number(key)) };
    }
}

/// Threads per block for operators and values of other crates, whose registers are not known here.
pub const ANY_BLOCK: u32 = 256;

/// Threads per block that the ladder offers for kernels with up to 128 registers: a multiprocessor has 65 536.
pub const BLOCKS: [u32; 5] = [32, 64, 128, 256, 512];

/// Blocks of [`ANY_BLOCK`] threads per multiprocessor for values of this size: as many as have registers for their
/// loads. The exchange of rows by an operator that does not commute takes more of them.
pub const fn any_blocks_per_sm(bytes: usize, commutative: bool) -> u32 {
    match bytes {
        0..=16 if commutative => 4,
        0..=32 => 3,
        _ => 2,
    }
}

/// Number of elements of this size that a thread loads together.
pub const fn per_thread(bytes: usize) -> u32 {
    width(bytes) as u32
}

/// Reduces the elements, each converted by `map`, to `output[0]`: in an order of its own if the operator commutes, else
/// in theirs. The result is the same in every run.
///
/// # Safety
/// Every thread of the grid calls it, in blocks of a multiple of 32 threads; `words` are those of [`Gather::start`] for
/// results of type `T`.
#[inline(always)]
pub unsafe fn transform_reduce<O: Operator<T>, I: Pod, T: Pod>(
    input: &[I],
    map: impl Fn(I) -> T + Copy,
    words: *mut u64,
    output: *mut T,
) {
    // SAFETY: the caller upholds this function's contract.
    if let Some(value) = unsafe { grid_value::<O, I, T>(input, map, words) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(value) };
    }
}

/// The reduction of the elements, each converted by `map`, in one thread of the grid.
///
/// # Safety
/// The requirements are those of [`transform_reduce`].
#[inline(always)]
pub unsafe fn grid_value<O: Operator<T>, I: Pod, T: Pod>(
    input: &[I],
    map: impl Fn(I) -> T + Copy,
    words: *mut u64,
) -> Option<T> {
    // SAFETY: the caller upholds this function's contract.
    let gather = unsafe { Gather::start(words) };
    let value = with_width!(size_of::<I>(), W => {
        if O::COMMUTATIVE {
            slice_reduce::<O, I, I, T, W>(input, map, map)
        } else {
            // SAFETY: every thread of the grid reaches this call, in blocks of whole warps.
            unsafe { ordered::warp_share::<O, I, T, W>(input, map) }
        }
    });
    // SAFETY: every thread of the grid reaches this call, in blocks of whole warps; the caller upholds the rest of the
    // contract.
    unsafe { gather.reduce::<O, T>(value) }
}

/// As [`grid_value`] by an operator that commutes, with a running result for each element of a chunk. For operators of
/// many instructions: the first ones combine two chunks, so that ptxas starts all loads of a round before them.
///
/// # Safety
/// The requirements are those of [`transform_reduce`].
#[inline(always)]
pub(super) unsafe fn grid_value_by_columns<O: Operator<T>, I: Pod, T: Pod>(
    input: &[I],
    map: impl Fn(I) -> T + Copy,
    words: *mut u64,
) -> Option<T> {
    const { assert!(O::COMMUTATIVE) };
    // SAFETY: the caller upholds this function's contract.
    let gather = unsafe { Gather::start(words) };
    let value = with_width!(size_of::<I>(), W => share::<O, I, I, T, W, W>(input, map, map));
    // SAFETY: every thread of the grid reaches this call, in blocks of whole warps.
    unsafe { gather.reduce::<O, T>(value) }
}

/// The thread's share of elements `I`. They are loaded as words `J` of one or several elements, of which `W` are a
/// chunk, and `reduce` gives a word's value. The share has a running result for each word of a chunk if values are
/// small, whose vectors are then combined as they are; several large ones would take too many registers.
#[inline(always)]
fn slice_reduce<O: Operator<T>, I: Pod, J: Pod, T: Pod, const W: usize>(
    input: &[I],
    map: impl Fn(I) -> T + Copy,
    reduce: impl Fn(J) -> T + Copy,
) -> T {
    if const { size_of::<T>() * W <= 16 } {
        share::<O, I, J, T, W, W>(input, map, reduce)
    } else {
        share::<O, I, J, T, W, 1>(input, map, reduce)
    }
}

/// The thread's share, with `L` running results: the elements between 16-byte boundaries as chunks, the others singly.
#[inline(always)]
fn share<O: Operator<T>, I: Pod, J: Pod, T: Pod, const W: usize, const L: usize>(
    input: &[I],
    map: impl Fn(I) -> T + Copy,
    reduce: impl Fn(J) -> T + Copy,
) -> T {
    // Not `Vector::split`, which would let the loads go through the read-only cache: those ptxas moves after the
    // additions of a round's first vectors, and only four of them are in flight.
    let (head, chunks, tail) = if const { fits(size_of::<J>()) } {
        // SAFETY: a chunk is an array of `J`, and any bits of `I`s are a chunk.
        unsafe { input.align_to::<Chunk<J, W>>() }
    } else {
        (input, &[][..], &[][..])
    };
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let me = thread::block_idx_x() as usize * thread::block_dim_x() as usize + thread::thread_idx_x() as usize;

    let results = chunks_reduce::<O, J, T, W, L>(chunks, me, reduce);
    let mut value = results[0];
    let mut k = 1;
    while k < L {
        value = O::combine(value, results[k]);
        k += 1;
    }
    let mut i = me;
    while i < head.len() {
        value = O::combine(value, map(head[i]));
        if const { fits(size_of::<J>()) && size_of::<I>() == align_of::<I>() } {
            break; // A boundary is near: a thread has at most one of these elements.
        }
        i += threads;
    }
    if me < tail.len() {
        value = O::combine(value, map(tail[me]));
    }
    value
}

/// `L` running results over chunks `me`, `me + threads`, `me + 2 * threads`, …, in rounds of loads that do not wait for
/// each other, [`UNROLL`] if a chunk has 16 bytes. Only the last round has to test for the end of the input.
#[inline(always)]
fn chunks_reduce<O: Operator<T>, I: Pod, T: Pod, const W: usize, const L: usize>(
    chunks: &[Chunk<I, W>],
    me: usize,
    map: impl Fn(I) -> T + Copy,
) -> [T; L] {
    let unroll = const {
        let rows = most_rows(size_of::<Chunk<I, W>>());
        if rows < UNROLL { rows } else { UNROLL }
    };
    let threads = thread::grid_dim_x() as usize * thread::block_dim_x() as usize;
    let mut results = [O::identity(); L];
    let mut i = me;
    while i + (unroll - 1) * threads < chunks.len() {
        // Entries from `unroll` on are not used.
        // SAFETY: `i + k * threads` is below the length for every `k < unroll`.
        let round: [_; UNROLL] = core::array::from_fn(|k| unsafe { load(chunks, i + k % unroll * threads) });
        let round = round.map(|chunk| values::<O, I, T, W, L>(chunk, map));
        results = combine::<O, T, L>(results, tree::<O, T, L, UNROLL>(round, unroll));
        i += unroll * threads;
    }
    if i < chunks.len() {
        // Past the end the last chunk is loaded and not used: a load that no branch guards can start at once.
        let last = chunks.len() - 1;
        // SAFETY: `last` is an index.
        let round: [_; UNROLL] = core::array::from_fn(|k| unsafe { load(chunks, last.min(i + k % unroll * threads)) });
        let mut round = round.map(|chunk| values::<O, I, T, W, L>(chunk, map));
        let mut k = 1;
        while k < unroll {
            if i + k * threads > last {
                round[k] = [O::identity(); L];
            }
            k += 1;
        }
        results = combine::<O, T, L>(results, tree::<O, T, L, UNROLL>(round, unroll));
    }
    results
}

/// Chunk `i`.
///
/// # Safety
/// There is a chunk `i`.
#[inline(always)]
pub(super) unsafe fn load<I: Pod, const W: usize>(chunks: &[Chunk<I, W>], i: usize) -> Chunk<I, W> {
    // SAFETY: the caller upholds this function's contract, and chunks lie on boundaries.
    unsafe {
        if const { size_of::<I>() == align_of::<I>() && W <= 4 } {
            *chunks.get_unchecked(i)
        } else {
            Chunk::load(chunks.as_ptr().add(i))
        }
    }
}

/// The values of a chunk: each of them, or all combined to one.
#[inline(always)]
fn values<O: Operator<T>, I: Pod, T: Pod, const W: usize, const L: usize>(
    Chunk(elements): Chunk<I, W>,
    map: impl Fn(I) -> T + Copy,
) -> [T; L] {
    let mut values = [O::identity(); L];
    unroll!(k < W => {
        values[k % L] = if k < L { map(elements[k]) } else { O::combine(values[k % L], map(elements[k])) };
    });
    values
}

/// Combines the first `unroll` chunks of a round pairwise. A chain would take as many additions, but its first one is
/// the most urgent, and ptxas then starts it before the last loads: 2 % of the time at 2^28.
#[inline(always)]
pub(super) fn tree<O: Operator<T>, T: Pod, const L: usize, const N: usize>(
    mut round: [[T; L]; N],
    unroll: usize,
) -> [T; L] {
    const { assert!(N <= 8 && N.is_power_of_two()) };
    if const { L > 1 && size_of::<T>() * L > 16 } {
        // Not a loop, which LLVM would keep for operators of many instructions, with the round in local memory.
        if unroll == 8 {
            round[0] = combine::<O, T, L>(round[0], round[4]);
            round[1] = combine::<O, T, L>(round[1], round[5]);
            round[2] = combine::<O, T, L>(round[2], round[6]);
            round[3] = combine::<O, T, L>(round[3], round[7]);
        }
        if unroll >= 4 {
            round[0] = combine::<O, T, L>(round[0], round[2]);
            round[1] = combine::<O, T, L>(round[1], round[3]);
        }
        if unroll >= 2 {
            round[0] = combine::<O, T, L>(round[0], round[1]);
        }
        return round[0];
    }
    let mut half = unroll / 2;
    while half > 0 {
        let mut k = 0;
        while k < half {
            round[k] = combine::<O, T, L>(round[k], round[k + half]);
            k += 1;
        }
        half /= 2;
    }
    round[0]
}

/// Combines running results one by one.
#[inline(always)]
pub(super) fn combine<O: Operator<T>, T: Pod, const L: usize>(mut a: [T; L], b: [T; L]) -> [T; L] {
    let mut k = 0;
    while k < L {
        a[k] = O::combine(a[k], b[k]);
        k += 1;
    }
    a
}
