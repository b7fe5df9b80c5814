//! The version of the link itself: a change of the IR pass makes other PTX of the same code.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::LazyLock,
};

/// The files whose text decides what PTX is made of a module, and whether it is made again.
const SOURCES: &[&str] = &[
    include_str!("../arch.rs"),
    include_str!("../files.rs"),
    include_str!("archive.rs"),
    include_str!("changes.rs"),
    include_str!("code.rs"),
    include_str!("exact.rs"),
    include_str!("mod.rs"),
    include_str!("module.rs"),
    include_str!("objects.rs"),
    include_str!("store.rs"),
    include_str!("syntax.rs"),
    include_str!("pass/bounds.rs"),
    include_str!("pass/convergence.rs"),
    include_str!("pass/cpu.rs"),
    include_str!("pass/debug.rs"),
    include_str!("pass/floats.rs"),
    include_str!("pass/maps.rs"),
    include_str!("pass/memory.rs"),
    include_str!("pass/mod.rs"),
    include_str!("pass/scopes.rs"),
    include_str!("pass/size.rs"),
    include_str!("lines/directives.rs"),
    include_str!("lines/metadata.rs"),
];

/// Hash of these files. The running program's own time would do as well, and would make every change of a program that
/// contains this crate compile all kernels again.
pub(crate) fn version() -> u64 {
    static VERSION: LazyLock<u64> = LazyLock::new(|| {
        let mut hasher = DefaultHasher::new();
        SOURCES.hash(&mut hasher);
        hasher.finish()
    });
    *VERSION
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_link_counts() {
        let mut pending = vec![std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/link")];
        while let Some(folder) = pending.pop() {
            for entry in std::fs::read_dir(folder).expect("a folder") {
                let path = entry.expect("an entry").path();
                if path.is_dir() {
                    pending.push(path);
                    continue;
                }
                let text = std::fs::read_to_string(&path).expect("a source file");
                // These contain no code that makes PTX: names of parts, this list, tests.
                let exempt = ["lines/mod.rs", "link/sources.rs", "link/tests.rs"];
                let counts = SOURCES.contains(&text.as_str()) || exempt.iter().any(|name| path.ends_with(name));
                assert!(counts, "{} is missing in SOURCES", path.display());
            }
        }
    }
}
