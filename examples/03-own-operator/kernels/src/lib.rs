//! Two operators, and the kernels that reduce and scan by them.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

// ANCHOR: use
use bytemuck::{Pod, Zeroable};
use kernels_gpu::operator::Operator;
// ANCHOR_END: use

// ANCHOR: summary
/// Minimum, maximum, sum and number of some values. Aligned to its 16 bytes, it is loaded in one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C, align(16))]
pub struct Summary {
    /// The smallest value.
    pub min: f32,
    /// The largest value.
    pub max: f32,
    /// The sum of the values.
    pub sum: f32,
    /// The number of values.
    pub count: u32,
}

/// Joins the summaries of two sets of values.
pub struct Join;

impl Operator<Summary> for Join {
    const COMMUTATIVE: bool = true;

    /// The summary of no values.
    fn identity() -> Summary {
        Summary { min: f32::INFINITY, max: f32::NEG_INFINITY, sum: 0.0, count: 0 }
    }
    fn combine(a: Summary, b: Summary) -> Summary {
        Summary { min: a.min.min(b.min), max: a.max.max(b.max), sum: a.sum + b.sum, count: a.count + b.count }
    }
}

kernels_gpu::reduce_kernel! {
    /// The summary of all elements, in one pass over them.
    pub fn summary<Join>(x: f32) -> Summary { Summary { min: x, max: x, sum: x, count: 1 } }
}
// ANCHOR_END: summary

// ANCHOR: account
/// What a period does to an account: it grows by a factor, then an amount is paid in.
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[repr(C)]
pub struct Period {
    /// Factor by which the balance grows.
    pub growth: f32,
    /// Amount that is paid in at the end.
    pub payment: f32,
}

/// One period after the other: their order matters.
pub struct Then;

impl Operator<Period> for Then {
    const COMMUTATIVE: bool = false;

    fn identity() -> Period {
        Period { growth: 1.0, payment: 0.0 }
    }
    fn combine(a: Period, b: Period) -> Period {
        Period { growth: a.growth * b.growth, payment: a.payment * b.growth + b.payment }
    }
}

kernels_gpu::scan_kernel! {
    /// What all periods up to each do together.
    pub fn balances<Then>(Period)
}

kernels_gpu::segmented_reduce_kernel! {
    /// What the periods of each account do together.
    pub fn accounts<Then>(Period)
}

kernels_gpu::transform_kernel! {
    /// The balance after some periods that began with nothing.
    pub fn payments(period: Period) -> f32 { period.payment }
}
// ANCHOR_END: account
