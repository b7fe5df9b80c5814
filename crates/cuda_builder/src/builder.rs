//! The builder: options, then one build per architecture.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::UNIX_EPOCH,
};

use crate::{
    Arch, Error, build_script,
    link::{Link, Options},
    lock,
    package::Package,
    rustc::{self, Record, Request, Watch},
    toolchain::{Search, Toolchain, discover},
};

/// How much the PTX says about the Rust source.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DebugInfo {
    /// Nothing.
    None,
    /// `.loc` directives with inlined-at chains: profilers and the simulator name Rust lines, and nothing gets slower.
    #[default]
    LineTables,
    /// Debug sections for cuda-gdb too. ptxas then optimises less.
    Full,
}

impl DebugInfo {
    /// For `-Cdebuginfo`. Line tables need level 1: inlined functions keep their names.
    pub(crate) fn rustc_level(self) -> &'static str {
        match self {
            Self::None => "0",
            Self::LineTables => "1",
            Self::Full => "2",
        }
    }

    /// cargo compiles `core` again when rustc's flags change, so each set of flags has its own target folder.
    fn folder_suffix(self) -> &'static str {
        match self {
            Self::LineTables => "",
            Self::None => "-no-lines",
            Self::Full => "-debug",
        }
    }
}

/// What a build made for one architecture.
#[derive(Clone, Debug)]
pub struct Artifact {
    /// For which GPU.
    pub arch: Arch,
    /// The PTX.
    pub ptx: PathBuf,
    /// LLVM IR after optimisation, where [`CudaBuilder::emit_llvm_ir`] asked for it.
    pub llvm_ir: Option<PathBuf>,
    /// The same as bitcode, where [`CudaBuilder::emit_llvm_bitcode`] asked for it.
    pub bitcode: Option<PathBuf>,
    /// Nothing had changed since the last build.
    pub fresh: bool,
}

/// Compiles a crate of kernels to PTX.
///
/// ```no_run
/// use cuda_builder::{Arch, CudaBuilder};
///
/// let ptx = CudaBuilder::new("../kernels").arch(Arch::Compute90).copy_to("kernels.ptx").build()?;
/// # Ok::<(), cuda_builder::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct CudaBuilder {
    path: PathBuf,
    archs: Vec<Arch>,
    copy_to: Option<PathBuf>,
    target_dir: Option<PathBuf>,
    final_module_path: Option<PathBuf>,
    search: Search,
    options: Options,
    emit_llvm_ir: bool,
    emit_llvm_bitcode: bool,
    build_args: Vec<String>,
}

impl CudaBuilder {
    /// Builds the crate in the folder `path`.
    pub fn new(path: impl AsRef<Path>) -> Self {
        Self {
            path: path.as_ref().to_owned(),
            archs: Arch::DEFAULT.to_vec(),
            copy_to: None,
            target_dir: None,
            final_module_path: None,
            search: Search::default(),
            options: Options::default(),
            emit_llvm_ir: false,
            emit_llvm_bitcode: false,
            build_args: Vec::new(),
        }
    }

    /// Builds for this architecture only.
    pub fn arch(self, arch: Arch) -> Self {
        self.archs([arch])
    }

    /// Builds for these architectures.
    pub fn archs(mut self, archs: impl IntoIterator<Item = Arch>) -> Self {
        self.archs = archs.into_iter().collect();
        self.archs.sort();
        self.archs.dedup();
        self
    }

    /// Puts the PTX here too: a file ending in `.ptx` for one architecture, or a folder that gets `<arch>.ptx` for
    /// each.
    pub fn copy_to(mut self, path: impl AsRef<Path>) -> Self {
        self.copy_to = Some(path.as_ref().to_owned());
        self
    }

    /// Where cargo and the link keep their files: `nvptx` in the workspace's target folder otherwise.
    pub fn target_dir(mut self, path: impl AsRef<Path>) -> Self {
        self.target_dir = Some(path.as_ref().to_owned());
        self
    }

