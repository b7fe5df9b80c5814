//! `argmax` and `argmin` in one pass and one launch.
//!
//! - An index per element would triple the work. A thread keeps the best value so far, and the round of [`UNROLL`]
//!   vectors that first had it; a round is reduced as in `best`, without any index.
//! - Then the block's best value is known. Only the threads that have it, which is usually one, load their best round
//!   again and search it for the first position of the value: if all did, those of an H200 would read 17 MB again.
//! - The last block finds the best of the blocks' values. Of equal values the lower index wins, so that the order does
//!   not matter.

use super::{
    Max, Min, Op, WARP,
    best::UNROLL,
    collective::{block_reduce, block_reduce_by, is_last_block},
};
use crate::number::Number;
use crate::operator::slots;
use cuda_std::{kernel, memory::Vector, thread, warp};

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 512;

/// The index that stands for no element.
pub const NOWHERE: u64 = u64::MAX;

/// A value, and the lowest index at which it occurs.
#[derive(Clone, Copy)]
struct Arg<T> {
    value: T,
    index: u64,
}

/// Writes the index of the first maximum (minimum) to `output[0]`; the first NaN counts as both.
///
/// # Safety
/// The block is a multiple of 32; `values` and `indices` have one element per block and are used by this launch only;
/// `ticket` is 0.
#[kernel(for O in [Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn reduce_arg<O: Op<T>, T: Number>(
    input: &[T],
    values: *mut T,
    indices: *mut u64,
    ticket: *mut u32,
    output: *mut u64,
) {
    let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    // SAFETY: every thread of the block reaches these calls, and the block consists of whole warps.
    let arg = unsafe {
        match size_of::<T>() {
            4 => block_arg::<O, T, 4>(input),
            _ => block_arg::<O, T, 2>(input),
        }
    };
    if tid == 0 {
        // SAFETY: one partial result per block.
        unsafe {
            let block = thread::block_idx_x() as usize;
            values.add(block).write(arg.value);
            indices.add(block).write(arg.index);
        }
    }
    // Its barrier also separates the two uses of the shared memory in `block_reduce_by`.
    // SAFETY: the caller upholds this function's contract.
    if !unsafe { is_last_block(ticket) } {
        return;
    }
    let mut arg = nothing::<O, T>();
    let mut i = tid as usize;
    while i < blocks as usize {
        // SAFETY: all blocks have written their results, which are not written again.
        let other = unsafe { Arg { value: values.add(i).read(), index: indices.add(i).read() } };
        arg = better::<O, T>(arg, other);
        i += thread::block_dim_x() as usize;
    }
    // SAFETY: the whole block reaches this call: all its threads got the same answer from the barrier.
    let arg = unsafe { block_reduce_by(arg, nothing::<O, T>(), |arg| warp_reduce::<O, T>(arg)) };
    if tid == 0 {
        // SAFETY: only the last block reaches this point.
        unsafe { output.write(arg.index) };
    }
}

/// The identity: combined with any other pair it gives that pair.
#[inline(always)]
fn nothing<O: Op<T>, T: Number>() -> Arg<T> {
    Arg { value: O::identity(), index: NOWHERE }
}

/// The pair with the better value; of equal values, the pair with the lower index.
#[inline(always)]
fn better<O: Op<T>, T: Number>(a: Arg<T>, b: Arg<T>) -> Arg<T> {
    let value = O::combine(a.value, b.value);
    let (a_has_it, b_has_it) = (a.value.same(value), b.value.same(value));
    let index = match (a_has_it, b_has_it) {
        (true, true) => a.index.min(b.index),
        (true, false) => a.index,
        _ => b.index,
    };
    Arg { value, index }
}

/// The block's best element, in thread 0.
///
/// # Safety
/// All threads of the block call it together, and the block is a multiple of 32 threads.
#[inline(always)]
unsafe fn block_arg<O: Op<T>, T: Number, const W: usize>(input: &[T]) -> Arg<T> {
    let share = Share::<T, W>::of::<O>(input);
    // SAFETY: the caller upholds this function's contract.
    let value = unsafe { block_reduce::<O, T>(share.best) };
    let of_block = slots::of_warps::<T>();
    // The first warp has read the slots of all warps when its first thread has the value.
    if thread::thread_idx_x() == 0 {
        // SAFETY: the first slot.
        unsafe { of_block.write(value) };
    }
    thread::sync_threads();
    // SAFETY: written before the barrier.
    let value = unsafe { of_block.read() };
    thread::sync_threads(); // all have read it, and the slots are used again
    let index = if share.best.same(value) { share.find(value) } else { NOWHERE };
    // SAFETY: the caller upholds this function's contract.
    let index = unsafe { block_reduce::<Min, u64>(index) };
    Arg { value, index }
}

