//! The types of elements in memory, each with the type in which they are added.

use super::Number;
use crate::operator::Operator;
use bytemuck::Pod;
use cuda_std::launch::{Instance, Scalar};
use cuda_std::math::{unpack_bf16, unpack_f16};

/// A type of elements: a [`Number`], or [`F16`] or [`Bf16`].
pub trait Entry: Instance + Copy + 'static {
    /// An element in memory.
    type Bits: Scalar + Pod;

    /// Elements that are read together: one, or two of 16 bits.
    type Word: Pod;

    /// Sums of elements, and other results.
    type Sum: Number;

    /// The value of an element; exact.
    fn widen(bits: Self::Bits) -> Self::Sum;

    /// The elements of a word, combined.
    fn reduce<O: Operator<Self::Sum>>(word: Self::Word) -> Self::Sum;
}

/// IEEE 754's binary16.
#[derive(Clone, Copy, Debug)]
pub struct F16;

/// The upper half of an f32.
#[derive(Clone, Copy, Debug)]
pub struct Bf16;

macro_rules! as_they_are {
    ($($t:ty)*) => { $(
        impl Entry for $t {
            type Bits = $t;
            type Word = $t;
            type Sum = $t;

            #[inline(always)]
            fn widen(bits: $t) -> $t {
                bits
            }
            #[inline(always)]
            fn reduce<O: Operator<$t>>(word: $t) -> $t {
                word
            }
        }
    )* };
}
as_they_are!(f32 f64 i32 u32 i64 u64);

macro_rules! halves {
    ($($t:ident $name:literal $unpack:ident)*) => { $(
        impl Instance for $t {
            const NAME: &'static str = $name;
        }

        impl Entry for $t {
            type Bits = u16;
            type Word = [u16; 2];
            type Sum = f32;

            #[inline(always)]
            fn widen(bits: u16) -> f32 {
                $unpack(bits.into())[0]
            }
            #[inline(always)]
            fn reduce<O: Operator<f32>>([first, second]: [u16; 2]) -> f32 {
                let [first, second] = $unpack(u32::from(first) | u32::from(second) << 16);
                O::combine(first, second)
            }
        }
    )* };
}
halves!(F16 "f16" unpack_f16 Bf16 "bf16" unpack_bf16);