    /// Puts the LLVM IR of the joined module, before optimisation and after the IR pass, here.
    pub fn final_module_path(mut self, path: impl AsRef<Path>) -> Self {
        self.final_module_path = Some(path.as_ref().to_owned());
        self
    }

    /// Where to find the device toolchain.
    pub fn search(mut self, search: Search) -> Self {
        self.search = search;
        self
    }

    /// With optimisation (the default), or with debug assertions and overflow checks.
    pub fn release(mut self, release: bool) -> Self {
        self.options.optimise = release;
        self
    }

    /// How much the PTX says about the source.
    pub fn debug(mut self, debug: DebugInfo) -> Self {
        self.options.debug = debug;
        self
    }

    /// [`DebugInfo::LineTables`] or [`DebugInfo::None`].
    pub fn generate_line_info(self, lines: bool) -> Self {
        self.debug(if lines { DebugInfo::LineTables } else { DebugInfo::None })
    }

    /// f32 operations treat subnormal numbers as zero. Default: no.
    pub fn ftz(mut self, ftz: bool) -> Self {
        self.options.ftz = ftz;
        self
    }

    /// f32 division is approximate (2 ulp). Default: no, it is rounded as IEEE says.
    pub fn fast_div(mut self, fast: bool) -> Self {
        self.options.fast_div = fast;
        self
    }

    /// f32 square root is approximate. Default: no, it is rounded as IEEE says.
    pub fn fast_sqrt(mut self, fast: bool) -> Self {
        self.options.fast_sqrt = fast;
        self
    }

    /// `a * b + c` may become one fused operation, rounded once. Default: yes, as nvcc and the upstream builder do.
    pub fn fma_contraction(mut self, contract: bool) -> Self {
        self.options.fma_contraction = contract;
        self
    }

    /// Keeps the optimised LLVM IR as text.
    pub fn emit_llvm_ir(mut self, emit: bool) -> Self {
        self.emit_llvm_ir = emit;
        self
    }

    /// Keeps the optimised LLVM bitcode.
    pub fn emit_llvm_bitcode(mut self, emit: bool) -> Self {
        self.emit_llvm_bitcode = emit;
        self
    }

    /// More arguments for cargo: `--features`, `--no-default-features`, …
    pub fn build_args(mut self, args: &[impl AsRef<str>]) -> Self {
        self.build_args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    /// The PTX ISA version to write, as `major * 10 + minor`; an architecture that needs a later one gets it. Default:
    /// 7.8.
    pub fn ptx_version(mut self, version: u32) -> Self {
        self.options.ptx = version;
        self
    }

    /// Builds, and gives the path of the PTX: of the newest architecture where there are several.
    pub fn build(self) -> Result<PathBuf, Error> {
        let last = self.build_all()?.pop();
        last.map(|artifact| artifact.ptx).ok_or_else(|| Error::Options("no architecture was asked for".to_owned()))
    }

    /// Builds for every architecture, oldest first.
    pub fn build_all(self) -> Result<Vec<Artifact>, Error> {
        if self.copies_to_file() && self.archs.len() > 1 {
            return Err(Error::Options(
                "copy_to names one file, and there are several architectures: name a folder, or one architecture"
                    .to_owned(),
            ));
        }
        let package = Package::at(&self.path)?;
        let toolchain = discover(&self.search)?;
        let target = self.target_dir.clone().unwrap_or_else(|| package.workspace.join("target/nvptx"));
        let begun = OnceLock::new();
        let build = &|index, arch| {
            let watch = if index == 0 { Watch::Live(&begun) } else { Watch::Quiet(&begun) };
            let artifact = self.build_one(&package, &toolchain, &target, arch, watch);
            // Also after a failure on the way to cargo: the others must not wait for ever.
            let _ = begun.set(());
            artifact
        };
        let results: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> =
                self.archs.iter().enumerate().map(|(index, &arch)| scope.spawn(move || build(index, arch))).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        results.into_iter().map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    }
}

impl CudaBuilder {
    fn copies_to_file(&self) -> bool {
        self.copy_to.as_ref().is_some_and(|path| path.extension().is_some_and(|extension| extension == "ptx"))
    }

