//! Search for the built PTX, and choice of the file for a device.

use crate::error::{Error, Result};
use std::fmt;
use std::path::{Path, PathBuf};

/// An architecture, in the form of `.target` and file names: `sm_90`, `sm_90a`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Arch {
    /// The number: 90 for `sm_90a`.
    pub number: u32,
    /// The suffix: `a` (this GPU only) or `f` (this family only); empty for this and every later GPU.
    pub suffix: String,
}

impl Arch {
    /// Parses the form of `sm_90` and `sm_90a`.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.strip_prefix("sm_")?;
        let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
        Some(Self { number: text[..digits].parse().ok()?, suffix: text[digits..].to_owned() })
    }

    /// The reason why a GPU cannot run the architecture; `None` if it can.
    pub fn why_not(&self, sm: u32) -> Option<String> {
        match self.suffix.as_str() {
            "a" if self.number != sm => Some(format!("it is for {self} only, and this is sm_{sm}")),
            "f" if self.number / 10 != sm / 10 || self.number > sm => {
                Some(format!("it is for the family of {self} only, and this is sm_{sm}"))
            }
            _ if self.number > sm => Some(format!("it is for {self} and later, and this is sm_{sm}")),
            _ => None,
        }
    }
}

impl fmt::Display for Arch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "sm_{}{}", self.number, self.suffix)
    }
}

/// The header of a PTX file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// PTX ISA version, e.g. (7, 8).
    pub version: (u32, u32),
    /// The target architecture.
    pub target: Arch,
}

impl Header {
    /// Reads `.version` and `.target`.
    ///
    /// # Errors
    /// [`Error::BadPtx`] for text without them.
    pub fn read(text: &str, name: &str) -> Result<Self> {
        let word = |directive: &str| {
            text.lines()
                .find_map(|line| line.trim().strip_prefix(directive)?.split([' ', '\t', ',']).find(|w| !w.is_empty()))
        };
        let version = word(".version").and_then(|v| v.split_once('.'));
        let version = version.and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
        match (version, word(".target").and_then(Arch::parse)) {
            (Some(version), Some(target)) => Ok(Self { version, target }),
            (None, _) => Err(Error::BadPtx(format!("{name} is not PTX: it has no .version line"))),
            (_, None) => Err(Error::BadPtx(format!("{name} is not PTX: it has no .target line with an architecture"))),
        }
    }
}

/// The contents of a PTX file.
#[derive(Clone, Debug)]
pub struct Image {
    /// Path of the file.
    pub path: PathBuf,
    /// Contents of the file.
    pub bytes: Vec<u8>,
}

impl Image {
    /// Reads a PTX file (or a cubin).
    ///
    /// # Errors
    /// [`Error::UnreadablePtx`] if it cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        match std::fs::read(path) {
            Ok(bytes) => Ok(Self { path: path.to_owned(), bytes }),
            Err(source) => Err(Error::UnreadablePtx { path: path.to_owned(), source }),
        }
    }
}

/// Finds the PTX of a package that is built as one file, for a device of compute capability `sm` (`None`: the highest
/// present, for the simulator), or for exactly `arch`.
///
/// # Errors
/// [`Error::NoPtx`] with the folders that were searched and the command that builds it; [`Error::UnreadablePtx`] if it
/// is there and cannot be read.
pub fn find(package: &str, sm: Option<u32>, arch: Option<&str>) -> Result<Image> {
    Image::read(&place(package, sm, arch)?.with_extension("ptx"))
}

/// Finds the PTX of one family (a top-level module of the package), for a package that is built as a file per family;
/// for `sm` and `arch` see [`find`]. A driver compiles a module as a whole, which takes seconds for all families
/// together.
///
/// # Errors
/// Those of [`find`].
pub fn find_family(package: &str, family: &str, sm: Option<u32>, arch: Option<&str>) -> Result<Image> {
    let folder = place(package, sm, arch)?;
    let path = folder.join(format!("{family}.ptx"));
    if !path.exists() {
        return Err(Error::NoPtx(format!(
            "{} has no PTX of the family `{family}`: run `cargo xtask build-ptx`",
            folder.display()
        )));
    }
    Image::read(&path)
}

/// Finds the PTX of every family, ordered by name.
///
/// # Errors
/// Those of [`find`].
pub fn find_families(package: &str, sm: Option<u32>, arch: Option<&str>) -> Result<Vec<Image>> {
    let folder = place(package, sm, arch)?;
    let entries = std::fs::read_dir(&folder).map_err(|source| Error::UnreadablePtx { path: folder.clone(), source })?;
    let mut paths: Vec<_> = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "ptx"));
    paths.sort();
    paths.iter().map(|path| Image::read(path)).collect()
}

