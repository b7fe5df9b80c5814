//! Whether an edit changed the code of a module, or only files that it shares with others.

use std::collections::{HashMap, HashSet};

use super::{
    code::{self, Code},
    objects::Object,
    store::Store,
};
use crate::{error::Error, process, toolchain::Toolchain};

/// Comparisons of one link; each file is read once.
pub(super) struct Changes<'a> {
    toolchain: &'a Toolchain,
    store: &'a Store,
    /// Files by their hash.
    files: HashMap<u64, Code>,
}

impl<'a> Changes<'a> {
    pub fn new(toolchain: &'a Toolchain, store: &'a Store) -> Self {
        Self { toolchain, store, files: HashMap::new() }
    }

    /// Whether a module that was made of the files `old` would be the same, made of `new`: whether what the entries and
    /// the files in both reach is the same in the removed files as in the added ones. `false` if a removed file is no
    /// longer stored.
    ///
    /// # Errors
    /// Fails if `opt` cannot write a file as text.
    pub fn none(&mut self, old: &[u64], new: &[&Object], entries: &[String]) -> Result<bool, Error> {
        let new_hashes: HashSet<u64> = new.iter().map(|object| object.hash).collect();
        let (kept, came): (Vec<&Object>, Vec<&Object>) = new.iter().partition(|object| old.contains(&object.hash));
        let came: Vec<u64> = came.iter().map(|object| object.hash).collect();
        let went: Vec<u64> = old.iter().copied().filter(|hash| !new_hashes.contains(hash)).collect();
        if !went.iter().all(|&hash| self.store.path(hash).is_file()) {
            return Ok(false);
        }
        for &hash in went.iter().chain(&came) {
            self.read(hash)?;
        }
        let roots: Vec<&str> =
            entries.iter().chain(kept.iter().flat_map(|object| object.needs())).map(String::as_str).collect();
        let reached = |hashes: &[u64]| {
            let files: Vec<&Code> = hashes.iter().map(|hash| &self.files[hash]).collect();
            code::reached(&files, roots.iter().copied())
        };
        Ok(reached(&went) == reached(&came))
    }

    fn read(&mut self, hash: u64) -> Result<(), Error> {
        if !self.files.contains_key(&hash) {
            let mut command = self.toolchain.llvm("opt");
            command.args(["-passes=", "-disable-verify", "-S", "-o", "-"]).arg(self.store.path(hash));
            let text = process::read(&mut command, "write bitcode as text")?;
            self.files.insert(hash, Code::parse(&text));
        }
        Ok(())
    }
}
