//! Where a device toolchain may be, in order of preference.

use std::path::{Path, PathBuf};

use super::{Origin, Toolchain};
use crate::{cache::Cache, error::Error, setup};

/// Where to look. `Default` is the machine as it is; tests point it at made-up folders.
#[derive(Clone, Debug)]
pub struct Search {
    /// A path to a folder with `bin/rustc`, or the name of a rustup toolchain. Nothing else is looked at then.
    pub asked: Option<String>,
    /// rustup's folder, with `toolchains/` in it.
    pub rustup_home: Option<PathBuf>,
    /// Where the system's packages are.
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

/// A place that was looked at, with what is there or what it lacks.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// How it came to be looked at.
    pub origin: Origin,
    /// The folder.
    pub root: PathBuf,
    /// The toolchain, or one line for each missing piece.
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

/// The cache's toolchain is there, or was never set up, or was put there by a run that was interrupted.
fn cached(root: &Path) -> Result<Toolchain, Vec<String>> {
    let place = root.parent().unwrap_or(root);
    if setup::is_complete(place) {
        return Toolchain::at(root, Origin::Cache);
    }
    Err(vec![if setup::is_begun(place) { "its set-up was interrupted" } else { "nothing was set up" }.to_owned()])
}

/// Every place, in order of preference, whether complete or not. Costs a run of each rustc found.
pub fn candidates(search: &Search) -> Vec<Candidate> {
    places(search).into_iter().map(|(root, origin)| Candidate::at(root, origin)).collect()
}

/// The first complete toolchain.
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
            fix: "give the folder that has bin/rustc, or the name of a rustup toolchain with the components rust-src and llvm-tools; \
                  without --toolchain and RUSTWARP_TOOLCHAIN the best one is found"
                .to_owned(),
        });
    }
    let looked = looked
        .iter()
        .map(|(origin, root, missing)| format!("  {origin}, {}: {}", root.display(), missing.join("; ")))
        .collect::<Vec<_>>()
        .join("\n");
    Err(Error::NoToolchain { looked, fix: "cargo xtask setup".to_owned() })
}

/// The folders to look at, without touching anything in them but names.
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
    // A rustup toolchain without the components is the common case, and nothing to start a compiler for.
    places.retain(|(root, _)| root.join("lib/rustlib/src/rust/library/core").is_dir());
    places.push((search.system.clone(), Origin::System));
    places.push((search.cache.toolchain().join("usr"), Origin::Cache));
    places
}

/// `stable` names `stable-x86_64-unknown-linux-gnu` too.
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

/// Accepts the root, its parent (where packages were unpacked), or rustc itself.
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

/// Stable first, then by name, so that the choice does not depend on the file system's order.
fn children(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> = std::fs::read_dir(folder)
        .map(|entries| entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
        .unwrap_or_default();
    names.sort_by_key(|name| (!name.starts_with("stable"), name.clone()));
    names
}