/// The elements of a thread: vectors `me`, `me + threads`, …, and at most one before the first vector and one after the
/// last.
struct Share<'a, T, const W: usize> {
    input: &'a [T],
    me: usize,
    threads: usize,
    head: usize,
    vectors: usize,
    best: T,
    /// The first vector of the first round that has the best value of all vectors.
    round: usize,
}

impl<'a, T: Number, const W: usize> Share<'a, T, W> {
    #[inline(always)]
    fn of<O: Op<T>>(input: &'a [T]) -> Self {
        let (me, threads) = (thread::global_index(), thread::grid_stride());
        let (head, vectors) = Vector::<T, W>::parts(input.as_ptr(), input.len());
        let mut share = Self { input, me, threads, head, vectors, best: O::identity(), round: me };
        let mut i = me;
        while i + (UNROLL - 1) * threads < vectors {
            share.add::<O>(i, core::array::from_fn(|k| share.load(i + k * threads)));
            i += UNROLL * threads;
        }
        if i < vectors {
            // Past the end the last vector is used again, which cannot improve the result.
            share.add::<O>(i, core::array::from_fn(|k| share.load((i + k * threads).min(vectors - 1))));
        }
        for at in share.singles() {
            if at < input.len() {
                // SAFETY: an element.
                share.best = O::combine(share.best, unsafe { *input.get_unchecked(at) });
            }
        }
        share
    }

    #[inline(always)]
    fn load(&self, i: usize) -> Vector<T, W> {
        // SAFETY: after `head` elements the input is on a 16-byte boundary; `i` is one of the vectors.
        unsafe { Vector::<T, W>::load(self.input.as_ptr().add(self.head).cast::<Vector<T, W>>().add(i)) }
    }

    /// Takes account of the round whose first vector is `i`.
    #[inline(always)]
    fn add<O: Op<T>>(&mut self, i: usize, round: [Vector<T, W>; UNROLL]) {
        let value = O::combine(self.best, tree::<O, T, W>(round));
        if !value.same(self.best) {
            (self.best, self.round) = (value, i);
        }
    }

    /// Where the elements before and after the vectors are; [`usize::MAX`] stands for none.
    #[inline(always)]
    fn singles(&self) -> [usize; 2] {
        let tail = self.head + self.vectors * W + self.me;
        [if self.me < self.head { self.me } else { usize::MAX }, tail]
    }

    /// The first position of the value, which is the thread's best one; [`NOWHERE`] without elements.
    #[inline(always)]
    fn find(&self, value: T) -> u64 {
        let mut index = NOWHERE;
        let [before, after] = self.singles();
        let is_at = |at: usize| {
            // SAFETY: an element.
            at < self.input.len() && unsafe { *self.input.get_unchecked(at) }.same(value)
        };
        // The search runs from back to front, so that the first position is kept.
        if is_at(after) {
            index = after as u64;
        }
        let mut k = UNROLL;
        while k > 0 {
            k -= 1;
            let i = self.round + k * self.threads;
            if i < self.vectors {
                let Vector(values) = self.load(i);
                let mut w = W;
                while w > 0 {
                    w -= 1;
                    if values[w].same(value) {
                        index = (self.head + i * W + w) as u64;
                    }
                }
            }
        }
        if is_at(before) { before as u64 } else { index }
    }
}

/// The best value of a round.
#[inline(always)]
fn tree<O: Op<T>, T: Number, const W: usize>(mut round: [Vector<T, W>; UNROLL]) -> T {
    let mut half = UNROLL / 2;
    while half > 0 {
        let mut k = 0;
        while k < half {
            let mut w = 0;
            while w < W {
                round[k].0[w] = O::combine(round[k].0[w], round[k + half].0[w]);
                w += 1;
            }
            k += 1;
        }
        half /= 2;
    }
    let mut value = round[0].0[0];
    let mut w = 1;
    while w < W {
        value = O::combine(value, round[0].0[w]);
        w += 1;
    }
    value
}

/// The best pair of a warp, in lane 0.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
unsafe fn warp_reduce<O: Op<T>, T: Number>(mut arg: Arg<T>) -> Arg<T> {
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: by contract all lanes named by the mask reach this call.
        let other = unsafe {
            Arg {
                value: warp::shuffle_down(warp::ALL, arg.value, delta),
                index: warp::shuffle_down(warp::ALL, arg.index, delta),
            }
        };
        arg = better::<O, T>(arg, other);
        delta /= 2;
    }
    arg
}
