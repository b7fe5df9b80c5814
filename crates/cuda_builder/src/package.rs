//! The kernel crate, as cargo sees it.

use std::{
    path::{Path, PathBuf},
    process::Command,
};

use crate::{Error, process};

/// A crate and the workspace it belongs to.
#[derive(Clone, Debug)]
pub(crate) struct Package {
    pub name: String,
    /// Folder of its Cargo.toml.
    pub dir: PathBuf,
    /// Folder of the workspace's Cargo.toml.
    pub workspace: PathBuf,
}

impl Package {
    /// The package in folder `path`.
    pub fn at(path: &Path) -> Result<Self, Error> {
        let dir = path.canonicalize().map_err(Error::io("find the kernel crate", path))?;
        let manifest = dir.join("Cargo.toml");
        let text = std::fs::read_to_string(&manifest).map_err(Error::io("read", &manifest))?;
        let name = name(&text).ok_or_else(|| Error::Options(format!("{} names no package", manifest.display())))?;
        let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        command.current_dir(&dir).args(["locate-project", "--workspace", "--message-format", "plain"]);
        let root = process::read(&mut command, "find the workspace")?;
        let workspace = Path::new(root.trim()).parent().unwrap_or(&dir).to_owned();
        Ok(Self { name, dir, workspace })
    }
}

/// `name = "…"` of the `[package]` table.
fn name(manifest: &str) -> Option<String> {
    let package = manifest.lines().map(str::trim).skip_while(|line| *line != "[package]").skip(1);
    let line =
        package.take_while(|line| !line.starts_with('[')).find(|line| line.split(['=', ' ']).next() == Some("name"))?;
    Some(line.split(['"', '\'']).nth(1)?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_package_table_gives_the_name() {
        let manifest = "[lib]\nname = \"other\"\n[package]\nedition = \"2024\"\nname = \"kernels-gpu\"\n[dependencies]\nname = \"1\"\n";
        assert_eq!(name(manifest).as_deref(), Some("kernels-gpu"));
        assert_eq!(name("[workspace]\n"), None);
    }
}
