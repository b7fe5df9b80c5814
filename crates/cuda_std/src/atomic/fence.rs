//! Fences: they order the accesses of one thread as other threads observe them.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use super::scope::Kind;
use super::{Ordering, Scope};

/// Orders this thread's memory accesses for the threads within `S`. `Relaxed` has no effect.
///
/// ```no_run
/// # use cuda_std::atomic::{AtomicU32, Device, Ordering, fence};
/// # unsafe fn publish(output: *mut f32, partial: f32, ticket: &AtomicU32) {
/// // SAFETY: only this block writes this element.
/// unsafe { output.write(partial) };
/// fence::<Device>(Ordering::Release); // a thread that observes the ticket observes `partial` too
/// ticket.fetch_add(1, Ordering::Relaxed);
/// # }
/// ```
#[gpu_only]
pub fn fence<S: Scope>(order: Ordering) {
    // Inline assembly, since Rust's own fences have no scope. Its default options keep LLVM from moving accesses
    // across.
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

/// Emits the fence before a relaxed operation that makes it a release.
#[inline(always)]
pub(super) fn before<S: Scope>(order: Ordering) {
    match order {
        Ordering::Release | Ordering::AcqRel => fence::<S>(Ordering::Release),
        Ordering::SeqCst => fence::<S>(Ordering::SeqCst),
        _ => {}
    }
}

/// Emits the fence after a relaxed operation that makes it an acquire.
#[inline(always)]
pub(super) fn after<S: Scope>(order: Ordering) {
    if matches!(order, Ordering::Acquire | Ordering::AcqRel | Ordering::SeqCst) {
        fence::<S>(Ordering::Acquire);
    }
}
