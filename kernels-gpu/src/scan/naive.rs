//! Hillis and Steele's scan of the whole array: in step `s` = 1, 2, 4, … each element is combined with the one `s`
//! places before.
//!
//! It takes log n steps instead of n, and scans any length without sums of blocks. But every step is a launch that
//! moves the array through memory from one buffer into another, and the additions are n log n - (n - 1) instead of
//! n - 1.

use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, thread, view::DisjointSlice};

/// The idea in one line.
pub const IDEA: &str = "Hillis and Steele over the whole array: log n launches, n log n additions";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// One step: `output[i]` becomes element `i - step` combined with element `i`, or element `i` alone if there is no such
/// element. Element `i` is `input[i - shift]`, or the identity: a `shift` of 1 in the first step makes the whole scan
/// exclusive. The result is the same in every run. The launch has at least one thread per element.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub fn scan_naive<O: Op<T>, T: Number>(input: &[T], shift: usize, step: usize, mut output: DisjointSlice<T>) {
    let own = thread::unique_index();
    let (i, Some(out)) = (own.get(), output.get_mut(own)) else { return };
    if i >= input.len() {
        return;
    }
    let element = |j: usize| if j >= shift { input[j - shift] } else { O::identity() };
    let mut value = element(i);
    if i >= step {
        value = O::combine(element(i - step), value);
    }
    *out = value;
}
