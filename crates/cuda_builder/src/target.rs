//! The name of the target.

/// The Rust target that kernels are compiled for.
pub const TARGET: &str = "nvptx64-nvidia-cuda";
