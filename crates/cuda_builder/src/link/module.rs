//! One PTX module: joins the bitcode of its entries, runs the IR pass, optimises, generates PTX.
//!
//! Its stamp lists the bitcode files that it was made of. When these differ, the code that the entries reach in them is
//! compared, and the module is built again if that differs, too.

use std::{
    fmt::Write as _,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use super::{Link, exact, lines, objects::Object, pass};
use crate::{
    arch::Arch,
    check::limits,
    error::Error,
    options::{DebugInfo, Modules},
    process,
};

/// Name of the file with the warnings about a module, in its folder.
pub(crate) const WARNINGS: &str = "warnings.txt";

/// A module to be.
pub(crate) struct Module<'a> {
    pub link: &'a Link<'a>,
    /// Name of the family, or of the crate.
    pub name: String,
    /// Symbols that stay visible.
    pub(super) entries: Vec<String>,
    /// The files that its entries need, in link order.
    pub(super) objects: Vec<PathBuf>,
    /// Bytes of these files, from which the work is estimated.
    pub(super) size: usize,
    /// What the stamp says when the PTX is current.
    stamp: Stamp,
    pub(super) folder: PathBuf,
}

/// What a module was made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Hash of the entries and of everything else but code that the result depends on.
    key: u64,
    /// Hashes of the files, in link order.
    pub(super) objects: Vec<u64>,
}

impl Stamp {
    /// Reads the stamp in a module's folder; `None` if there is none that can be read.
    pub fn read(folder: &Path) -> Option<Self> {
        let text = fs::read_to_string(folder.join("stamp")).ok()?;
        let numbers: Option<Vec<u64>> = text.lines().map(|line| u64::from_str_radix(line, 16).ok()).collect();
        let numbers = numbers?;
        let (&key, objects) = numbers.split_first()?;
        Some(Self { key, objects: objects.to_vec() })
    }

    fn text(&self) -> String {
        std::iter::once(&self.key).chain(&self.objects).fold(String::new(), |mut text, number| {
            let _ = writeln!(text, "{number:016x}");
            text
        })
    }
}

impl<'a> Module<'a> {
    pub(super) fn new(link: &'a Link<'a>, name: &str, entries: Vec<String>, objects: &[&Object]) -> Self {
        let mut hasher = DefaultHasher::new();
        (link.key(), &entries, link.allowed.text()).hash(&mut hasher);
        Self {
            link,
            name: name.to_owned(),
            entries,
            objects: objects.iter().map(|object| object.path.clone()).collect(),
            size: objects.iter().filter(|object| object.own).map(|object| object.size).sum(),
            stamp: Stamp { key: hasher.finish(), objects: objects.iter().map(|object| object.hash).collect() },
            folder: link.module_folder(name),
        }
    }

    /// Estimate of the work to build it, in no unit.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Whether the PTX was made of the same files.
    pub fn is_current(&self) -> bool {
        self.ptx().is_file() && Stamp::read(&self.folder).as_ref() == Some(&self.stamp)
    }

    /// The files that the PTX was made of, if only files have changed since.
    pub(super) fn made_of(&self) -> Option<Vec<u64>> {
        let old = Stamp::read(&self.folder).filter(|old| old.key == self.stamp.key && self.ptx().is_file())?;
        Some(old.objects)
    }

    /// Builds the PTX.
    ///
    /// # Errors
    /// Fails if a file cannot be read or written, an LLVM tool fails, or the IR pass refuses the code of a kernel.
    pub fn build(&self) -> Result<(), Error> {
        fs::create_dir_all(&self.folder).map_err(Error::io("create", &self.folder))?;
        // Without its stamp, a build that is cut short is done again. The warnings are those of the old PTX.
        for name in ["stamp", WARNINGS] {
            let _ = fs::remove_file(self.folder.join(name));
        }
        let keep = self.pass(&self.join()?)?;
        self.optimise(&keep)?;
        self.generate()?;
        self.check()?;
        self.confirm()
    }

    /// Refuses PTX that a driver would refuse.
    fn check(&self) -> Result<(), Error> {
        let ptx = read(&self.ptx())?;
        let problem = if self.link.options.modules == Modules::Whole && !limits::has_entry(&ptx) {
            Some(
                "it has no kernel: mark a function with `#[kernel]`, since `#[no_mangle]` alone makes no entry"
                    .to_owned(),
            )
        } else {
            limits::broken(&ptx)
        };
        let package = self.link.package.to_owned();
        problem.map_or(Ok(()), |problem| Err(Error::Kernel { package, problem }))
    }

    /// Writes down that the PTX is current.
    ///
    /// # Errors
    /// Fails if the stamp cannot be written.
    pub(super) fn confirm(&self) -> Result<(), Error> {
        write(&self.folder.join("stamp"), &self.stamp.text())
    }

    /// The result.
    pub fn ptx(&self) -> PathBuf {
        self.folder.join("kernels.ptx")
    }

