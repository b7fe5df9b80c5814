//! `cargo xtask new`: a project of the user's own, from `templates/project`.
//!
//! `cargo generate` accepts the same template, whose placeholders have its syntax; there, the project depends on
//! Rustwarp's git repository. A project that is made in a checkout depends on the checkout.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use anyhow::{Context, Result, bail, ensure};
use cuda_builder::toolchain::{Search, discover};

use crate::workspace;

/// The template's words for Rustwarp's git repository, and for a dependency on a package in it.
const REPOSITORY: &str = "{{repository}}";
const DEPENDENCY: &str = "git = \"{{repository}}\"";

/// Options of the task.
#[derive(clap::Args, Clone, Debug)]
pub struct Options {
    /// Folder of the project, which is made
    path: PathBuf,
    /// Name of the project's package [default: the folder's name]
    #[arg(long)]
    name: Option<String>,
    /// Depend on Rustwarp's git repository, instead of this checkout; URL is by default where this was cloned from
    #[arg(long, value_name = "URL")]
    git: Option<Option<String>>,
}

/// Writes the project, and prints what to do next.
///
/// # Errors
/// Fails if the folder is not empty, if its name can't be the name of a package, or if a file can't be written.
pub fn run(options: &Options) -> Result<ExitCode> {
    let place = &options.path;
    let folder = || place.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = options.name.clone().unwrap_or_else(folder);
    check_name(&name)?;
    let used = place.is_dir() && fs::read_dir(place).is_ok_and(|mut entries| entries.next().is_some());
    ensure!(!used, "{} is not empty: name a new folder", place.display());
    let root = workspace::root();
    let repository = options.git.clone().flatten().or_else(origin).unwrap_or(env!("CARGO_PKG_REPOSITORY").to_owned());
    let values = [("{{project-name}}", name.as_str()), (REPOSITORY, &repository)];
    copy(&root.join("templates/project"), place, &values)?;
    if options.git.is_none() {
        depend_on_folder(&root, place)?;
    }
    // The same versions of dependencies as here, which the tests have run with.
    let lock = place.join("Cargo.lock");
    fs::copy(root.join("Cargo.lock"), &lock).with_context(|| format!("cannot write {}", lock.display()))?;
    println!(
        "made {}; its kernel is tested on the simulator, and runs on a GPU if there is one, with",
        place.display()
    );
    let setup = if discover(&Search::default()).is_ok() { "" } else { "\n  cargo xtask setup" };
    println!("\n  cd {}{setup}\n  cargo test\n  cargo run\n", in_shell(place));
    Ok(ExitCode::SUCCESS)
}

/// A path as a word of a shell's command line.
fn in_shell(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "/.-_+~".contains(c);
    if text.chars().all(is_plain) { text } else { format!("'{}'", text.replace('\'', "'\\''")) }
}

/// The address that this checkout was cloned from, if it is one that everybody can clone.
fn origin() -> Option<String> {
    let git = Command::new("git").args(["remote", "get-url", "origin"]).current_dir(workspace::root()).output().ok()?;
    let address = String::from_utf8(git.stdout).ok()?.trim().to_owned();
    address.starts_with("https://").then_some(address)
}

/// Writes the manifest again, with the dependencies in the checkout at `root`.
fn depend_on_folder(root: &Path, place: &Path) -> Result<()> {
    let template = root.join("templates/project/Cargo.toml.liquid");
    let text = fs::read_to_string(&template).with_context(|| format!("cannot read {}", template.display()))?;
    let folder = in_toml(&folder_from(root, place)?)?;
    let lines = text.lines().map(|line| match line.split_once(" = ") {
        Some((library, _)) => line.replace(DEPENDENCY, &format!("path = \"{folder}/{}\"", place_of(library))) + "\n",
        None => format!("{line}\n"),
    });
    let manifest = place.join("Cargo.toml");
    fs::write(&manifest, lines.collect::<String>()).with_context(|| format!("cannot write {}", manifest.display()))
}

/// Where a library is in the checkout.
fn place_of(library: &str) -> String {
    if library == "kernels-gpu" { library.to_owned() } else { format!("crates/{library}") }
}

/// The path to `root` from the folder `place`; absolute if they have only the file system's root in common.
fn folder_from(root: &Path, place: &Path) -> Result<PathBuf> {
    let real = |path: &Path| path.canonicalize().with_context(|| format!("cannot find {}", path.display()));
    let (root, place) = (real(root)?, real(place)?);
    let common = root.components().zip(place.components()).take_while(|(a, b)| a == b).count();
    if common < 2 {
        return Ok(root);
    }
    let up = place.components().skip(common).map(|_| Path::new(".."));
    Ok(up.chain(root.components().skip(common).map(|part| Path::new(part.as_os_str()))).collect())
}

