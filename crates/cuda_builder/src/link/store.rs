//! Bitcode files under the hash of their content. The files of the last build of each module stay, to compare with.

use std::{
    collections::HashSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::PathBuf,
};

use crate::error::Error;

/// A folder of bitcode files.
pub(super) struct Store {
    folder: PathBuf,
}

impl Store {
    /// The store in `folder`, which is made if it is not there.
    ///
    /// # Errors
    /// Fails if the folder cannot be created.
    pub fn open(folder: PathBuf) -> Result<Self, Error> {
        fs::create_dir_all(&folder).map_err(Error::io("create", &folder))?;
        Ok(Self { folder })
    }

    /// Adds a file, and returns the hash of its content and its place.
    ///
    /// # Errors
    /// Fails if the file cannot be written.
    pub fn put(&self, data: &[u8]) -> Result<(u64, PathBuf), Error> {
        let mut hasher = DefaultHasher::new();
        data.hash(&mut hasher);
        let hash = hasher.finish();
        let path = self.path(hash);
        if !path.is_file() {
            // Renamed into place, so that a build that is cut short leaves no half of a file under a whole one's name.
            let part = path.with_extension("part");
            fs::write(&part, data).map_err(Error::io("write", &part))?;
            fs::rename(&part, &path).map_err(Error::io("write", &path))?;
        }
        Ok((hash, path))
    }

    /// The file with this hash, whether it is there or not.
    pub fn path(&self, hash: u64) -> PathBuf {
        self.folder.join(format!("{hash:016x}.bc"))
    }

    /// Removes all files but those with these hashes.
    ///
    /// # Errors
    /// Fails if the folder cannot be read, or a file cannot be removed.
    pub fn keep(&self, hashes: &HashSet<u64>) -> Result<(), Error> {
        let keep: HashSet<PathBuf> = hashes.iter().map(|&hash| self.path(hash)).collect();
        for entry in fs::read_dir(&self.folder).map_err(Error::io("read", &self.folder))? {
            let path = entry.map_err(Error::io("read", &self.folder))?.path();
            if !keep.contains(&path) {
                fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_stored_once_and_kept_by_its_hash() {
        let folder = tempfile::tempdir().expect("folder");
        let store = Store::open(folder.path().join("objects")).expect("folder");
        let (one, place) = store.put(b"one").expect("written");
        assert_eq!(store.put(b"one").expect("written"), (one, place.clone()));
        assert_eq!(fs::read(&place).expect("there"), b"one");
        let (two, other) = store.put(b"two").expect("written");
        store.keep(&HashSet::from([two])).expect("removed");
        assert_eq!((place.is_file(), other.is_file()), (false, true));
    }
}
