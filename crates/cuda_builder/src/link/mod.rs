//! Bitcode to PTX: join, IR pass, optimise, generate.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use crate::{Arch, DebugInfo, Error, process, rustc::Record, toolchain::Toolchain};

mod archive;
mod lines;
mod pass;
mod syntax;
#[cfg(test)]
mod tests;

/// One link.
pub(crate) struct Link<'a> {
    pub toolchain: &'a Toolchain,
    pub package: &'a str,
    /// Source files below it are named relative to it.
    pub workspace: &'a Path,
    pub arch: Arch,
    pub options: &'a Options,
    /// Files in between go here, and stay for a look inside.
    pub work_dir: &'a Path,
}

/// What a caller may choose about code generation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Options {
    /// `-O3`, or as little as correct code needs.
    pub optimise: bool,
    pub debug: DebugInfo,
    pub ftz: bool,
    pub fast_div: bool,
    pub fast_sqrt: bool,
    pub fma_contraction: bool,
    /// PTX ISA version, `major * 10 + minor`.
    pub ptx: u32,
}

impl Default for Options {
    /// What [`crate::CudaBuilder`] starts with.
    fn default() -> Self {
        Self {
            optimise: true,
            debug: DebugInfo::default(),
            ftz: false,
            fast_div: false,
            fast_sqrt: false,
            fma_contraction: true,
            ptx: 78,
        }
    }
}

impl Options {
    /// Builds with different options keep their files apart: empty for the default options.
    pub fn folder_suffix(&self) -> String {
        if *self == Self::default() {
            return String::new();
        }
        let mut hasher = DefaultHasher::new();
        self.hash(&mut hasher);
        format!("-{:08x}", hasher.finish() as u32)
    }
}

impl Link<'_> {
    /// The result.
    pub fn ptx(&self) -> PathBuf {
        self.work_dir.join("kernels.ptx")
    }

    /// The whole module after the IR pass, before any optimisation.
    pub fn module(&self) -> PathBuf {
        self.work_dir.join("passed.ll")
    }

    /// The module after optimisation, as text.
    pub fn llvm_ir(&self) -> PathBuf {
        self.work_dir.join("optimised.ll")
    }

    /// Runs all steps.
    pub fn run(&self, record: &Record) -> Result<(), Error> {
        std::fs::create_dir_all(self.work_dir).map_err(Error::io("create", self.work_dir))?;
        let joined = self.join(record)?;
        let keep = self.pass(&joined, record)?;
        self.optimise(&keep)?;
        self.generate()
    }

    /// Writes the optimised module as bitcode.
    pub fn write_bitcode(&self) -> Result<PathBuf, Error> {
        let path = self.work_dir.join("optimised.bc");
        let mut command = self.toolchain.llvm("opt");
        process::run(command.arg("-passes=").arg(self.llvm_ir()).arg("-o").arg(&path), "write bitcode")?;
        Ok(path)
    }

    /// Kernels and their libraries whole, `core` only as far as it is used.
    fn join(&self, record: &Record) -> Result<PathBuf, Error> {
        let user = self.work_dir.join("kernels.bc");
        let joined = self.work_dir.join("joined.ll");
        let purpose = format!("join the bitcode of {}", self.package);
        let mut command = self.toolchain.llvm("llvm-link");
        command.args(&record.objects).args(archive::unpack_all(&record.user_libraries, &self.work_dir.join("user"))?);
        process::run(command.arg("-o").arg(&user), &purpose)?;
        let mut command = self.toolchain.llvm("llvm-link");
        command.args(["-S", "--only-needed"]).arg(&user);
        command.args(archive::unpack_all(&record.std_libraries, &self.work_dir.join("std"))?);
        process::run(command.arg("-o").arg(&joined), &purpose)?;
        Ok(joined)
    }

    /// Writes the changed module, and gives the file that lists what the optimiser must keep.
    fn pass(&self, joined: &Path, record: &Record) -> Result<PathBuf, Error> {
        let settings = pass::Settings { debug: self.options.debug, ftz: self.options.ftz, workspace: self.workspace };
        let passed = pass::run(&read(joined)?, &settings)
            .map_err(|problem| Error::Kernel { package: self.package.to_owned(), problem })?;
        write(&self.module(), &passed.module)?;
        let keep = self.work_dir.join("keep.txt");
        let names: String = record.entries.iter().chain(&passed.keep).map(|name| format!("{name}\n")).collect();
        write(&keep, &names)?;
        Ok(keep)
    }

    fn optimise(&self, keep: &Path) -> Result<(), Error> {
        let level = if self.options.optimise { "default<O3>" } else { "default<O1>" };
        let mut command = self.toolchain.llvm("opt");
        command
            .arg(format!("-passes=internalize,globaldce,{level}"))
            .arg(format!("--internalize-public-api-file={}", keep.display()))
            .arg(format!("-mcpu={}", self.arch))
            .arg(self.module())
            .args(["-S", "-o"])
            .arg(self.llvm_ir());
        process::run(&mut command, &format!("optimise {}", self.package))?;
        Ok(())
    }

    fn generate(&self) -> Result<(), Error> {
        let module = read(&self.llvm_ir())?;
        if self.options.debug != DebugInfo::LineTables {
            return self.generate_from(&self.llvm_ir(), &self.ptx());
        }
        let (module, table) = lines::number(&module);
        let numbered = self.work_dir.join("numbered.ll");
        write(&numbered, &module)?;
        let unresolved = self.work_dir.join("numbered.ptx");
        self.generate_from(&numbered, &unresolved)?;
        write(&self.ptx(), &lines::resolve(&read(&unresolved)?, &table))
    }

    fn generate_from(&self, module: &Path, ptx: &Path) -> Result<(), Error> {
        let options = self.options;
        let mut command = self.toolchain.llvm("llc");
        command
            .arg(if options.optimise { "-O3" } else { "-O1" })
            .arg(format!("-mcpu={}", self.arch))
            .arg(format!("-mattr=+ptx{}", options.ptx.max(self.arch.minimum_ptx())))
            .arg(format!("--fp-contract={}", if options.fma_contraction { "fast" } else { "off" }))
            .arg(format!("--nvptx-prec-divf32={}", if options.fast_div { 0 } else { 2 }))
            .arg(format!("--nvptx-prec-sqrtf32={}", if options.fast_sqrt { 0 } else { 1 }))
            .arg(module)
            .arg("-o")
            .arg(ptx);
        process::run(&mut command, &format!("generate PTX for {}", self.arch))?;
        Ok(())
    }
}

fn read(path: &Path) -> Result<String, Error> {
    std::fs::read_to_string(path).map_err(Error::io("read", path))
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    std::fs::write(path, text).map_err(Error::io("write", path))
}
