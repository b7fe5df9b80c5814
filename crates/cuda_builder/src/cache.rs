//! The user's cache folder: tools that `setup` fetched and a compiled `core`, shared by all clones.

use std::path::{Path, PathBuf};

/// Path of the cache, and paths within it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    root: PathBuf,
}

impl Default for Cache {
    /// `$RUSTWARP_CACHE`, else `$XDG_CACHE_HOME/rustwarp`, else `~/.cache/rustwarp`.
    fn default() -> Self {
        let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let root = set("RUSTWARP_CACHE")
            .or_else(|| Some(set("XDG_CACHE_HOME")?.join("rustwarp")))
            .or_else(|| Some(set("HOME")?.join(".cache/rustwarp")))
            .unwrap_or_else(|| std::env::temp_dir().join("rustwarp-cache"));
        Self { root }
    }
}

impl Cache {
    /// A cache in the folder `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The cache's folder.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Folder of the unpacked packages of the device toolchain.
    pub fn toolchain(&self) -> PathBuf {
        self.root.join("toolchain")
    }

    /// Folder of the unpacked `ptxas` and `nvdisasm`.
    pub fn cuda(&self) -> PathBuf {
        self.root.join("cuda")
    }
}
