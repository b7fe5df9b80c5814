//! Only the GPU's backend uses the crate `cust`; all other code is the same for the simulator.

use super::known::covers;
use super::syntax::tokens;
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "only the files of the GPU's backend name the crate `cust`";

/// Files or folders that may name it.
const PLACES: &[&str] = &["crates/rustwarp/src/backend/gpu/"];

/// Reports other files that name it.
pub fn check(tree: &Tree) -> Vec<Finding> {
    checked(tree, PLACES)
}

fn checked(tree: &Tree, places: &[&'static str]) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in tree.files.iter().filter(|file| !places.iter().any(|place| covers((place, ""), &file.path))) {
        let tokens = tokens(&file.text);
        let mut pairs = tokens.iter().zip(tokens.iter().skip(1)).enumerate();
        let named = pairs.find(|(index, (word, next))| {
            let before = index.checked_sub(1).map_or("", |index| tokens[index].text);
            word.text == "cust" && (next.text == "::" && before != "::" || before == "use" || before == "crate")
        });
        if let Some((_, (word, _))) = named {
            let text = format!("this file names `cust`, which only {} may: use the backend", places.join(", "));
            found.push(Finding::new(&file.path, word.line, text));
        }
    }
    let unused = places.iter().filter(|place| !tree.files.iter().any(|file| covers((place, ""), &file.path)));
    found.extend(unused.map(|place| super::known::unneeded("gpu_backend", place)));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_file_that_names_cust_is_found() {
        let tree = Tree::of(&[
            ("gpu.rs", "use cust::memory::A;"),
            ("a.rs", "\nuse cust::module::B;"),
            ("b.rs", "fn f() { cust::init() }"),
            ("c.rs", "// cust::init\nuse x::cust::Y; fn cust() {}"),
        ]);
        let found: Vec<_> =
            checked(&tree, &["gpu.rs"]).into_iter().map(|finding| (finding.path, finding.line)).collect();
        assert_eq!(found, [("a.rs".to_owned(), 2), ("b.rs".to_owned(), 1)]);
        assert!(checked(&tree, &["gpu.rs", "old.rs"]).iter().any(|finding| finding.text.contains("`old.rs`")));
    }
}
