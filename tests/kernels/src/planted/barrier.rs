//! A barrier that only some threads of a block reach.

use cuda_std::prelude::*;

/// The barrier is in a branch that half of each warp takes.
#[kernel]
pub unsafe fn barrier_in_branch(out: *mut u32) {
    let t = thread::thread_idx_x();
    let cache = shared::dynamic_shared_mem::<u32>();
    // SAFETY: this code is wrong on purpose: half of the threads skip the barrier.
    unsafe {
        if t & 1 == 0 {
            *cache.add(t as usize) = t;
            thread::sync_threads(); // FINDING barrier_in_branch
        }
        *out.add(t as usize) = *cache.add((t & !1) as usize);
    }
}
