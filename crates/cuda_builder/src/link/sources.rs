//! The version of the link itself: a change of the IR pass makes other PTX of the same code.

use std::{
    hash::{DefaultHasher, Hash, Hasher},
    sync::LazyLock,
};

/// The files whose text decides what PTX is made of a module.
const SOURCES: [&str; 12] = [
    include_str!("module.rs"),
    include_str!("syntax.rs"),
    include_str!("pass/convergence.rs"),
    include_str!("pass/cpu.rs"),
    include_str!("pass/debug.rs"),
    include_str!("pass/floats.rs"),
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
    fn every_file_of_the_pass_and_of_the_lines_counts() {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/link");
        for name in ["pass", "lines"] {
            for entry in std::fs::read_dir(folder.join(name)).expect("a folder") {
                let path = entry.expect("an entry").path();
                let text = std::fs::read_to_string(&path).expect("a source file");
                // `lines/mod.rs` only names its parts.
                let counts = SOURCES.contains(&text.as_str()) || path.ends_with("lines/mod.rs");
                assert!(counts, "{} is missing in SOURCES", path.display());
            }
        }
    }
}
