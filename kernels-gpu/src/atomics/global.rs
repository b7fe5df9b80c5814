//! An atomic on device memory for every element. Lanes of a warp that want the same counter wait for each other in the second-level
//! cache, where the atomics are done, and so do all other warps of the device.

use super::{Add, Cas, Dec, Exch, Inc, Max, Min, Op, Sub};
use cuda_std::{atomic::AtomicU32, kernel, thread};

/// Applies element `i` to counter `i % addresses`; what an exchange got back goes behind the counters, to `addresses + i`.
///
/// # Safety
/// `counters` has `addresses` elements that are `O::START`, and behind them, where `O` returns something, as many as `input`.
#[kernel(for O in [Add, Sub, Inc, Dec, Min, Max, Exch, Cas])]
pub unsafe fn atomics_global<O: Op>(input: &[u32], addresses: u32, counters: *mut u32) {
    // The compiler can't know that there is a counter, and would keep a panic for a division by 0.
    let addresses = addresses.max(1) as usize;
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: one of the counters, which all threads access atomically.
        let counter = unsafe { AtomicU32::from_ptr(counters.add(i % addresses)) };
        let old = O::apply(counter, input[i]);
        if O::RETURNS {
            // SAFETY: this element's place behind the counters.
            unsafe { counters.add(addresses + i).write(old) };
        }
        i += thread::grid_stride();
    }
}
