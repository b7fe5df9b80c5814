//! `cargo xtask embed`: the library's kernels inside every program that is built with it.
//!
//! The files lie in `crates/rustwarp/embedded`, from where the library's build script includes them. The published
//! crate contains them. A checkout has none unless this was run, and loses them when its kernels change: then it uses
//! the PTX in `target/ptx`.

use std::{
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, ensure};
use cuda_builder::{Arch, Artifact, Modules, embed, toolchain::Search};

use crate::{setup, workspace};

/// The families that the library's functions launch. The others serve the ladders, which use files.
const LIBRARY: &str = include_str!("../../crates/rustwarp/families.txt");

/// Name of the file with the hash of the PTX that the others were made of.
const STAMP: &str = "made-of";

/// Options of the task.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// GPUs to make machine code for, e.g. sm_80; may be repeated. Others compile the PTX on first use
    #[arg(long = "machine-code", value_name = "ARCH", default_values_t = [Arch::Compute90])]
    machine_code: Vec<Arch>,
    /// Removes the files, so that programs use the PTX in `target/ptx`
    #[arg(long, conflicts_with = "machine_code")]
    remove: bool,
}

/// Makes or removes the files.
///
/// # Errors
/// Fails if the kernels or their machine code cannot be built.
pub fn run(options: &Options) -> Result<ExitCode> {
    if options.remove {
        remove()?;
        return Ok(ExitCode::SUCCESS);
    }
    setup::all()?;
    let artifacts = artifacts()?;
    let stamp = made_of(&artifacts)?;
    let embedded: Vec<_> = artifacts.into_iter().filter(|artifact| is_in_the_library(&artifact.module)).collect();
    let codes = machine_code(&embedded, &options.machine_code)?;
    remove()?;
    let packed = embed::pack(&differing(embedded)?, &codes, &folder(), embed::Effort::Publish)?;
    let place = folder().join(STAMP);
    fs::write(&place, stamp).with_context(|| format!("cannot write {}", place.display()))?;
    let mut bytes = 0;
    for image in &packed {
        let path = &image.path;
        bytes += path.metadata().with_context(|| format!("cannot read {}", path.display()))?.len();
    }
    println!(
        "{}: {} files, {:.1} MiB; programs that are built from now on contain the families that they use",
        folder().display(),
        packed.len(),
        bytes as f64 / f64::from(1 << 20)
    );
    Ok(ExitCode::SUCCESS)
}

/// The artifacts without those whose PTX an older architecture has too, but for its header: newer GPUs load that. (The
/// package would be larger than the registry allows.)
fn differing(mut artifacts: Vec<Artifact>) -> Result<Vec<Artifact>> {
    artifacts.sort_by(|a, b| (&a.module, a.arch).cmp(&(&b.module, b.arch)));
    let mut kept: Vec<Artifact> = Vec::new();
    let mut last = String::new();
    for artifact in artifacts {
        let body = without_header(&String::from_utf8(read(&artifact.ptx)?)?);
        let repeats = kept.last().is_some_and(|older| older.module == artifact.module && body == last);
        if !repeats {
            kept.push(artifact);
            last = body;
        }
    }
    Ok(kept)
}

/// PTX without its version and its target, unless that is for one GPU or family only.
fn without_header(ptx: &str) -> String {
    let for_later_gpus = |target: &str| target.trim().bytes().all(|byte| byte.is_ascii_digit());
    let is_header = |line: &str| {
        let target = line.strip_prefix(".target sm_").and_then(|rest| rest.split(',').next());
        line.starts_with(".version") || target.is_some_and(for_later_gpus)
    };
    ptx.split_inclusive('\n').filter(|line| !is_header(line)).collect()
}

fn is_in_the_library(family: &str) -> bool {
    LIBRARY.lines().any(|line| line == family)
}

/// Builds the kernels of all families.
fn artifacts() -> Result<Vec<Artifact>> {
    let (name, path, modules) = workspace::KERNEL_CRATES[0];
    ensure!(modules == Modules::PerFamily, "{name} is not built as a module per family");
    Ok(workspace::builder(name, &workspace::root().join(path), modules).build_all()?)
}

/// Machine code for these GPUs, beside the PTX.
fn machine_code(artifacts: &[Artifact], archs: &[Arch]) -> Result<Vec<embed::MachineCode>> {
    Ok(embed::machine_code(artifacts, archs, &Search::default().cache)?)
}

/// Builds the library's kernels and writes their machine code beside the PTX.
///
/// # Errors
/// Fails if the kernels or their machine code cannot be built.
pub fn beside_the_ptx(archs: &[Arch]) -> Result<()> {
    machine_code(&artifacts()?, archs)?;
    Ok(())
}

/// Removes the embedded files if they were made of other PTX than these artifacts.
///
/// # Errors
/// Fails if a file cannot be read or removed.
pub fn remove_if_stale(artifacts: &[Artifact]) -> Result<()> {
    let Ok(stamp) = fs::read_to_string(folder().join(STAMP)) else { return Ok(()) };
    if stamp != made_of(artifacts)? {
        eprintln!("the embedded kernels are out of date and are removed: `cargo xtask embed` makes them again");
        remove()?;
    }
    Ok(())
}

/// Removes the embedded files.
///
/// # Errors
/// Fails if a file cannot be removed.
pub fn remove() -> Result<()> {
    let folder = folder();
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        // Whatever is there: an earlier build compressed differently, and all files would be published.
        if !path.ends_with(".gitignore") {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn folder() -> PathBuf {
    workspace::root().join("crates/rustwarp/embedded")
}

/// The hash of the PTX of these artifacts.
fn made_of(artifacts: &[Artifact]) -> Result<String> {
    let mut hasher = DefaultHasher::new();
    for artifact in artifacts {
        (artifact.arch.target_cpu(), &artifact.module).hash(&mut hasher);
        read(&artifact.ptx)?.hash(&mut hasher);
    }
    Ok(format!("{:016x}\n", hasher.finish()))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_an_older_architecture_has_too_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = [
            ("scan", Arch::Compute90, "sm_90", "ret;"),
            ("scan", Arch::Compute75, "sm_75", "ret;"),
            ("sum", Arch::Compute75, "sm_75, debug", "ret;"),
            ("sum", Arch::Compute80, "sm_80, debug", "exit;"),
            // The same as two before, but GPUs that run it would load the one before.
            ("sum", Arch::Compute90, "sm_90, debug", "ret;"),
            // For one GPU only: later ones cannot load it.
            ("sum", Arch::Compute90a, "sm_90a, debug", "ret;"),
            ("sum", Arch::Compute100, "sm_100, debug", "ret;"),
            ("sum", Arch::Compute103, "sm_103, debug", "ret;"),
        ];
        let artifact = |(i, (module, arch, target, body)): (usize, &(&str, Arch, &str, &str))| {
            let ptx = folder.path().join(format!("{i}.ptx"));
            fs::write(&ptx, format!(".version {i}.0\n.target {target}\n{body}\n")).expect("a file");
            let module = (*module).to_owned();
            Artifact { arch: *arch, module, ptx, llvm_ir: None, bitcode: None, fresh: true }
        };
        let kept = differing(made.iter().enumerate().map(artifact).collect()).expect("readable files");
        let kept: Vec<_> = kept.iter().map(|artifact| (artifact.module.as_str(), artifact.arch.target_cpu())).collect();
        let of_sum = ["sm_75", "sm_80", "sm_90", "sm_90a", "sm_100"].map(|arch| ("sum", arch));
        assert_eq!(kept, [&[("scan", "sm_75")][..], &of_sum].concat());
    }
}
