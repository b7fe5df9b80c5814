//! Code shared by the tests on the simulator and on a GPU: every variant, type, operation and awkward shape, in loops
//! over the registry. Only `order` names a kernel.
#![allow(clippy::expect_used, reason = "a test stops at the first surprise")]

pub mod cases;
pub mod matrix;
pub mod order;
pub mod shifted;
