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

    /// `W` elements, [`width`] of this type, as they are loaded: a thread converts them when it uses them, since a
    /// conversion right after a load would wait for it, before the loads of the next rows.
    type Loaded<const W: usize>: Copy;

    /// The value of an element; exact.
    fn widen(bits: Self::Bits) -> Self::Tap;

    /// The element nearest to a result.
    fn narrow(value: Self::Tap) -> Self::Bits;

    /// Reads `W` elements at once.
    ///
    /// # Safety
    /// `at` is aligned to the `W` elements, which are not written meanwhile.
    unsafe fn load<const W: usize>(at: *const Self::Bits) -> Self::Loaded<W>;

    /// Elements whose bits are all 0.
    fn zeros<const W: usize>() -> Self::Loaded<W>;

    /// Sets one of loaded elements, which was 0.
    fn set<const W: usize>(loaded: &mut Self::Loaded<W>, at: usize, element: Self::Bits);

    /// The values of loaded elements.
    fn values<const W: usize>(loaded: Self::Loaded<W>) -> [Self::Tap; W];

    /// Writes `W` elements, [`width`] of this type, at once.
    ///
    /// # Safety
    /// `at` is aligned to the `W` elements, which no other thread accesses meanwhile.
    unsafe fn store<const W: usize>(values: &[Self::Tap; W], at: *mut Self::Bits);
}

/// Number of elements of this size that a thread reads and writes at once, for a mask of this side: 16 bytes, but at
/// most eight for small masks and four for others, since the sums of each element have registers of their own.
pub const fn width(bytes: usize, mask: usize) -> usize {
    match (bytes, mask) {
        (8, _) => 2,
        (1 | 2, 3 | 5) => 8,
        _ => 4,
    }
}

macro_rules! as_they_are {
    ($($t:ty)*) => { $(
        impl Pixel for $t {
            type Bits = $t;
            type Tap = $t;
            type Loaded<const W: usize> = [$t; W];

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
            fn zeros<const W: usize>() -> [$t; W] {
                [0.0; W]
            }
            #[inline(always)]
            fn set<const W: usize>(loaded: &mut [$t; W], at: usize, element: $t) {
                loaded[at] = element;
            }
            #[inline(always)]
            fn values<const W: usize>(loaded: [$t; W]) -> [$t; W] {
                loaded
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
    /// Four elements are the lower half.
    type Loaded<const W: usize> = u64;

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
    unsafe fn load<const W: usize>(at: *const u8) -> u64 {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            match W {
                4 => at.cast::<u32>().read().into(),
                _ => at.cast::<u64>().read(),
            }
        }
    }
    #[inline(always)]
    fn zeros<const W: usize>() -> u64 {
        0
    }
    #[inline(always)]
    fn set<const W: usize>(loaded: &mut u64, at: usize, element: u8) {
        *loaded |= u64::from(element) << (8 * at);
    }
    #[inline(always)]
    fn values<const W: usize>(bytes: u64) -> [f32; W] {
        let mut values = [0.0; W];
        let mut w = 0;
        while w < W {
            values[w] = Self::widen((bytes >> (8 * w)) as u8);
            w += 1;
        }
        values
    }
    #[inline(always)]
    unsafe fn store<const W: usize>(values: &[f32; W], at: *mut u8) {
        let (mut bytes, mut w) = (0, 0);
        while w < W {
            Self::set::<W>(&mut bytes, w, Self::narrow(values[w]));
            w += 1;
        }
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            match W {
                4 => at.cast::<u32>().write(bytes as u32),
                _ => at.cast::<u64>().write(bytes),
            }
        }
    }
}

impl Pixel for F16 {
    type Bits = u16;
    type Tap = f32;
    /// Four elements are the first half.
    type Loaded<const W: usize> = [u64; 2];

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        unpack_f16(bits.into())[0]
    }
    #[inline(always)]
    fn narrow(value: f32) -> u16 {
        pack_f16(value, 0.0) as u16
    }
    #[inline(always)]
    unsafe fn load<const W: usize>(at: *const u16) -> [u64; 2] {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            match W {
                4 => [at.cast::<u64>().read(), 0],
                _ => Vector::load(at.cast()).0,
            }
        }
    }
    #[inline(always)]
    fn zeros<const W: usize>() -> [u64; 2] {
        [0; 2]
    }
    #[inline(always)]
    fn set<const W: usize>(loaded: &mut [u64; 2], at: usize, element: u16) {
        loaded[at / 4] |= u64::from(element) << (16 * (at % 4));
    }
    #[inline(always)]
    fn values<const W: usize>(halves: [u64; 2]) -> [f32; W] {
        let mut values = [0.0; W];
        let mut w = 0;
        while w < W {
            values[w] = unpack_f16((halves[w / 4] >> (32 * (w % 4 / 2))) as u32)[w % 2];
            w += 1;
        }
        values
    }
    #[inline(always)]
    unsafe fn store<const W: usize>(values: &[f32; W], at: *mut u16) {
        let (mut halves, mut w) = ([0; 2], 0);
        while w < W {
            halves[w / 4] |= u64::from(pack_f16(values[w], values[w + 1])) << (16 * (w % 4));
            w += 2;
        }
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            match W {
                4 => at.cast::<u64>().write(halves[0]),
                _ => Vector(halves).store(at.cast()),
            }
        }
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
            let loaded = <u8 as Pixel>::load::<4>(bytes.0.as_ptr());
            assert_eq!(<u8 as Pixel>::values(loaded), [7.0, 0.0, 255.0, 128.0]);
            <u8 as Pixel>::store(&[1.4, 300.0, -2.0, 9.5], bytes.0.as_mut_ptr());
        }
        assert_eq!(bytes.0, [1, 255, 0, 10]);
        let mut bytes = Aligned([7_u8, 0, 255, 128, 1, 2, 3, 4]);
        // SAFETY: eight aligned bytes.
        unsafe {
            let loaded = <u8 as Pixel>::load::<8>(bytes.0.as_ptr());
            assert_eq!(<u8 as Pixel>::values(loaded), [7.0, 0.0, 255.0, 128.0, 1.0, 2.0, 3.0, 4.0]);
            <u8 as Pixel>::store(&[1.4, 300.0, -2.0, 9.5, 5.0, 6.0, 7.0, 8.0], bytes.0.as_mut_ptr());
        }
        assert_eq!(bytes.0, [1, 255, 0, 10, 5, 6, 7, 8]);
        let mut loaded = <u8 as Pixel>::zeros::<8>();
        <u8 as Pixel>::set::<8>(&mut loaded, 6, 9);
        assert_eq!(<u8 as Pixel>::values(loaded), [0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 9.0, 0.0]);
        let mut doubles = Aligned([1.5, -2.5]);
        // SAFETY: two aligned doubles.
        unsafe {
            assert_eq!(<f64 as Pixel>::load::<2>(doubles.0.as_ptr()), [1.5, -2.5]);
            <f64 as Pixel>::store(&[3.5, 4.5], doubles.0.as_mut_ptr());
        }
        assert_eq!(doubles.0, [3.5, 4.5]);
    }
}
