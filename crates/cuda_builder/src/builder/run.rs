//! One build: rustc for each architecture side by side, then the modules that changed, on all processors.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
    thread,
    time::{Instant, SystemTime, UNIX_EPOCH},
};

use super::{CudaBuilder, copies, warnings};
use crate::{
    arch::Arch,
    artifact::Artifact,
    build_script,
    check::lints::Allowed,
    embed,
    error::Error,
    files::Sources,
    link::{self, Link, Module},
    lock::{self, Lock},
    options::Modules,
    package::Package,
    progress::Progress,
    rustc::{self, Record, Request, Watch},
    setup::{self, Source},
    target_of::to_assemble,
    toolchain::{Toolchain, discover},
    workers::on_all_processors,
};

/// Everything that the architectures of a build share.
struct Build<'a> {
    builder: &'a CudaBuilder,
    package: Package,
    toolchain: Toolchain,
    /// Folder with the device's `core`.
    sysroot: PathBuf,
    target: PathBuf,
}

/// The build for one architecture, after rustc.
struct Compiled {
    arch: Arch,
    /// Folder for the files of the link.
    work_dir: PathBuf,
    /// The link record.
    record: PathBuf,
    /// The lints that kernels turn off.
    allowed: Allowed,
    /// What the PTX was made of: equal to the text of the file `stamp` when nothing has changed.
    stamp: String,
}

/// Does what [`CudaBuilder::build_all`] says.
pub(super) fn build(builder: &CudaBuilder) -> Result<Vec<Artifact>, Error> {
    let result = make(builder);
    if let Err(error) = &result {
        build_script::fail(&builder.path, error, builder.fatal);
    }
    result
}

fn make(builder: &CudaBuilder) -> Result<Vec<Artifact>, Error> {
    check(builder)?;
    let package = Package::at(&builder.path)?;
    let toolchain = toolchain(builder)?;
    let (release, debug) = (builder.options.optimise, builder.options.debug);
    let sysroot = rustc::sysroot(&toolchain, &builder.search.cache, release, debug, &mut report)?;
    let target = builder.target_dir.clone().unwrap_or_else(|| package.workspace.join("target/nvptx"));
    Build { builder, package, toolchain, sysroot, target }.run()
}

/// Finds the device toolchain, or fetches it where the user asked for that.
fn toolchain(builder: &CudaBuilder) -> Result<Toolchain, Error> {
    match discover(&builder.search) {
        Err(missing @ Error::NoToolchain { .. }) => match Source::requested()? {
            Some(source) => setup::from(source, &builder.search, &mut report),
            None => Err(missing),
        },
        found => found,
    }
}

fn report(line: &str) {
    eprintln!("{:>12} {line}", "Preparing");
}

/// Refuses options that contradict each other.
fn check(builder: &CudaBuilder) -> Result<(), Error> {
    let refuse = |option: &str, why: &str| {
        Err(Error::Options(format!("{option} names one file, and {why}: name a folder, or build one of them")))
    };
    let several_modules = builder.options.modules == Modules::PerFamily;
    if builder.copies_to_file() && builder.chosen_archs().len() > 1 {
        return refuse("copy_to", "there are several architectures");
    }
    if builder.copies_to_file() && several_modules {
        return refuse("copy_to", "there is a module per family");
    }
    for (option, given) in [("final_module_path", &builder.final_module_path), ("embed", &builder.embed)] {
        if given.is_some() && several_modules {
            return Err(Error::Options(format!("{option} takes one module: build with `Modules::Whole`")));
        }
    }
    Ok(())
}

impl CudaBuilder {
    /// The architectures that the caller named, or the default.
    fn chosen_archs(&self) -> &[Arch] {
        match &self.archs {
            Some(archs) => archs,
            None if self.copies_to_file() => &Arch::DEFAULT[..1],
            None => Arch::DEFAULT,
        }
    }

    fn copies_to_file(&self) -> bool {
        self.copy_to.as_ref().is_some_and(|path| path.extension().is_some_and(|extension| extension == "ptx"))
    }
}

