//! Clocks, and what debuggers and profilers listen for.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// A counter that goes up by one per clock cycle of the multiprocessor. Compare readings of one block only.
#[gpu_only]
pub fn clock() -> u64 {
    // SAFETY: reads a special register; it is no `safe fn` only because it has a result of its own each time.
    unsafe { nvvm::clock64() }
}

/// Nanoseconds since an arbitrary time, the same for the whole device. It may go forward in steps of a microsecond.
#[gpu_only]
pub fn global_timer() -> u64 {
    // SAFETY: as for `clock`.
    unsafe { nvvm::globaltimer() }
}

/// Stops in the debugger; without one the launch fails.
#[gpu_only]
pub fn breakpoint() {
    // SAFETY: touches no memory and no register.
    unsafe { asm!("brkpt;", options(nostack, preserves_flags)) }
}

/// Triggers the profiler's event `EVENT`, one of 16.
#[gpu_only]
pub fn profiler_counter<const EVENT: u32>() {
    const { assert!(EVENT < 16, "there are 16 profiler events") };
    // SAFETY: touches no memory and no register.
    unsafe { asm!("pmevent {};", const EVENT, options(nomem, nostack, preserves_flags)) }
}
