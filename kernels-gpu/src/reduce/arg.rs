//! `argmax` and `argmin` in one pass and one launch, at the speed of `best`.
//!
//! - An index per element would triple the work. A thread keeps the best value so far, and the round of [`UNROLL`]
//!   vectors that first had it; a round is reduced as in `best`, without any index.
//! - At the end each thread loads its best round again and searches it for the first position of the value.
//! - Pairs of value and index are then reduced as in `best`: shuffles, a shared slot per warp, the last block. Of equal
//!   values the lower index wins, so that the order does not matter.

use super::{
    Max, Min, Op, WARP,
    best::UNROLL,
    collective::{block_reduce_by, is_last_block},
};
use crate::number::Number;
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
    let arg = match size_of::<T>() {
        4 => thread_reduce::<O, T, 4>(input),
        _ => thread_reduce::<O, T, 2>(input),
    };
    // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
    let arg = unsafe { block_reduce_by(arg, nothing::<O, T>(), |arg| warp_reduce::<O, T>(arg)) };
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

/// The thread's best element.
#[inline(always)]
fn thread_reduce<O: Op<T>, T: Number, const W: usize>(input: &[T]) -> Arg<T> {
    let (me, threads) = (thread::global_index(), thread::grid_stride());
    let first = input.as_ptr();
    let (head, vectors) = Vector::<T, W>::parts(first, input.len());
    let tail = head + vectors * W;
    // SAFETY: after `head` elements the input is on a 16-byte boundary; called only where `i` is one of the vectors.
    let load = |i: usize| unsafe { Vector::<T, W>::load(first.add(head).cast::<Vector<T, W>>().add(i)) };

    // Rounds of vectors `i`, `i + threads`, …; past the end the last vector is used again, which cannot improve the
    // result.
    let mut best = O::identity();
    let mut best_round = me;
    let mut i = me;
    while i < vectors {
        let round: [_; UNROLL] = core::array::from_fn(|k| load((i + k * threads).min(vectors - 1)));
        let value = O::combine(best, tree::<O, T, W>(round));
        if !value.same(best) {
            (best, best_round) = (value, i);
        }
        i += UNROLL * threads;
    }
    let mut arg = nothing::<O, T>();
    if me < vectors {
        // The search runs from back to front, so that the first position is kept.
        let mut k = UNROLL;
        while k > 0 {
            k -= 1;
            let i = best_round + k * threads;
            if i < vectors {
                let Vector(values) = load(i);
                let mut w = W;
                while w > 0 {
                    w -= 1;
                    if values[w].same(best) {
                        arg = Arg { value: best, index: (head + i * W + w) as u64 };
                    }
                }
            }
        }
    }
    // SAFETY: elements before the vectors, and after them.
    unsafe {
        if me < head {
            arg = better::<O, T>(arg, Arg { value: first.add(me).read(), index: me as u64 });
        }
        if me < input.len() - tail {
            arg = better::<O, T>(arg, Arg { value: first.add(tail + me).read(), index: (tail + me) as u64 });
        }
    }
    arg
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
