//! The builder: its options. `run` does the work.

use std::path::{Path, PathBuf};

use crate::{
    arch::Arch,
    artifact::Artifact,
    check::Lint,
    error::Error,
    options::{DebugInfo, Modules, Options},
    toolchain::Search,
};

mod copies;
mod run;
mod warnings;

/// Compiles a crate of kernels to PTX.
///
/// A whole `build.rs`, after which the program has `include_str!(concat!(env!("OUT_DIR"), "/kernels.ptx"))`:
///
/// ```no_run
/// use cuda_builder::{Arch, CudaBuilder, Error};
///
/// fn main() -> Result<(), Error> {
///     let out = std::path::PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
///     CudaBuilder::new("../kernels").arch(Arch::Compute75).copy_to(out.join("kernels.ptx")).build()?;
///     Ok(())
/// }
/// ```
///
/// In a build script, a failure is printed and ends the script, also where the result is dropped.
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path: PathBuf,
    /// `None` until the caller names architectures.
    archs: Option<Vec<Arch>>,
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    final_module_path: Option<PathBuf>,
    machine_code: Vec<Arch>,
    embed: Option<PathBuf>,
    search: Search,
    options: Options,
    emit_llvm_ir: bool,
    emit_llvm_bitcode: bool,
    fatal: bool,
    allowed: Vec<Lint>,
    build_args: Vec<String>,
}