    /// The module as text, before the IR pass, with what the entries reach and nothing else.
    fn join(&self) -> Result<String, Error> {
        let joined = self.folder.join("joined.bc");
        let entries = self.folder.join("entries.txt");
        let reached = self.folder.join("reached.ll");
        write(&entries, &self.entries.iter().map(|name| format!("{name}\n")).collect::<String>())?;
        let purpose = format!("join the bitcode of {}", self.name);
        let mut command = self.link.toolchain.llvm("llvm-link");
        process::run(command.args(&self.objects).arg("-o").arg(&joined), &purpose)?;
        let mut command = self.link.toolchain.llvm("opt");
        command
            .args(["-passes=internalize,globaldce", "-disable-verify"])
            .arg(format!("--internalize-public-api-file={}", entries.display()))
            .arg(&joined)
            .args(["-S", "-o"])
            .arg(&reached);
        process::run(&mut command, &purpose)?;
        let text = read(&reached)?;
        self.remove(&[&joined, &reached])?;
        Ok(text)
    }

    /// Writes the changed module, and returns the file that lists what the optimiser must keep.
    ///
    /// # Errors
    /// Fails if the pass refuses the code of a kernel, or a file cannot be written.
    pub(super) fn pass(&self, module: &str) -> Result<PathBuf, Error> {
        let link = self.link;
        let settings = pass::Settings {
            debug: link.options.debug,
            ftz: link.options.ftz,
            workspace: link.workspace,
            cpu: link.arch.target_cpu(),
        };
        let passed = pass::run(module, &settings)
            .map_err(|problem| Error::Kernel { package: link.package.to_owned(), problem })?;
        write(&link.passed(&self.name), &passed.module)?;
        let keep = self.folder.join("keep.txt");
        let names: String = self.entries.iter().chain(&passed.keep).map(|name| format!("{name}\n")).collect();
        write(&keep, &names)?;
        Ok(keep)
    }

    /// Optimises the module that [`Module::pass`] wrote; `keep` lists the symbols that stay visible.
    ///
    /// # Errors
    /// Fails if `opt` fails.
    pub(super) fn optimise(&self, keep: &Path) -> Result<(), Error> {
        let link = self.link;
        let level = if link.options.optimise { "default<O3>" } else { "default<O1>" };
        let mut command = link.toolchain.llvm("opt");
        command
            .arg(format!("-passes=internalize,globaldce,{level}"))
            .arg(format!("--internalize-public-api-file={}", keep.display()))
            .arg(format!("-mcpu={}", link.arch))
            .arg(link.passed(&self.name))
            .args(["-S", "-o"])
            .arg(link.llvm_ir(&self.name));
        process::run(&mut command, &format!("optimise {}", self.name))?;
        Ok(())
    }

    /// Generates the PTX of the optimised module.
    ///
    /// # Errors
    /// Fails if `llc` fails, or a file cannot be read, written or removed.
    pub(super) fn generate(&self) -> Result<(), Error> {
        let optimised = self.link.llvm_ir(&self.name);
        let text = read(&optimised)?;
        let arch = exact::arch(&text, self.link.arch);
        let ptx = exact::version(&text, self.link.options.ptx.max(arch.minimum_ptx()));
        if self.link.options.debug != DebugInfo::LineTables {
            return self.generate_from(&optimised, (arch, ptx), &self.ptx());
        }
        let (module, table) = lines::number(&text);
        let numbered = self.folder.join("numbered.ll");
        write(&numbered, &module)?;
        let unresolved = self.folder.join("numbered.ptx");
        self.generate_from(&numbered, (arch, ptx), &unresolved)?;
        write(&self.ptx(), &lines::resolve(&read(&unresolved)?, &table))?;
        self.remove(&[&numbered, &unresolved])
    }

    fn generate_from(&self, module: &Path, (arch, version): (Arch, u32), ptx: &Path) -> Result<(), Error> {
        let options = self.link.options;
        let mut command = self.link.toolchain.llvm("llc");
        command
            .arg(if options.optimise { "-O3" } else { "-O1" })
            .arg(format!("-mcpu={arch}"))
            .arg(format!("-mattr=+ptx{version}"))
            .arg(format!("--fp-contract={}", if options.fma_contraction { "fast" } else { "off" }))
            .arg(format!("--nvptx-prec-divf32={}", if options.fast_div { 0 } else { 2 }))
            .arg(format!("--nvptx-prec-sqrtf32={}", if options.fast_sqrt { 0 } else { 1 }))
            .arg(module)
            .arg("-o")
            .arg(ptx);
        process::run(&mut command, &format!("generate PTX of {} for {arch}", self.name))?;
        Ok(())
    }

    fn remove(&self, paths: &[&Path]) -> Result<(), Error> {
        paths.iter().try_for_each(|path| fs::remove_file(path).map_err(Error::io("remove", *path)))
    }
}

/// Reads a text file.
///
/// # Errors
/// Fails if the file cannot be read.
pub(super) fn read(path: &Path) -> Result<String, Error> {
    fs::read_to_string(path).map_err(Error::io("read", path))
}

/// Writes a text file.
///
/// # Errors
/// Fails if the file cannot be written.
pub(super) fn write(path: &Path, text: &str) -> Result<(), Error> {
    fs::write(path, text).map_err(Error::io("write", path))
}
