//! The types of the factors: how an element is stored, and how tiles of them are multiplied.

use super::accumulator::{Accumulator, Sum};
use super::ring::ROW;
pub use crate::number::{Bf16, F16};
use crate::unroll::unroll;
use cuda_std::launch::Instance;
use cuda_std::math::{Float, pack_bf16, pack_f16, unpack_bf16, unpack_f16};
use cuda_std::memory::SharedAddress;
use cuda_std::warpgroup::{self, Sums, Tile, commit};

/// A type of factors.
pub trait Precision: Instance + Copy + 'static {
    /// An element in memory.
    type Bits: Copy + Into<u32>;

    /// A sum of products.
    type Sum: Sum;

    /// Elements of the depth in a row of a stage.
    const DEPTH: u32 = ROW / size_of::<Self::Bits>() as u32;

    /// Whether sums are stored with 32 bits, without a choice.
    const WIDE: bool;

    /// `sum + a * b`, without tensor cores.
    fn multiply_add(a: Self::Bits, b: Self::Bits, sum: Self::Sum) -> Self::Sum;

    /// Rounds two numbers to nearest and packs them to the 16 bits of a product's element, `low` into the low half.
    fn pack(low: f32, high: f32) -> u32;

    /// The number with these bits of a product's element.
    fn unpack(bits: u16) -> f32;
}

/// Factors whose products tensor cores add to sums in `R` registers of each thread.
pub trait Multiply<const R: usize>: Precision {
    /// The sums.
    type Sums: Accumulator<Sum = Self::Sum>;

    /// Starts the product of part `step`, 32 bytes of the depth, of two tiles in shared memory, where the factors lie
    /// across the depth if `A` and if `B`.
    ///
    /// # Safety
    /// As for [`Sums::add_f16`].
    unsafe fn add<const A: bool, const B: bool>(sums: &mut Self::Sums, a: SharedAddress, b: SharedAddress, step: u32);

    /// Starts the products of all parts of two tiles with 128 bytes of the depth, as a group.
    ///
    /// # Safety
    /// The whole warpgroup calls it; the tiles are complete, and stay so until the group has been waited for.
    #[inline(always)]
    unsafe fn add_tiles<const A: bool, const B: bool>(sums: &mut Self::Sums, a: SharedAddress, b: SharedAddress) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            sums.fence();
            unroll!(step < (ROW / 32) as usize => { Self::add::<A, B>(sums, a, b, step as u32) });
            commit();
        }
    }
}

/// f32, of whose fraction the first 10 bits are read.
#[derive(Clone, Copy, Debug)]
pub struct Tf32;

/// Floats of 8 bits, with 4 of an exponent and 3 of a fraction; no infinities. Products become bf16.
#[derive(Clone, Copy, Debug)]
pub struct E4m3;

/// Signed bytes.
#[derive(Clone, Copy, Debug)]
pub struct S8;

macro_rules! instances {
    ($($t:ident $name:literal)*) => { $(
        impl Instance for $t {
            const NAME: &'static str = $name;
        }
    )* };
}
instances! { Tf32 "tf32" E4m3 "e4m3" S8 "s8" }

impl Precision for F16 {
    type Bits = u16;
    type Sum = f32;
    const WIDE: bool = false;

    #[inline(always)]
    fn multiply_add(a: u16, b: u16, sum: f32) -> f32 {
        Float::mul_add(Self::unpack(a), Self::unpack(b), sum)
    }
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_f16(low, high)
    }
    #[inline(always)]
    fn unpack(bits: u16) -> f32 {
        unpack_f16(bits.into())[0]
    }
}

impl Precision for Bf16 {
    type Bits = u16;
    type Sum = f32;
    const WIDE: bool = false;

    #[inline(always)]
    fn multiply_add(a: u16, b: u16, sum: f32) -> f32 {
        Float::mul_add(Self::unpack(a), Self::unpack(b), sum)
    }
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
    #[inline(always)]
    fn unpack(bits: u16) -> f32 {
        unpack_bf16(bits.into())[0]
    }
}

impl Precision for Tf32 {
    type Bits = u32;
    type Sum = f32;
    const WIDE: bool = true;