/// cargo's rule for the names of packages, for ASCII.
fn check_name(name: &str) -> Result<()> {
    let letter = name.starts_with(|c: char| c.is_ascii_alphabetic());
    if !letter || !name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')) {
        bail!(
            "`{name}` can't be a package's name: give one by `--name`, of letters, digits, `-` and `_`, and a letter \
             first"
        );
    }
    if ["app", "kernels", "xtask", "core", "std", "test"].contains(&name) {
        bail!("`{name}` is the name of another package: give a different one by `--name`");
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
        // cargo reads every manifest of a git dependency's repository, so those of the template have another name.
        let is_manifest = name == "Cargo.toml.liquid";
        let target = to.join(if is_manifest { "Cargo.toml".as_ref() } else { name });
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
        run(&Options { path: place.clone(), git: None, name: None })?;
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
        let manifest: toml::Table = toml::from_str(&fs::read_to_string(place.join("Cargo.toml"))?)?;
        let dependencies = manifest["workspace"]["dependencies"].as_table().context("a table")?;
        let paths: Vec<&str> = dependencies.values().filter_map(|value| value.get("path")?.as_str()).collect();
        assert_eq!(paths.len(), 6, "{paths:?}");
        for path in paths {
            assert!(place.join(path).join("Cargo.toml").is_file(), "{path}");
        }
        assert!(fs::read_to_string(place.join("app/Cargo.toml"))?.contains("name = \"my-kernels\""));
        let again = run(&Options { path: place, git: None, name: None }).expect_err("it is there");
        assert!(again.to_string().contains("not empty"), "{again}");
        Ok(())
    }

    #[test]
    fn a_project_depends_on_the_checkout_or_on_its_repository() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let place = folder.path().join("far");
        run(&Options { path: place.clone(), git: Some(Some("https://example.org/fork".to_owned())), name: None })?;
        let manifest = fs::read_to_string(place.join("Cargo.toml"))?;
        assert_eq!(manifest.matches("git = \"https://example.org/fork\"").count(), 5, "{manifest}");
        assert!(fs::read_to_string(place.join(".github/workflows/ci.yml"))?.contains("https://example.org/fork \""));

        // A checkout and a project beside it can be moved together.
        let root = folder.path().join("work/rustwarp");
        let beside = folder.path().join("work/own/kernels");
        fs::create_dir_all(&root)?;
        fs::create_dir_all(&beside)?;
        assert_eq!(folder_from(&root, &beside)?, Path::new("../../rustwarp"));
        assert_eq!(folder_from(Path::new("/usr"), &beside)?, Path::new("/usr"));
        Ok(())
    }

    #[test]
    fn the_template_has_no_manifest_that_cargo_would_read() -> Result<()> {
        let template = workspace::root().join("templates/project");
        for folder in ["", "app", "kernels", "xtask"] {
            assert!(!template.join(folder).join("Cargo.toml").exists(), "{folder}");
            assert!(template.join(folder).join("Cargo.toml.liquid").exists(), "{folder}");
        }
        Ok(())
    }

    /// cargo-generate asks for the repository; its default is the workspace's.
    #[test]
    fn cargo_generate_proposes_the_workspaces_repository() -> Result<()> {
        let text = fs::read_to_string(workspace::root().join("templates/project/cargo-generate.toml"))?;
        assert!(text.contains(&format!("default = \"{}\"", env!("CARGO_PKG_REPOSITORY"))), "{text}");
        Ok(())
    }

    #[test]
    fn a_folder_may_have_any_name_where_the_project_has_another() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let place = folder.path().join("meine Größen");
        let refused = run(&Options { path: place.clone(), git: None, name: None }).expect_err("a blank").to_string();
        assert!(refused.starts_with("`meine Größen` can't be") && refused.contains("--name"), "{refused}");
        assert!(!place.exists());
        run(&Options { path: place.clone(), git: None, name: Some("sizes".to_owned()) })?;
        assert!(fs::read_to_string(place.join("app/Cargo.toml"))?.contains("name = \"sizes\""));
        Ok(())
    }

    #[test]
    fn a_shell_takes_the_path_as_one_word() {
        assert_eq!(in_shell(Path::new("/home/a/my-kernels")), "/home/a/my-kernels");
        assert_eq!(in_shell(Path::new("/home/Jürgen/k")), "/home/Jürgen/k");
        assert_eq!(in_shell(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }

    #[test]
    fn names_that_cargo_refuses_are_refused() {
        for name in ["", "1st", "a b", "kernels", "-x"] {
            assert!(check_name(name).is_err(), "{name}");
        }
        assert!(check_name("my-kernels_2").is_ok());
    }
}
