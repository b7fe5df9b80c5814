//! Asynchronous copies as instructions, also in a build for an architecture before sm_80: for modules whose other
//! instructions need sm_80, and whose PTX is for it. [`copy_async`](super::copy_async) and its like run on every GPU.

use super::SharedAddress;
use cuda_std_macros::gpu_only;

/// Starts the copy of 16 bytes if `there`, else fills the destination with zeros; `from` is then not read and may be
/// any address. The copy bypasses the L1 cache.
///
/// # Safety
/// That of [`copy_async_or_zero`](super::copy_async_or_zero), with 16 bytes.
#[gpu_only]
pub unsafe fn copy<T>(to: SharedAddress, from: *const T, there: bool) {
    // SAFETY: the caller upholds this function's contract; with 0 bytes to read the source is not accessed.
    unsafe {
        core::arch::asm!(
            "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; cp.async.cg.shared.global [{to}], [global], 16, \
             {read}; }}",
            to = in(reg32) to.0, from = in(reg64) from, read = in(reg32) if there { 16_u32 } else { 0 },
            options(nostack, preserves_flags)
        );
    }
}

/// Closes a group of copies: those that this thread has started since it closed the last group.
#[gpu_only]
pub fn commit() {
    // SAFETY: the instruction itself accesses no memory.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
}

/// Waits until at most the `PENDING` youngest groups of this thread are incomplete.
#[gpu_only]
pub fn wait<const PENDING: u32>() {
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("cp.async.wait_group {pending};", pending = const PENDING, options(nostack, preserves_flags));
    }
}
