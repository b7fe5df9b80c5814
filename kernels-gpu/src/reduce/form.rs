//! In which form elements are combined: as they are, or, for maxima and minima of `f64`, as keys of the same order.

use super::Op;
use super::keys::Keys;
use crate::number::Number;
use crate::operator::{Operator, Pod};
use core::marker::PhantomData;
use cuda_std::launch::is_one_of;

/// What stands for elements while they are combined, and the operator that combines it.
pub trait Form<T: Pod> {
    /// Combines values.
    type Operator: Operator<T>;

    /// The value that stands for an element.
    fn value(element: T) -> T;
    /// The element that a value stands for.
    fn element(value: T) -> T;
}

/// Elements, combined as they are.
pub struct AsTheyAre<O>(PhantomData<O>);

impl<O: Operator<T>, T: Pod> Form<T> for AsTheyAre<O> {
    type Operator = O;

    #[inline(always)]
    fn value(element: T) -> T {
        element
    }
    #[inline(always)]
    fn element(value: T) -> T {
        value
    }
}

/// The bits of `f64`, combined by their [`Keys`].
pub struct ByKeys<K>(PhantomData<K>);

impl<K: Keys> Form<u64> for ByKeys<K> {
    type Operator = K;

    #[inline(always)]
    fn value(element: u64) -> u64 {
        K::key(f64::from_bits(element))
    }
    #[inline(always)]
    fn element(value: u64) -> u64 {
        K::number(value).to_bits()
    }
}

/// Which form is faster for an operator on numbers.
#[derive(Clone, Copy)]
pub enum Faster {
    /// [`AsTheyAre`].
    AsTheyAre,
    /// [`ByKeys`] of [`Largest`](super::keys::Largest).
    ByLargest,
    /// [`ByKeys`] of [`Smallest`](super::keys::Smallest).
    BySmallest,
}

/// Which form is faster.
pub const fn faster<O: Op<T>, T: Number>() -> Faster {
    match (is_one_of(T::NAME, &["f64"]), is_one_of(O::NAME, &["max"]), is_one_of(O::NAME, &["min"])) {
        (true, true, _) => Faster::ByLargest,
        (true, _, true) => Faster::BySmallest,
        _ => Faster::AsTheyAre,
    }
}

/// The bits of numbers that are `f64`.
///
/// # Safety
/// `T` is `f64`.
#[inline(always)]
pub const unsafe fn bits<T>(numbers: &[T]) -> &[u64] {
    // SAFETY: the caller upholds this function's contract; bits have the size and the alignment of `f64`.
    unsafe { core::slice::from_raw_parts(numbers.as_ptr().cast(), numbers.len()) }
}
