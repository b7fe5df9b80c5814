//! The file that holds the text of a source file now.

use super::recorded::Recorded;
use std::fmt;
use std::path::{Path, PathBuf};

/// Size of a source file in bytes above which it is not read.
const MOST_SOURCE: u64 = 16 << 20;

/// Why the text that was compiled is not available, although its hash is known.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unavailable {
    /// The file has another text now.
    Changed(PathBuf),
    /// No file with that text is found.
    Absent,
    /// The name has no hash, and no file is at the name.
    Unknown,
}

impl fmt::Display for Unavailable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Changed(_) => "it has changed since the PTX was compiled: compile again to see its lines",
            Self::Absent => {
                "no file there, or below the current folder and those above it, has the text that was compiled"
            }
            Self::Unknown => "there is no such file",
        })
    }
}

/// Returns the path and the content of the text that was compiled. With a hash, any of the places that [`candidates`]
/// lists is accepted if its text has that hash; without one, only the name itself.
pub(super) fn text(file: &str, recorded: &Recorded) -> Result<(PathBuf, String), Unavailable> {
    let Some(md5) = recorded.md5 else {
        let named = Path::new(file);
        let path = recorded.root.as_deref().map_or_else(|| named.to_owned(), |root| Path::new(root).join(named));
        let text = read(&path).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(Unavailable::Unknown)?;
        return Ok((path, text));
    };
    let mut changed = None;
    for Candidate { path, exact } in candidates(file, recorded.root.as_deref()) {
        let Some(bytes) = read(&path) else { continue };
        if md5::compute(&bytes).0 != md5 {
            // Only the place of the compiler says that the file was changed; elsewhere it may be another file.
            changed = changed.or(exact.then_some(path));
        } else if let Ok(text) = String::from_utf8(bytes) {
            return Ok((path, text));
        }
    }
    Err(changed.map_or(Unavailable::Absent, Unavailable::Changed))
}

/// Returns the path for display: relative to the current folder if the file is below it; as the compiler wrote it if
/// the current folder is in the same workspace; else absolute. `located` is the path that [`text`] gives.
pub(super) fn shown(file: &str, recorded: &Recorded, located: Option<&Path>) -> String {
    let here = std::env::current_dir().unwrap_or_default();
    let root = recorded.root.as_deref().map(Path::new);
    let named = root.map_or_else(|| PathBuf::from(file), |root| root.join(file));
    let full = located.filter(|_| recorded.md5.is_some()).map_or(named, Path::to_owned);
    if let Ok(below) = full.strip_prefix(&here)
        && !below.as_os_str().is_empty()
    {
        return below.display().to_string();
    }
    if Path::new(file).is_relative() && root.is_none_or(|root| here.starts_with(root)) {
        return file.to_owned();
    }
    full.display().to_string()
}

/// A path at which the text may be.
struct Candidate {
    path: PathBuf,
    /// Whether this is the place that the compiler recorded.
    exact: bool,
}

/// Lists the places to look at: the recorded folder, then the current folder and those above it, with the whole name
/// and then without its first parts. So sources are found that were copied along with the PTX, or whose names were
/// mapped by `--remap-path-prefix`.
fn candidates(file: &str, root: Option<&str>) -> Vec<Candidate> {
    let name = Path::new(file);
    let here = std::env::current_dir().unwrap_or_default();
    let recorded = root.map(|root| Path::new(root).join(name)).or_else(|| name.is_absolute().then(|| name.to_owned()));
    let mut list: Vec<_> = recorded.into_iter().map(|path| Candidate { path, exact: true }).collect();
    let folders: Vec<&Path> = here.ancestors().chain(root.map(Path::new)).collect();
    let parts: Vec<_> = name.iter().filter(|part| Path::new(part).is_relative()).collect();
    for skipped in 0..parts.len() {
        let tail: PathBuf = parts[skipped..].iter().collect();
        let place = |folder: &&Path| Candidate { path: folder.join(&tail), exact: false };
        list.extend(folders.iter().map(place));
    }
    list
}

/// Reads a file if it is a regular file of moderate size: the name comes from the PTX and may be arbitrary.
fn read(path: &Path) -> Option<Vec<u8>> {
    let about = std::fs::metadata(path).ok()?;
    (about.is_file() && about.len() <= MOST_SOURCE).then(|| std::fs::read(path).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locate(file: &str, recorded: &Recorded) -> Result<PathBuf, Unavailable> {
        text(file, recorded).map(|(path, _)| path)
    }

    fn shown(file: &str, recorded: &Recorded) -> String {
        super::shown(file, recorded, locate(file, recorded).ok().as_deref())
    }

    /// A folder with one file, and the record of a text.
    fn project(name: &str, there: &str, compiled: &str) -> (PathBuf, Recorded) {
        let folder = std::env::temp_dir().join(format!("ptx_sim-{name}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("kernels/src")).expect("a folder");
        std::fs::write(folder.join("kernels/src/lib.rs"), there).expect("a file");
        let root = Some(folder.display().to_string().into());
        (folder, Recorded { md5: Some(md5::compute(compiled).0), root })
    }

    #[test]
    fn the_text_that_was_compiled_is_found_where_it_was_compiled() {
        let (folder, recorded) = project("große übung", "fn a() {}\n", "fn a() {}\n");
        let (path, text) = text("kernels/src/lib.rs", &recorded).expect("found");
        assert_eq!((path, text.as_str()), (folder.join("kernels/src/lib.rs"), "fn a() {}\n"));
        let name = shown("kernels/src/lib.rs", &recorded);
        assert_eq!(name, folder.join("kernels/src/lib.rs").display().to_string(), "another workspace");
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_changed_text_is_not_shown() {
        let (folder, recorded) = project("changed", "fn b() {}\n", "fn a() {}\n");
        let error = locate("kernels/src/lib.rs", &recorded).expect_err("another text");
        assert_eq!(error, Unavailable::Changed(folder.join("kernels/src/lib.rs")));
        std::fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_of_the_same_name_in_the_current_folder_is_another_file() {
        // Tests run in the folder of this package, which has a `src/lib.rs`.
        let recorded = Recorded { md5: Some([7; 16]), root: Some("/gone".into()) };
        assert_eq!(locate("src/lib.rs", &recorded), Err(Unavailable::Absent));
        assert_eq!(shown("src/lib.rs", &recorded), "/gone/src/lib.rs");
    }

    #[test]
    fn a_mapped_name_is_found_by_its_last_parts() {
        let bytes = std::fs::read("src/lib.rs").expect("this crate");
        let recorded = Recorded { md5: Some(md5::compute(bytes).0), root: None };
        for name in ["/mapped/away/src/lib.rs", "elsewhere/src/lib.rs", "src/lib.rs"] {
            assert!(locate(name, &recorded).is_ok(), "{name}");
            assert_eq!(shown(name, &recorded), "src/lib.rs");
        }
    }

    #[test]
    fn a_name_without_a_hash_is_used_as_it_is() {
        assert!(locate("src/lib.rs", &Recorded::default()).is_ok());
        assert_eq!(locate("gone.rs", &Recorded::default()), Err(Unavailable::Unknown));
    }
}