impl CudaBuilder {
    /// A builder with default options for the crate in the folder `path`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            archs: None,
            copy_to: None,
            target_dir: None,
            final_module_path: None,
            machine_code: Vec::new(),
            embed: None,
            search: Search::default(),
            options: Options::default(),
            emit_llvm_ir: false,
            emit_llvm_bitcode: false,
            fatal: true,
            allowed: Vec::new(),
            build_args: Vec::new(),
        }
    }

    /// Sets the only architecture.
    pub fn arch(self, arch: Arch) -> Self {
        self.archs([arch])
    }

    /// Sets the architectures. Default: [`Arch::DEFAULT`]; for one file of PTX ([`CudaBuilder::copy_to`]) the oldest of
    /// them, whose PTX runs on every later GPU.
    pub fn archs(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        let mut archs: Vec<Arch> = archs.into_iter().collect();
        archs.sort();
        archs.dedup();
        self.archs = Some(archs);
        self
    }

    /// Copies the PTX to `path`: to this file if it ends in `.ptx`, which needs one architecture and one module;
    /// otherwise into this folder, as `<arch>.ptx`, or as `<arch>/<family>.ptx` under [`Modules::PerFamily`]. Copies
    /// that an earlier build of this crate left there and that no longer belong to it are removed.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Folder for the files of cargo and of the link. Default: `target/nvptx` of the crate's workspace.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Writes the LLVM IR of the module, before optimisation and after the IR pass, to `path`. Needs one module.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Also makes machine code for these GPUs, by ptxas, so that their driver has nothing to compile; it is beside the
    /// PTX, and [`CudaBuilder::embed`] includes it.
    pub fn machine_code(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.machine_code = archs.into_iter().collect();
        self
    }

    /// Writes a Rust file to `path`, which includes PTX and machine code in the program, compressed. In a program with
    /// `rustwarp`, `rustwarp::kernels!("NAME")` is the contents of the file `NAME` in `OUT_DIR`. Needs
    /// [`Modules::Whole`].
    pub fn embed(mut self, path: impl AsRef<Path>) -> Self {
        self.embed = Some(path.as_ref().to_owned());
        self
    }

    /// Sets where the device toolchain is looked for.
    pub fn search(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// Whether to optimise (the default), or to check debug assertions and integer overflow.
    pub fn release(mut self, release: bool) -> Self {
        self.options.optimise = release;
        self
    }

    /// How much the PTX records about the source.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.options.debug = debug;
        self
    }

    /// Chooses between [`DebugInfo::LineTables`] and [`DebugInfo::None`].
    pub fn generate_line_info(self, lines: bool) -> Self {
        self.debug(if lines { DebugInfo::LineTables } else { DebugInfo::None })
    }

    /// Whether f32 operations treat subnormal numbers as zero. Default: no.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.options.ftz = ftz;
        self
    }

    /// Whether f32 division is approximate (2 ulp). Default: no, it is rounded as IEEE 754 requires.
    pub fn fast_div(mut self, fast: bool) -> Self {
        self.options.fast_div = fast;
        self
    }

    /// Whether f32 square root is approximate. Default: no, it is rounded as IEEE 754 requires.
    pub fn fast_sqrt(mut self, fast: bool) -> Self {
        self.options.fast_sqrt = fast;
        self
    }

    /// Whether `a * b + c` may become one fused operation, rounded once. Default: yes, as in nvcc and the upstream
    /// builder.
    pub fn fma_contraction(mut self, contract: bool) -> Self {
        self.options.fma_contraction = contract;
        self
    }

    /// Whether artifacts name the optimised LLVM IR as text.
    pub fn emit_llvm_ir(mut self, emit: bool) -> Self {
        self.emit_llvm_ir = emit;
        self
    }

    /// Whether artifacts name the optimised LLVM bitcode.
    pub fn emit_llvm_bitcode(mut self, emit: bool) -> Self {
        self.emit_llvm_bitcode = emit;
        self
    }

    /// Adds arguments for cargo: `--features`, `--no-default-features`, …
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// Sets the PTX ISA version, as `major * 10 + minor`; an architecture, or a module with instructions, that
    /// needs a later one gets that. Default: 78 (7.8).
    pub fn ptx_version(mut self, version: u32) -> Self {
        self.options.ptx = version;
        self
    }

    /// How the entries are divided into PTX modules. Default: [`Modules::Whole`], one module.
    pub fn modules(mut self, modules: Modules) -> Self {
        self.options.modules = modules;
        self
    }

    /// Builds [`Modules::PerFamily`], of these families only. rustc compiles the whole crate; the rest of the work,
    /// which is most of it, is done for these.
    pub fn families(mut self, names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.options.modules = Modules::PerFamily;
        self.options.families = Some(names.into_iter().map(Into::into).collect());
        self
    }

    /// Whether kernels of dependencies become entries too. Default: no; a generic device function of a dependency is
    /// compiled wherever it is instantiated, and a dependency's kernels belong to its own PTX.
    pub fn dependency_kernels(mut self, include: bool) -> Self {
        self.options.dependency_kernels = include;
        self
    }

    /// Whether line tables record the folder of the crate's workspace, so that reports find the sources from any folder
    /// of this machine. Default: yes. Without it, the PTX does not depend on where the workspace is, and reports find
    /// the sources where the current folder is in the workspace. In both cases a hash of each file is recorded, so that
    /// no other text is shown than the one that was compiled.
    pub fn source_root(mut self, record: bool) -> Self {
        self.options.source_root = record;
        self
    }

    /// Turns lints off for the whole crate. `#[kernel(allow(LINT))]` turns one off for a kernel, by an exported symbol
    /// `rustwarp.allow.<lint>.<entry>`.
    pub fn allow(mut self, lints: impl IntoIterator<Item = Lint>) -> Self {
        self.allowed.extend(lints);
        self
    }

    /// Whether a failure inside a `build.rs` ends the script, and with it cargo's build. Default: yes, since a script
    /// that drops the error would go on with old PTX or with none. One that handles the error passes `false`; after a
    /// failure, cargo runs it again at every build until it succeeds.
    pub fn fatal(mut self, fatal: bool) -> Self {
        self.fatal = fatal;
        self
    }

    /// Builds, and returns the path of the PTX: of the newest architecture where there are several, and its folder
    /// under [`Modules::PerFamily`].
    ///
    /// # Errors
    /// As [`CudaBuilder::build_all`]; also [`Error::Options`] when the list of architectures is empty.
    pub fn build(self) -> Result<PathBuf, Error> {
        let modules = self.options.modules;
        let last = self.build_all()?.pop();
        let ptx = last.map(|artifact| artifact.ptx);
        let path = match modules {
            Modules::Whole => ptx,
            Modules::PerFamily => ptx.and_then(|ptx| Some(ptx.parent()?.to_owned())),
        };
        path.ok_or_else(|| Error::Options("no architecture to build for: name one with `arch`".to_owned()))
    }

    /// Builds for every architecture: artifacts of the oldest first, then by name of the module.
    ///
    /// # Errors
    /// - [`Error::Options`] when options contradict each other;
    /// - [`Error::Io`] or [`Error::Manifest`] when the folder holds no crate, or when a file can't be read or written;
    /// - [`Error::NoToolchain`] or [`Error::BadToolchain`] when there is no usable device toolchain;
    /// - [`Error::Compile`] when rustc rejects the kernels, [`Error::Kernel`] when they break a rule of the device;
    /// - [`Error::NoCudaTool`] when there is no ptxas to make machine code;
    /// - [`Error::Start`], [`Error::Tool`], [`Error::Answer`] or [`Error::Library`] when a tool fails.
    pub fn build_all(self) -> Result<Vec<Artifact>, Error> {
        run::build(&self)
    }
}
