//! What most kernels use: `use cuda_std::prelude::*;`.

pub use crate::math::Float;
pub use crate::{address_space, kernel, print, println, shared, thread, warp};
