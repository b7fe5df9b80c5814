//! Clusters: neighbouring blocks that run at the same time and reach each other's shared memory (since sm_90).
//!
//! The kernel says how many blocks make a cluster: `#[kernel(cluster(2))]`.

use cuda_std_macros::gpu_only;

/// The block's number in its cluster, `%cluster_ctarank`.
#[must_use]
#[gpu_only]
pub fn block_rank() -> u32 {
    let rank;
    // SAFETY: the instruction reads a special register.
    unsafe {
        core::arch::asm!("mov.u32 {rank}, %cluster_ctarank;", rank = out(reg32) rank,
            options(pure, nomem, nostack, preserves_flags));
    }
    rank
}

/// Waits until all threads of the cluster are here. What each wrote before, in shared or in global memory, the others
/// read after.
///
/// # Safety
/// All threads of the cluster that have not ended must reach the same call, the lanes of a warp together.
#[gpu_only]
pub unsafe fn sync() {
    // SAFETY: by contract all threads reach it.
    unsafe {
        core::arch::asm!(
            "barrier.cluster.arrive.release.aligned;",
            "barrier.cluster.wait.acquire.aligned;",
            options(nostack, preserves_flags)
        );
    }
}
