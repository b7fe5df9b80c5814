//! The copies of PTX that a build leaves at the caller's place, so that those of families that are gone can be removed,
//! with their machine code.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use crate::{embed, error::Error};

/// Writes to `list` that `copies` are in `place`, and removes the files there that the list named before. Files that
/// are not in the list stay: they are another program's.
pub(super) fn replace(list: &Path, place: &Path, copies: BTreeSet<PathBuf>) -> Result<(), Error> {
    let text = fs::read_to_string(list).unwrap_or_default();
    let (here, elsewhere): (Vec<PathBuf>, Vec<PathBuf>) =
        text.lines().map(PathBuf::from).partition(|path| path.starts_with(place));
    for path in here.iter().filter(|path| !copies.contains(*path) && path.exists()) {
        fs::remove_file(path).map_err(Error::io("remove", path))?;
        embed::remove_old(path)?;
    }
    let lines: String = elsewhere.iter().chain(&copies).map(|path| format!("{}\n", path.display())).collect();
    if lines == text {
        return Ok(());
    }
    fs::write(list, lines).map_err(Error::io("write", list))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_own_copies_in_the_same_place_are_removed() {
        let folder = tempfile::tempdir().expect("folder");
        let list = folder.path().join("list");
        let path = |name: &str| folder.path().join(name);
        for name in ["a", "b"] {
            fs::create_dir(path(name)).expect("folder");
        }
        let machine_code = ["a/sum.sm_90.cubin", "a/max.sm_90.cubin"];
        for name in ["a/sum.ptx", "a/max.ptx", "a/foreign.ptx", "b/sum.ptx"].iter().chain(&machine_code) {
            fs::write(path(name), "").expect("a file");
        }
        let put = |place: &str, names: &[&str]| {
            replace(&list, &path(place), names.iter().map(|name| path(name)).collect()).expect("replaced");
        };
        put("a", &["a/sum.ptx", "a/max.ptx"]);
        put("b", &["b/sum.ptx"]);
        put("a", &["a/max.ptx"]);
        let left = |name: &str| path(name).exists();
        assert_eq!(
            [left("a/sum.ptx"), left("a/max.ptx"), left("a/foreign.ptx"), left("b/sum.ptx")],
            [false, true, true, true]
        );
        assert_eq!(machine_code.map(left), [false, true]);
        put("b", &[]);
        assert!(!left("b/sum.ptx"), "the list still knew it");
    }
}
