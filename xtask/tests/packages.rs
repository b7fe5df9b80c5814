//! The packages that `cargo publish --workspace` would upload: their metadata, and that each is complete by itself.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::{Component, Path, PathBuf},
    process::Command,
};

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use flate2::{Compression, write::GzEncoder};

/// The registry's limit on a package, in bytes, compressed.
const LIMIT: usize = 10 << 20;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace")
}

fn metadata() -> Metadata {
    let options = ["--locked".to_owned(), "--offline".to_owned()];
    MetadataCommand::new().current_dir(root()).no_deps().other_options(options.to_vec()).exec().expect("the workspace")
}

/// The packages without `publish = false`.
fn published(metadata: &Metadata) -> Vec<&Package> {
    metadata.workspace_packages().into_iter().filter(|package| package.publish.is_none()).collect()
}

/// The files of a package, relative to its folder, as cargo would pack them.
fn files(package: &Package) -> BTreeSet<PathBuf> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.current_dir(root()).args(["package", "--list", "--allow-dirty", "--offline", "--package", &package.name]);
    let output = cargo.output().expect("cargo starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(PathBuf::from).collect()
}

#[test]
fn the_published_crates_are_the_ones_that_contributing_lists() {
    let metadata = metadata();
    let names: BTreeSet<_> = published(&metadata).iter().map(|package| package.name.to_string()).collect();
    let text = fs::read_to_string(root().join("CONTRIBUTING.md")).expect("CONTRIBUTING.md");
    let (_, table) = text.split_once("| package | library |\n|---|---|\n").expect("the table of packages");
    let first_cell = |line: &str| line.split('`').nth(1).map(str::to_owned);
    let listed: BTreeSet<_> = table.lines().take_while(|line| line.starts_with('|')).filter_map(first_cell).collect();
    assert_eq!(listed, names, "CONTRIBUTING.md differs from the packages without `publish = false`");
}

#[test]
fn every_package_has_the_metadata_that_the_registry_shows() {
    let metadata = metadata();
    for package in published(&metadata) {
        let name = &package.name;
        assert_eq!(package.license.as_deref(), Some("MIT OR Apache-2.0"), "{name}");
        assert!(package.description.as_ref().is_some_and(|text| text.len() > 20), "{name}: description");
        assert!(package.repository.is_some(), "{name}: repository");
        assert!(package.rust_version.is_some(), "{name}: rust-version");
        assert_eq!(package.readme.as_ref().map(|path| path.as_str()), Some("README.md"), "{name}");
        assert!((1..=5).contains(&package.keywords.len()), "{name}: one to five keywords");
        let valid = |word: &String| word.len() <= 20 && word.starts_with(|c: char| c.is_ascii_alphanumeric());
        assert!(package.keywords.iter().all(valid), "{name}: {:?}", package.keywords);
        assert!((1..=5).contains(&package.categories.len()), "{name}: one to five categories");
    }
}

/// A path without a version can't be published, except in `dev-dependencies`, from which cargo removes it.
#[test]
fn packages_depend_on_versions() {
    let metadata = metadata();
    let packages = published(&metadata);
    for package in &packages {
        for dependency in package.dependencies.iter().filter(|dependency| dependency.path.is_some()) {
            let versioned = dependency.req.to_string() != "*";
            let (name, on) = (&package.name, &dependency.name);
            assert!(versioned || dependency.kind == DependencyKind::Development, "{name} -> {on}: no version");
            let known = packages.iter().any(|package| package.name == *on);
            assert!(!versioned || known, "{name} depends on {on}, which is not published");
        }
    }
}

