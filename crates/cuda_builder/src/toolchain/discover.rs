//! Finds a device toolchain among several places, in order of preference.

use std::path::{Path, PathBuf};

use super::{Origin, Toolchain};
use crate::{cache::Cache, error::Error, place, setup::systems};

/// The places to look at. `Default` is the machine as it is; tests name other folders.
#[derive(Clone, Debug)]
pub struct Search {
    /// A folder with `bin/rustc`, or the name of a rustup toolchain. If given, it is the only place.
    pub asked: Option<String>,
    /// rustup's folder, which contains `toolchains/`.
    pub rustup_home: Option<PathBuf>,
    /// Root of the system's packages.
    pub system: PathBuf,
    /// The user's cache.
    pub cache: Cache,
}

impl Default for Search {
    fn default() -> Self {
        let home = std::env::var_os("HOME").map(PathBuf::from);
        Self {
            asked: std::env::var("RUSTWARP_TOOLCHAIN").ok().filter(|text| !text.is_empty()),
            rustup_home: std::env::var_os("RUSTUP_HOME").map(PathBuf::from).or_else(|| Some(home?.join(".rustup"))),
            system: PathBuf::from("/usr"),
            cache: Cache::default(),
        }
    }
}

/// A place that was searched, with its toolchain or with the pieces that are missing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Candidate {
    /// Why it was searched.
    pub origin: Origin,
    /// The folder.
    pub root: PathBuf,
    /// The toolchain, or a line for each missing piece.
    pub outcome: Result<Toolchain, Vec<String>>,
}

impl Candidate {
    fn at(root: PathBuf, origin: Origin) -> Self {
        let outcome = match &origin {
            Origin::Cache => cached(&root),
            _ => Toolchain::at(&root, origin.clone()),
        };
        Self { origin, root, outcome }
    }
}

/// The cache's toolchain, or why there is none: it was never set up, or its set-up was interrupted.
fn cached(root: &Path) -> Result<Toolchain, Vec<String>> {
    let folder = root.parent().unwrap_or(root);
    if place::is_complete(folder) {
        return Toolchain::at(root, Origin::Cache);
    }
    Err(vec![if place::is_begun(folder) { "its set-up was interrupted" } else { "nothing was set up" }.to_owned()])
}

/// Every place in order of preference, complete or not. Runs each rustc that it finds.
pub fn candidates(search: &Search) -> Vec<Candidate> {
    places(search).into_iter().map(|(root, origin)| Candidate::at(root, origin)).collect()
}

/// The first complete toolchain.
///
/// # Errors
/// [`Error::BadToolchain`] if [`Search::asked`] names one that is not complete; [`Error::NoToolchain`] if no place has
/// a complete one.
pub fn discover(search: &Search) -> Result<Toolchain, Error> {
    let mut looked = Vec::new();
    for (root, origin) in places(search) {
        let candidate = Candidate::at(root, origin);
        match candidate.outcome {
            Ok(toolchain) => return Ok(toolchain),
            Err(missing) => looked.push((candidate.origin, candidate.root, missing)),
        }
    }
    if let (Some(asked), Some((_, root, missing))) = (&search.asked, looked.first()) {
        return Err(Error::BadToolchain {
            asked: asked.clone(),
            missing: format!("{} ({})", missing.join("; "), root.display()),
            fix: "give the folder that has bin/rustc, or the name of a rustup toolchain with the components rust-src \
                  and llvm-tools; without --toolchain and RUSTWARP_TOOLCHAIN the best one is found"
                .to_owned(),
        });
    }
    let looked = looked
        .iter()
        .map(|(origin, root, missing)| format!("  {origin}, {}: {}", root.display(), missing.join("; ")))
        .collect::<Vec<_>>()
        .join("\n");
    Err(Error::NoToolchain { looked, fix: systems::advice() })
}

/// The folders to search. Reads only the names of their entries.
fn places(search: &Search) -> Vec<(PathBuf, Origin)> {
    let rustup_toolchains = search.rustup_home.as_ref().map(|home| home.join("toolchains"));
    if let Some(asked) = &search.asked {
        let origin = Origin::Asked(asked.clone());
        return match named(rustup_toolchains.as_deref(), asked) {
            Some(root) => vec![(root, origin)],
            None => vec![(path_to_root(asked), origin)],
        };
    }
    let mut places = Vec::new();
    for name in rustup_toolchains.as_deref().map(children).unwrap_or_default() {
        if let Some(toolchains) = &rustup_toolchains {
            places.push((toolchains.join(&name), Origin::Rustup(name)));
        }
    }
    // Most rustup toolchains lack the components: no compiler has to be started to see that.
    places.retain(|(root, _)| root.join("lib/rustlib/src/rust/library/core").is_dir());
    places.push((search.system.clone(), Origin::System));
    places.push((search.cache.toolchain().join("usr"), Origin::Cache));
    places
}

/// The folder of the rustup toolchain `asked`; `stable` also names `stable-x86_64-unknown-linux-gnu`.
fn named(toolchains: Option<&Path>, asked: &str) -> Option<PathBuf> {
    let toolchains = toolchains?;
    if asked.contains('/') {
        return None;
    }
    let exact = toolchains.join(asked);
    if exact.is_dir() {
        return Some(exact);
    }
    let name = children(toolchains).into_iter().find(|name| name.starts_with(&format!("{asked}-")))?;
    Some(toolchains.join(name))
}

/// The toolchain's root for a path to it, to its parent (where packages were unpacked), or to rustc.
fn path_to_root(asked: &str) -> PathBuf {
    let path = PathBuf::from(asked);
    if path.is_file() {
        return path.parent().and_then(Path::parent).map(Path::to_owned).unwrap_or(path);
    }
    if !path.join("bin/rustc").exists() && path.join("usr/bin/rustc").exists() {
        return path.join("usr");
    }
    path
}

/// Names of a folder's entries: stable toolchains first, then by name, so that the choice does not depend on the file
/// system's order.
fn children(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.sort_by_key(|name| (!name.starts_with("stable"), name.clone()));
    names
}
