//! Atomics: element `i` is applied to counter `i % addresses` by one of eight operations on six types, and no update is
//! lost.
//!
//! A plain `counter += 1` is a load, an addition and a store; threads that do it at the same time read the same old
//! value, and all but one addition is lost (`failing::counter_without_atomics` shows the race checker's report). An
//! atomic is one indivisible step for all other threads. Its cost is contention: operations on one address are executed
//! one after the other.
//!
//! | rung | atomic instructions on device memory, n elements |
//! |---|---|
//! | [`global`] | n / 32 by warps, each for min(32, addresses) different addresses |
//! | [`shared`] | at most one per address and block |
//! | [`warp_aggregated`] | n / 32, and no two lanes of a warp access the same address |
//!
//! The figure of merit is lanes per address: 32 where all lanes of a warp access one counter, 1 where each has its own.
//! With `--addresses 32` and more the lanes of a warp have different counters anyway, and aggregation saves nothing.
//!
//! | operation | result | how | types |
//! |---|---|---|---|
//! | [`Add`], [`Sub`] | sum, its negative; integers wrap | PTX subtracts by adding the negative | all |
//! | [`Inc`], [`Dec`] | position on a ring of `LAST + 1` numbers after a step per element | by a CAS loop | u32 |
//! | [`Min`], [`Max`] | extreme value; without elements the type's limit | floats as integers of the same order | all |
//! | [`Exch`] | the value of one of the elements; each element gets the previous value | see below | all |
//! | [`Cas`] | sum: read, add, write if the counter is unchanged, else repeat | implements any operation | all |
//!
//! The types are CUDA's `int`, `unsigned int`, `unsigned long long int`, `float` and `double`, and i64, whose addition
//! is that of u64. PTX counts around a ring with u32 only, and has no minimum and maximum of floats: `cuda_std` uses
//! integer instructions (see `Atomic::fetch_min`).
//!
//! An exchange returns the value that it replaces, so the values of a counter are only permuted: the returned values
//! and the final value are together the elements' values and the initial `empty`. Which element gets which value
//! differs between runs. All other results are the same in every run, since the operations are associative and
//! commutative; sums of floats only if nothing is rounded, as with whole numbers below 2^24 (2^53). Otherwise they
//! depend on the order of arrival.
//!
//! Sources: Threehearts 2021 (`docs/sources.md`), chapter 7 (data races; the operations `add`, `sub`, `inc`, `dec`,
//! `min`, `max`, `exch` and `cas`; the types `int`, `unsigned int`, `unsigned long long int` and `float`); A. Adinets,
//! "CUDA Pro Tip: Optimized Filtering with Warp-Aggregated Atomics" (2014); E. Westphal, "Voting and Shuffling to
//! Optimize Atomic Operations" (2015) for groups of any lanes.

use crate::number::Number;
use cuda_std::{
    atomic::{Atomic, Ordering, Scope},
    launch::Instance,
};

pub mod global;
pub mod shared;
pub mod warp_aggregated;

/// Default number of threads per block.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor: the number that is resident at the same time, so that a block's own counters pay off.
pub const BLOCKS_PER_SM: u32 = 8;

/// Largest number of counters: those of a block are in shared memory.
pub const MAX_ADDRESSES: u32 = 1024;

/// The largest number of the ring that [`Inc`] and [`Dec`] count around.
pub const LAST: u32 = 1000;

/// An operation on a counter.
pub trait Op<T: Number>: Instance + 'static {
    /// Whether the previous value is part of the result.
    const RETURNS: bool = false;

    /// The counters' initial value; joined with any part it gives that part. No element of an exchange may have this
    /// value.
    fn start() -> T;

    /// Applies one element by the operation's own instruction. Returns the previous value.
    fn apply<S: Scope>(counter: &Atomic<T, S>, value: T) -> T;

    /// The value of a counter after one element has been applied to `start`.
    fn part(value: T) -> T;

    /// The combination of two parts, `first` before `second`.
    fn join(first: T, second: T) -> T;

    /// Combines a counter with a part. Returns the previous value.
    fn apply_part<S: Scope>(counter: &Atomic<T, S>, part: T) -> T;
}

/// Replaces a counter by a function of its value: reads, computes, and writes if the counter still has the value that
/// was read.
#[inline(always)]
fn update<T: Number, S: Scope>(counter: &Atomic<T, S>, new: impl Fn(T) -> T) -> T {
    let mut seen = counter.load(Ordering::Relaxed);
    loop {
        match counter.compare_exchange(seen, new(seen), Ordering::Relaxed) {
            Ok(old) => return old,
            Err(found) => seen = found,
        }
    }
}

