//! Compiles the kernels to PTX and to machine code, which the program contains.

use std::{env, path::PathBuf};

use cuda_builder::{Arch, CudaBuilder, Error};

fn main() -> Result<(), Error> {
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    // ANCHOR: build
    CudaBuilder::new("../02-own-kernel/kernels")
        .arch(Arch::Compute75)
        .machine_code([Arch::Compute80, Arch::Compute90])
        .embed(out.join("kernels.rs"))
        .build()?;
    // ANCHOR_END: build
    Ok(())
}
