//! A thread for every element: block index times block size plus thread index is the element's index.
//!
//! The last block may have more threads than elements are left, so every thread checks its index before it accesses
//! memory. The grid grows with the data, and the setup of a thread is amortised over a single addition only.

use crate::number::Number;
use cuda_std::{kernel, thread, view::DisjointSlice};

/// The idea in one line.
pub const IDEA: &str = "one thread per element: the grid grows with the data";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Adds two vectors of equal length; integers wrap. The grid has a thread for each element.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub fn vecadd_one_per_thread<T: Number>(a: &[T], b: &[T], mut out: DisjointSlice<T>) {
    let i = thread::unique_index();
    if let (Some(&a), Some(&b), Some(out)) = (a.get(i.get()), b.get(i.get()), out.get_mut(i)) {
        *out = a.add(b);
    }
}
