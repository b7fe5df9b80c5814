//! Barriers in shared memory, which count arrivals of threads and bytes of copies (since sm_90).

use super::SharedAddress;
use cuda_std_macros::gpu_only;

/// A barrier in shared memory that threads arrive at and wait for separately (`mbarrier`).
///
/// It goes through phases, numbered from 0. A phase ends when as many threads have arrived as [`Mbarrier::init`] says,
/// and all bytes that were announced in it ([`Mbarrier::arrive_expecting`]) have been copied. A thread waits for the
/// end of a phase by the parity of its number, so at most one phase later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mbarrier(SharedAddress);

impl Mbarrier {
    /// Bytes of a barrier in shared memory.
    pub const SIZE: u32 = 8;

    /// The barrier at an address.
    ///
    /// # Safety
    /// The address must be aligned to 8, with 8 bytes that nothing but the barrier's functions accesses.
    #[must_use]
    #[inline(always)]
    pub const unsafe fn at(address: SharedAddress) -> Self {
        Self(address)
    }

    /// The barrier `number` places after this one.
    ///
    /// # Safety
    /// As for [`Mbarrier::at`].
    #[must_use]
    #[inline(always)]
    pub const unsafe fn add(self, number: u32) -> Self {
        Self(self.0.add(number * Self::SIZE))
    }

    /// Initialises the barrier: each phase takes `arrivals`. Before others use it, [`fence_init`] and a barrier of the
    /// block or the cluster must follow.
    ///
    /// # Safety
    /// One thread calls it, once, before any other use.
    #[gpu_only]
    pub unsafe fn init(self, arrivals: u32) {
        // SAFETY: by contract the barrier is this thread's.
        unsafe {
            core::arch::asm!("mbarrier.init.shared::cta.b64 [{at}], {arrivals};",
                at = in(reg32) self.0.0, arrivals = in(reg32) arrivals, options(nostack, preserves_flags));
        }
    }

    /// Arrives, and announces bytes that copies will bring before this phase ends.
    ///
    /// # Safety
    /// The barrier is initialised, and the phase still waits for an arrival.
    #[gpu_only]
    pub unsafe fn arrive_expecting(self, bytes: u32) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b64 state; mbarrier.arrive.expect_tx.shared::cta.b64 state, [{at}], {bytes}; }}",
                at = in(reg32) self.0.0, bytes = in(reg32) bytes, options(nostack, preserves_flags));
        }
    }

    /// Arrives. What this thread has read or written comes before what follows a wait for this phase.
    ///
    /// # Safety
    /// As for [`Mbarrier::arrive_expecting`].
    #[gpu_only]
    pub unsafe fn arrive(self) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!("mbarrier.arrive.shared::cta.b64 _, [{at}];", at = in(reg32) self.0.0,
                options(nostack, preserves_flags));
        }
    }

    /// Arrives at the barrier that block `rank` of the cluster has at the same address. In the thread's own block, what
    /// it has read or written comes before what follows a wait for this phase. In another block, only asynchronous
    /// operations that it has waited for do: a fence for the whole cluster at every arrival would cost more than a
    /// twentieth of a product's time.
    ///
    /// # Safety
    /// As for [`Mbarrier::arrive_expecting`], and that block has not ended.
    #[gpu_only]
    pub unsafe fn arrive_at(self, rank: u32) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!(
                "{{ .reg .b32 there; mapa.shared::cluster.u32 there, {at}, {rank}; \
                 mbarrier.arrive.shared::cluster.b64 _, [there]; }}",
                at = in(reg32) self.0.0, rank = in(reg32) rank, options(nostack, preserves_flags));
        }
    }

    /// Waits until the phase with this parity (0 or 1) has ended; returns at once if it is the one before the current
    /// phase. What threads of this block wrote before they arrived, and what the announced copies brought, can then be
    /// read.
    ///
    /// # Safety
    /// The barrier is initialised, and the current phase is the one waited for or the next.
    #[gpu_only]
    pub unsafe fn wait(self, parity: u32) {
        let mut ended = 0_u32;
        while ended == 0 {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                core::arch::asm!(
                    "{{ .reg .pred ended; \
                     mbarrier.try_wait.parity.shared::cta.b64 ended, [{at}], {parity}; \
                     selp.u32 {result}, 1, 0, ended; }}",
                    at = in(reg32) self.0.0, parity = in(reg32) parity, result = out(reg32) ended,
                    options(nostack, preserves_flags));
            }
        }
    }

    /// The barrier's address.
    #[must_use]
    #[inline(always)]
    pub const fn address(self) -> SharedAddress {
        self.0
    }
}

/// Makes barriers that this thread has initialised visible to copies and to the other blocks of the cluster.
#[gpu_only]
pub fn fence_init() {
    // SAFETY: the instruction orders accesses only.
    unsafe {
        core::arch::asm!("fence.mbarrier_init.release.cluster;", options(nostack, preserves_flags));
    }
}
