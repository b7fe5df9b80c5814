//! Lints are disabled by `expect` with a reason: unlike `allow`, it is reported when the lint no longer fires.

use super::known::{self, Known};
use super::syntax::tokens;
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "a lint is disabled by `#[expect(lint, reason = \"…\")]`, never by `allow`";

/// Files where a lint fires in some builds only, which `expect` cannot express.
const KNOWN: &[Known] = &[
    ("crates/cuda_std/src/intrinsics.rs", "built for the device and for the host"),
    ("crates/cuda_std/src/lib.rs", "built for the device and for the host"),
    ("crates/cuda_std/src/warp/matrix.rs", "built for the device and for the host"),
    ("crates/cuda_std_macros/src/", "the attributes are generated for any kernel, and the lints fire for some"),
    ("host/tests/program/mod.rs", "a part of several tests, each of which uses some of its items"),
];

/// Reports attributes that violate the rule.
pub fn check(tree: &Tree) -> Vec<Finding> {
    known::without("expectations", KNOWN, found(tree))
}

fn found(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for file in &tree.files {
        let tokens = tokens(&file.text);
        for (index, token) in tokens.iter().enumerate() {
            let before = |back: usize| index.checked_sub(back).map_or("", |index| tokens[index].text);
            let opens = tokens.get(index + 1).is_some_and(|next| next.text == "(");
            // In `#[…]`, `#![…]`, and after the condition of `cfg_attr`.
            let in_attribute = before(1) == "[" && (before(2) == "#" || before(2) == "!" && before(3) == "#")
                || before(1) == "," && in_cfg_attr(&tokens[..index]);
            if !opens || !in_attribute {
                continue;
            }
            let end = index + tokens[index..].iter().position(|token| token.text == ")").unwrap_or(0);
            let has_reason = tokens[index..end].iter().any(|token| token.text == "reason");
            match token.text {
                "allow" => {
                    let text = "`allow`: fix the code, or write `#[expect(lint, reason = \"…\")]`";
                    found.push(Finding::new(&file.path, token.line, text));
                }
                "expect" if !has_reason => {
                    found.push(Finding::new(&file.path, token.line, "`expect` without a reason: add `reason = \"…\"`"));
                }
                _ => {}
            }
        }
    }
    found
}

/// Whether the tokens end within an attribute `cfg_attr(…`.
fn in_cfg_attr(before: &[super::syntax::Token<'_>]) -> bool {
    let start = before.iter().rposition(|token| token.text == "#");
    start.is_some_and(|start| {
        let attribute = &before[start..];
        attribute.iter().any(|token| token.text == "cfg_attr") && !attribute.iter().any(|token| token.text == "]")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn allow_and_expect_without_a_reason_are_found() {
        let text = "#![allow(a)]\n#[expect(a)]\n#[expect(a, reason = \"why\")]\nfn f() { x.expect(\"y\"); allow(z) }\n\
                    #[cfg_attr(test, allow(a))]\n// #[allow(a)]\n#[allow(a, reason = \"why\")]\nfn g(a: A, expect: B) \
                    {}";
        let found: Vec<_> =
            found(&Tree::of(&[("a.rs", text)])).into_iter().map(|finding| finding.to_string()).collect();
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(
            found[0].starts_with("a.rs:1: `allow`") && found[1].starts_with("a.rs:2: `expect` without"),
            "{found:?}"
        );
        assert!(found[2].starts_with("a.rs:5: `allow`") && found[3].starts_with("a.rs:7: `allow`"), "{found:?}");
    }
}
