//! Names in error messages: the nearest ones to what was asked for.

/// Most names that a message lists.
const MOST: usize = 8;

/// Describes names for a message about `asked`: all of a few; else how many there are, and the nearest ones.
pub(super) fn near(asked: &str, names: &[&str]) -> String {
    if names.len() <= MOST {
        return format!("it has: {}", names.join(" "));
    }
    let mut nearest: Vec<_> =
        names.iter().map(|name| (strsim::jaro_winkler(&asked.to_lowercase(), &name.to_lowercase()), name)).collect();
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let list: Vec<_> = nearest.iter().take(MOST).map(|(_, name)| **name).collect();
    format!("it has {} entries; the nearest names: {}", names.len(), list.join(" "))
}

/// Describes names where none was asked for: the first ones, and how many there are.
pub(super) fn some(names: &[&str]) -> String {
    match names.len() {
        0..=MOST => format!("it has: {}", names.join(" ")),
        count => format!("it has {count}: {} ...", names[..MOST].join(" ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_is_cut() {
        let names: Vec<String> = (0..100).map(|i| format!("reduce_best_{i}")).chain(["scan_tail".to_owned()]).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let text = near("scan_tial", &names);
        assert!(text.starts_with("it has 101 entries; the nearest names: scan_tail ") && text.len() < 200, "{text}");
        assert!(some(&names).starts_with("it has 101: reduce_best_0 ") && some(&names).len() < 200);
        assert_eq!((near("a", &["b"]), some(&["b"])), ("it has: b".to_owned(), "it has: b".to_owned()));
    }
}
