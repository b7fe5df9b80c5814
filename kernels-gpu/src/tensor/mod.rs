//! Matrix product on the tensor cores: `C = A * B` of f32 matrices, at the accuracy of f32. The module [`mixed`] has
//! those of narrow types, which need none of this.
//!
//! Tensor cores multiply f16 an order of magnitude faster than the other units multiply f32. Two f16 hold an f32
//! to within 2^-22 of it, and three of the four products of such pairs make the product:
//!
//! ```text
//! a = high(a) + low(a)         a * b = high(a) high(b) + high(a) low(b) + low(a) high(b) + …
//! ```
//!
//! What is left out is below 2^-22 of the product, too. Each run of [`PIECE`] elements of the depth is scaled by a
//! power of two, so that its largest element is just below 2^15 and the range of f16 does not matter.
//!
//! Tensor cores round sums toward zero, which adds up: their sums are moved to ordinary registers after every piece,
//! where fused multiply-adds round to nearest and undo the scaling. That keeps the error below that of a chain of f32
//! additions.
//!
//! The order of all additions depends on the shape only, so the result has the same bits in every run.
//!
//! Sources: H. Ootomo and R. Yokota, "Recovering single precision accuracy from Tensor Cores while surpassing the FP32
//! theoretical peak performance" (2022: two slices, sums outside of the tensor cores); NVIDIA CUTLASS and P. Shah's
//! fast.cu (warpgroups that copy and that multiply, multicast in clusters). The scaling by pieces is ours.

pub mod best;
pub mod mixed;
pub mod slices;

pub(crate) mod barriers;
mod problem;
mod ring;
mod store;

pub use crate::product::{A_TRANSPOSED, B_TRANSPOSED};

/// Elements of the depth that share a scale, and after which sums leave the tensor cores.
pub const PIECE: u32 = 64;

/// Elements of the depth in a tile of slices: a row of it is 128 bytes, the high parts before the low ones.
pub const DEPTH: u32 = 32;

/// Bytes of a row of a tile of slices.
pub const ROW: u32 = 128;
