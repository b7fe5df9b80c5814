//! Code shared by the tests on the simulator and on a GPU: every variant, type, operation and awkward shape, in loops
//! over the registry. Only `order` names a kernel.

pub mod accuracy;
pub mod asynchronous;
pub mod cases;
pub mod checked;
pub mod epilogue;
pub mod explained;
pub mod fixed_point;
pub mod gemm;
pub mod group;
pub mod ieee;
pub mod matrix;
pub mod mixed;
pub mod order;
pub mod planted;
pub mod project;
pub mod shifted;
pub mod storage;
pub mod upstream;
