//! The items that most kernels import: `use cuda_std::prelude::*;`.

pub use crate::math::Float;
pub use crate::view::{DisjointMatrix, DisjointSlice, DisjointVolume, SharedTile};
pub use crate::{address_space, kernel, print, println, shared, thread, warp};
