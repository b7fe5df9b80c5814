//! The kernel crate, from cargo's metadata.

use std::path::{Path, PathBuf};

use cargo_metadata::MetadataCommand;

use crate::error::Error;

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
    ///
    /// # Errors
    /// [`Error::Io`] if the folder does not exist; [`Error::Manifest`] if cargo cannot read its manifest.
    pub fn at(path: &Path) -> Result<Self, Error> {
        let dir = path.canonicalize().map_err(Error::io("find the kernel crate", path))?;
        let manifest = dir.join("Cargo.toml");
        let mut command = MetadataCommand::new();
        // Without dependencies cargo reads manifests only: no network, no lock file.
        let metadata = command
            .manifest_path(&manifest)
            .no_deps()
            .exec()
            .map_err(|error| Error::Manifest { path: manifest.clone(), problem: error.to_string() })?;
        let own = metadata.packages.iter().find(|package| package.manifest_path.as_std_path() == manifest);
        let name = own.map(|package| package.name.to_string()).ok_or_else(|| Error::Manifest {
            path: manifest.clone(),
            problem: "it has no table `[package]`: give the folder of a crate, not of a workspace".to_owned(),
        })?;
        Ok(Self { name, dir, workspace: metadata.workspace_root.into_std_path_buf() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_has_its_own_name_and_its_workspaces_folder() {
        let package = Package::at(Path::new(env!("CARGO_MANIFEST_DIR"))).expect("this crate");
        assert_eq!(package.name, "rustwarp-builder");
        assert!(package.dir.starts_with(&package.workspace) && package.dir != package.workspace);
    }

    #[test]
    fn a_workspace_without_a_package_is_rejected() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let message = Package::at(&root).expect_err("only a workspace").to_string();
        assert!(message.contains("[package]"), "{message}");
    }
}
