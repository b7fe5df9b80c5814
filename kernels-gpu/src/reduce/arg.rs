//! `argmax` and `argmin` in one pass and one launch.
//!
//! - An index per element would triple the work. A thread keeps the best value so far, and the round of [`UNROLL`]
//!   vectors that first had it; a round is reduced as in `best`, without any index.
//! - Then the warp's best value is known. If one lane has it, which is usual, all lanes search that lane's best round
//!   for the first position of the value, an element each; else each lane that has it searches its own.
//! - Pairs of value and index are reduced in each block, and then in the one that starts last, as in `best`. Of equal
//!   values the lower index wins, so that the order does not matter.
//! - `f64` are compared by integer keys of the same order, as in `best`.
//!
//! (H200, f32 of 2^20 and 2^24, us: 8.2 and 27.8. The block's best value before the search takes two barriers more, 9.3
//! and 32.1; a search by every thread of its own best round reads 17 MB again, 10.8 and 38.5.)

use super::{
    Max, Min, Op, WARP,
    best::UNROLL,
    collective::warp_total,
    form::{AsTheyAre, ByKeys, Faster, Form, bits, faster},
    gather::Gather,
    keys::{Keys, Largest, Smallest},
};
use crate::number::Number;
use crate::operator::{Operator, Pod, Zeroable, shuffle};
use core::marker::PhantomData;
use cuda_std::{kernel, memory::Vector, thread, warp};

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 512;

/// The index that stands for no element.
pub const NOWHERE: u64 = u64::MAX;

/// A value, and the lowest index at which it occurs.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Arg<T> {
    value: T,
    /// The lower half first.
    index: [u32; 2],
}

// SAFETY: a number and integers, all of which may be 0.
unsafe impl<T: Number> Zeroable for Arg<T> {}
// SAFETY: all bits are valid, and there is no padding, which `new` checks.
unsafe impl<T: Number> Pod for Arg<T> {}

impl<T> Arg<T> {
    #[inline(always)]
    fn new(value: T, index: u64) -> Self {
        const { assert!(size_of::<Self>() == size_of::<T>() + size_of::<u64>()) };
        Self { value, index: [index as u32, (index >> 32) as u32] }
    }

    #[inline(always)]
    fn index(&self) -> u64 {
        u64::from(self.index[1]) << 32 | u64::from(self.index[0])
    }
}

/// A form of elements of which one is the best.
trait Extreme<T: Number>: Form<T> {
    /// Whether both values stand for the same number: NaN is the same as NaN, and -0 is not +0.
    fn same(a: T, b: T) -> bool;
    /// The best value of a warp, in every lane.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it together.
    unsafe fn of_warp(value: T) -> T;
}

impl<O: Op<T>, T: Number> Extreme<T> for AsTheyAre<O> {
    #[inline(always)]
    fn same(a: T, b: T) -> bool {
        a.same(b)
    }
    #[inline(always)]
    unsafe fn of_warp(value: T) -> T {
        // SAFETY: the caller upholds this function's contract.
        unsafe { O::combine_warp(value) }
    }
}

impl<K: Keys> Extreme<u64> for ByKeys<K> {
    #[inline(always)]
    fn same(a: u64, b: u64) -> bool {
        a == b || K::is_nan(a) && K::is_nan(b)
    }
    #[inline(always)]
    unsafe fn of_warp(value: u64) -> u64 {
        // SAFETY: the caller upholds this function's contract.
        unsafe { warp_total::<K, u64>(value) }
    }
}

/// Writes the index of the first maximum (minimum) to `output[0]`; the first NaN counts as both.
///
/// # Safety
/// The block is a multiple of 32; `words` are those of [`Gather::start`] for results [`Arg`].
#[kernel(for O in [Max, Min], for T in [f32, f64, i32, u32, i64, u64], max_registers(super::best::REGISTERS))]
pub unsafe fn reduce_arg<O: Op<T>, T: Number>(input: &[T], words: *mut u64, output: *mut u64) {
    // SAFETY: the caller upholds this function's contract; numbers with keys are `f64`, of which a vector has two, and
    // `Arg<u64>` is as large as `Arg<f64>`.
    unsafe {
        match const { (size_of::<T>(), faster::<O, T>()) } {
            (_, Faster::ByLargest) => grid_arg::<ByKeys<Largest>, _, 2>(bits(input), words, output),
            (_, Faster::BySmallest) => grid_arg::<ByKeys<Smallest>, _, 2>(bits(input), words, output),
            (4, Faster::AsTheyAre) => grid_arg::<AsTheyAre<O>, T, 4>(input, words, output),
            _ => grid_arg::<AsTheyAre<O>, T, 2>(input, words, output),
        }
    }
}