    fn build_one(
        &self,
        package: &Package,
        toolchain: &Toolchain,
        target: &Path,
        arch: Arch,
        watch: Watch<'_>,
    ) -> Result<Artifact, Error> {
        let target_dir = target.join(format!("{arch}{}", self.options.debug.folder_suffix()));
        let _lock = lock::lock(&target_dir.join(format!("{}.lock", package.name)), || {
            eprintln!("    Blocking waiting for another build of {} for {arch}", package.name);
        })?;
        let output = rustc::compile(&Request {
            toolchain,
            package_dir: &package.dir,
            package: &package.name,
            target_dir: &target_dir,
            arch,
            release: self.options.optimise,
            debug: self.options.debug,
            build_args: &self.build_args,
            watch,
        })?;
        if matches!(watch, Watch::Live(_)) {
            build_script::announce(&output);
        }

        let options = &self.options;
        let work_dir = target_dir.join("link").join(format!("{}{}", package.name, options.folder_suffix()));
        let link = Link {
            toolchain,
            package: &package.name,
            workspace: &package.workspace,
            arch,
            options,
            work_dir: &work_dir,
        };
        let stamp = stamp(options, toolchain, &output)?;
        let stamp_path = work_dir.join("stamp");
        let fresh = link.ptx().is_file() && fs::read_to_string(&stamp_path).is_ok_and(|text| text == stamp);
        if !fresh {
            // Without its stamp, a link that is cut short is done again.
            let _ = fs::remove_file(&stamp_path);
            link.run(&Record::read(&output)?)?;
            fs::write(&stamp_path, stamp).map_err(Error::io("write", &stamp_path))?;
        }
        self.hand_out(&link, fresh)
    }

    /// Puts the files where the caller wants them.
    fn hand_out(&self, link: &Link<'_>, fresh: bool) -> Result<Artifact, Error> {
        let mut ptx = link.ptx();
        if let Some(place) = &self.copy_to {
            let path = if self.copies_to_file() { place.clone() } else { place.join(format!("{}.ptx", link.arch)) };
            copy_if_changed(&ptx, &path)?;
            ptx = path;
        }
        if let Some(path) = &self.final_module_path {
            copy_if_changed(&link.module(), path)?;
        }
        let llvm_ir = self.emit_llvm_ir.then(|| link.llvm_ir());
        let bitcode = if self.emit_llvm_bitcode { Some(link.write_bitcode()?) } else { None };
        Ok(Artifact { arch: link.arch, ptx, llvm_ir, bitcode, fresh })
    }
}

/// Everything that a link depends on beside the record's own files, which change their time with every compilation.
fn stamp(options: &Options, toolchain: &Toolchain, record: &Path) -> Result<String, Error> {
    // The linking program counts as well: another version of the pass makes other PTX.
    let program = std::env::current_exe().map_err(Error::io("find", "the running program"))?;
    Ok(format!("{options:?}\n{}\n{}\n{}\n", toolchain.fingerprint(), version_of(record)?, version_of(&program)?))
}

fn version_of(path: &Path) -> Result<String, Error> {
    let data = fs::metadata(path).map_err(Error::io("read", path))?;
    let time = data.modified().map_err(Error::io("read the time of", path))?;
    let nanoseconds = time.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
    Ok(format!("{} {} {nanoseconds}", path.display(), data.len()))
}

/// A file whose time changes without need makes others rebuild.
fn copy_if_changed(from: &Path, to: &Path) -> Result<(), Error> {
    let bytes = fs::read(from).map_err(Error::io("read", from))?;
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    fs::write(to, bytes).map_err(Error::io("write", to))
}
