//! Operators: what reductions and scans combine values by, ours and those of other crates.
//!
//! A crate of kernels implements [`Operator`] for a type of its own, over values of its own (`#[repr(C)]`, `Pod`), and
//! declares the kernels that it needs with [`reduce_kernel!`](crate::reduce_kernel),
//! [`scan_kernel!`](crate::scan_kernel), [`scan_by_key_kernel!`](crate::scan_by_key_kernel),
//! [`segmented_reduce_kernel!`](crate::segmented_reduce_kernel) and [`transform_kernel!`](crate::transform_kernel).
//! They are instances of the same functions as the `best` rungs. On the host, `rustwarp::operators` launches them.
//!
//! ```
//! use bytemuck::{Pod, Zeroable};
//! use kernels_gpu::operator::Operator;
//!
//! /// A map `x -> scale * x + shift`.
//! #[derive(Clone, Copy, Debug, Pod, Zeroable)]
//! #[repr(C)]
//! pub struct Line {
//!     pub scale: f32,
//!     pub shift: f32,
//! }
//!
//! /// Composition of maps: the first one, then the second.
//! pub struct Compose;
//!
//! impl Operator<Line> for Compose {
//!     const COMMUTATIVE: bool = false;
//!
//!     fn identity() -> Line {
//!         Line { scale: 1.0, shift: 0.0 }
//!     }
//!     fn combine(a: Line, b: Line) -> Line {
//!         Line { scale: a.scale * b.scale, shift: a.shift * b.scale + b.shift }
//!     }
//! }
//!
//! kernels_gpu::scan_kernel! {
//!     /// The composition of all maps up to each.
//!     pub fn compositions<Compose>(Line)
//! }
//! ```
//!
//! | algorithm | operators that do not commute |
//! |---|---|
//! | `reduce` | contiguous shares per warp, combined in order: [`reduce::ordered`](crate::reduce::ordered) |
//! | `scan`, `scan_by_key` | the same algorithm, with ordered trees in look-back |
//! | `segmented_reduce` | every tile takes the segmented scan, as if a segment ended in each |
//!
//! The choice is made at compile time from [`Operator::COMMUTATIVE`]. What is required of every operator is that it is
//! associative, for floats up to rounding.
//!
//! A value has at most [`MAX_BYTES`]. Loads and stores take 16 bytes at a time where neighbouring values fill a few
//! times 16 bytes ([`chunk::fits`]: all sizes but odd ones above 8 bytes, and some above 40) and the memory begins on a
//! boundary of 16 bytes; a reduction by an operator that commutes starts at the first boundary. Other values are loaded
//! one by one.

pub mod chunk;
mod kernels;
#[cfg(not(target_arch = "nvptx64"))]
pub mod launch;
pub mod record;
pub mod shuffle;
pub mod slots;
pub mod transform;

pub use bytemuck::{Pod, Zeroable};

/// Largest size of a value in bytes.
pub const MAX_BYTES: usize = 64;

/// An associative operation on values of `T`: `combine(combine(a, b), c)` is `combine(a, combine(b, c))`, for floats up
/// to rounding.
///
/// An operation without an identity (the first of two values, say) gets one by a flag in its values: a value without
/// the flag stands for none.
pub trait Operator<T>: 'static {
    /// Whether `combine(a, b)` is `combine(b, a)`. If so, reductions combine values in an order of their own, still the
    /// same in every run.
    const COMMUTATIVE: bool;

    /// `combine(identity(), x)` and `combine(x, identity())` are `x`; also the result for an empty input.
    fn identity() -> T;
    /// Combines two values, of which `a` comes first.
    fn combine(a: T, b: T) -> T;
}
