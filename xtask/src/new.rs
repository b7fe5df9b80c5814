//! `cargo xtask new`: a project of the user's own, from `templates/project`.
//!
//! `cargo generate` accepts the same template; the placeholders have its syntax.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail, ensure};

use crate::workspace;

/// Options of the task.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Folder of the project, which is made; its last part is the project's name
    path: PathBuf,
}

/// Writes the project, and prints what to do next.
///
/// # Errors
/// Fails if the folder is not empty, if its name can't be the name of a package, or if a file can't be written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let place = &options.path;
    let name = place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    check_name(&name)?;
    let used = place.is_dir() && fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
    ensure!(!used, "{} is not empty: name a new folder", place.display());
    let root = workspace::root();
    let values = [("{{project-name}}", name.as_str()), ("{{rustwarp}}", &in_toml(&root)?)];
    copy(&root.join("templates/project"), place, &values)?;
    // The same versions of dependencies as here, which the tests have run with.
    let lock = place.join("Cargo.lock");
    fs::copy(root.join("Cargo.lock"), &lock).with_context(|| format!("cannot write {}", lock.display()))?;
    println!("made {}; its kernel runs on the simulator with", place.display());
    println!("\n  cd {}\n  cargo xtask setup\n  cargo test --workspace\n", place.display());
    Ok(ExitCode::SUCCESS)
}

/// cargo's rule for the names of packages, for ASCII.
fn check_name(name: &str) -> Result<()> {
    let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !letter || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        bail!("`{name}` can't be a package's name: letters, digits, `-` and `_`, and a letter first");
    }
    if ["app", "kernels", "xtask", "core", "std", "test"].contains(&name) {
        bail!("`{name}` is the name of another package: choose a different one");
    }
    Ok(())
}

/// A path as the contents of a TOML string.
fn in_toml(path: &Path) -> Result<String> {
    let text = path.to_str().with_context(|| format!("{} is not UTF-8", path.display()))?;
    Ok(text.replace('\\', "/").replace('"', "\\\""))
}

/// Copies a folder, with the placeholders in its files replaced.
fn copy(from: &Path, to: &Path, values: &[(&str, &str)]) -> Result<()> {
    fs::create_dir_all(to).with_context(|| format!("cannot make {}", to.display()))?;
    for entry in fs::read_dir(from).with_context(|| format!("cannot read {}", from.display()))? {
        let source = entry?.path();
        let name = source.file_name().unwrap_or_default();
        let target = to.join(name);
        if source.is_dir() {
            copy(&source, &target, values)?;
        } else if name != "cargo-generate.toml" {
            let text = fs::read_to_string(&source).with_context(|| format!("cannot read {}", source.display()))?;
            let text = values.iter().fold(text, |text, (from, to)| text.replace(from, to));
            fs::write(&target, text).with_context(|| format!("cannot write {}", target.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_project_has_no_placeholder_left() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let place = folder.path().join("my-kernels");
        run(&Options { path: place.clone() })?;
        let mut pending = vec![place.clone()];
        let mut files = 0;
        while let Some(path) = pending.pop() {
            if path.is_dir() {
                pending.extend(
                    fs::read_dir(&path)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<Vec<_>, _>>()?,
                );
            } else {
                assert!(!fs::read_to_string(&path)?.contains("{{"), "{}", path.display());
                files += 1;
            }
        }
        assert!(files > 10, "{files}");
        assert!(fs::read_to_string(place.join("app/Cargo.toml"))?.contains("name = \"my-kernels\""));
        let again = run(&Options { path: place }).expect_err("it is there");
        assert!(again.to_string().contains("not empty"), "{again}");
        Ok(())
    }

    #[test]
    fn names_that_cargo_refuses_are_refused() {
        for name in ["", "1st", "a b", "kernels", "-x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("my-kernels_2").is_ok());
    }
}
