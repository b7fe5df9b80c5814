//! Sources of the device toolchain, and the command that uses each.

use std::path::Path;

use crate::Error;

/// The variable with which a build fetches what it lacks: `1` for the system's packages, `rustup` for rustup. It works
/// in every project, also where no task of its own calls [`toolchain`](super::toolchain).
pub const VARIABLE: &str = "RUSTWARP_SETUP";

/// A source of toolchains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Source {
    /// The system's package archive, by apt, unpacked into the user's cache.
    Apt,
    /// The components rust-src and llvm-tools of rustup's stable toolchain.
    Rustup,
}

impl Source {
    /// The source that [`VARIABLE`] names; `None` if it is not set.
    ///
    /// # Errors
    /// [`Error::Options`] if it has another value.
    pub fn requested() -> Result<Option<Self>, Error> {
        let value = std::env::var_os(VARIABLE).unwrap_or_default();
        Self::named(&value.to_string_lossy())
    }

    fn named(value: &str) -> Result<Option<Self>, Error> {
        match value {
            "" | "0" => Ok(None),
            "1" | "apt" => Ok(Some(Self::Apt)),
            "rustup" => Ok(Some(Self::Rustup)),
            _ => Err(Error::Options(format!("unknown value `{value}` of {VARIABLE}; expected `1` or `rustup`"))),
        }
    }

    /// The command that adds the toolchain from this source: the task of the workspace that contains the current folder
    /// if it has one, else a build with [`VARIABLE`].
    pub(crate) fn command(self) -> String {
        let here = std::env::current_dir().unwrap_or_default();
        self.command_in(&here)
    }

    fn command_in(self, folder: &Path) -> String {
        match (self, has_task(folder)) {
            (Self::Apt, true) => "cargo xtask setup".to_owned(),
            (Self::Rustup, true) => "cargo xtask setup --from rustup".to_owned(),
            (Self::Apt, false) => format!("{VARIABLE}=1 cargo build"),
            (Self::Rustup, false) => format!("{VARIABLE}=rustup cargo build"),
        }
    }
}

/// Whether a workspace around `folder` has a package `xtask` that uses this crate.
fn has_task(folder: &Path) -> bool {
    let manifests = folder.ancestors().map(|folder| folder.join("xtask/Cargo.toml"));
    manifests.filter_map(|path| std::fs::read_to_string(path).ok()).any(|text| text.contains("cuda_builder"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_without_the_task_is_set_up_by_a_build() {
        let folder = tempfile::tempdir().expect("folder");
        let app = folder.path().join("app/src");
        std::fs::create_dir_all(&app).expect("folder");
        assert_eq!(Source::Apt.command_in(&app), "RUSTWARP_SETUP=1 cargo build");
        assert_eq!(Source::Rustup.command_in(&app), "RUSTWARP_SETUP=rustup cargo build");
        // Another xtask is no help.
        let manifest = folder.path().join("xtask/Cargo.toml");
        std::fs::create_dir_all(folder.path().join("xtask")).expect("folder");
        std::fs::write(&manifest, "[package]\nname = \"xtask\"\n").expect("file");
        assert_eq!(Source::Apt.command_in(&app), "RUSTWARP_SETUP=1 cargo build");
        std::fs::write(&manifest, "[dependencies]\ncuda_builder = \"1\"\n").expect("file");
        assert_eq!(Source::Apt.command_in(&app), "cargo xtask setup");
        assert_eq!(Source::Rustup.command_in(&app), "cargo xtask setup --from rustup");
    }

    #[test]
    fn the_variable_names_a_source_or_is_refused() {
        assert_eq!(Source::named("").expect("absent"), None);
        assert_eq!(Source::named("1").expect("apt"), Some(Source::Apt));
        assert_eq!(Source::named("rustup").expect("rustup"), Some(Source::Rustup));
        assert!(Source::named("yes").expect_err("unknown").to_string().contains("`1` or `rustup`"));
    }
}
