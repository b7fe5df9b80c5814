//! A barrier that only some threads of a block reach.

use cuda_std::prelude::*;

/// The barrier is in a branch that half of each warp takes.
#[kernel(allow(divergent_barrier))]
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

/// The same with a tile: no types ensure that all threads fill it.
#[kernel(allow(divergent_barrier))]
pub fn tile_in_branch(mut out: DisjointSlice<u32>, tile: SharedTile<u32, 32>) {
    let t = thread::thread_idx_x();
    let mut value = 0;
    if t & 1 == 0 {
        let tile = tile.put(t); // FINDING tile_in_branch
        value = tile.get((t ^ 2) as usize).unwrap_or(0);
    }
    if let Some(out) = out.get_mut(thread::unique_index()) {
        *out = value;
    }
}
