//! The elements of images, each with the type in which they are filtered.

use crate::filter::Sample;
use crate::number::F16;
use bytemuck::Pod;
use cuda_std::launch::{Instance, Scalar};
use cuda_std::math::{pack_f16, unpack_f16};
use cuda_std::memory::Vector;

/// An element of an image: `f32`, `f64`, `u8`, or [`F16`].
///
/// `u8` and `F16` are filtered as `f32`. Results are rounded to the nearest element, those halfway between two to the
/// even one; a `u8` has at least 0 and at most 255, and is 0 where the result is NaN.
pub trait Pixel: Instance + Copy + 'static {
    /// An element in memory.
    type Bits: Scalar + Pod;

    /// Taps and sums.
    type Tap: Sample;

    /// The value of an element; exact.
    fn widen(bits: Self::Bits) -> Self::Tap;

    /// The element nearest to a result.
    fn narrow(value: Self::Tap) -> Self::Bits;

    /// Reads `W` elements, [`width`] of this type, at once.
    ///
    /// # Safety
    /// `at` is aligned to the `W` elements, which are not written meanwhile.
    unsafe fn load<const W: usize>(at: *const Self::Bits) -> [Self::Tap; W];

    /// Writes `W` elements, [`width`] of this type, at once.
    ///
    /// # Safety
    /// `at` is aligned to the `W` elements, which no other thread accesses meanwhile.
    unsafe fn store<const W: usize>(values: &[Self::Tap; W], at: *mut Self::Bits);
}

/// Number of elements of this size that a thread reads and writes at once: 16 bytes, but at most four, since the sums
/// of each element of a window have registers of their own.
pub const fn width(bytes: usize) -> usize {
    if bytes == 8 { 2 } else { 4 }
}

macro_rules! as_they_are {
    ($($t:ty)*) => { $(
        impl Pixel for $t {
            type Bits = $t;
            type Tap = $t;

            #[inline(always)]
            fn widen(bits: $t) -> $t {
                bits
            }
            #[inline(always)]
            fn narrow(value: $t) -> $t {
                value
            }
            #[inline(always)]
            unsafe fn load<const W: usize>(at: *const $t) -> [$t; W] {
                // SAFETY: the caller upholds this function's contract.
                unsafe { Vector::<$t, W>::load(at.cast()).0 }
            }
            #[inline(always)]
            unsafe fn store<const W: usize>(values: &[$t; W], at: *mut $t) {
                // SAFETY: the caller upholds this function's contract.
                unsafe {
                    let (vector, at) = (Vector(*values), at.cast());
                    match W {
                        4 => vector.store(at),
                        // A plain copy of two values is one instruction anyway, and does not constrain LLVM's choice of
                        // registers for the sums: with `store`, the f64 kernel of 13 x 13 takes 140 registers instead
                        // of 124, and a multiprocessor runs one block fewer.
                        _ => at.write(vector),
                    }
                }
            }
        }
    )* };
}
as_they_are!(f32 f64);

/// 2^23: the last place of the numbers from here to its double is 1.
const UNIT: f32 = 8_388_608.0;

impl Pixel for u8 {
    type Bits = u8;
    type Tap = f32;

    /// A conversion instruction would run at a quarter of the rate of this subtraction.
    #[inline(always)]
    fn widen(bits: u8) -> f32 {
        f32::from_bits(UNIT.to_bits() | u32::from(bits)) - UNIT
    }
    /// The addition rounds.
    #[inline(always)]
    #[expect(clippy::manual_clamp, reason = "`clamp` would keep a NaN, which becomes 0 here")]
    fn narrow(value: f32) -> u8 {
        (value.max(0.0).min(255.0) + UNIT).to_bits() as u8
    }
    #[inline(always)]
    unsafe fn load<const W: usize>(at: *const u8) -> [f32; W] {
        // SAFETY: the caller upholds this function's contract.
        let word = unsafe { at.cast::<u32>().read() };
        let mut values = [0.0; W];
        let mut w = 0;
        while w < W {
            values[w] = Self::widen((word >> (8 * w)) as u8);
            w += 1;
        }
        values
    }
    #[inline(always)]
    unsafe fn store<const W: usize>(values: &[f32; W], at: *mut u8) {
        let (mut word, mut w) = (0, 0);
        while w < W {
            word |= u32::from(Self::narrow(values[w])) << (8 * w);
            w += 1;
        }
        // SAFETY: the caller upholds this function's contract.
        unsafe { at.cast::<u32>().write(word) };
    }
}

impl Pixel for F16 {
    type Bits = u16;
    type Tap = f32;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        unpack_f16(bits.into())[0]
    }
    #[inline(always)]
    fn narrow(value: f32) -> u16 {
        pack_f16(value, 0.0) as u16
    }
    #[inline(always)]
    unsafe fn load<const W: usize>(at: *const u16) -> [f32; W] {
        // SAFETY: the caller upholds this function's contract.
        let pairs = unsafe { at.cast::<u64>().read() };
        let mut values = [0.0; W];
        let mut w = 0;
        while w < W {
            values[w] = unpack_f16((pairs >> (32 * (w / 2))) as u32)[w % 2];
            w += 1;
        }
        values
    }
    #[inline(always)]
    unsafe fn store<const W: usize>(values: &[f32; W], at: *mut u16) {
        let (mut pairs, mut w) = (0, 0);
        while w < W {
            pairs |= u64::from(pack_f16(values[w], values[w + 1])) << (16 * w);
            w += 2;
        }
        // SAFETY: the caller upholds this function's contract.
        unsafe { at.cast::<u64>().write(pairs) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_exact_and_results_are_rounded_to_them() {
        assert!((0..=255).all(|byte| <u8 as Pixel>::widen(byte) == f32::from(byte)));
        assert!((0..=255).all(|byte| <u8 as Pixel>::narrow(f32::from(byte)) == byte));
        let cases = [(0.5, 0), (1.5, 2), (2.5, 2), (254.5, 254), (254.51, 255), (255.5, 255), (1e30, 255)];
        for (value, byte) in cases.into_iter().chain([(-0.0, 0), (-1e30, 0), (f32::INFINITY, 255), (f32::NAN, 0)]) {
            assert_eq!(<u8 as Pixel>::narrow(value), byte, "{value}");
        }
    }

    #[test]
    fn vectors_are_their_elements_in_order() {
        #[repr(align(16))]
        struct Aligned<T>(T);
        let mut bytes = Aligned([7_u8, 0, 255, 128]);
        // SAFETY: four aligned bytes.
        unsafe {
            let values = <u8 as Pixel>::load::<4>(bytes.0.as_ptr());
            assert_eq!(values, [7.0, 0.0, 255.0, 128.0]);
            <u8 as Pixel>::store(&[1.4, 300.0, -2.0, 9.5], bytes.0.as_mut_ptr());
        }
        assert_eq!(bytes.0, [1, 255, 0, 10]);
        let mut doubles = Aligned([1.5, -2.5]);
        // SAFETY: two aligned doubles.
        unsafe {
            assert_eq!(<f64 as Pixel>::load::<2>(doubles.0.as_ptr()), [1.5, -2.5]);
            <f64 as Pixel>::store(&[3.5, 4.5], doubles.0.as_mut_ptr());
        }
        assert_eq!(doubles.0, [3.5, 4.5]);
    }
}
