//! Dot product: the sum of `a[i] * b[i]`.
//!
//! A reduction whose elements are made on the way: multiplying costs nothing beside loading two vectors. What the rungs
//! differ in is how the blocks' sums become one.
//!
//! The rungs: [`host_sum`] is the course's version; [`atomic`] and [`single_launch`] finish on the device; [`best`] is
//! [`single_launch`] at the speed of memory.
//!
//! Products are not rounded: each is fused with its addition (`fma`). So with `d` additions in the longest chain the
//! error is at most about d * eps * `sum(|a[i] * b[i]|)`, and n times half the smallest subnormal where products are
//! that small. Every rung but `atomic` adds in an order fixed by (length, block, grid).
//!
//! Sources: J. Sanders and E. Kandrot, "CUDA by Example" (2010), section 5.3, for the first rung; NVIDIA's
//! `threadFenceReduction` sample for the last block.

use crate::number::Number;
use cuda_std::{math::Float, thread};

pub mod atomic;
pub mod best;
pub mod host_sum;
pub mod single_launch;

/// An element type: `f32 f64`.
pub trait Real: Number + Float {}

impl Real for f32 {}
impl Real for f64 {}

/// Sum of products `t`, `t + threads`, `t + 2 * threads`, … of the calling thread, the `t`-th of the grid.
#[inline(always)]
fn grid_share<T: Real>(a: &[T], b: &[T]) -> T {
    let mut sum = T::ZERO;
    let mut i = thread::global_index();
    while i < a.len() && i < b.len() {
        sum = a[i].mul_add(b[i], sum);
        i += thread::grid_stride();
    }
    sum
}
