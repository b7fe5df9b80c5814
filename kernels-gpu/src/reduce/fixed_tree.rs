//! A sum whose bits are fixed by the length alone: the same on every GPU, for every grid, at every address, and on the
//! CPU.
//!
//! [`best`](super::best) divides the input among the blocks that fill the device, and from the first 16-byte boundary
//! on, so another GPU adds in another order. Here the tree belongs to the definition of the sum:
//!
//! 1. The input is divided into leaves of [`leaf`] elements, a multiple of [`LEAF`], at most [`LEAVES`] of them. Past
//!    the end there are zeros.
//! 2. Element `i` of a leaf is number `k` of a chunk, the `16 / size` numbers in 16 bytes. Neighbouring chunks belong
//!    to the [`BLOCK`] threads of a block, and each thread adds its chunks in rounds of `UNROLL`: those of a round in
//!    a tree from far to near, for each `k`, to a running sum for each `k`. Then it adds these from the first to the
//!    last.
//! 3. The threads' sums are added in a tree from far to near in each warp, and then the warps' in such a tree of 32.
//! 4. The leaves' sums are added in the same way: thread `t` adds those of the leaves `t`, `t + BLOCK`, …, in this
//!    order, and step 3 follows.
//!
//! A block takes any number of leaves, and the last block to finish does step 4: one launch, with the loads in flight
//! of `best`. An input off a 16-byte boundary is added in the same order, from single loads.
//!
//! - *Error bound*: that of a tree, `d * u / (1 - d * u) * sum(|x|)`, with `d` of [`depth`] and `u` half the type's
//!   epsilon.
//! - *Class*: bits fixed by length only. Integers do not need it: their sums wrap and have the same bits in any order.

use super::{
    Sum,
    best::{combine, load, tree},
    collective::{block_reduce, is_last_block},
};
use crate::{
    number::Number,
    operator::{
        Pod,
        chunk::{Chunk, with_width},
    },
};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "the tree follows from the length alone: the same bits on every GPU, and on the CPU";

/// Threads per block, which are part of the tree.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor, for which the registers leave room. They do not change the sum.
pub const BLOCKS_PER_SM: u32 = 4;

/// A leaf is a multiple of this number of elements.
pub const LEAF: usize = 8192;

/// Chunks of a round, which are part of the tree.
const UNROLL: usize = 8;

/// Most leaves of an input.
pub const LEAVES: usize = 4096;

/// Number of elements in a leaf of an input of `n` elements.
pub const fn leaf(n: usize) -> usize {
    let multiples = n.div_ceil(LEAVES).div_ceil(LEAF);
    if multiples == 0 { LEAF } else { multiples * LEAF }
}

/// Number of leaves of an input of `n` elements.
pub const fn leaves(n: usize) -> usize {
    n.div_ceil(leaf(n))
}

/// Largest number of additions in a chain from one of `n` elements of this size to the sum.
pub const fn depth(n: usize, bytes: usize) -> u64 {
    let in_chunk = 16 / bytes;
    let rounds = leaf(n).div_ceil(UNROLL * BLOCK as usize * in_chunk);
    let tree_of_block = 5 + 5;
    (UNROLL.ilog2() as usize + rounds + in_chunk + tree_of_block + leaves(n).div_ceil(BLOCK as usize) + tree_of_block)
        as u64
}

/// The types whose sums are rounded.
pub trait Rounded: Number {}

impl Rounded for f32 {}
impl Rounded for f64 {}

/// Adds the input to `output[0]`.
///
/// # Safety
/// `partials` has an element per leaf and is used by this launch only; `ticket` is 0.
#[kernel(for T in [f32, f64], block(BLOCK))]
pub unsafe fn reduce_fixed_tree<T: Rounded>(input: &[T], partials: *mut T, ticket: *mut u32, output: *mut T) {
    let (tid, grid) = (thread::thread_idx_x(), thread::grid_dim_x() as usize);
    let leaves = leaves(input.len());
    let mut number = thread::block_idx_x() as usize;
    while number < leaves {
        let share = with_width!(size_of::<T>(), W => share::<T, W>(input, number));
        // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
        let sum = unsafe { block_reduce::<Sum, T>(share) };
        if tid == 0 {
            // SAFETY: one partial result per leaf.
            unsafe { partials.add(number).write(sum) };
        }
        thread::sync_threads(); // separates the two uses of the shared memory in `block_reduce`
        number += grid;
    }
    // SAFETY: the caller upholds this function's contract.
    if !unsafe { is_last_block(ticket) } {
        return;
    }
    let mut sum = T::ZERO;
    let mut i = tid as usize;
    while i < leaves {
        // SAFETY: all blocks have written their results, which are not written again.
        sum = sum.add(unsafe { partials.add(i).read() });
        i += BLOCK as usize;
    }
    // SAFETY: the whole block reaches this call: all its threads got the same answer from the barrier.
    let sum = unsafe { block_reduce::<Sum, T>(sum) };
    if tid == 0 {
        // SAFETY: only the last block reaches this point.
        unsafe { output.write(sum) };
    }
}

/// The thread's share of a leaf.
#[inline(always)]
fn share<T: Rounded, const W: usize>(input: &[T], number: usize) -> T {
    let step = const { BLOCK as usize * W };
    let round = const { UNROLL * BLOCK as usize * W };
    let leaf = leaf(input.len());
    let mut at = number * leaf;
    let end = (at + leaf).min(input.len());
    let mine = thread::thread_idx_x() as usize * W;
    let aligned = input.as_ptr().addr().is_multiple_of(16);
    let mut sums = [T::ZERO; W];
    while at < end {
        let chunks: [[T; W]; UNROLL] = if aligned && at + round <= end {
            // SAFETY: a chunk is an array of `T`, the input is on a boundary and has this many of them.
            let chunks = unsafe { core::slice::from_raw_parts(input.as_ptr().cast::<Chunk<T, W>>(), input.len() / W) };
            let first = (at + mine) / W;
            // SAFETY: the round ends before the input.
            core::array::from_fn(|k| unsafe { load(chunks, first + k * BLOCK as usize) }.0)
        } else {
            core::array::from_fn(|k| single::<T, W>(input, at + mine + k * step))
        };
        sums = combine::<Sum, T, W>(sums, tree::<Sum, T, W, UNROLL>(chunks, UNROLL));
        at += round;
    }
    let mut sum = sums[0];
    let mut k = 1;
    while k < W {
        sum = sum.add(sums[k]);
        k += 1;
    }
    sum
}

/// The elements from `at` on; zeros past the end.
#[inline(always)]
fn single<T: Rounded + Pod, const W: usize>(input: &[T], at: usize) -> [T; W] {
    core::array::from_fn(|k| input.get(at + k).copied().unwrap_or(T::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn leaves_cover_the_input() {
        for (n, each, count) in [
            (0, LEAF, 0),
            (1, LEAF, 1),
            (LEAF, LEAF, 1),
            (LEAF + 1, LEAF, 2),
            (LEAF * LEAVES, LEAF, LEAVES),
            (LEAF * LEAVES + 1, 2 * LEAF, LEAVES / 2 + 1),
            (1 << 28, 8 * LEAF, LEAVES),
            (1 << 40, 1 << 28, LEAVES),
        ] {
            assert_eq!((leaf(n), leaves(n)), (each, count), "{n}");
        }
        // Eight chunks in a tree, one round, four numbers of a chunk, two trees of a block, one leaf.
        assert_eq!((depth(1, 4), depth(1, 8)), (3 + 1 + 4 + 10 + 1 + 10, 3 + 2 + 2 + 10 + 1 + 10));
    }
}
