//! Dot product: the sum of `a[i] * b[i]`.
//!
//! It is a reduction whose elements are computed on the fly: multiplying costs little beside loading two vectors. The
//! rungs differ in how the blocks' sums become one.
//!
//! The rungs: [`host_sum`] adds the blocks' sums on the host, as the dot-product slides do; [`atomic`] and
//! [`single_launch`] finish on the device; [`best`] is [`single_launch`] at the speed of memory.
//!
//! Products are not rounded: each is fused with its addition (`fma`). So with `d` additions in the longest chain the
//! error is at most about d * eps * `sum(|a[i] * b[i]|)`, plus n times half the smallest subnormal if products are that
//! small. Every rung except `atomic` adds in an order that (length, block, grid) determine.
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

/// Sum of the products `t`, `t + threads`, `t + 2 * threads`, … of the calling thread, the `t`-th of the grid.
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
