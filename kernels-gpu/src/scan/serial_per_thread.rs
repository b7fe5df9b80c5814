//! The serial algorithm, `y[i] = y[i - 1] + x[i]`, which every thread performs on a run of its own.
//!
//! It takes n additions, no barrier and no shared memory. But neighbouring threads are a whole run apart: each access
//! of a warp touches 32 sectors and uses a fraction of each, and the next steps find the rest only if the caches still
//! hold it.

use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "each thread scans a run of elements: n additions, but a warp's accesses are far apart";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Elements of a thread's run; a power of two.
pub const RUN: u32 = 32;

/// Scans each thread's run of the input and writes its total to `sums[global index of the thread]`. `exclusive` is 0
/// or 1. The result is the same in every run.
///
/// # Safety
/// At least one thread per run; `output` has as many elements as `input` and does not overlap it; `sums` has one per
/// run.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_serial_per_thread<O: Op<T>, T: Number>(input: &[T], exclusive: u32, output: *mut T, sums: *mut T) {
    let run = thread::global_index();
    let first = run * RUN as usize;
    if first >= input.len() {
        return;
    }
    let end = input.len().min(first + RUN as usize);

    let mut sum = O::identity();
    let mut i = first;
    while i < end {
        // SAFETY: `i` is below the length.
        let after = O::combine(sum, unsafe { *input.get_unchecked(i) });
        // SAFETY: `output` is as long as `input`, and no other thread has this run.
        unsafe { output.add(i).write(if exclusive != 0 { sum } else { after }) };
        sum = after;
        i += 1;
    }
    // SAFETY: each thread writes its own run's total only.
    unsafe { sums.add(run).write(sum) };
}
