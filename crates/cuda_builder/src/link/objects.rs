//! The bitcode files of a link: their content, the symbols that each defines and needs, and which of them belong
//! together.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::PathBuf,
};

use super::{archive, store::Store};
use crate::{error::Error, process, rustc::Record, toolchain::Toolchain};

/// A bitcode file.
#[derive(Debug)]
pub(super) struct Object {
    /// Where the store keeps it.
    pub path: PathBuf,
    /// Hash of its content.
    pub hash: u64,
    pub size: usize,
    /// The top-level Rust module that it was compiled from; `None` for the root of the crate.
    pub family: Option<String>,
    /// Whether it belongs to the kernel crate itself.
    pub own: bool,
    symbols: Symbols,
}

impl Object {
    fn new(store: &Store, name: &str, data: &[u8], own: bool) -> Result<Self, Error> {
        let (hash, path) = store.put(data)?;
        Ok(Self { path, hash, size: data.len(), family: family(name), own, symbols: Symbols::default() })
    }

    /// Names of the symbols that it defines for others.
    pub fn defines(&self) -> &[String] {
        &self.symbols.defined
    }

    /// Names of the symbols that it takes from others.
    pub fn needs(&self) -> &[String] {
        &self.symbols.needed
    }
}

#[derive(Debug, Default)]
struct Symbols {
    defined: Vec<String>,
    needed: Vec<String>,
}

/// Every file of the link, in link order.
#[derive(Debug)]
pub(super) struct Objects {
    list: Vec<Object>,
    /// Which file defines a symbol.
    definitions: HashMap<String, usize>,
}

impl Objects {
    /// Reads the files of a record, and puts each into `store`.
    ///
    /// # Errors
    /// Fails if a file cannot be read or stored, a library is no archive, or `llvm-nm` fails.
    pub fn read(record: &Record, toolchain: &Toolchain, store: &Store) -> Result<Self, Error> {
        let mut list = Vec::new();
        for path in &record.objects {
            let data = fs::read(path).map_err(Error::io("read", path))?;
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            list.push(Object::new(store, &name, &data, true)?);
        }
        for library in &record.libraries {
            for member in archive::members(library)? {
                list.push(Object::new(store, &member.name, &member.data, false)?);
            }
        }
        read_symbols(&mut list, toolchain)?;
        let mut definitions = HashMap::new();
        for (index, object) in list.iter().enumerate() {
            for name in &object.symbols.defined {
                definitions.entry(name.clone()).or_insert(index);
            }
        }
        Ok(Self { list, definitions })
    }

    pub fn iter(&self) -> impl Iterator<Item = &Object> {
        self.list.iter()
    }

    /// The files that define `entries`, and those that these need, in link order.
    pub fn closure(&self, entries: &[String]) -> Vec<&Object> {
        let find = |name: &String| self.definitions.get(name).copied();
        let mut pending: Vec<usize> = entries.iter().filter_map(find).collect();
        let mut found: BTreeSet<usize> = pending.iter().copied().collect();
        while let Some(index) = pending.pop() {
            for next in self.list[index].symbols.needed.iter().filter_map(find) {
                if found.insert(next) {
                    pending.push(next);
                }
            }
        }
        found.into_iter().map(|index| &self.list[index]).collect()
    }
}

/// The top-level module in the name of a file: `k.k.96ba7fe49a341ece-vecadd-best.17imu8z.rcgu.o` is from `vecadd`.
/// rustc writes `<crate>.<crate of the code>.<hash>-<module>-<module>….o` under `-Zhuman-readable-cgu-names`.
fn family(name: &str) -> Option<String> {
    let mut parts = name.split('.');
    let (krate, code, modules) = (parts.next()?, parts.next()?, parts.next()?);
    if krate.split('-').next() != Some(code) {
        // Generic code of another crate, compiled here.
        return None;
    }
    modules.split('-').nth(1).filter(|module| !module.is_empty()).map(str::to_owned)
}

