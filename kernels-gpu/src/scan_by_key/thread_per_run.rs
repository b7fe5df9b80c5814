//! A thread for each element, of which those at the head of a run scan it; the others have nothing to do.
//!
//! Every warp lasts as long as the longest run that begins in it, and lanes read that far apart.

use super::is_head;
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "the thread at the head of a run scans it: nothing to combine, but as slow as the longest run";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Scans each run of equal keys. `exclusive` is 0 or 1. The result is the same in every run.
///
/// # Safety
/// A thread per element; there are as many keys as values; `output` has as many elements and does not overlap them.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_by_key_thread_per_run<O: Op<T>, T: Number>(
    keys: &[u32],
    values: &[T],
    exclusive: u32,
    output: *mut T,
) {
    let mut i = thread::global_index();
    // SAFETY: there is an element `i`, and a thread's run is no other thread's.
    unsafe {
        if i >= values.len() || !is_head(keys, i) {
            return;
        }
        let mut before = O::identity();
        loop {
            let after = O::combine(before, *values.get_unchecked(i));
            output.add(i).write(if exclusive != 0 { before } else { after });
            before = after;
            i += 1;
            if i >= values.len() || is_head(keys, i) {
                return;
            }
        }
    }
}
