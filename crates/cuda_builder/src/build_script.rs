//! Reports to cargo, inside a `build.rs`: the files that the PTX depends on, warnings, and failures.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use crate::Error;

/// Prints `cargo:rerun-if-changed` for the sources of a link output and for the manifests above them; prints nothing
/// outside a build script.
pub(crate) fn announce(output: &Path, workspace: &Path) {
    if !is_here() {
        return;
    }
    let text = std::fs::read_to_string(output.with_extension("d")).unwrap_or_default();
    let sources = dependencies(&text);
    for path in &manifests(&sources, workspace) {
        println!("cargo:rerun-if-changed={}", path.display());
    }
    for path in sources {
        println!("cargo:rerun-if-changed={path}");
    }
    println!("cargo:rerun-if-env-changed=RUSTWARP_TOOLCHAIN");
    println!("cargo:rerun-if-env-changed=RUSTWARP_CACHE");
}

/// Reports a failure inside a build script; does nothing elsewhere. If `fatal`, it ends the script with the error, so
/// that one that drops it does not go on without PTX: cargo shows what the script wrote to standard error, the
/// compiler's messages included, once. Otherwise the script runs again at the next build.
pub(crate) fn fail(kernels: &Path, error: &Error, fatal: bool) {
    if !is_here() {
        return;
    }
    if fatal {
        eprintln!("error: the kernels in {} are not compiled: {error}", kernels.display());
        std::process::exit(1);
    }
    // No list of files and variables is known to contain the one that mends the failure, such as a toolchain's folder
    // or a source of a dependency. A file that is never there always counts as changed.
    let absent = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default()).join("kernels-are-compiled");
    println!("cargo:rerun-if-changed={}", absent.display());
}

/// Shows warnings: through cargo inside a build script, else on standard error.
pub(crate) fn warn(lines: &[String]) {
    for line in lines {
        if is_here() {
            println!("cargo::warning={line}");
        } else {
            eprintln!("warning: {line}");
        }
    }
}

fn is_here() -> bool {
    // cargo sets the last one for build scripts only.
    ["OUT_DIR", "CARGO_MANIFEST_DIR", "NUM_JOBS"].iter().all(|name| std::env::var_os(name).is_some())
}

/// The files after the colon of cargo's dep-info, where a space in a name is written `\ `.
fn dependencies(text: &str) -> Vec<String> {
    let Some((_, files)) = text.lines().next().and_then(|line| line.split_once(": ")) else { return Vec::new() };
    const SPACE: &str = "\u{0}";
    files.replace("\\ ", SPACE).split_whitespace().map(|name| name.replace(SPACE, " ")).collect()
}

/// The manifest of each source's package, and the manifest and lock file of the workspace. Only files that exist: cargo
/// would run the script at every build because of one that does not.
fn manifests(sources: &[String], workspace: &Path) -> BTreeSet<PathBuf> {
    let of_package = |source: &String| {
        Path::new(source).ancestors().map(|folder| folder.join("Cargo.toml")).find(|path| path.is_file())
    };
    let of_workspace = ["Cargo.toml", "Cargo.lock"].map(|name| workspace.join(name));
    sources.iter().filter_map(of_package).chain(of_workspace.into_iter().filter(|path| path.is_file())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifests_are_those_of_the_packages_and_of_the_workspace() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = |name: &str| folder.path().join(name);
        for name in ["kernels/Cargo.toml", "kernels/src/deep/x.rs", "shared/Cargo.toml", "Cargo.toml", "Cargo.lock"] {
            std::fs::create_dir_all(path(name).parent().expect("a folder")).expect("a folder");
            std::fs::write(path(name), "").expect("a file");
        }
        let source = |name: &str| path(name).display().to_string();
        let found = manifests(&[source("kernels/src/deep/x.rs"), source("kernels/src/lib.rs")], folder.path());
        assert_eq!(found, ["kernels/Cargo.toml", "Cargo.toml", "Cargo.lock"].map(path).into());
        let found = manifests(&[source("shared/src/lib.rs")], &path("shared"));
        assert_eq!(found, [path("shared/Cargo.toml")].into(), "a workspace without a lock file");
    }

    #[test]
    fn names_with_spaces_stay_whole() {
        assert_eq!(dependencies("/t/k.ptx: /a/lib.rs /b\\ c/x.rs\n"), ["/a/lib.rs", "/b c/x.rs"]);
        assert!(dependencies("").is_empty());
    }
}