/// Writes the index of the first of the best elements, of which a vector has `W`.
///
/// # Safety
/// The requirements are those of [`reduce_arg()`].
#[inline(always)]
unsafe fn grid_arg<F: Extreme<T>, T: Number, const W: usize>(input: &[T], words: *mut u64, output: *mut u64) {
    // SAFETY: the caller upholds this function's contract; every thread reaches these calls, in whole warps.
    unsafe {
        let gather = Gather::start(words);
        let share = Share::<F, T, W>::of(input);
        let reduce_warp = |arg| warp_reduce::<F, T>(arg);
        if let Some(arg) =
            gather.reduce_by(share, |share| share.of_warp(), nothing::<F, T>(), (better::<F, T>, true), reduce_warp)
        {
            output.write(arg.index()); // Only one thread of the grid takes this branch.
        }
    }
}

/// The identity: combined with any other pair it gives that pair.
#[inline(always)]
fn nothing<F: Form<T>, T: Pod>() -> Arg<T> {
    Arg::new(F::Operator::identity(), NOWHERE)
}

/// The pair with the better value; of equal values, the pair with the lower index.
#[inline(always)]
fn better<F: Extreme<T>, T: Number>(a: Arg<T>, b: Arg<T>) -> Arg<T> {
    let value = F::Operator::combine(a.value, b.value);
    let (a_has_it, b_has_it) = (F::same(a.value, value), F::same(b.value, value));
    let index = match (a_has_it, b_has_it) {
        (true, true) => a.index().min(b.index()),
        (true, false) => a.index(),
        _ => b.index(),
    };
    Arg::new(value, index)
}

/// The best pair of a warp, in every lane.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
unsafe fn warp_reduce<F: Extreme<T>, T: Number>(arg: Arg<T>) -> Arg<T> {
    // SAFETY: the caller upholds this function's contract; all lanes take the same branch.
    unsafe {
        let value = F::of_warp(arg.value);
        let has_it = F::same(arg.value, value);
        let lanes = warp::ballot(warp::ALL, has_it);
        let index = if lanes.is_power_of_two() {
            shuffle::idx(arg.index(), lanes.trailing_zeros())
        } else {
            Min::combine_warp(if has_it { arg.index() } else { NOWHERE })
        };
        Arg::new(value, index)
    }
}

/// The elements of a thread: vectors `me`, `me + threads`, …, and at most one before the first vector and one after the
/// last.
struct Share<'a, F, T, const W: usize> {
    input: &'a [T],
    me: usize,
    threads: usize,
    head: usize,
    vectors: usize,
    best: T,
    /// The first vector of the first round that has the best value of all vectors.
    round: usize,
    form: PhantomData<F>,
}

impl<'a, F: Extreme<T>, T: Number, const W: usize> Share<'a, F, T, W> {
    #[inline(always)]
    fn of(input: &'a [T]) -> Self {
        let (me, threads) = (thread::global_index(), thread::grid_stride());
        let (head, vectors) = Vector::<T, W>::parts(input.as_ptr(), input.len());
        let best = F::Operator::identity();
        let mut share = Self { input, me, threads, head, vectors, best, round: me, form: PhantomData };
        let mut i = me;
        while i + (UNROLL - 1) * threads < vectors {
            share.add(i, core::array::from_fn(|k| share.load(i + k * threads)));
            i += UNROLL * threads;
        }
        if i < vectors {
            // Past the end the last vector is used again, which cannot improve the result.
            share.add(i, core::array::from_fn(|k| share.load((i + k * threads).min(vectors - 1))));
        }
        for at in share.singles() {
            if at < input.len() {
                // SAFETY: an element.
                share.best = F::Operator::combine(share.best, F::value(unsafe { *input.get_unchecked(at) }));
            }
        }
        share
    }

    /// The values of vector `i`.
    #[inline(always)]
    fn load(&self, i: usize) -> [T; W] {
        // SAFETY: after `head` elements the input is on a 16-byte boundary; `i` is one of the vectors.
        let Vector(elements) =
            unsafe { Vector::<T, W>::load(self.input.as_ptr().add(self.head).cast::<Vector<T, W>>().add(i)) };
        elements.map(F::value)
    }