    #[inline(always)]
    fn multiply_add(a: u32, b: u32, sum: f32) -> f32 {
        let cut = |bits: u32| f32::from_bits(bits & !0x1fff);
        Float::mul_add(cut(a), cut(b), sum)
    }
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
    #[inline(always)]
    fn unpack(bits: u16) -> f32 {
        unpack_bf16(bits.into())[0]
    }
}

impl Precision for E4m3 {
    type Bits = u8;
    type Sum = f32;
    const WIDE: bool = false;

    #[inline(always)]
    fn multiply_add(a: u8, b: u8, sum: f32) -> f32 {
        let widen = |bits: u8| {
            let magnitude = bits & 0x7f;
            // The exponent's bias is 7, and that of f32 is 127; as bits of an f32 the numbers, with those below the
            // normal ones, are too small by 2^120.
            let number = f32::from_bits(u32::from(magnitude) << 20) * f32::from_bits((127 + 120) << 23);
            let number = if magnitude == 0x7f { f32::NAN } else { number };
            if bits == magnitude { number } else { -number }
        };
        Float::mul_add(widen(a), widen(b), sum)
    }
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
    #[inline(always)]
    fn unpack(bits: u16) -> f32 {
        unpack_bf16(bits.into())[0]
    }
}

impl Precision for S8 {
    type Bits = u8;
    type Sum = i32;
    const WIDE: bool = true;

    #[inline(always)]
    fn multiply_add(a: u8, b: u8, sum: i32) -> i32 {
        sum.wrapping_add(i32::from(a as i8) * i32::from(b as i8))
    }
    #[inline(always)]
    fn pack(low: f32, high: f32) -> u32 {
        pack_bf16(low, high)
    }
    #[inline(always)]
    fn unpack(bits: u16) -> f32 {
        unpack_bf16(bits.into())[0]
    }
}

/// Products of 16-bit factors, in either order.
macro_rules! either {
    ($t:ident $add:ident: $($registers:literal)*) => { $(
        impl Multiply<$registers> for $t {
            type Sums = Sums<$registers>;

            #[inline(always)]
            unsafe fn add<const A: bool, const B: bool>(
                sums: &mut Self::Sums,
                a: SharedAddress,
                b: SharedAddress,
                step: u32,
            ) {
                type Element = warpgroup::$t;
                let along_a = Tile::<Element>::at(a).from_byte(step * 32);
                let along_b = Tile::<Element>::at(b).from_byte(step * 32);
                let across_a = Tile::<Element, true>::across(a, Self::DEPTH).from_row(step * 16);
                let across_b = Tile::<Element, true>::across(b, Self::DEPTH).from_row(step * 16);
                // SAFETY: the caller upholds this function's contract.
                unsafe {
                    match (A, B) {
                        (false, false) => sums.$add(along_a, along_b, true),
                        (false, true) => sums.$add(along_a, across_b, true),
                        (true, false) => sums.$add(across_a, along_b, true),
                        (true, true) => sums.$add(across_a, across_b, true),
                    }
                }
            }
        }
    )* };
}
either!(F16 add_f16: 128 96 64 32);
either!(Bf16 add_bf16: 128 96 64 32);

/// Products of factors that lie along the depth.
macro_rules! along {
    ($t:ident $sum:ident $add:ident: $($registers:literal)*) => { $(
        impl Multiply<$registers> for $t {
            type Sums = Sums<$registers, $sum>;

            #[inline(always)]
            unsafe fn add<const A: bool, const B: bool>(
                sums: &mut Self::Sums,
                a: SharedAddress,
                b: SharedAddress,
                step: u32,
            ) {
                const { assert!(!A && !B, "tensor cores read these factors along the depth only") };
                type Element = warpgroup::$t;
                let (a, b) = (Tile::<Element>::at(a).from_byte(step * 32), Tile::<Element>::at(b).from_byte(step * 32));
                // SAFETY: the caller upholds this function's contract.
                unsafe { sums.$add(a, b, true) };
            }
        }
    )* };
}
along!(Tf32 f32 add_tf32: 128 96 64 32);
along!(E4m3 f32 add_e4m3: 128 96 64 32);
along!(S8 i32 add_s8: 128 96 64 32);
