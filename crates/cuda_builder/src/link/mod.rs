//! Bitcode to PTX: divide the entries into modules, and build those that changed.

use std::{
    collections::{BTreeMap, HashSet},
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use crate::{
    arch::Arch,
    check::lints::{self, Allowed},
    error::Error,
    options::{Modules, Options},
    process,
    rustc::Record,
    toolchain::Toolchain,
};

mod archive;
mod changes;
mod code;
mod exact;
mod lines;
mod module;
mod objects;
mod pass;
mod sources;
mod store;
mod syntax;
#[cfg(test)]
mod tests;

use changes::Changes;
pub(crate) use module::{Module, WARNINGS};
use objects::{Object, Objects};
pub(crate) use sources::version;
use store::Store;

/// A link of one crate for one architecture.
pub(crate) struct Link<'a> {
    pub toolchain: &'a Toolchain,
    pub package: &'a str,
    /// Source files below it are named relative to it.
    pub workspace: &'a Path,
    pub arch: Arch,
    pub options: &'a Options,
    /// The lints that kernels turn off.
    pub allowed: &'a Allowed,
    /// Receives the intermediate files, a folder per module; they stay there for inspection.
    pub work_dir: &'a Path,
}

impl Link<'_> {
    /// The modules of the crate, by name. Those whose code is the same as before are current.
    ///
    /// # Errors
    /// Fails if the crate has no kernel, a file cannot be read or written, or an LLVM tool fails.
    pub fn modules(&self, record: &Record) -> Result<Vec<Module<'_>>, Error> {
        let store = Store::open(self.work_dir.join("objects"))?;
        let objects = Objects::read(record, self.toolchain, &store)?;
        let is_entry = |name: &&str| !name.starts_with(lints::ALLOW);
        let exports: HashSet<&str> = record.exports.iter().map(String::as_str).filter(is_entry).collect();
        let mut modules: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let root = self.package.replace('-', "_");
        for object in objects.iter().filter(|object| object.own || self.options.dependency_kernels) {
            let entries = object.defines().iter().filter(|name| exports.contains(name.as_str()));
            modules.entry(self.module_of(object, &root)).or_default().extend(entries.cloned());
        }
        modules.retain(|_, entries| !entries.is_empty());
        if modules.is_empty() {
            return Err(Error::Kernel {
                package: self.package.to_owned(),
                problem: "it has no kernel: mark a function with `#[kernel]`".to_owned(),
            });
        }
        let mut changes = Changes::new(self.toolchain, &store);
        let mut in_use: HashSet<u64> = objects.iter().map(|object| object.hash).collect();
        let mut out = Vec::new();
        for (name, mut entries) in modules {
            entries.sort();
            let closure = objects.closure(&entries);
            let module = Module::new(self, name, entries, &closure);
            if let Some(old) = module.made_of() {
                let own_files_stay = closure
                    .iter()
                    .filter(|object| object.own && self.module_of(object, &root) == name)
                    .all(|object| old.contains(&object.hash));
                // An edit of the module's own files changes its code, if only by the numbers of its lines.
                if own_files_stay && changes.none(&old, &closure, &module.entries)? {
                    module.confirm()?;
                }
                in_use.extend(old);
            }
            out.push(module);
        }
        store.keep(&in_use)?;
        Ok(out)
    }

    fn module_of<'o>(&self, object: &'o Object, root: &'o str) -> &'o str {
        match self.options.modules {
            Modules::Whole => root,
            Modules::PerFamily => object.family.as_deref().unwrap_or(root),
        }
    }

    /// Hash of what every module of this link depends on beside its code.
    fn key(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.options, self.toolchain.fingerprint(), self.arch, self.workspace, version()).hash(&mut hasher);
        hasher.finish()
    }

    /// Where the files of a module are.
    pub fn module_folder(&self, name: &str) -> PathBuf {
        self.work_dir.join("modules").join(name)
    }

    /// The PTX of a module.
    pub fn ptx(&self, name: &str) -> PathBuf {
        self.module_folder(name).join("kernels.ptx")
    }

    /// A module after the IR pass, before any optimisation.
    pub fn passed(&self, name: &str) -> PathBuf {
        self.module_folder(name).join("passed.ll")
    }

    /// A module after optimisation, as text.
    pub fn llvm_ir(&self, name: &str) -> PathBuf {
        self.module_folder(name).join("optimised.ll")
    }

    /// Writes an optimised module as bitcode.
    ///
    /// # Errors
    /// Fails if `opt` fails.
    pub fn write_bitcode(&self, name: &str) -> Result<PathBuf, Error> {
        let path = self.module_folder(name).join("optimised.bc");
        let mut command = self.toolchain.llvm("opt");
        process::run(command.arg("-passes=").arg(self.llvm_ir(name)).arg("-o").arg(&path), "write bitcode")?;
        Ok(path)
    }
}
