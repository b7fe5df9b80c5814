//! Installs folders of the cache so that each is either complete or absent.

use std::{
    fs,
    path::{Path, PathBuf},
};

use crate::{
    cache::Cache,
    error::Error,
    lock::{self, Lock},
    setup::Source,
};

/// Name of the file that is written last, with the number and the total size of the folder's files.
const STAMP: &str = "complete";

/// Waits until no other process installs anything into this cache.
///
/// # Errors
/// [`Error::Cache`] if its folder cannot be written.
pub(crate) fn lock(cache: &Cache, report: &mut dyn FnMut(&str)) -> Result<Lock, Error> {
    let root = cache.root();
    lock::lock(&root.join("lock"), || report("waiting for another set-up to finish")).map_err(|error| match error {
        Error::Io { reason, .. } => Error::Cache {
            path: root.to_owned(),
            reason,
            fix: format!(
                "choose a folder that you can write to: export RUSTWARP_CACHE=FOLDER, then {}",
                Source::Apt.command()
            ),
        },
        error => error,
    })
}

/// Fills a temporary folder, stamps it, and renames it to `place`. `fill` returns the stamp's description of the
/// contents. The caller holds the lock.
pub(crate) fn install(place: &Path, fill: impl FnOnce(&Path) -> Result<String, Error>) -> Result<(), Error> {
    let partial = aside(place, "partial");
    let old = aside(place, "old");
    // Remains of an interrupted run.
    remove(&partial)?;
    remove(&old)?;
    fs::create_dir_all(&partial).map_err(Error::io("create", &partial))?;
    let contents = fill(&partial)?;
    let stamp = partial.join(STAMP);
    fs::write(&stamp, format!("{}\n{contents}", Size::of(&partial)?.line())).map_err(Error::io("write", &stamp))?;
    if place.exists() {
        fs::rename(place, &old).map_err(Error::io("move aside", place))?;
    }
    fs::rename(&partial, place).map_err(Error::io("put in place", place))?;
    remove(&old)
}

fn aside(place: &Path, suffix: &str) -> PathBuf {
    let name = place.file_name().unwrap_or_default().to_string_lossy();
    place.with_file_name(format!("{name}.{suffix}"))
}

/// Whether an installation of `place` finished; looks at the stamp only.
pub(crate) fn is_complete(place: &Path) -> bool {
    place.join(STAMP).is_file()
}

/// Whether an installation of `place` was started.
pub(crate) fn is_begun(place: &Path) -> bool {
    place.exists() || aside(place, "partial").exists()
}

/// Whether an installation of `place` finished and no file has been removed since; visits every file.
pub(crate) fn is_whole(place: &Path) -> bool {
    let stamp = fs::read_to_string(place.join(STAMP)).unwrap_or_default();
    Size::of(place).is_ok_and(|size| stamp.lines().next() == Some(size.line().as_str()))
}

/// Number and total size of a folder's files, without its stamp.
#[derive(Default)]
struct Size {
    files: u64,
    bytes: u64,
}

impl Size {
    fn of(folder: &Path) -> Result<Self, Error> {
        let mut size = Self::default();
        let mut pending = vec![folder.to_owned()];
        while let Some(next) = pending.pop() {
            for entry in fs::read_dir(&next).map_err(Error::io("read", &next))? {
                let entry = entry.map_err(Error::io("read", &next))?;
                let data = entry.metadata().map_err(Error::io("read", entry.path()))?;
                if data.is_dir() {
                    pending.push(entry.path());
                } else if entry.file_name() != STAMP {
                    size.files += 1;
                    size.bytes += data.len();
                }
            }
        }
        Ok(size)
    }

    fn line(&self) -> String {
        format!("{} files, {} bytes", self.files, self.bytes)
    }
}

/// Paths of a folder's entries; empty when the folder does not exist.
pub(crate) fn children(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    if !folder.is_dir() {
        return Ok(Vec::new());
    }
    fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| entry.map(|entry| entry.path())).collect())
        .map_err(Error::io("read", folder))
}

/// Removes a file or a folder if it exists.
pub(crate) fn remove(path: &Path) -> Result<(), Error> {
    let result = match fs::symlink_metadata(path) {
        Err(_) => return Ok(()),
        Ok(data) if data.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    result.map_err(Error::io("remove", path))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fill(folder: &Path) -> Result<String, Error> {
        fs::create_dir_all(folder.join("bin")).expect("folder");
        fs::write(folder.join("bin/tool"), "tool").expect("file");
        Ok("tool 1.0\n".to_owned())
    }

    fn cut_short(folder: &Path) -> Result<String, Error> {
        fill(folder)?;
        Err(Error::Options("the line went dead".to_owned()))
    }

    #[test]
    fn a_complete_folder_is_kept_and_a_damaged_one_is_detected() {
        let folder = tempfile::tempdir().expect("folder");
        let place = folder.path().join("tools");
        assert!(!is_complete(&place) && !is_whole(&place));
        install(&place, fill).expect("installs");
        assert!(is_complete(&place) && is_whole(&place));
        fs::remove_file(place.join("bin/tool")).expect("removes");
        assert!(!is_whole(&place));
        install(&place, fill).expect("repairs");
        assert!(is_whole(&place));
    }

    #[test]
    fn an_interrupted_install_leaves_nothing_that_looks_finished() {
        let folder = tempfile::tempdir().expect("folder");
        let place = folder.path().join("tools");
        assert!(install(&place, cut_short).is_err());
        assert!(!place.exists());
        install(&place, fill).expect("the leftovers are no obstacle");
        assert!(install(&place, cut_short).is_err());
        assert!(is_whole(&place), "the old contents survive a failed update");
    }

    #[test]
    fn a_cache_that_cannot_be_written_gives_its_reason_once_and_the_commands() {
        let folder = tempfile::tempdir().expect("folder");
        let home = folder.path().join("home");
        // No user can make a folder in a file.
        fs::write(&home, "").expect("file");
        let error = lock(&Cache::at(home.join(".cache/rustwarp")), &mut |_| {}).map(drop).expect_err("a file");
        let text = error.to_string();
        assert!(text.starts_with(&format!("cannot write to the cache's folder {}", home.display())), "{text}");
        assert_eq!(text.matches("Not a directory").count(), 1, "{text}");
        assert!(text.contains("export RUSTWARP_CACHE=FOLDER, then "), "{text}");
    }

    #[test]
    fn a_folder_that_was_unpacked_by_hand_is_not_complete() {
        let folder = tempfile::tempdir().expect("folder");
        fill(folder.path()).expect("fills");
        assert!(!is_complete(folder.path()) && !is_whole(folder.path()));
    }
}
