//! Upward paths: `super::` refers to the parent; modules above the parent are named from the root, by `crate::`.

use super::syntax::tokens;
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "a path goes up at most to the file's parent: `crate::…` instead of `super::super::…`";

/// Reports paths that go up further.
pub fn check(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let tokens = tokens(&file.text);
        // Modules within the file are further levels.
        let (mut braces, mut inner): (Vec<bool>, usize) = (Vec::new(), 0);
        let mut index = 0;
        while index < tokens.len() {
            match tokens[index].text {
                "{" => {
                    let module = index >= 2 && tokens[index - 2].text == "mod";
                    braces.push(module);
                    inner += usize::from(module);
                }
                "}" => inner -= usize::from(braces.pop() == Some(true)),
                "super" => {
                    let line = tokens[index].line;
                    let mut levels = 1;
                    while tokens.get(index + 2).is_some_and(|token| token.text == "super") {
                        (levels, index) = (levels + 1, index + 2);
                    }
                    if levels > 1 + inner {
                        let text = "the path goes beyond the file's parent: write it from `crate::`";
                        found.push(Finding::new(&file.path, line, text));
                    }
                }
                _ => {}
            }
            index += 1;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_beyond_the_parent_is_found() {
        let text = "use super::a;\nuse super::super::b;\nmod tests {\n  use super::super::c;\n  fn f() { \
            super::super::super::d() }\n}";
        let found: Vec<_> = check(&Tree::of(&[("a.rs", text)])).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [2, 5]);
    }
}
