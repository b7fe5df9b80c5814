//! Atomic floats: addition is an instruction; minimum and maximum use integer instructions.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use super::relaxed;
use super::{Atomic, Ordering, Scope, Sealed, Value};

// As signed integers, floats with a clear sign bit are in ascending order and above all others; as unsigned integers,
// floats with a set sign bit are in descending order and above all others. So one integer minimum or maximum suffices,
// chosen by the sign of the new value. A NaN is replaced by the extreme bit pattern of that order.
macro_rules! float {
    ($($t:ident: $unsigned:ident $signed:ident),* $(,)?) => { $(
        impl Value for $t {}

        impl Sealed for $t {
            type Bits = $unsigned;
            #[inline(always)]
            fn to_raw(self) -> $unsigned {
                self.to_bits()
            }
            #[inline(always)]
            fn from_raw(bits: $unsigned) -> Self {
                Self::from_bits(bits)
            }
            #[gpu_only]
            unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self {
                // SAFETY: by contract `at` points to a live value.
                Self::from_bits(unsafe { relaxed::$unsigned::load::<S>(at.cast(), order) })
            }
            #[gpu_only]
            unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering) {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$unsigned::store::<S>(at.cast(), value.to_bits(), order) }
            }
            #[gpu_only]
            unsafe fn swap<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                Self::from_bits(unsafe { relaxed::$unsigned::swap::<S>(at.cast(), value.to_bits()) })
            }
            #[gpu_only]
            unsafe fn cas<S: Scope>(at: *mut Self, current: Self, new: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                Self::from_bits(unsafe { relaxed::$unsigned::cas::<S>(at.cast(), current.to_bits(), new.to_bits()) })
            }
            #[gpu_only]
            unsafe fn add<S: Scope>(at: *mut Self, value: Self) -> Self {
                // SAFETY: by contract `at` points to a live value.
                unsafe { relaxed::$t::add::<S>(at, value) }
            }
            #[gpu_only]
            unsafe fn min<S: Scope>(at: *mut Self, value: Self) -> Self {
                let bits = if value.is_nan() { $unsigned::MAX } else { value.to_bits() };
                // SAFETY: by contract `at` points to a live value.
                Self::from_bits(unsafe {
                    if (bits as $signed) < 0 {
                        relaxed::$unsigned::max::<S>(at.cast(), bits)
                    } else {
                        relaxed::$signed::min::<S>(at.cast(), bits as $signed) as $unsigned
                    }
                })
            }
            #[gpu_only]
            unsafe fn max<S: Scope>(at: *mut Self, value: Self) -> Self {
                let bits = if value.is_nan() { $signed::MAX as $unsigned } else { value.to_bits() };
                // SAFETY: by contract `at` points to a live value.
                Self::from_bits(unsafe {
                    if (bits as $signed) < 0 {
                        relaxed::$unsigned::min::<S>(at.cast(), bits)
                    } else {
                        relaxed::$signed::max::<S>(at.cast(), bits as $signed) as $unsigned
                    }
                })
            }
            #[inline(always)]
            fn negated(self) -> Self {
                -self
            }
        }

        impl<S: Scope> Atomic<$t, S> {
            /// Keeps the bits that are set in both values, and returns the previous value.
            #[gpu_only]
            pub fn fetch_and(&self, value: $t, order: Ordering) -> $t {
                // SAFETY: `self` is a reference to a live value.
                self.ordered(order, || {
                    $t::from_bits(unsafe { relaxed::$unsigned::and::<S>(self.as_ptr().cast(), value.to_bits()) })
                })
            }

            /// Sets the bits that are set in `value`, and returns the previous value.
            #[gpu_only]
            pub fn fetch_or(&self, value: $t, order: Ordering) -> $t {
                // SAFETY: `self` is a reference to a live value.
                self.ordered(order, || {
                    $t::from_bits(unsafe { relaxed::$unsigned::or::<S>(self.as_ptr().cast(), value.to_bits()) })
                })
            }

            /// Flips the bits that are set in `value`, and returns the previous value.
            #[gpu_only]
            pub fn fetch_xor(&self, value: $t, order: Ordering) -> $t {
                // SAFETY: `self` is a reference to a live value.
                self.ordered(order, || {
                    $t::from_bits(unsafe { relaxed::$unsigned::xor::<S>(self.as_ptr().cast(), value.to_bits()) })
                })
            }
        }
    )* };
}
float!(f32: u32 i32, f64: u64 i64);
