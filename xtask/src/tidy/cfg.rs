//! Conditional compilation: which `#[cfg(…)]` attributes mark code that only tests contain.

/// Whether an attribute, given from its `[`, removes its item from builds that are no tests: `#[cfg(all(test, unix))]`.
pub fn is_for_tests(attribute: &[&str]) -> bool {
    match attribute {
        ["[", "cfg", "(", predicate @ ..] => without_tests(predicate, &mut 0) == Some(false),
        _ => false,
    }
}

/// Evaluates the predicate that starts at `at` for builds that are no tests; `None` if it depends on anything else.
fn without_tests(words: &[&str], at: &mut usize) -> Option<bool> {
    let name = *words.get(*at)?;
    *at += 1;
    match words.get(*at) {
        Some(&"(") => {
            *at += 1;
            let mut parts = Vec::new();
            while let Some(&word) = words.get(*at).filter(|word| **word != ")") {
                match word {
                    "," => *at += 1,
                    _ => parts.push(without_tests(words, at)),
                }
            }
            *at += 1;
            // A part that decides the whole, or else a value that all parts have.
            let decided_by = |value| match parts.contains(&Some(value)) {
                true => Some(value),
                false => parts.iter().all(|part| *part == Some(!value)).then_some(!value),
            };
            match name {
                "all" => decided_by(false),
                "any" => decided_by(true),
                "not" => parts.first().copied().flatten().map(|value| !value),
                _ => None,
            }
        }
        Some(&"=") => {
            *at += 2;
            None
        }
        _ => (name == "test").then_some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::syntax::tokens;

    #[test]
    fn code_that_only_tests_contain_is_recognised() {
        let of = |text: &str| is_for_tests(&tokens(text).iter().map(|token| token.text).collect::<Vec<_>>());
        for text in [
            "[cfg(test)]",
            "[cfg(all(test, unix))]",
            "[cfg(all(feature = \"x\", any(test), not(windows)))]",
            "[cfg(any(test, all(unix, test)))]",
            "[cfg(not(not(test)))]",
            "[cfg(not(any(unix, not(test))))]",
        ] {
            assert!(of(text), "{text}");
        }
        for text in [
            "[cfg(not(test))]",
            "[cfg(any(test, unix))]",
            "[cfg(all(unix, not(test)))]",
            "[cfg(feature = \"test\")]",
            "[cfg(unix)]",
            "[cfg_attr(test, derive(Debug))]",
            "[test]",
        ] {
            assert!(!of(text), "{text}");
        }
    }
}