/// The sum around the ring of two numbers that are at most `LAST`.
#[inline(always)]
fn around(a: u32, b: u32) -> u32 {
    let sum = a + b;
    if sum > LAST { sum - (LAST + 1) } else { sum }
}

/// Defines an operation: `of T: Number` for all numbers, `of u32` for one type.
macro_rules! op {
    (
        $(#[$doc:meta])* $name:ident $entry:literal of $t:ident $(: $bound:ident)?, starts $start:expr,
        $(returns $returns:expr,)?
        applies |$counter:ident, $value:ident| $apply:expr,
        part $part:expr, joins |$first:ident, $second:ident| $join:expr,
        applies |$at:ident, $joined:ident| $apply_part:expr
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name;

        impl Instance for $name {
            const NAME: &'static str = $entry;
        }

        impl$(<$t: $bound>)? Op<$t> for $name {
            $(const RETURNS: bool = $returns;)?

            #[inline(always)]
            fn start() -> $t {
                $start
            }
            #[inline(always)]
            fn apply<S: Scope>($counter: &Atomic<$t, S>, $value: $t) -> $t {
                $apply
            }
            #[inline(always)]
            fn part($value: $t) -> $t {
                $part
            }
            #[inline(always)]
            fn join($first: $t, $second: $t) -> $t {
                $join
            }
            #[inline(always)]
            fn apply_part<S: Scope>($at: &Atomic<$t, S>, $joined: $t) -> $t {
                $apply_part
            }
        }
    };
}
op!(
    /// Adds the value.
    Add "add" of T: Number, starts T::ZERO, applies |counter, value| counter.fetch_add(value, Ordering::Relaxed),
    part value, joins |a, b| a.add(b), applies |counter, part| counter.fetch_add(part, Ordering::Relaxed)
);
op!(
    /// Subtracts the value.
    Sub "sub" of T: Signed, starts T::ZERO, applies |counter, value| counter.fetch_sub(value, Ordering::Relaxed),
    part value.negative(), joins |a, b| a.add(b),
    applies |counter, part| counter.fetch_add(part, Ordering::Relaxed)
);
op!(
    /// Adds 1, and wraps from `LAST` to 0; the element's value is not used.
    Inc "inc" of u32, starts 0, applies |counter, _value| counter.fetch_inc(LAST, Ordering::Relaxed),
    part 1, joins |a, b| around(a, b), applies |counter, part| update(counter, |old| around(old, part))
);
op!(
    /// Subtracts 1, and wraps from 0 to `LAST`; the element's value is not used.
    Dec "dec" of u32, starts 0, applies |counter, _value| counter.fetch_dec(LAST, Ordering::Relaxed),
    part LAST, joins |a, b| around(a, b), applies |counter, part| update(counter, |old| around(old, part))
);
op!(
    /// Keeps the smaller value.
    Min "min" of T: Number, starts T::HIGHEST, applies |counter, value| counter.fetch_min(value, Ordering::Relaxed),
    part value, joins |a, b| a.minimum(b), applies |counter, part| counter.fetch_min(part, Ordering::Relaxed)
);
op!(
    /// Keeps the larger value.
    Max "max" of T: Number, starts T::LOWEST, applies |counter, value| counter.fetch_max(value, Ordering::Relaxed),
    part value, joins |a, b| a.maximum(b), applies |counter, part| counter.fetch_max(part, Ordering::Relaxed)
);
op!(
    /// Writes the value, and returns the previous one.
    Exch "exch" of T: Number, starts T::HIGHEST, returns true,
    applies |counter, value| counter.swap(value, Ordering::Relaxed),
    part value, joins |a, b| if b.same(T::HIGHEST) { a } else { b },
    applies |counter, part| counter.swap(part, Ordering::Relaxed)
);
op!(
    /// Adds the value by compare-and-swap.
    Cas "cas" of T: Number, starts T::ZERO, applies |counter, value| update(counter, |old| old.add(value)),
    part value, joins |a, b| a.add(b), applies |counter, part| update(counter, |old| old.add(part))
);

/// Numbers with a negation, which wraps for unsigned types.
pub trait Signed: Number {
    /// Returns 0 minus this number.
    fn negative(self) -> Self;
}

macro_rules! integer {
    ($($t:ty)*) => { $(
        impl Signed for $t {
            #[inline(always)]
            fn negative(self) -> Self {
                self.wrapping_neg()
            }
        }
    )* };
}
integer!(i32 u32 i64 u64);

macro_rules! float {
    ($($t:ty)*) => { $(
        impl Signed for $t {
            #[inline(always)]
            fn negative(self) -> Self {
                -self
            }
        }
    )* };
}
float!(f32 f64);
