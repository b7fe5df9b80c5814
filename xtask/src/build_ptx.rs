//! `cargo xtask build-ptx`: compiles the kernels, for every default architecture or those of `--arch`.

use std::{
    collections::BTreeSet,
    fs,
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::ExitCode,
    time::Instant,
};

use anyhow::{Context, Result, bail};
use cuda_builder::{Arch, Artifact, Cache, Modules, check, cuda_tools, toolchain::Search};

use crate::{embed, workspace};

/// Options of the task.
#[derive(clap::Args, Clone, Debug, Default)]
pub struct Options {
    /// Architecture, e.g. sm_90; may be repeated [default: sm_75 sm_90]
    #[arg(long = "arch")]
    archs: Vec<Arch>,
    /// Only this crate of kernels: its name, or the folder of one outside the workspace
    #[arg(long)]
    package: Vec<String>,
    /// With --emit: only this family
    #[arg(long, requires = "emit")]
    family: Option<String>,
    /// Prints one form of the compiled kernels
    #[arg(long, value_enum)]
    emit: Option<Emit>,
    /// A device toolchain to use: folder with bin/rustc, or name of a rustup toolchain
    #[arg(long)]
    toolchain: Option<String>,
}

/// A form of the kernels that can be printed.
#[derive(clap::ValueEnum, Clone, Copy, Debug, PartialEq)]
pub enum Emit {
    /// LLVM IR after optimisation
    LlvmIr,
    /// PTX
    Ptx,
    /// Machine code, by ptxas and nvdisasm
    Sass,
}

/// Builds, and prints the paths of the PTX, or one form of the kernels.
///
/// # Errors
/// Fails for an unknown crate or family, and if the build fails.
pub fn run(options: &Options) -> Result<ExitCode> {
    let start = Instant::now();
    let packages = packages(&options.package)?;
    let mut search = Search::default();
    search.asked = options.toolchain.clone().or(search.asked);
    let mut builds = Vec::new();
    for (name, folder, modules) in packages {
        let mut builder = workspace::builder(&name, &folder, modules).search(search.clone());
        if !options.archs.is_empty() {
            builder = builder.archs(options.archs.iter().copied());
        }
        let artifacts = builder.emit_llvm_ir(options.emit == Some(Emit::LlvmIr)).build_all()?;
        if options.emit.is_none() {
            summary(&artifacts);
        }
        // Other architectures than the usual ones do not say whether the usual ones have changed.
        if name == workspace::KERNEL_CRATES[0].0 && options.archs.is_empty() {
            embed::remove_if_stale(&artifacts)?;
        }
        builds.push(artifacts);
    }
    if let Some(emit) = options.emit {
        for artifact in chosen(&builds, options.family.as_deref())? {
            print(emit, artifact, &search.cache)?;
        }
    }
    eprintln!("PTX is up to date ({:.1} s)", start.elapsed().as_secs_f32());
    Ok(ExitCode::SUCCESS)
}

/// The artifacts of one family, or all; `builds` has those of each crate.
fn chosen<'a>(builds: &'a [Vec<Artifact>], family: Option<&str>) -> Result<Vec<&'a Artifact>> {
    let all = || builds.iter().flatten();
    let Some(family) = family else { return Ok(all().collect()) };
    let found: Vec<_> = all().filter(|artifact| artifact.module == family).collect();
    if found.is_empty() {
        let names: BTreeSet<&str> = all().map(|artifact| artifact.module.as_str()).collect();
        bail!("unknown family `{family}`; expected one of: {}", Vec::from_iter(names).join(" "));
    }
    Ok(found)
}

/// Prints the path of each file that was written, and one line per folder for the rest.
fn summary(artifacts: &[Artifact]) {
    for artifact in artifacts.iter().filter(|artifact| !artifact.fresh) {
        println!("{}", artifact.ptx.display());
    }
    let mut unchanged: Vec<(&Path, usize)> = Vec::new();
    for artifact in artifacts.iter().filter(|artifact| artifact.fresh) {
        let folder = artifact.ptx.parent().unwrap_or(&artifact.ptx);
        match unchanged.last_mut().filter(|(last, _)| *last == folder) {
            Some((_, count)) => *count += 1,
            None => unchanged.push((folder, 1)),
        }
    }
    for (folder, count) in unchanged {
        println!("{}: {count} unchanged", folder.display());
    }
}

/// Builds the crates that the workspace's own programs need.
///
/// # Errors
/// Fails if the build fails.
pub fn all() -> Result<()> {
    run(&Options::default())?;
    Ok(())
}

