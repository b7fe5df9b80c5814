//! A barrier that not all threads come to.

use cuda_std::prelude::*;

/// The barrier is in a branch that half of each warp takes.
#[kernel]
pub unsafe fn barrier_in_branch(out: *mut u32) {
    let t = thread::thread_idx_x();
    let cache = shared::dynamic_shared_mem::<u32>();
    // SAFETY: none: the misplaced barrier is the point.
    unsafe {
        if t & 1 == 0 {
            *cache.add(t as usize) = t;
            thread::sync_threads(); // FINDING barrier_in_branch
        }
        *out.add(t as usize) = *cache.add((t & !1) as usize);
    }
}
