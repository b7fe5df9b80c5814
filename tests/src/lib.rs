//! What the simulator's tests and the GPU's tests have in common: every variant, type, operation and awkward shape, in
//! loops over the registry. But for `order`, nothing here names a kernel.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

pub mod cases;
pub mod matrix;
pub mod order;
pub mod shifted;
