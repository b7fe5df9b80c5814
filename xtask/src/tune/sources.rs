//! A copy of what the kernels are compiled from, in which constants are changed: a workspace of its own.

use std::{
    collections::BTreeMap,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

/// The packages that the kernels are compiled from.
const PACKAGES: [&str; 3] = ["kernels-gpu", "crates/cuda_std", "crates/cuda_std_macros"];

/// Files of the workspace, by their paths relative to its root.
pub struct Sources {
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Sources {
    /// Reads the packages of the workspace at `root`.
    ///
    /// # Errors
    /// Fails if a file cannot be read.
    pub fn read(root: &Path) -> Result<Self> {
        let mut files = BTreeMap::new();
        for package in PACKAGES {
            collect(root, Path::new(package), &mut files)?;
        }
        let read = |name: &str| fs::read_to_string(root.join(name)).with_context(|| format!("cannot read {name}"));
        let mut manifest: toml::Table = read("Cargo.toml")?.parse().context("cannot read Cargo.toml")?;
        if let Some(workspace) = manifest.get_mut("workspace").and_then(toml::Value::as_table_mut) {
            workspace.insert("members".to_owned(), PACKAGES.map(toml::Value::from).to_vec().into());
            workspace.remove("default-members");
            workspace.remove("exclude");
        }
        // Settings for packages that are not members would be warnings.
        manifest.remove("profile");
        files.insert("Cargo.toml".into(), toml::to_string(&manifest).context("cannot write Cargo.toml")?.into_bytes());
        files.insert("Cargo.lock".into(), read("Cargo.lock")?.into_bytes());
        Ok(Self { files })
    }

    /// The Rust files of a folder, with their texts.
    pub fn below(&self, folder: &str) -> impl Iterator<Item = (&Path, &str)> + use<'_> {
        let folder = PathBuf::from(folder);
        let files = self.files.iter().filter(move |(path, _)| path.starts_with(&folder));
        files
            .filter(|(path, _)| path.extension().is_some_and(|extension| extension == "rs"))
            .filter_map(|(path, text)| Some((path.as_path(), std::str::from_utf8(text).ok()?)))
    }

    /// The same files, one of them with another text.
    pub fn with(&self, path: &Path, text: String) -> Self {
        let mut files = self.files.clone();
        files.insert(path.to_owned(), text.into_bytes());
        Self { files }
    }

    /// A number that depends on every file and on `also`: what was compiled from equal ones is equal.
    pub fn key(&self, also: &str) -> String {
        let mut hasher = DefaultHasher::new();
        (&self.files, also).hash(&mut hasher);
        format!("{:016x}", hasher.finish())
    }

    /// Writes the files to `folder`. A file that is there with this text is left alone, so that cargo does not compile
    /// it again; a Rust file that is not among them is removed.
    ///
    /// # Errors
    /// Fails if a file cannot be written or removed.
    pub fn write(&self, folder: &Path) -> Result<()> {
        let mut there = BTreeMap::new();
        for package in PACKAGES.iter().filter(|package| folder.join(package).exists()) {
            collect(folder, Path::new(package), &mut there)?;
        }
        for path in there.keys().filter(|path| !self.files.contains_key(*path)) {
            fs::remove_file(folder.join(path)).with_context(|| format!("cannot remove {}", path.display()))?;
        }
        for (path, text) in self.files.iter().filter(|(path, text)| there.get(*path) != Some(*text)) {
            let target = folder.join(path);
            let above = target.parent().unwrap_or(folder);
            fs::create_dir_all(above).with_context(|| format!("cannot create {}", above.display()))?;
            fs::write(&target, text).with_context(|| format!("cannot write {}", target.display()))?;
        }
        Ok(())
    }
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<PathBuf, Vec<u8>>) -> Result<()> {
    let shown = || format!("cannot read {}", root.join(folder).display());
    for entry in fs::read_dir(root.join(folder)).with_context(shown)? {
        let entry = entry.with_context(shown)?;
        let path = folder.join(entry.file_name());
        if entry.file_type().with_context(shown)?.is_dir() {
            collect(root, &path, files)?;
        } else {
            let text = fs::read(entry.path()).with_context(|| format!("cannot read {}", path.display()))?;
            files.insert(path, text);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace;

    #[test]
    fn the_copy_is_the_sources_with_the_change() -> Result<()> {
        let sources = Sources::read(&workspace::root())?;
        let path = Path::new("kernels-gpu/src/dot/best.rs");
        let text = |sources: &Sources| {
            sources.below("kernels-gpu/src/dot").find(|file| file.0 == path).map(|f| f.1.to_owned())
        };
        let present = text(&sources).context("the file")?;
        let changed = sources.with(path, format!("{present}// more\n"));
        assert_eq!(text(&changed), Some(format!("{present}// more\n")));
        assert_eq!(text(&sources), Some(present.clone()));
        assert!(changed.key("") != sources.key("") && sources.key("sm_75") != sources.key("sm_90"));
        assert_eq!(changed.with(path, present.clone()).key("a"), sources.key("a"));

        let folder = tempfile::tempdir()?;
        let there = |name: &str| folder.path().join(name);
        changed.write(folder.path())?;
        assert!(fs::read_to_string(there("kernels-gpu/src/dot/best.rs"))?.ends_with("// more\n"));
        fs::write(there("kernels-gpu/src/dot/stray.rs"), "")?;
        let untouched = there("kernels-gpu/src/lib.rs").metadata()?.modified()?;
        sources.write(folder.path())?;
        assert_eq!(fs::read_to_string(there("kernels-gpu/src/dot/best.rs"))?, present);
        assert!(!there("kernels-gpu/src/dot/stray.rs").exists(), "a file of another build is removed");
        assert_eq!(there("kernels-gpu/src/lib.rs").metadata()?.modified()?, untouched);
        Ok(())
    }
}
