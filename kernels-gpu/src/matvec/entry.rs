//! The types of a matrix's entries, each with the type of its sums.

use super::{Bf16, F16};
use crate::number::Number;
use cuda_std::launch::{Instance, Scalar};
use cuda_std::math::{Float, unpack_bf16, unpack_f16};

/// A type of entries: `f32 f64 f16 bf16`.
pub trait Entry: Instance + Copy + 'static {
    /// An entry in memory.
    type Bits: Scalar + Copy;

    /// Sums, and the elements of the result.
    type Sum: Number + Float;

    /// The value of an entry.
    fn widen(bits: Self::Bits) -> Self::Sum;
}

macro_rules! as_they_are {
    ($($t:ty)*) => { $(
        impl Entry for $t {
            type Bits = $t;
            type Sum = $t;

            #[inline(always)]
            fn widen(bits: $t) -> $t {
                bits
            }
        }
    )* };
}
as_they_are!(f32 f64);

impl Entry for F16 {
    type Bits = u16;
    type Sum = f32;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        unpack_f16(bits.into())[0]
    }
}

impl Entry for Bf16 {
    type Bits = u16;
    type Sum = f32;

    #[inline(always)]
    fn widen(bits: u16) -> f32 {
        unpack_bf16(bits.into())[0]
    }
}
