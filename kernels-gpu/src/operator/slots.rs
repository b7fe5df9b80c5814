//! A slot of shared memory per warp, for values of any size.

use core::mem::MaybeUninit;
use cuda_std::address_space;

use super::MAX_BYTES;
use crate::reduce::WARP;

/// A slot for a value of at most 16 bytes.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Narrow([u64; 2]);

/// A slot for any value.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
struct Wide([u64; MAX_BYTES / 8]);

/// One slot per warp of a block of at most 1024 threads.
#[address_space(shared)]
static mut WARP_RESULTS: [MaybeUninit<Narrow>; WARP as usize] = [MaybeUninit::uninit(); WARP as usize];

/// The same for values that are larger.
#[address_space(shared)]
static mut WIDE_WARP_RESULTS: [MaybeUninit<Wide>; WARP as usize] = [MaybeUninit::uninit(); WARP as usize];

/// The first of 32 slots for values of this type. Every call returns the same slots.
#[inline(always)]
pub fn of_warps<V: Copy>() -> *mut V {
    const { assert!(size_of::<V>() <= MAX_BYTES, "values of operators have at most 64 bytes") };
    const { assert!(align_of::<V>() <= 16, "values of operators are aligned to at most 16 bytes") };
    if const { size_of::<V>() <= size_of::<Narrow>() } {
        (&raw mut WARP_RESULTS).cast()
    } else {
        (&raw mut WIDE_WARP_RESULTS).cast()
    }
}
