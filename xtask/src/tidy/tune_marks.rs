//! Marks of tunable constants: `cargo xtask tune` can use each of them.

use super::tree::{Finding, Tree};
use crate::tune::marks;

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "in `kernels-gpu`, `// tune: 2 4 8` is directly above a constant that is a whole number, \
    and lists other values";

/// Reports marks that cannot be used.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let kernels = tree.files.iter().filter(|file| file.path.starts_with("kernels-gpu/"));
    let bad = kernels.flat_map(|file| marks::parse(&file.text).into_iter().map(move |mark| (file, mark)));
    bad.filter_map(|(file, mark)| mark.err().map(|bad| Finding::new(&file.path, bad.line, bad.problem))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_mark_is_found() {
        let good = "// tune: 2 4\nconst A: usize = 4;\n";
        let bad = format!("{good}// tune: 2 4\n\nconst B: usize = 4;\n");
        let tree =
            Tree::of(&[("kernels-gpu/src/a.rs", &bad), ("kernels-gpu/src/b.rs", good), ("xtask/src/a.rs", &bad)]);
        let found: Vec<_> = check(&tree).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("kernels-gpu/src/a.rs".to_owned(), 3)]);
    }
}
