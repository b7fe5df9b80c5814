//! Mathematical functions of `f32` and `f64` that `core` lacks.
//!
//! [`Float`] has the functions of the standard library's floats, at full accuracy, and [`FloatExt`] special functions;
//! [`fast`] has the hardware's approximations. Without either trait, `core` has `min`, `max`, `clamp`, `to_bits`,
//! `is_nan` and more.

mod bytes;
mod ext;
pub mod fast;
mod float;
mod pair;
mod special;

pub use bytes::select_bytes;
pub use ext::FloatExt;
pub use float::Float;
pub use pair::{pack_bf16, pack_f16, unpack_bf16, unpack_f16};
