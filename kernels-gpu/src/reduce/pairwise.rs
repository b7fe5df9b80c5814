//! Pairwise: every pass halves the vector, and thread `t` combines element `t` with the one half the vector away.
//!
//! It uses no shared memory and no barriers: each pass is a launch, and writes its result to memory. The passes move
//! three times the input, and a long vector takes log2(n) launches, of which most have little work. Sums are the most
//! accurate of the ladder: an element is part of log2(n) additions.

use super::{Max, Min, Op, Sum};
use crate::number::Number;
use cuda_std::{kernel, thread, view::DisjointSlice};

/// The idea in one line.
pub const IDEA: &str =
    "every pass halves the vector in memory: no barriers and the most accurate sums, but many launches";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Halves the input, rounded up, to `output`, which has a thread for each of its elements.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub fn reduce_pairwise<O: Op<T>, T: Number>(input: &[T], mut output: DisjointSlice<T>) {
    let (front, back) = input.split_at(input.len() - input.len() / 2);
    let i = thread::unique_index();
    if let (Some(&first), Some(out)) = (front.get(i.get()), output.get_mut(i)) {
        let second = back.get(i.get()).copied().unwrap_or(O::identity());
        *out = O::combine(first, second);
    }
}