#[test]
fn packages_are_complete_by_themselves() {
    let metadata = metadata();
    for package in published(&metadata) {
        let name = &package.name;
        let folder = package.manifest_path.parent().expect("a folder").as_std_path();
        let files = files(package);
        for needed in ["README.md", "LICENSE-MIT", "LICENSE-APACHE"] {
            assert!(files.contains(Path::new(needed)), "{name} lacks {needed}");
        }
        for licence in ["LICENSE-MIT", "LICENSE-APACHE"] {
            let text = |folder: &Path| fs::read(folder.join(licence)).expect("a licence");
            assert_eq!(text(folder), text(root()), "{name}: {licence} differs from the workspace's");
        }
        for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "rs")) {
            let text = fs::read_to_string(folder.join(file)).expect("a source file");
            for included in included(&text) {
                let path = normalized(&file.parent().expect("a folder").join(&included));
                let found = path.as_ref().is_some_and(|path| files.contains(path));
                assert!(found, "{name}: {} includes {included}, which is not in the package", file.display());
            }
        }
    }
}

/// `cargo xtask ci embedded` runs this while the package `rustwarp` has its kernels.
#[test]
fn packages_are_smaller_than_the_registry_allows() {
    let metadata = metadata();
    for package in published(&metadata) {
        let name = &package.name;
        let folder = package.manifest_path.parent().expect("a folder").as_std_path();
        // Cargo generates the files that are not in the folder, such as `Cargo.toml.orig`.
        let texts = files(package).into_iter().filter_map(|file| fs::read(folder.join(file)).ok());
        // Each file by itself takes more than in the archive, which is compressed as a whole.
        let size: usize = texts.map(|text| compressed(&text)).sum();
        assert!(size < LIMIT, "{name} has {size} bytes compressed, and the limit is {LIMIT}");
        println!("{name}: {:.2} MiB", size as f64 / f64::from(1 << 20));
    }
}

/// Number of bytes of a file's gzip.
fn compressed(contents: &[u8]) -> usize {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(contents).and_then(|()| encoder.finish()).expect("memory").len()
}

/// The registry's package calls no kernel of other families, so it contains none.
#[test]
fn the_library_has_kernels_of_its_own_families_only() {
    let metadata = metadata();
    let packages = published(&metadata);
    let library = packages.iter().find(|package| package.name == "rustwarp").expect("the library");
    let families = fs::read_to_string(root().join("crates/rustwarp/families.txt")).expect("the families");
    assert!(files(library).contains(Path::new("families.txt")), "the build script includes it");
    for file in files(library).iter().filter(|file| file.starts_with("embedded")) {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        let family = name.split('.').next().unwrap_or_default();
        let of_the_library = families.lines().any(|line| line == family);
        assert!(of_the_library || !name.ends_with(".br"), "{} is of no family of the library", file.display());
        assert!(!name.ends_with(".gz"), "{} is of an earlier build", file.display());
    }
}

/// The files that a source file names in `include_str!("…")`, `include_bytes!("…")` and `#[path = "…"]`.
fn included(text: &str) -> Vec<String> {
    let code = text.lines().filter(|line| !is_comment(line));
    let named = |line: &str| {
        ["include_str!(\"", "include_bytes!(\"", "#[path = \""].into_iter().find_map(|start| {
            line.split_once(start).and_then(|(_, rest)| rest.split_once('"')).map(|(path, _)| path.to_owned())
        })
    };
    code.filter_map(named).collect()
}

/// Whether a line is a comment; `#[doc = include_str!(…)]` is not.
fn is_comment(line: &str) -> bool {
    line.trim_start().starts_with("//")
}

/// The path without `..`; `None` if it leaves the package.
fn normalized(path: &Path) -> Option<PathBuf> {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir if parts.pop() => {}
            _ => return None,
        }
    }
    Some(parts)
}

#[test]
fn included_files_are_found_and_resolved() {
    let text =
        "//! include_str!(\"no\")\n#[doc = include_str!(\"../README.md\")]\nlet x = include_bytes!(\"a.bin\");\n";
    assert_eq!(included(text), ["../README.md", "a.bin"]);
    assert_eq!(normalized(Path::new("src/../README.md")), Some("README.md".into()));
    assert_eq!(normalized(Path::new("src/../../docs/x.md")), None);
}