impl Build<'_> {
    fn run(&self) -> Result<Vec<Artifact>, Error> {
        // Held until the build ends, and taken in one order by every build: two of them never wait for each other.
        let _locks: Vec<Lock> =
            self.builder.chosen_archs().iter().map(|&arch| self.lock(arch)).collect::<Result<_, _>>()?;
        let began = SystemTime::now();
        let compiled = self.compile_all()?;
        let links: Vec<Link<'_>> = compiled.iter().map(|compiled| self.link(compiled)).collect();
        let mut outcomes = Vec::new();
        let (mut stale, mut changed) = (Vec::new(), Vec::new());
        for (compiled, link) in compiled.iter().zip(&links) {
            if let Some(names) = compiled.unchanged(link) {
                outcomes.push(names);
                continue;
            }
            // Without its stamp, a build that is cut short is done again.
            let _ = fs::remove_file(compiled.stamp_path());
            let mut modules = link.modules(&Record::read(&compiled.record)?)?;
            if let Some(families) = &self.builder.options.families {
                modules = only(families, modules)?;
            }
            outcomes.push(modules.iter().map(|module| module.name.clone()).collect());
            // The text of a source file may have changed although no code has.
            changed.extend(modules.iter().map(|module| (link, module.name.clone())));
            remove_other_modules(&compiled.work_dir.join("modules"), &modules)?;
            stale.extend(modules.into_iter().filter(|module| !module.is_current()));
        }
        let rebuilt = self.build_modules(stale)?;
        let workspace = &self.package.workspace;
        let sources = Sources { workspace, name_workspace: self.builder.options.source_root, began };
        for (link, name) in changed {
            sources.record(&link.ptx(&name))?;
        }

        let mut artifacts = Vec::new();
        for ((compiled, link), names) in compiled.iter().zip(&links).zip(&outcomes) {
            let first = artifacts.len();
            for name in names {
                let fresh = !rebuilt.contains(&(link.arch, name.clone()));
                artifacts.push(self.hand_out(link, name, fresh)?);
            }
            if let Some(place) = &self.builder.copy_to {
                let copies = artifacts[first..].iter().map(|artifact| artifact.ptx.clone()).collect();
                let list = self.target_dir(link.arch).join(format!("{}.copies", self.package.name));
                copies::replace(&list, place, copies)?;
            }
            let path = compiled.stamp_path();
            write_if_changed(&path, format!("{}{}\n", compiled.stamp, names.join("\n")).as_bytes())?;
        }
        self.embed(&artifacts)?;
        if let (Some(link), Some(names)) = (links.last(), outcomes.last()) {
            let lines = warnings::of(&self.builder.allowed, &self.builder.search.cache, link, names, &rebuilt)?;
            build_script::warn(&lines);
        }
        Ok(artifacts)
    }

    /// Makes the machine code, and the file that includes it.
    fn embed(&self, artifacts: &[Artifact]) -> Result<(), Error> {
        let (archs, cache) = (&self.builder.machine_code, &self.builder.search.cache);
        if !archs.is_empty() && Source::requested()?.is_some() {
            setup::cuda_tools(cache, &mut report)?;
        }
        let codes = embed::machine_code(artifacts, archs, cache)?;
        let Some(path) = &self.builder.embed else { return Ok(()) };
        let packed = embed::pack(artifacts, &codes, &path.with_extension("packed"), embed::Effort::Build)?;
        write_if_changed(path, embed::expression(&packed).as_bytes())?;
        Ok(())
    }

    /// Runs rustc for every architecture, oldest first in the result.
    fn compile_all(&self) -> Result<Vec<Compiled>, Error> {
        let begun = OnceLock::new();
        let compile = &|index, arch| {
            let watch = if index == 0 { Watch::Live(&begun) } else { Watch::Quiet(&begun) };
            let compiled = self.compile(arch, watch);
            // After a failure on the way to cargo too: otherwise the others would wait forever.
            let _ = begun.set(());
            compiled
        };
        let results: Vec<_> = thread::scope(|scope| {
            let archs = self.builder.chosen_archs().iter().enumerate();
            let threads: Vec<_> = archs.map(|(index, &arch)| scope.spawn(move || compile(index, arch))).collect();
            threads.into_iter().map(|thread| thread.join()).collect()
        });
        results.into_iter().map(|result| result.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
    }

    fn compile(&self, arch: Arch, watch: Watch<'_>) -> Result<Compiled, Error> {
        let (options, package) = (&self.builder.options, &self.package);
        let target_dir = self.target_dir(arch);
        let record = rustc::compile(&Request {
            toolchain: &self.toolchain,
            sysroot: &self.sysroot,
            package_dir: &package.dir,
            package: &package.name,
            target_dir: &target_dir,
            arch,
            release: options.optimise,
            debug: options.debug,
            build_args: &self.builder.build_args,
            watch,
        })?;
        if matches!(watch, Watch::Live(_)) {
            build_script::announce(&record, &package.workspace);
        }
        let work_dir = target_dir.join("link").join(format!("{}{}", package.name, options.folder_suffix()));
        fs::create_dir_all(&work_dir).map_err(Error::io("create", &work_dir))?;
        let compilers = self.toolchain.fingerprint();
        let stamp = format!("{options:?}\n{compilers}\n{:016x}\n{}\n", link::version(), version_of(&record)?);
        let allowed = Allowed::of(&Record::read(&record)?.exports);
        Ok(Compiled { arch, work_dir, record, allowed, stamp })
    }

    fn target_dir(&self, arch: Arch) -> PathBuf {
        self.target.join(format!("{arch}{}", self.builder.options.debug.folder_suffix()))
    }

    fn lock(&self, arch: Arch) -> Result<Lock, Error> {
        let name = &self.package.name;
        lock::lock(&self.target_dir(arch).join(format!("{name}.lock")), || {
            eprintln!("    Blocking waiting for another build of {name} for {arch}");
        })
    }

    fn link<'a>(&'a self, compiled: &'a Compiled) -> Link<'a> {
        Link {
            toolchain: &self.toolchain,
            package: &self.package.name,
            workspace: &self.package.workspace,
            arch: compiled.arch,
            options: &self.builder.options,
            allowed: &compiled.allowed,
            work_dir: &compiled.work_dir,
        }
    }

    /// Builds the modules on all processors, and returns those whose PTX was written.
    fn build_modules(&self, mut modules: Vec<Module<'_>>) -> Result<Vec<(Arch, String)>, Error> {
        if modules.is_empty() {
            return Ok(Vec::new());
        }
        // The largest first: the last ones to finish are then short.
        modules.sort_by_key(|module| module.size());
        let progress = Progress::new(&self.package.name, modules.len());
        on_all_processors(modules, |module| {
            let what = format!("{} {}", module.name, module.link.arch);
            let start = Instant::now();
            progress.begin(&what);
            let result = module.build();
            progress.end(&what, start.elapsed());
            result.map(|()| (module.link.arch, module.name))
        })
    }

    /// Copies a module's files to the caller's places.
    fn hand_out(&self, link: &Link<'_>, name: &str, fresh: bool) -> Result<Artifact, Error> {
        let builder = self.builder;
        let mut ptx = link.ptx(name);
        if let Some(place) = &builder.copy_to {
            let path = match builder.options.modules {
                _ if builder.copies_to_file() => place.clone(),
                Modules::Whole => place.join(format!("{}.ptx", link.arch)),
                Modules::PerFamily => place.join(link.arch.to_string()).join(format!("{name}.ptx")),
            };
            if copy_if_changed(&ptx, &path)? {
                embed::remove_old(&path)?;
            }
            ptx = path;
        } else if !fresh {
            embed::remove_old(&ptx)?;
        }
        if let Some(path) = &builder.final_module_path {
            copy_if_changed(&link.passed(name), path)?;
        }
        let llvm_ir = builder.emit_llvm_ir.then(|| link.llvm_ir(name));
        let bitcode = if builder.emit_llvm_bitcode { Some(link.write_bitcode(name)?) } else { None };
        let arch = to_assemble(&ptx, link.arch)?;
        Ok(Artifact { arch, module: name.to_owned(), ptx, llvm_ir, bitcode, fresh })
    }
}

