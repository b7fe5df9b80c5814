//! Matching: the lanes that hold the same value.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// Types that lanes can compare: `u32 i32 u64 i64 f32 f64`. Floats are compared bit by bit.
pub trait WarpMatchValue: Copy {
    /// The bits, extended to 64.
    #[doc(hidden)]
    fn bits(self) -> u64;
    /// Whether the value has 32 bits.
    #[doc(hidden)]
    const IS_32_BITS: bool = size_of::<Self>() == 4;
}

macro_rules! integers {
    ($($t:ident: $bits:ident),*) => { $(
        impl WarpMatchValue for $t {
            #[inline(always)]
            fn bits(self) -> u64 {
                self as $bits as u64
            }
        }
    )* };
}
integers!(u32: u32, i32: u32, u64: u64, i64: u64);

impl WarpMatchValue for f32 {
    #[inline(always)]
    fn bits(self) -> u64 {
        u64::from(self.to_bits())
    }
}

impl WarpMatchValue for f64 {
    #[inline(always)]
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// Returns the mask of the lanes in `mask` that hold the same value as this lane.
///
/// # Safety
/// Every lane of `mask`, this one included, must reach this call with the same mask and must not have exited.
#[gpu_only]
pub unsafe fn warp_match_any<T: WarpMatchValue>(mask: u32, value: T) -> u32 {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if T::IS_32_BITS {
            nvvm::match_any_32(mask, value.bits() as u32)
        } else {
            nvvm::match_any_64(mask, value.bits())
        }
    }
}

/// Returns `mask` if all its lanes hold the same value, else `None`.
///
/// # Safety
/// As for [`warp_match_any`].
#[gpu_only]
pub unsafe fn warp_match_all<T: WarpMatchValue>(mask: u32, value: T) -> Option<u32> {
    // SAFETY: the caller upholds this function's contract.
    let (lanes, same) = unsafe {
        if T::IS_32_BITS {
            nvvm::match_all_32(mask, value.bits() as u32)
        } else {
            nvvm::match_all_64(mask, value.bits())
        }
    };
    same.then_some(lanes)
}
