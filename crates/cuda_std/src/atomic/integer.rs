//! Atomic integers.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use super::relaxed;
use super::{Atomic, Ordering, Scope, Sealed, Value};

macro_rules! integer {
    ($($t:ident: $bits:ident),* $(,)?) => { $(
        impl Value for $t {}

        impl Sealed for $t {
            type Bits = $bits;
            #[inline(always)]
            fn to_raw(self) -> $bits {
                self as $bits
            }
            #[inline(always)]
            fn from_raw(bits: $bits) -> Self {
                bits as Self
            }
            #[gpu_only]
            unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$bits::load::<S>(at.cast(), order) as Self }
            }
            #[gpu_only]
            unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering) {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$bits::store::<S>(at.cast(), value as $bits, order) }
            }
            #[gpu_only]
            unsafe fn swap<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$t::swap::<S>(at, value) }
            }
            #[gpu_only]
            unsafe fn cas<S: Scope>(at: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$bits::cas::<S>(at.cast(), current as $bits, new as $bits) as Self }
            }
            #[gpu_only]
            unsafe fn add<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$t::add::<S>(at, value) }
            }
            #[gpu_only]
            unsafe fn min<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$t::min::<S>(at, value) }
            }
            #[gpu_only]
            unsafe fn max<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$t::max::<S>(at, value) }
            }
            #[inline(always)]
            fn negated(self) -> Self {
                self.wrapping_neg()
            }
        }

        impl<S: Scope> Atomic<$t, S> {
            /// Keeps the bits that are set in both values, and returns the previous value.
            #[gpu_only]
            pub fn fetch_and(&self, value: $t, order: Ordering) -> $t {
                // SAFETY: `self` is a reference to a live value.
                self.ordered(order, || unsafe { relaxed::$t::and::<S>(self.as_ptr(), value) })
            }

            /// Sets the bits that are set in `value`, and returns the previous value.
            #[gpu_only]
            pub fn fetch_or(&self, value: $t, order: Ordering) -> $t {
                // SAFETY: `self` is a reference to a live value.
                self.ordered(order, || unsafe { relaxed::$t::or::<S>(self.as_ptr(), value) })
            }

            /// Flips the bits that are set in `value`, and returns the previous value.
            #[gpu_only]
            pub fn fetch_xor(&self, value: $t, order: Ordering) -> $t {
                // SAFETY: `self` is a reference to a live value.
                self.ordered(order, || unsafe { relaxed::$t::xor::<S>(self.as_ptr(), value) })
            }
        }
    )* };
}
integer!(u32: u32, i32: u32, u64: u64, i64: u64);

impl<S: Scope> Atomic<u32, S> {
    /// Adds 1, or wraps to 0 from `last` and from any larger value. Returns the previous value.
    ///
    /// This makes a ticket that resets itself: with `last = blocks - 1` the block that gets `last` is the last one, and
    /// the next launch starts from 0 again.
    #[gpu_only]
    pub fn fetch_inc(&self, last: u32, order: Ordering) -> u32 {
        // SAFETY: `self` is a reference to a live value.
        self.ordered(order, || unsafe { relaxed::inc::<S>(self.as_ptr(), last) })
    }

    /// Subtracts 1, or wraps to `last` from 0 and from any value above `last`. Returns the previous value.
    #[gpu_only]
    pub fn fetch_dec(&self, last: u32, order: Ordering) -> u32 {
        // SAFETY: `self` is a reference to a live value.
        self.ordered(order, || unsafe { relaxed::dec::<S>(self.as_ptr(), last) })
    }
}