/// The modules of these families.
fn only<'a>(families: &[String], mut modules: Vec<Module<'a>>) -> Result<Vec<Module<'a>>, Error> {
    let known: Vec<String> = modules.iter().map(|module| module.name.clone()).collect();
    if let Some(unknown) = families.iter().find(|family| !known.contains(family)) {
        let known = known.join(" ");
        return Err(Error::Options(format!("the crate has no family `{unknown}`: name some of {known}")));
    }
    modules.retain(|module| families.contains(&module.name));
    Ok(modules)
}

impl Compiled {
    fn stamp_path(&self) -> PathBuf {
        self.work_dir.join("stamp")
    }

    /// The modules of the last build, if nothing has changed since.
    fn unchanged(&self, link: &Link<'_>) -> Option<Vec<String>> {
        let text = fs::read_to_string(self.stamp_path()).ok()?;
        let names: Vec<String> = text.strip_prefix(&self.stamp)?.lines().map(str::to_owned).collect();
        (!names.is_empty() && names.iter().all(|name| link.ptx(name).is_file())).then_some(names)
    }
}

/// Removes the folders of families that are gone.
fn remove_other_modules(folder: &Path, modules: &[Module<'_>]) -> Result<(), Error> {
    let Ok(entries) = fs::read_dir(folder) else { return Ok(()) };
    for entry in entries {
        let path = entry.map_err(Error::io("read", folder))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !modules.iter().any(|module| module.name == name) {
            fs::remove_dir_all(&path).map_err(Error::io("remove", &path))?;
        }
    }
    Ok(())
}

/// Length and time of a file, which change with every compilation.
fn version_of(path: &Path) -> Result<String, Error> {
    let data = fs::metadata(path).map_err(Error::io("read", path))?;
    let time = data.modified().map_err(Error::io("read the time of", path))?;
    let nanoseconds = time.duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos());
    Ok(format!("{} {} {nanoseconds}", path.display(), data.len()))
}

fn copy_if_changed(from: &Path, to: &Path) -> Result<bool, Error> {
    write_if_changed(to, &fs::read(from).map_err(Error::io("read", from))?)
}

/// Leaves a file with the same content alone: a new time would make other programs rebuild. Returns whether it was
/// written.
fn write_if_changed(to: &Path, bytes: &[u8]) -> Result<bool, Error> {
    if fs::read(to).is_ok_and(|old| old == bytes) {
        return Ok(false);
    }
    if let Some(folder) = to.parent() {
        fs::create_dir_all(folder).map_err(Error::io("create", folder))?;
    }
    fs::write(to, bytes).map_err(Error::io("write", to))?;
    Ok(true)
}
