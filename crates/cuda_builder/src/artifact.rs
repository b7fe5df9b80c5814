//! What a build makes.

use std::path::PathBuf;

use crate::arch::Arch;

/// A PTX module for one architecture.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// Architecture of the PTX: that of the build, or `sm_90a` in a build for `sm_90` if the module has instructions of
    /// exactly these GPUs, or `sm_80` in a build for an earlier one if it has instructions that came with that.
    pub arch: Arch,
    /// Name of the family, or of the crate where the crate is one module.
    pub module: String,
    /// Path of the PTX.
    pub ptx: PathBuf,
    /// Path of the LLVM IR after optimisation, if `CudaBuilder::emit_llvm_ir` asked for it.
    pub llvm_ir: Option<PathBuf>,
    /// Path of the same as bitcode, if `CudaBuilder::emit_llvm_bitcode` asked for it.
    pub bitcode: Option<PathBuf>,
    /// Whether the module was unchanged since the last build.
    pub fresh: bool,
}
