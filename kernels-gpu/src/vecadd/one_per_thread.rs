//! A thread for every element: block index times block size plus thread index is the element's index.
//!
//! The last block may have more threads than elements are left, so every thread checks `i < n` before it accesses
//! memory. The grid grows with the data, and the setup of a thread is amortised over a single addition only.

use crate::number::Number;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per element: the grid grows with the data";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Adds two vectors of equal length; integers wrap.
///
/// # Safety
/// `b` is as long as `a`; `out` has room for as many elements and overlaps neither; the grid has a thread for each
/// element.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn vecadd_one_per_thread<T: Number>(a: &[T], b: &[T], out: *mut T) {
    let i = thread::global_index();
    if i < a.len() && i < b.len() {
        // SAFETY: `out` is as long as `a` and `b`, and no other thread has this `i`.
        unsafe { out.add(i).write(a[i].add(b[i])) };
    }
}