/// Writes one form of the kernels to standard output.
fn print(emit: Emit, artifact: &Artifact, cache: &Cache) -> Result<()> {
    match std::io::stdout().write_all(text(emit, artifact, cache)?.as_bytes()) {
        // The reader, such as `head`, has closed the pipe.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => Ok(result?),
    }
}

/// Reads or makes one form of the kernels.
fn text(emit: Emit, artifact: &Artifact, cache: &Cache) -> Result<String> {
    let read = |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    Ok(match emit {
        Emit::Ptx => read(&artifact.ptx)?,
        Emit::LlvmIr => {
            let module = &artifact.module;
            let path = artifact.llvm_ir.as_deref();
            let path = path.with_context(|| {
                format!("the build of `{module}` was not asked for LLVM IR: request it by `CudaBuilder::emit_llvm_ir`")
            })?;
            let folder = path.parent().unwrap_or(path).display();
            read(path).with_context(|| {
                format!("cannot show the LLVM IR of `{module}`: remove `{folder}` and run the command again")
            })?
        }
        Emit::Sass => {
            let purpose = "show machine code";
            let (ptxas, nvdisasm) =
                (cuda_tools::require("ptxas", cache, purpose)?, cuda_tools::require("nvdisasm", cache, purpose)?);
            let cubin = artifact.ptx.with_extension("cubin");
            check::assemble(&ptxas, &artifact.ptx, artifact.arch, &cubin)?;
            check::disassemble(&nvdisasm, &cubin)?
        }
    })
}

/// Names, folders and division of the crates to build. A crate outside the workspace becomes one module.
fn packages(asked: &[String]) -> Result<Vec<(String, PathBuf, Modules)>> {
    let known = workspace::KERNEL_CRATES
        .map(|(name, folder, modules)| (name.to_owned(), workspace::root().join(folder), modules));
    if asked.is_empty() {
        return Ok(known.to_vec());
    }
    asked
        .iter()
        .map(|name| {
            if let Some(found) = known.iter().find(|(known, ..)| known == name) {
                return Ok(found.clone());
            }
            let folder = Path::new(name);
            match folder.file_name() {
                Some(base) if folder.join("Cargo.toml").is_file() => {
                    Ok((base.to_string_lossy().into_owned(), folder.to_owned(), Modules::Whole))
                }
                _ => bail!(
                    "unknown crate of kernels `{name}`; expected kernels-gpu, test-kernels, test-operators, or a \
                     folder with a Cargo.toml"
                ),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn artifact(arch: Arch, module: &str) -> Artifact {
        let (module, ptx) = (module.to_owned(), PathBuf::from("absent.ptx"));
        Artifact { arch, module, ptx, llvm_ir: None, bitcode: None, fresh: true }
    }

    #[test]
    fn missing_llvm_ir_is_an_error_that_names_the_remedy() {
        let cache = Search::default().cache;
        let mut vecadd = artifact(Arch::Compute90, "vecadd");
        let error = text(Emit::LlvmIr, &vecadd, &cache).expect_err("no path");
        assert!(error.to_string().ends_with("request it by `CudaBuilder::emit_llvm_ir`"), "{error}");

        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("optimised.ll");
        vecadd.llvm_ir = Some(path.clone());
        let error = text(Emit::LlvmIr, &vecadd, &cache).expect_err("no file").to_string();
        let remedy = format!("remove `{}` and run the command again", folder.path().display());
        assert!(error.ends_with(&remedy), "{error}");

        fs::write(&path, "define void @f()").expect("a file");
        assert_eq!(text(Emit::LlvmIr, &vecadd, &cache).expect("the text"), "define void @f()");
    }

    #[test]
    fn a_family_is_looked_up_in_every_crate_and_an_unknown_one_lists_each_once() {
        let (old, new) = (Arch::Compute75, Arch::Compute90);
        let of = |arch| vec![artifact(arch, "scan"), artifact(arch, "reduce")];
        let builds = [[of(old), of(new)].concat(), vec![artifact(new, "test_kernels")]];
        let archs = |family| {
            let found = chosen(&builds, family).expect("a family");
            found.into_iter().map(|artifact| artifact.arch).collect::<Vec<_>>()
        };
        assert_eq!(archs(Some("scan")), [old, new]);
        assert_eq!(archs(Some("test_kernels")), [new]);
        assert_eq!(archs(None).len(), 5);
        let error = chosen(&builds, Some("sort")).expect_err("no family").to_string();
        assert_eq!(error, "unknown family `sort`; expected one of: reduce scan test_kernels");
    }
}
