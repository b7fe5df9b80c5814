//! An atomic on device memory for every element. Lanes of a warp that access the same counter are served one after the
//! other in the L2 cache, where the atomics are performed, and so are all other warps of the device.

use super::{Add, Cas, Dec, Exch, Inc, Max, Min, Op, Sub};
use crate::number::Number;
use cuda_std::{
    atomic::{Atomic, Device},
    kernel, thread,
};

/// The idea in one line.
pub const IDEA: &str = "one atomic on device memory per element: all threads of the grid contend";

/// Applies element `i` to counter `i % addresses`. The value that an exchange returns is written after the counters, to
/// `addresses + i`.
///
/// # Safety
/// `counters` has `addresses` elements that are `O::start()`, and, if `O` returns a value, as many more as `input` has
/// elements.
#[kernel(for O in [Add, Sub, Min, Max, Exch, Cas], for T in [i32, u32, i64, u64, f32, f64])]
pub unsafe fn atomics_global<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { apply_all::<O, T>(input, addresses, counters) };
}

/// Counts around the ring, which PTX supports for `u32` only.
///
/// # Safety
/// The requirements are those of [`atomics_global`](atomics_global()).
#[kernel(for O in [Inc, Dec])]
pub unsafe fn atomics_global_ring<O: Op<u32>>(input: &[u32], addresses: u32, counters: *mut u32) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { apply_all::<O, u32>(input, addresses, counters) };
}

#[inline(always)]
unsafe fn apply_all<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    // Without `max` the compiler would keep a panic for a division by 0.
    let addresses = addresses.max(1) as usize;
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: the index is that of a counter, which all threads access atomically.
        let counter = unsafe { Atomic::from_ptr(counters.add(i % addresses)) };
        let old = O::apply::<Device>(counter, input[i]);
        if O::RETURNS {
            // SAFETY: the element's own index after the counters.
            unsafe { counters.add(addresses + i).write(old) };
        }
        i += thread::grid_stride();
    }
}
