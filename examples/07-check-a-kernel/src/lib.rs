//! The kernels as PTX text, which `build.rs` has made. `tests/sums.rs` runs them on the simulator.

/// PTX of the crate `kernels`.
pub const PTX: &str = include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"));

pub use check_a_kernel_kernels::BLOCK;