    /// Takes account of the round whose first vector is `i`.
    #[inline(always)]
    fn add(&mut self, i: usize, round: [[T; W]; UNROLL]) {
        let value = F::Operator::combine(self.best, tree::<F::Operator, T, W>(round));
        if !F::same(value, self.best) {
            (self.best, self.round) = (value, i);
        }
    }

    /// Where the elements before and after the vectors are; [`usize::MAX`] stands for none.
    #[inline(always)]
    fn singles(&self) -> [usize; 2] {
        let tail = self.head + self.vectors * W + self.me;
        [if self.me < self.head { self.me } else { usize::MAX }, tail]
    }

    /// The warp's best element, in every lane.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it together.
    #[inline(always)]
    unsafe fn of_warp(self) -> Arg<T> {
        // SAFETY: the caller upholds this function's contract; all lanes take the same branch.
        unsafe {
            let value = F::of_warp(self.best);
            let has_it = F::same(self.best, value);
            let lanes = warp::ballot(warp::ALL, has_it);
            let index = if lanes.is_power_of_two() {
                self.find_together(lanes.trailing_zeros(), value)
            } else {
                Min::combine_warp(if has_it { self.find(value) } else { NOWHERE })
            };
            Arg::new(value, index)
        }
    }

    /// Whether there is an element at this place, and it has this value.
    #[inline(always)]
    fn is_at(&self, at: usize, value: T) -> bool {
        // SAFETY: an element.
        at < self.input.len() && F::same(F::value(unsafe { *self.input.get_unchecked(at) }), value)
    }

    /// The first position of the value, which is this thread's best one; [`NOWHERE`] without elements.
    #[inline(always)]
    fn find(&self, value: T) -> u64 {
        let mut index = NOWHERE;
        let [before, after] = self.singles();
        // The search runs from back to front, so that the first position is kept.
        if self.is_at(after, value) {
            index = after as u64;
        }
        let mut k = UNROLL;
        while k > 0 {
            k -= 1;
            let i = self.round + k * self.threads;
            if i < self.vectors {
                let values = self.load(i);
                let mut w = W;
                while w > 0 {
                    w -= 1;
                    if F::same(values[w], value) {
                        index = (self.head + i * W + w) as u64;
                    }
                }
            }
        }
        if self.is_at(before, value) { before as u64 } else { index }
    }

    /// The first position of the value, which is this lane's best one: a lane of the warp for each element of the best
    /// round. [`NOWHERE`] without elements.
    ///
    /// # Safety
    /// All 32 lanes of the warp call it together.
    #[inline(always)]
    unsafe fn find_together(&self, owner: u32, value: T) -> u64 {
        const { assert!(UNROLL * W <= WARP as usize, "a lane for each element of a round") };
        let lane = warp::lane_id() as usize;
        // SAFETY: the caller upholds this function's contract.
        let [round, me] = unsafe { shuffle::idx([self.round, self.me], owner) };
        let [before, after] = Self { me, ..*self }.singles();
        let i = round + lane / W * self.threads;
        let at = if lane < UNROLL * W && i < self.vectors { self.head + i * W + lane % W } else { usize::MAX };
        // SAFETY: the caller upholds this function's contract.
        let lanes = unsafe { warp::ballot(warp::ALL, self.is_at(at, value)) };
        // SAFETY: the caller upholds this function's contract.
        let in_round = unsafe { shuffle::idx(at, lanes.trailing_zeros()) };
        if self.is_at(before, value) {
            before as u64
        } else if lanes != 0 {
            in_round as u64
        } else if self.is_at(after, value) {
            after as u64
        } else {
            NOWHERE
        }
    }
}

/// The best value of a round.
#[inline(always)]
fn tree<O: Operator<T>, T: Pod, const W: usize>(mut round: [[T; W]; UNROLL]) -> T {
    let mut half = UNROLL / 2;
    while half > 0 {
        let mut k = 0;
        while k < half {
            let mut w = 0;
            while w < W {
                round[k][w] = O::combine(round[k][w], round[k + half][w]);
                w += 1;
            }
            k += 1;
        }
        half /= 2;
    }
    let mut value = round[0][0];
    let mut w = 1;
    while w < W {
        value = O::combine(value, round[0][w]);
        w += 1;
    }
    value
}
