//! The textbook's way: pairs of a head and a value in memory, scanned by an operator on pairs.
//!
//! One launch makes the pairs, one scans them as any values of an operator of one's own, one takes the results out of
//! them. The operator is associative, so any scan will do, but pairs are twice as long as values, and are written and
//! read twice.

use super::is_head;
use crate::number::Number;
use crate::operator::{Operator, Pod, Zeroable};
use crate::reduce::{Max, Min, Op, Sum};
use crate::scan::best::any_scan;
use core::marker::PhantomData;
use cuda_std::{kernel, thread};

pub use crate::scan::best::{BLOCK as SCAN_BLOCK, any_rows, tile};

/// The idea in one line.
pub const IDEA: &str =
    "pairs of a head and a value, scanned by an operator on pairs: three passes over twice the bytes";

/// Default number of threads per block of the first and last launch; any number works.
pub const BLOCK: u32 = 256;

/// A value, and 1 if a run begins at it or among what it was combined from, else 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Pair<T> {
    /// The value from the last head on.
    pub value: T,
    /// As wide as the value, so that there is no padding.
    pub head: T,
}

// SAFETY: both fields have every bit pattern, zero among them.
unsafe impl<T: Number> Zeroable for Pair<T> {}
// SAFETY: there is no padding between two fields of one type, and every bit pattern is valid.
unsafe impl<T: Number> Pod for Pair<T> {}

/// One run after the other, where values of a run are combined by `O`.
pub struct InRuns<O>(PhantomData<O>);

impl<O: Op<T>, T: Number> Operator<Pair<T>> for InRuns<O> {
    const COMMUTATIVE: bool = false;

    #[inline(always)]
    fn identity() -> Pair<T> {
        Pair { value: O::identity(), head: T::ZERO }
    }
    #[inline(always)]
    fn combine(a: Pair<T>, b: Pair<T>) -> Pair<T> {
        let both = O::combine(a.value, b.value);
        let begins = b.head != T::ZERO;
        Pair { value: if begins { b.value } else { both }, head: if begins { b.head } else { a.head } }
    }
}

/// Makes a pair of each element.
///
/// # Safety
/// A thread per element; there are as many keys as values, and `pairs` has as many.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_by_key_make_pairs<T: Number>(keys: &[u32], values: &[T], pairs: *mut Pair<T>) {
    let i = thread::global_index();
    if i < values.len() {
        // SAFETY: there is an element `i`, which is this thread's alone.
        unsafe {
            let head = if is_head(keys, i) { T::HIGHEST } else { T::ZERO };
            pairs.add(i).write(Pair { value: *values.get_unchecked(i), head });
        }
    }
}

/// Scans the pairs inclusively.
///
/// # Safety
/// The requirements are those of [`scan_best()`](crate::scan::best::scan_best()) in tiles of [`any_rows`].
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_by_key_scan_pairs<O: Op<T>, T: Number>(pairs: &[Pair<T>], state: *mut u64, scanned: *mut Pair<T>) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { any_scan::<InRuns<O>, Pair<T>>(pairs, 0, state, scanned) }
}

/// Takes the results out of the scanned pairs. `exclusive` is 0 or 1.
///
/// # Safety
/// A thread per element; there are as many pairs as keys, and `output` has as many elements.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_by_key_take_values<O: Op<T>, T: Number>(
    keys: &[u32],
    scanned: &[Pair<T>],
    exclusive: u32,
    output: *mut T,
) {
    let i = thread::global_index();
    if i >= keys.len() {
        return;
    }
    // SAFETY: there is an element `i`, which is this thread's alone; one that is no head has one before it.
    unsafe {
        let value = if exclusive == 0 {
            scanned.get_unchecked(i).value
        } else if is_head(keys, i) {
            O::identity()
        } else {
            scanned.get_unchecked(i - 1).value
        };
        output.add(i).write(value);
    }
}
