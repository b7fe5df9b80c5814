//! An inclusive scan in place: in every step each thread adds the value `distance` to its left. Some have already
//! replaced theirs when others read it, and count it twice.
//!
//! The barrier at the top of the loop keeps the steps apart, not the reads and writes of one step. Right: `scan`, rung
//! `kogge_stone`, which writes into a second buffer.

use super::{BLOCK, cache};
use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a scan's step reads and writes one array without a barrier between";

/// Scans `BLOCK` elements per block, wrongly.
///
/// # Safety
/// No launch is safe: the missing barrier is the point.
#[kernel]
pub unsafe fn failing_kogge_stone_in_place(input: &[u32], output: *mut u32) {
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let cache = cache();
    // SAFETY: this is unsound on purpose; only the simulator runs it. Each thread of the grid has a slot and an
    // element.
    unsafe {
        cache.add(t).write(*input.get_unchecked(i));
        let mut distance = 1;
        while distance < BLOCK as usize {
            thread::sync_threads(); // separates the last step's writes from this step's reads
            if t >= distance {
                cache.add(t).write(cache.add(t).read().wrapping_add(cache.add(t - distance).read())); // FINDING
            }
            distance *= 2;
        }
        output.add(i).write(cache.add(t).read());
    }
}