/// Asks `llvm-nm` for the symbols of all files at once.
fn read_symbols(list: &mut [Object], toolchain: &Toolchain) -> Result<(), Error> {
    let mut command = toolchain.llvm("llvm-nm");
    command.args(["--print-file-name", "--format=posix", "--no-sort", "--quiet"]);
    command.args(list.iter().map(|object| &object.path));
    let text = process::read(&mut command, "list the symbols of bitcode files")?;
    let mut symbols = parse(&text);
    for object in list {
        // A file without symbols is not listed. Of two equal files the first defines the symbols.
        object.symbols = symbols.remove(object.path.to_string_lossy().as_ref()).unwrap_or_default();
    }
    if let Some(path) = symbols.keys().next() {
        return Err(Error::Answer {
            program: "llvm-nm --print-file-name".to_owned(),
            problem: "expected the names of the files that were given".to_owned(),
            output: (*path).to_owned(),
        });
    }
    Ok(())
}

/// The end of a path in `llvm-nm`'s output.
const END: &str = ".bc: ";

/// Reads lines of the form `path.bc: name T 0 0`. Local symbols, in lower case, concern no other file.
fn parse(text: &str) -> HashMap<&str, Symbols> {
    let mut files: HashMap<&str, Symbols> = HashMap::new();
    for line in text.lines() {
        // The path itself may contain a colon and a space.
        let Some((path, rest)) = line.find(END).map(|at| at + END.len() - 2).map(|at| (&line[..at], &line[at + 2..]))
        else {
            continue;
        };
        let mut words = rest.split(' ');
        let (Some(name), Some(kind)) = (words.next(), words.next()) else { continue };
        let symbols = files.entry(path).or_default();
        match kind {
            "U" | "w" | "v" => symbols.needed.push(name.to_owned()),
            _ if kind.starts_with(|c: char| c.is_ascii_uppercase()) => symbols.defined.push(name.to_owned()),
            _ => {}
        }
    }
    files
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_files_name_says_which_family_it_is_of() {
        let of = |name: &str| family(name);
        assert_eq!(of("k.k.96ba7fe49a341ece-vecadd-best.17imu8z.rcgu.o").as_deref(), Some("vecadd"));
        assert_eq!(of("k.k.96ba7fe49a341ece-vecadd.volatile.17imu8z.rcgu.o").as_deref(), Some("vecadd"));
        assert_eq!(of("k-1f.k.96ba7fe49a341ece-vecadd.17imu8z.rcgu.o").as_deref(), Some("vecadd"));
        assert_eq!(of("k.k.96ba7fe49a341ece.17imu8z.rcgu.o"), None);
        assert_eq!(of("k.core.96ba-in-k.96ba-slice.volatile.17imu8z.rcgu.o"), None);
        assert_eq!(of("0.bc"), None);
    }

    #[test]
    fn symbols_are_defined_needed_or_local() {
        let files = parse("/a: b/x.bc: sum T ---- 0\n/a: b/x.bc: panic U 0 0\n/a: b/x.bc: own t ---- 0\n");
        let symbols = &files["/a: b/x.bc"];
        assert_eq!(symbols.defined, ["sum"]);
        assert_eq!(symbols.needed, ["panic"]);
    }

    #[test]
    fn a_closure_holds_what_is_needed_at_any_depth_and_nothing_else() {
        let object = |defined: &[&str], needed: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            let symbols = Symbols { defined: owned(defined), needed: owned(needed) };
            Object { path: PathBuf::new(), hash: 0, size: 0, family: None, own: true, symbols }
        };
        let list = vec![
            object(&["add"], &["check"]),
            object(&["other"], &["check"]),
            object(&["check"], &["panic", "absent"]),
            object(&["panic"], &["check"]),
        ];
        let definitions = [("add", 0), ("other", 1), ("check", 2), ("panic", 3)];
        let definitions = definitions.into_iter().map(|(name, index)| (name.to_owned(), index)).collect();
        let objects = Objects { list, definitions };
        let names: Vec<_> =
            objects.closure(&["add".to_owned()]).into_iter().map(|object| object.defines()[0].as_str()).collect();
        assert_eq!(names, ["add", "check", "panic"]);
    }
}
