//! Length of files: a long file needs a reason.

use super::known::{self, Known};
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "a file of over 400 lines is in a list with its reason";

const LINES: usize = 400;

/// Long files, each with its reason.
const REASONS: &[Known] = &[
    ("crates/ladders/src/kernels/failing.rs", "one table: each row is an example with its launch and its explanation"),
    ("crates/ptx_sim/tests/programs.rs", "a table of programs"),
];

/// Reports files that are too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    checked(tree, REASONS)
}

fn checked(tree: &Tree, reasons: &[Known]) -> Vec<Finding> {
    let lines = tree.files.iter().map(|file| (file, file.text.lines().count()));
    let long = lines.filter(|(_, lines)| *lines > LINES).map(|(file, lines)| {
        let text = format!(
            "{lines} lines, but the limit is {LINES}: split the file by ideas, or add a reason to long_files.rs"
        );
        Finding::new(&file.path, LINES + 1, text)
    });
    known::without("long_files", reasons, long.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_file_needs_its_reason() {
        let long = "\n".repeat(401);
        let tree = Tree::of(&[("a.rs", &long), ("b.rs", &long[1..])]);
        let found = checked(&tree, &[]);
        assert_eq!((found.len(), found[0].path.as_str(), found[0].line), (1, "a.rs", 401));
        assert!(found[0].text.contains("split the file"));
        assert_eq!(checked(&tree, &[("a.rs", "why")]), []);
        assert_eq!(checked(&tree, &[("a.rs", "why"), ("b.rs", "why")])[0].path, "xtask/src/tidy/long_files.rs");
    }
}
