//! Input of the rules: the text of every Rust file and the dependencies of every package.

use std::{fmt, fs, path::Path};

use anyhow::{Context, Result};
use cargo_metadata::{DependencyKind, Metadata, MetadataCommand};

/// The sources of the repository and the packages of the workspace.
#[derive(Debug, Default)]
pub struct Tree {
    /// Every Rust file, in the order of the paths.
    pub files: Vec<File>,
    /// Every package whose manifest is in the tree.
    pub packages: Vec<Package>,
}

/// A Rust file.
#[derive(Debug)]
pub struct File {
    /// Path relative to the root of the tree, with `/`.
    pub path: String,
    /// Contents of the file.
    pub text: String,
}

/// A package of the workspace.
#[derive(Debug, Default)]
pub struct Package {
    /// Name of the package.
    pub name: String,
    /// Path of its manifest, relative to the root of the tree.
    pub manifest: String,
    /// Root file of each target.
    pub roots: Vec<String>,
    /// Names of its direct dependencies, without dev-dependencies.
    pub dependencies: Vec<String>,
    /// Names of its direct and indirect dependencies.
    pub all_dependencies: Vec<String>,
}

/// A violation of a rule.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Path of the file, relative to the root of the tree.
    pub path: String,
    /// Line number, from 1.
    pub line: usize,
    /// The violation and its remedy.
    pub text: String,
}

impl Finding {
    /// Creates a finding at a line of a file.
    pub fn new(path: &str, line: usize, text: impl Into<String>) -> Self {
        Self { path: path.to_owned(), line, text: text.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.text)
    }
}

impl Tree {
    /// Reads all Rust files below `root` and the workspace's metadata.
    ///
    /// # Errors
    /// Fails if a file cannot be read, or `cargo metadata` fails.
    pub fn read(root: &Path) -> Result<Self> {
        let mut files = Vec::new();
        collect(root, "", &mut files).context("cannot read the sources")?;
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut command = MetadataCommand::new();
        command.manifest_path(root.join("Cargo.toml")).other_options(vec!["--locked".to_owned()]);
        let metadata = command.exec().context("`cargo metadata` failed")?;
        Ok(Self { files, packages: packages(&metadata) })
    }

    /// Returns the file with this path.
    pub fn file(&self, path: &str) -> Option<&File> {
        self.files.binary_search_by(|file| file.path.as_str().cmp(path)).ok().and_then(|index| self.files.get(index))
    }
}

#[cfg(test)]
impl Tree {
    /// Creates a tree of the given files, each with its text.
    pub fn of(files: &[(&str, &str)]) -> Self {
        let file = |(path, text): &(&str, &str)| File { path: (*path).to_owned(), text: (*text).to_owned() };
        let mut files: Vec<_> = files.iter().map(file).collect();
        files.sort_by(|a, b| a.path.cmp(&b.path));
        Self { files, packages: Vec::new() }
    }

    /// As [`Tree::of`], with all files in one package with one target.
    pub fn of_crate(name: &str, root: &str, files: &[(&str, &str)]) -> Self {
        let package = Package { name: name.to_owned(), roots: vec![root.to_owned()], ..Package::default() };
        Self { packages: vec![package], ..Self::of(files) }
    }
}

fn collect(folder: &Path, prefix: &str, files: &mut Vec<File>) -> Result<()> {
    for entry in fs::read_dir(folder).with_context(|| format!("cannot list {}", folder.display()))? {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            // Folders of build products and tools contain no sources of the project.
            if name != "target" && name != "dist" && name != "shared" && !name.starts_with('.') {
                collect(&entry.path(), &format!("{path}/"), files)?;
            }
        } else if name.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).with_context(|| format!("cannot read {path}"))?;
            files.push(File { path, text });
        }
    }
    Ok(())
}

fn packages(metadata: &Metadata) -> Vec<Package> {
    let root = &metadata.workspace_root;
    let below = |path: &cargo_metadata::camino::Utf8Path| path.strip_prefix(root).map(|path| path.as_str().to_owned());
    let ours = metadata.workspace_packages().into_iter().filter_map(|package| {
        let roots = package.targets.iter().filter_map(|target| below(&target.src_path).ok()).collect();
        let mut all = Vec::new();
        reach(metadata, &package.id, &mut all);
        let dependencies = built_from(metadata, &package.id).map(|id| metadata[id].name.to_string()).collect();
        Some(Package {
            name: package.name.to_string(),
            manifest: below(&package.manifest_path).ok()?,
            roots,
            dependencies,
            all_dependencies: all.into_iter().map(|id| metadata[id].name.to_string()).collect(),
        })
    });
    ours.collect()
}

/// Iterates over the dependencies of a package, including those of its build script, without dev-dependencies.
fn built_from<'m>(
    metadata: &'m Metadata,
    package: &cargo_metadata::PackageId,
) -> impl Iterator<Item = &'m cargo_metadata::PackageId> {
    let nodes = metadata.resolve.iter().flat_map(|resolve| &resolve.nodes);
    let node = nodes.into_iter().find(|node| node.id == *package);
    node.into_iter().flat_map(|node| &node.deps).filter_map(|dependency| {
        let built = dependency.dep_kinds.iter().any(|kind| kind.kind != DependencyKind::Development);
        built.then_some(&dependency.pkg)
    })
}

fn reach<'m>(
    metadata: &'m Metadata,
    package: &cargo_metadata::PackageId,
    seen: &mut Vec<&'m cargo_metadata::PackageId>,
) {
    for id in built_from(metadata, package) {
        if !seen.contains(&id) {
            seen.push(id);
            reach(metadata, id, seen);
        }
    }
}
