//! The items that most kernels import: `use cuda_std::prelude::*;`.

pub use crate::math::Float;
pub use crate::view::{DisjointMatrix, DisjointSlice, DisjointVolume, SharedTile};
pub use crate::{address_space, kernel, print, println, shared, thread, warp};

#[cfg(feature = "half")]
pub use crate::f16;
#[cfg(feature = "alloc")]
pub use alloc::{
    borrow::ToOwned,
    boxed::Box,
    format,
    rc::Rc,
    string::{String, ToString},
    vec::Vec,
};
