//! `cargo xtask build-ptx`: the kernels, for every architecture that is built by default.

use std::{
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use cuda_builder::{Arch, Artifact, Cache, CudaBuilder, check, cuda_tools, toolchain::Search};

use crate::workspace;

/// What to build.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Architecture, e.g. sm_90; may be repeated [default: sm_75 sm_90]
    #[arg(long = "arch")]
    archs: Vec<Arch>,
    /// Only this crate of kernels: its name, or the folder of one outside the workspace
    #[arg(long)]
    package: Vec<String>,
    /// Prints what the build made of the kernels
    #[arg(long, value_enum)]
    emit: Option<Emit>,
    /// A device toolchain to use: folder with bin/rustc, or name of a rustup toolchain
    #[arg(long)]
    toolchain: Option<String>,
}

/// A form of the kernels that can be looked at.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Emit {
    /// LLVM IR after optimisation
    LlvmIr,
    /// PTX
    Ptx,
    /// Machine code, by ptxas and nvdisasm
    Sass,
}

/// Builds, and says what was built.
pub fn run(options: &Options) -> Result<ExitCode> {
    let start = Instant::now();
    let mut search = Search::default();
    search.asked = options.toolchain.clone().or(search.asked);
    for (name, folder) in packages(&options.package)? {
        let mut builder = CudaBuilder::new(&folder).search(search.clone()).copy_to(workspace::ptx_dir().join(&name));
        if !options.archs.is_empty() {
            builder = builder.archs(options.archs.iter().copied());
        }
        for artifact in builder.emit_llvm_ir(options.emit == Some(Emit::LlvmIr)).build_all()? {
            match options.emit {
                Some(emit) => print(emit, &artifact, &search.cache)?,
                None => println!("{}{}", artifact.ptx.display(), if artifact.fresh { " (unchanged)" } else { "" }),
            }
        }
    }
    eprintln!("PTX is up to date ({:.1} s)", start.elapsed().as_secs_f32());
    Ok(ExitCode::SUCCESS)
}

/// Builds everything that the workspace's own programs need.
pub fn all() -> Result<()> {
    run(&Options::default())?;
    Ok(())
}

/// Writes one form of the kernels to standard output.
fn print(emit: Emit, artifact: &Artifact, cache: &Cache) -> Result<()> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let text = match emit {
        Emit::Ptx => read(&artifact.ptx)?,
        Emit::LlvmIr => artifact.llvm_ir.as_deref().map(read).transpose()?.unwrap_or_default(),
        Emit::Sass => {
            let purpose = "show machine code";
            let (ptxas, nvdisasm) =
                (cuda_tools::require("ptxas", cache, purpose)?, cuda_tools::require("nvdisasm", cache, purpose)?);
            let cubin = artifact.ptx.with_extension("cubin");
            check::assemble(&ptxas, &artifact.ptx, artifact.arch, &cubin)?;
            check::disassemble(&nvdisasm, &cubin)?
        }
    };
    match std::io::stdout().write_all(text.as_bytes()) {
        // `… | head` has seen enough.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Names and folders of the crates to build.
fn packages(asked: &[String]) -> Result<Vec<(String, PathBuf)>> {
    let known = workspace::KERNEL_CRATES.map(|(name, folder)| (name.to_owned(), workspace::root().join(folder)));
    if asked.is_empty() {
        return Ok(known.to_vec());
    }
    asked
        .iter()
        .map(|name| {
            if let Some(found) = known.iter().find(|(known, _)| known == name) {
                return Ok(found.clone());
            }
            let folder = Path::new(name);
            match folder.file_name() {
                Some(base) if folder.join("Cargo.toml").is_file() => {
                    Ok((base.to_string_lossy().into_owned(), folder.to_owned()))
                }
                _ => bail!(
                    "`{name}` is no crate of kernels: give kernels-gpu, test-kernels, or a folder with a Cargo.toml"
                ),
            }
        })
        .collect()
}
