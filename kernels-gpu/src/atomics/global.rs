//! An atomic on device memory for every element. Lanes of a warp that want the same counter wait for each other in the
//! second-level cache, where the atomics are done, and so do all other warps of the device.

use super::{Add, Cas, Dec, Exch, Inc, Max, Min, Op, Sub};
use crate::number::Number;
use cuda_std::{
    atomic::{Atomic, Device},
    kernel, thread,
};

/// The idea in one line.
pub const IDEA: &str = "one atomic on device memory per element: all threads of the grid contend";

/// Applies element `i` to counter `i % addresses`; what an exchange got back goes behind the counters, to
/// `addresses + i`.
///
/// # Safety
/// `counters` has `addresses` elements that are `O::start()`, and behind them, where `O` returns something, as many as
/// `input`.
#[kernel(for O in [Add, Sub, Min, Max, Exch, Cas], for T in [i32, u32, i64, u64, f32, f64])]
pub unsafe fn atomics_global<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { apply_all::<O, T>(input, addresses, counters) };
}

/// The same around the ring, which PTX has for u32 only.
///
/// # Safety
/// As [`atomics_global`](atomics_global()).
#[kernel(for O in [Inc, Dec])]
pub unsafe fn atomics_global_ring<O: Op<u32>>(input: &[u32], addresses: u32, counters: *mut u32) {
    // SAFETY: the caller's promise.
    unsafe { apply_all::<O, u32>(input, addresses, counters) };
}

#[inline(always)]
unsafe fn apply_all<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    // The compiler can't know that there is a counter, and would keep a panic for a division by 0.
    let addresses = addresses.max(1) as usize;
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: one of the counters, which all threads access atomically.
        let counter = unsafe { Atomic::from_ptr(counters.add(i % addresses)) };
        let old = O::apply::<Device>(counter, input[i]);
        if O::RETURNS {
            // SAFETY: this element's place behind the counters.
            unsafe { counters.add(addresses + i).write(old) };
        }
        i += thread::grid_stride();
    }
}
