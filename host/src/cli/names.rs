//! Names in error messages: the nearest ones to what was asked for.

/// Most names that a message lists.
const MOST: usize = 8;

/// Smallest similarity of a name that is worth a suggestion, by Jaro and Winkler: 1 for equal names, about 0.5 for
/// unrelated ones.
const SIMILAR: f64 = 0.8;

/// Describes names for a message about `asked`: all of a few; else how many there are, and the similar ones.
pub(super) fn near(asked: &str, names: &[&str]) -> String {
    if names.len() <= MOST {
        return format!("it has: {}", names.join(" "));
    }
    let mut nearest: Vec<_> = names.iter().map(|name| (likeness(asked, name), name)).collect();
    nearest.retain(|(likeness, _)| *likeness >= SIMILAR);
    nearest.sort_by(|a, b| b.0.total_cmp(&a.0));
    let list: Vec<_> = nearest.iter().take(MOST).map(|(_, name)| **name).collect();
    match list.as_slice() {
        [] => format!("it has {} entries, none with a similar name: {} ...", names.len(), names[..MOST].join(" ")),
        list => format!("it has {} entries; the nearest names: {}", names.len(), list.join(" ")),
    }
}

/// Whether a name is worth a suggestion.
pub(super) fn resemble(asked: &str, name: &str) -> bool {
    likeness(asked, name) >= SIMILAR
}

fn likeness(asked: &str, name: &str) -> f64 {
    strsim::jaro_winkler(&asked.to_lowercase(), &name.to_lowercase())
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
        assert!(text.starts_with("it has 101 entries; the nearest names: scan_tail") && text.len() < 200, "{text}");
        let text = near("nosuch", &names);
        assert!(text.starts_with("it has 101 entries, none with a similar name: reduce_best_0 "), "{text}");
        assert!(some(&names).starts_with("it has 101: reduce_best_0 ") && some(&names).len() < 200);
        assert_eq!((near("a", &["b"]), some(&["b"])), ("it has: b".to_owned(), "it has: b".to_owned()));
    }
}
