//! One warp adds up the last 64 values, whose lanes "run in lock-step anyway", so the steps have no barrier.
//!
//! That was a common trick (used by Harris 2007, `docs/sources.md`); since Volta each lane has its own program counter,
//! and only explicit synchronisation keeps the lanes of a warp together. The fence replaces the trick's `volatile`: it
//! keeps the compiler from removing stores, but no lane waits at it. Right: `reduce`, rung `unroll_last_warp`:
//! shuffles, which name the participating lanes.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "the last warp's steps rely on lanes in lock-step, which is not guaranteed since Volta";

/// Sums the first 64 elements of each block, wrongly.
///
/// # Safety
/// No launch is safe: the missing synchronisation is the point.
#[kernel]
pub unsafe fn failing_lock_step(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    const { assert!(BLOCK >= 64) };
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        cache.add(t).write(*input.get_unchecked(i));
        thread::sync_threads(); // the cache is full before the warp starts
        if t < 32 {
            let mut half = 32;
            while half > 0 {
                cache.add(t).write(cache.add(t).read().wrapping_add(cache.add(t + half).read())); // FINDING
                thread::block_fence(); // orders the stores, but no thread waits for them
                half /= 2;
            }
            if t == 0 {
                output.add(thread::block_idx_x() as usize).write(cache.read());
            }
        }
    }
}
