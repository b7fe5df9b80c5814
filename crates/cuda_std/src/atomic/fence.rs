//! Fences: what this thread did before is seen before what it does after.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use super::scope::Kind;
use super::{Ordering, Scope};

/// Orders this thread's memory accesses for the threads within `S`. `Relaxed` does nothing.
///
/// ```no_run
/// # use cuda_std::atomic::{AtomicU32, Device, Ordering, fence};
/// # unsafe fn publish(output: *mut f32, partial: f32, ticket: &AtomicU32) {
/// // SAFETY: the block's own place in the output.
/// unsafe { output.write(partial) };
/// fence::<Device>(Ordering::Release); // whoever sees the ticket taken also sees the partial result
/// ticket.fetch_add(1, Ordering::Relaxed);
/// # }
/// ```
#[gpu_only]
pub fn fence<S: Scope>(order: Ordering) {
    // Assembly, since Rust's own fences have no scope. It keeps the default options: it may touch any memory.
    macro_rules! fence {
        ($text:literal) => {
            // SAFETY: a fence changes no register and no memory.
            unsafe { core::arch::asm!($text, options(nostack, preserves_flags)) }
        };
    }
    match (order, S::KIND) {
        (Ordering::Relaxed, _) => {}
        (Ordering::SeqCst, Kind::Block) => fence!("fence.sc.cta;"),
        (Ordering::SeqCst, Kind::Device) => fence!("fence.sc.gpu;"),
        (Ordering::SeqCst, Kind::System) => fence!("fence.sc.sys;"),
        (_, Kind::Block) => fence!("fence.acq_rel.cta;"),
        (_, Kind::Device) => fence!("fence.acq_rel.gpu;"),
        (_, Kind::System) => fence!("fence.acq_rel.sys;"),
    }
}

/// The fence in front of a relaxed operation that makes it a release.
#[inline(always)]
pub(super) fn before<S: Scope>(order: Ordering) {
    match order {
        Ordering::Release | Ordering::AcqRel => fence::<S>(Ordering::Release),
        Ordering::SeqCst => fence::<S>(Ordering::SeqCst),
        _ => {}
    }
}

/// The fence behind a relaxed operation that makes it an acquire.
#[inline(always)]
pub(super) fn after<S: Scope>(order: Ordering) {
    if matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst) {
        fence::<S>(Ordering::Acquire);
    }
}
