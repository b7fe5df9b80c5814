//! Reductions over a warp by its own instruction (`redux.sync`), in one to three parts.

use cuda_std::warp::{self, WarpReductionOp};

/// Numbers that the lanes of a warp can combine; every lane gets the result.
pub trait Redux: Sized {
    /// The sum; integers wrap.
    ///
    /// # Safety
    /// All 32 lanes of the warp reach this call.
    unsafe fn warp_add(self) -> Self;
    /// IEEE 754-2019 `maximum`.
    ///
    /// # Safety
    /// All 32 lanes of the warp reach this call.
    unsafe fn warp_maximum(self) -> Self;
    /// IEEE 754-2019 `minimum`.
    ///
    /// # Safety
    /// All 32 lanes of the warp reach this call.
    unsafe fn warp_minimum(self) -> Self;
}

/// Reduces by one instruction.
///
/// # Safety
/// All 32 lanes of the warp reach this call.
#[inline(always)]
unsafe fn redux<T: warp::WarpReduceValue>(value: T, op: WarpReductionOp) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { warp::warp_reduce(warp::ALL, value, op) }
}

macro_rules! word {
    ($($t:ty)*) => { $(
        impl Redux for $t {
            #[inline(always)]
            unsafe fn warp_add(self) -> Self {
                // SAFETY: the caller upholds this function's contract.
                unsafe { redux(self, WarpReductionOp::Add) }
            }
            #[inline(always)]
            unsafe fn warp_maximum(self) -> Self {
                // SAFETY: the caller upholds this function's contract.
                unsafe { redux(self, WarpReductionOp::Max) }
            }
            #[inline(always)]
            unsafe fn warp_minimum(self) -> Self {
                // SAFETY: the caller upholds this function's contract.
                unsafe { redux(self, WarpReductionOp::Min) }
            }
        }
    )* };
}
word!(u32 i32);

impl Redux for u64 {
    /// Adds three parts of 22 bits separately: the sum of 32 of them fits in a word.
    #[inline(always)]
    unsafe fn warp_add(self) -> Self {
        const PART: u32 = 22;
        let part = |shift: u32| {
            let bits = (self >> shift) as u32 & ((1 << PART) - 1);
            // SAFETY: the caller upholds this function's contract.
            u64::from(unsafe { redux(bits, WarpReductionOp::Add) }) << shift
        };
        part(0).wrapping_add(part(PART)).wrapping_add(part(2 * PART))
    }

    /// Finds the largest high half, then the largest low half among the lanes that have it.
    #[inline(always)]
    unsafe fn warp_maximum(self) -> Self {
        let own = (self >> 32) as u32;
        // SAFETY: the caller upholds this function's contract.
        let high = unsafe { redux(own, WarpReductionOp::Max) };
        // SAFETY: the caller upholds this function's contract.
        let low = unsafe { redux(if own == high { self as u32 } else { 0 }, WarpReductionOp::Max) };
        u64::from(high) << 32 | u64::from(low)
    }

    #[inline(always)]
    unsafe fn warp_minimum(self) -> Self {
        // SAFETY: the caller upholds this function's contract.
        !unsafe { (!self).warp_maximum() }
    }
}

impl Redux for i64 {
    #[inline(always)]
    unsafe fn warp_add(self) -> Self {
        // SAFETY: the caller upholds this function's contract.
        unsafe { (self as u64).warp_add() as i64 }
    }

    /// Flips the sign bit, with which signed order becomes unsigned order.
    #[inline(always)]
    unsafe fn warp_maximum(self) -> Self {
        // SAFETY: the caller upholds this function's contract.
        unsafe { (self ^ Self::MIN).cast_unsigned().warp_maximum().cast_signed() ^ Self::MIN }
    }

    #[inline(always)]
    unsafe fn warp_minimum(self) -> Self {
        // SAFETY: the caller upholds this function's contract.
        unsafe { (self ^ Self::MIN).cast_unsigned().warp_minimum().cast_signed() ^ Self::MIN }
    }
}

macro_rules! float {
    ($($t:ident $bits:ident)*) => { $(
        impl Redux for $t {
            #[inline(always)]
            unsafe fn warp_add(self) -> Self {
                // SAFETY: the caller upholds this function's contract.
                unsafe { warp::reduce(self, |a, b| a + b) }
            }

            /// Compares integers of the floats' order, with NaN above all.
            #[inline(always)]
            unsafe fn warp_maximum(self) -> Self {
                let key = if self.is_nan() { $bits::MAX } else { $t::to_key(self.to_bits()) };
                // SAFETY: the caller upholds this function's contract.
                $t::from_bits($t::from_key(unsafe { key.warp_maximum() }))
            }

            /// Compares integers of the floats' order, with NaN below all.
            #[inline(always)]
            unsafe fn warp_minimum(self) -> Self {
                let key = if self.is_nan() { 0 } else { $t::to_key(self.to_bits()) };
                // SAFETY: the caller upholds this function's contract.
                $t::from_bits($t::from_key(unsafe { key.warp_minimum() }))
            }
        }

        impl Key for $t {
            type Bits = $bits;

            #[inline(always)]
            fn to_key(bits: $bits) -> $bits {
                let sign = 1 << ($bits::BITS - 1);
                if bits & sign != 0 { !bits } else { bits | sign }
            }
            #[inline(always)]
            fn from_key(key: $bits) -> $bits {
                let sign = 1 << ($bits::BITS - 1);
                if key & sign != 0 { key & !sign } else { !key }
            }
        }
    )* };
}
float!(f32 u32 f64 u64);

/// Floats as integers of the same order.
trait Key {
    type Bits;
    fn to_key(bits: Self::Bits) -> Self::Bits;
    fn from_key(key: Self::Bits) -> Self::Bits;
}