/// The folder, or without its extension the file, of the best architecture.
fn place(package: &str, sm: Option<u32>, arch: Option<&str>) -> Result<PathBuf> {
    let folders = folders(package);
    for folder in &folders {
        let present = present(folder);
        if present.is_empty() {
            continue;
        }
        return Ok(folder.join(choose(&present, sm, arch, folder)?.to_string()));
    }
    let list: Vec<_> = folders.iter().map(|folder| folder.display().to_string()).collect();
    Err(Error::NoPtx(format!(
        "the PTX of {package} is not built: run `cargo xtask build-ptx` (searched {}; RUSTWARP_PTX_DIR sets another \
         folder)",
        list.join(", ")
    )))
}

fn choose(present: &[Arch], sm: Option<u32>, arch: Option<&str>, folder: &Path) -> Result<Arch> {
    let names: Vec<_> = present.iter().map(ToString::to_string).collect();
    let names = names.join(", ");
    if let Some(arch) = arch {
        let found = present.iter().find(|have| have.to_string() == arch);
        return found.cloned().ok_or_else(|| {
            Error::NoPtx(format!(
                "there is no PTX for {arch} in {}, only for {names}: run `cargo xtask build-ptx --arch {arch}`",
                folder.display()
            ))
        });
    }
    let runs = |arch: &&Arch| sm.is_none_or(|sm| arch.why_not(sm).is_none());
    present.iter().filter(runs).max().cloned().ok_or_else(|| {
        let sm = sm.unwrap_or_default();
        Error::NoPtx(format!(
            "the PTX in {} is for {names} and this GPU is sm_{sm}: run `cargo xtask build-ptx --arch sm_{sm}`",
            folder.display()
        ))
    })
}

/// Architectures with a file `<arch>.ptx` or a folder `<arch>` in `folder`.
fn present(folder: &Path) -> Vec<Arch> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    names.filter_map(|name| Arch::parse(name.strip_suffix(".ptx").unwrap_or(&name))).collect()
}

/// The folders to search, in order: `RUSTWARP_PTX_DIR` alone if it is set; else `ptx` beside the program or one level
/// up (a folder made by `cargo xtask dist`), then `target/ptx` above the program or the current folder.
fn folders(package: &str) -> Vec<PathBuf> {
    if let Some(folder) = std::env::var_os("RUSTWARP_PTX_DIR").filter(|folder| !folder.is_empty()) {
        return vec![PathBuf::from(folder).join(package)];
    }
    let program = std::env::current_exe().ok().and_then(|exe| Some(exe.parent()?.to_owned()));
    let current = std::env::current_dir().ok();
    let mut folders = Vec::new();
    if let Some(program) = &program {
        folders.push(program.join("ptx"));
        folders.extend(program.parent().map(|parent| parent.join("ptx")));
    }
    for start in [current, program].into_iter().flatten() {
        folders.extend(start.ancestors().map(|folder| folder.join("target/ptx")).find(|folder| folder.is_dir()));
    }
    if let Some(target) = std::env::var_os("CARGO_TARGET_DIR") {
        folders.push(PathBuf::from(target).join("ptx"));
    }
    folders.dedup();
    folders.into_iter().map(|folder| folder.join(package)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arch(text: &str) -> Arch {
        Arch::parse(text).expect("an architecture")
    }

    #[test]
    fn an_arch_says_where_it_runs() {
        assert!(arch("sm_75").why_not(90).is_none());
        assert!(arch("sm_90").why_not(90).is_none());
        assert!(arch("sm_100").why_not(90).is_some());
        assert!(arch("sm_90a").why_not(90).is_none());
        assert!(arch("sm_90a").why_not(100).is_some());
        assert!(arch("sm_100f").why_not(103).is_none());
        assert!(arch("sm_100f").why_not(120).is_some());
        assert!(Arch::parse("compute_90").is_none());
    }

    #[test]
    fn the_best_file_is_chosen() {
        let present = [arch("sm_75"), arch("sm_100"), arch("sm_90")];
        let best = |sm| choose(&present, sm, None, Path::new("ptx")).map(|arch| arch.number).ok();
        assert_eq!(best(Some(89)), Some(75));
        assert_eq!(best(Some(90)), Some(90));
        assert_eq!(best(Some(120)), Some(100));
        assert_eq!(best(None), Some(100));
        assert_eq!(best(Some(70)), None);
        assert!(choose(&present, None, Some("sm_80"), Path::new("ptx")).is_err());
    }

    #[test]
    fn a_file_that_cannot_be_read_keeps_its_reason() {
        let error = Image::read(Path::new("no/such/file.ptx")).expect_err("no file");
        assert!(error.to_string().starts_with("cannot read no/such/file.ptx: "), "{error}");
        assert!(std::error::Error::source(&error).is_some());
    }

    #[test]
    fn a_header_is_read_or_refused() {
        let header = Header::read("// x\n.version 7.8\n.target sm_90a, debug\n", "x").expect("a header");
        assert_eq!((header.version, header.target.to_string()), ((7, 8), "sm_90a".into()));
        for text in ["", "hello", ".version 7\n.target sm_90", ".version 7.8\n.target texmode_unified"] {
            assert!(matches!(Header::read(text, "x"), Err(Error::BadPtx(_))), "{text}");
        }
    }
}
