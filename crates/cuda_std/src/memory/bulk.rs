//! Bulk copies: one thread starts the copy of a whole tile, which needs no registers and no further instruction (since
//! sm_90).

use super::{Mbarrier, SharedAddress};
use cuda_std_macros::gpu_only;

/// Starts the copy of `bytes` bytes from global to shared memory; the barrier counts them when they are there.
///
/// # Safety
/// Both addresses and `bytes` must be multiples of 16. The source is initialised and not written, and the destination
/// not accessed, until a wait for the barrier's phase has returned. The phase announces the bytes
/// ([`Mbarrier::arrive_expecting`]).
#[gpu_only]
pub unsafe fn copy_bulk<T>(to: SharedAddress, from: *const T, bytes: u32, barrier: Mbarrier) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        core::arch::asm!(
            "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; \
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [{to}], [global], {bytes}, \
             [{barrier}]; }}",
            to = in(reg32) to.0, from = in(reg64) from, bytes = in(reg32) bytes,
            barrier = in(reg32) barrier.address().0, options(nostack, preserves_flags));
    }
}

/// Like [`copy_bulk`], to the same address in every block of the cluster whose bit is set in `blocks`; each block's
/// barrier at that address counts the bytes.
///
/// # Safety
/// As for [`copy_bulk`], in each of these blocks, none of which has ended.
#[gpu_only]
pub unsafe fn copy_bulk_to_blocks<T>(to: SharedAddress, from: *const T, bytes: u32, barrier: Mbarrier, blocks: u16) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        core::arch::asm!(
            "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; \
             cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [{to}], [global], \
             {bytes}, [{barrier}], {blocks}; }}",
            to = in(reg32) to.0, from = in(reg64) from, bytes = in(reg32) bytes,
            barrier = in(reg32) barrier.address().0, blocks = in(reg16) blocks, options(nostack, preserves_flags));
    }
}
