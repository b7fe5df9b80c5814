//! Style of module files: `folder/mod.rs`, which clippy's `self_named_module_files` requires in the code that it
//! checks. Cargo requires the first file of a test or a benchmark beside its folder.

use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "a module with files of its own is `folder/mod.rs`, not `folder.rs` beside `folder/`";

/// Reports files beside a folder of the same name.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let is_root = |path: &str| tree.packages.iter().any(|package| package.roots.iter().any(|root| root == path));
    let has_folder = |path: &str| {
        let folder = format!("{}/", path.trim_end_matches(".rs"));
        tree.files.iter().any(|file| file.path.starts_with(&folder))
    };
    let wrong = tree.files.iter().filter(|file| !is_root(&file.path) && has_folder(&file.path));
    let finding = |path: &str| {
        let module = path.trim_end_matches(".rs");
        Finding::new(path, 1, format!("this module file is beside its folder: move it to {module}/mod.rs"))
    };
    wrong.map(|file| finding(&file.path)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_beside_its_folder_is_found() {
        let files =
            [("src/a.rs", ""), ("src/a/b.rs", ""), ("src/c/mod.rs", ""), ("tests/t.rs", ""), ("tests/t/u.rs", "")];
        let found = check(&Tree::of_crate("x", "tests/t.rs", &files));
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].to_string(), "src/a.rs:1: this module file is beside its folder: move it to src/a/mod.rs");
    }
}
