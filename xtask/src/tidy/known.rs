//! Exceptions of a rule, each with its reason. An exception that is no longer needed is a finding, so that lists only
//! shrink.

use super::tree::Finding;

/// A file, or a folder with `/` at its end, and the reason why the rule does not hold there.
pub type Known = (&'static str, &'static str);

/// Whether an exception covers this file.
pub fn covers(known: Known, path: &str) -> bool {
    known.0 == path || known.0.ends_with('/') && path.starts_with(known.0)
}

/// Returns the findings that no exception covers, and a finding for each exception that covers none. `list` is the name
/// of the rule's file, which contains the exceptions.
pub fn without(list: &str, known: &[Known], mut findings: Vec<Finding>) -> Vec<Finding> {
    let needed = |known: &Known| findings.iter().any(|finding| covers(*known, &finding.path));
    let unneeded: Vec<_> = known.iter().filter(|known| !needed(known)).map(|known| unneeded(list, known.0)).collect();
    findings.retain(|finding| !known.iter().any(|known| covers(*known, &finding.path)));
    findings.extend(unneeded);
    findings
}

/// Creates the finding for an exception that is no longer needed.
pub fn unneeded(list: &str, entry: &str) -> Finding {
    let path = format!("xtask/src/tidy/{list}.rs");
    Finding::new(&path, 1, format!("the exception `{entry}` is no longer needed: remove it from the list"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_exception_that_is_not_needed_is_a_finding() {
        let found = || vec![Finding::new("a/b.rs", 3, "wrong"), Finding::new("c.rs", 4, "wrong")];
        assert_eq!(without("x", &[("a/", "why"), ("c.rs", "why")], found()), []);
        let rest = without("x", &[("a/b.rs", "why"), ("d.rs", "why")], found());
        assert_eq!(
            rest.iter().map(|finding| finding.path.as_str()).collect::<Vec<_>>(),
            ["c.rs", "xtask/src/tidy/x.rs"]
        );
        assert!(rest[1].text.contains("`d.rs` is no longer needed"));
    }
}
