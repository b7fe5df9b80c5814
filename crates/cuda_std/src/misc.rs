//! Clocks, breakpoints, profiler events, and values that the compiler leaves as they are.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// Returns the multiprocessor's clock cycle counter. Only readings of the same block can be compared.
#[gpu_only]
pub fn clock() -> u64 {
    // SAFETY: the intrinsic reads a special register and accesses no memory.
    unsafe { nvvm::clock64() }
}

/// Returns the nanoseconds since an arbitrary time that is the same for the whole device. The resolution may be as
/// coarse as a microsecond.
#[gpu_only]
pub fn global_timer() -> u64 {
    // SAFETY: as for `clock`.
    unsafe { nvvm::globaltimer() }
}

/// Stops in the debugger; without a debugger the launch fails.
#[gpu_only]
pub fn breakpoint() {
    // SAFETY: the instruction accesses no memory and no register.
    unsafe { asm!("brkpt;", options(nostack, preserves_flags)) }
}

/// Triggers the profiler event `EVENT`, a number below 16.
#[gpu_only]
pub fn profiler_counter<const EVENT: u32>() {
    const { assert!(EVENT < 16, "there are 16 profiler events") };
    // SAFETY: the instruction accesses no memory and no register.
    unsafe { asm!("pmevent {};", const EVENT, options(nomem, nostack, preserves_flags)) }
}

/// Returns `value`, opaque to LLVM's optimisations: what would otherwise be computed anew from its parts in every round
/// of a loop is computed once.
#[gpu_only]
#[inline(always)]
pub fn opaque(value: u64) -> u64 {
    let same;
    // SAFETY: the instruction has no effect but its result.
    unsafe {
        asm!("mov.u64 {0}, {1};", out(reg64) same, in(reg64) value, options(pure, nomem, nostack, preserves_flags))
    };
    same
}
