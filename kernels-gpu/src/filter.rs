//! Definitions shared by the convolutions: elements, masks in parts, and the values of elements outside an array.

use crate::number::Number;
use cuda_std::{launch::Scalar, math::Float};

/// An element of a signal, an image or a mask: `f32`, `f64`.
pub trait Sample: Number + Float + Scalar {}
impl Sample for f32 {}
impl Sample for f64 {}

/// Largest number of taps that a launch takes by value if the mask may have any size: the number of rounds of
/// `unroll!`.
pub const TAPS: usize = 32;

/// The taps of a mask that a launch takes by value, in the order of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Part {
    /// Index of the first tap.
    pub first: u32,
    /// Number of taps, at most [`TAPS`].
    pub count: u32,
}

// SAFETY: the type has two numbers of one size, without padding, laid out in order.
unsafe impl Scalar for Part {}

/// Elements outside the array are 0.
pub const ZERO: u32 = 0;
/// Elements outside the array equal the nearest element: `a a a|a b c d|d d d`.
pub const CLAMP: u32 = 1;
/// Elements outside the array mirror it about its edge element, which is not repeated: `d c b|a b c d|c b a`
/// (SciPy's `mirror`, NumPy's `reflect`).
pub const MIRROR: u32 = 2;

/// Index of the source of the element at `position` on an axis of `len` elements, at least one; `None` for an element
/// that counts as 0.
#[inline(always)]
pub fn source(position: i32, len: u32, border: u32) -> Option<u32> {
    let last = len as i32 - 1;
    if (position as u32) < len {
        return Some(position as u32);
    }
    match border {
        ZERO => None,
        CLAMP => Some(position.max(0).min(last) as u32),
        _ => {
            // The mirrored axis repeats after 2 * last elements and is symmetric about 0.
            let period = (2 * last as u32).max(1);
            let phase = position.unsigned_abs() % period;
            Some(phase.min(period - phase))
        }
    }
}

/// [`source`] for positions that are outside the axis by less than its length: one reflection, and no
/// division. For positions further out the result is some valid index.
#[inline(always)]
pub fn near_source(position: i32, len: u32, border: u32) -> Option<u32> {
    let last = len as i32 - 1;
    let mirrored = (last - (last - position.abs()).abs()).max(0);
    let clamped = position.max(0).min(last);
    let found = if border == MIRROR { mirrored } else { clamped };
    (border != ZERO || (position as u32) < len).then_some(found as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn borders_continue_an_axis_as_documented() {
        let around = |border| core::array::from_fn::<_, 12, _>(|i| source(i as i32 - 4, 4, border));
        let letters = |text: &str| core::array::from_fn(|i| Some(u32::from(text.as_bytes()[i] - b'a')));
        assert_eq!(around(CLAMP), letters("aaaaabcddddd"));
        assert_eq!(around(MIRROR), letters("cdcbabcdcbab"));
        let zero = around(ZERO);
        assert!(zero[..4].iter().chain(&zero[8..]).all(Option::is_none) && zero[4..8] == letters("cdcbabcdcbab")[4..8]);
        assert_eq!((source(-7, 1, MIRROR), source(3, 1, CLAMP)), (Some(0), Some(0)));
    }

    #[test]
    fn near_the_border_one_reflection_is_enough() {
        for border in [ZERO, CLAMP, MIRROR] {
            for len in 1..9 {
                for position in 1 - len..2 * len - 1 {
                    let (len, place) = (len as u32, (position, len, border));
                    assert_eq!(near_source(position, len, border), source(position, len, border), "{place:?}");
                }
            }
        }
        assert!(near_source(100, 3, MIRROR) < Some(3));
    }
}
