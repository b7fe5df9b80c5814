//! Module text: the first line of a file states its purpose.

use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "a file starts with `//!` and a sentence that states its purpose";

/// Reports files without module text.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let without = tree.files.iter().filter(|file| {
        let first = file.text.lines().next().and_then(|line| line.strip_prefix("//!"));
        first.is_none_or(|text| text.trim().is_empty())
    });
    without
        .map(|file| Finding::new(&file.path, 1, "no module text: start the file with `//!` and its purpose"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_module_text_is_found() {
        let tree = Tree::of(&[("a.rs", "//! A.\nuse b;"), ("b.rs", "use a;"), ("c.rs", ""), ("d.rs", "//!\n//! D.")]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| finding.to_string()).collect();
        assert_eq!(found.len(), 3);
        assert!(found[0].starts_with("b.rs:1: no module text"), "{found:?}");
    }
}
