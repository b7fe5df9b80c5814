//! The user's cache folder: what `setup` fetched once, for every clone.

use std::path::{Path, PathBuf};

/// The folder, and the places in it.
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
    /// A cache in a folder of the caller's choice.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where the device toolchain's packages are unpacked.
    pub fn toolchain(&self) -> PathBuf {
        self.root.join("toolchain")
    }

    /// Where `ptxas` and `nvdisasm` are unpacked.
    pub fn cuda(&self) -> PathBuf {
        self.root.join("cuda")
    }
}
