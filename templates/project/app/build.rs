//! Compiles the kernels to PTX, which the program contains.

use std::{env, path::PathBuf};

use cuda_builder::{Arch, CudaBuilder, Error};

fn main() -> Result<(), Error> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    CudaBuilder::new("../kernels")
        // PTX for an architecture runs on every later GPU.
        .arch(Arch::Compute75)
        .embed(out.join("kernels.rs"))
        // For profilers: the program does not read it.
        .copy_to("../target/kernels.ptx")
        .build()?;
    Ok(())
}
