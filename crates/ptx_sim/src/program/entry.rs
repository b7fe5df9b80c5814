//! Lookup of a kernel by name.

use super::{Kind, Program};
use crate::stop::Stop;

/// Returns the index of the entry with this name.
///
/// # Errors
/// `unknown-entry`, with the most similar names.
pub fn entry(program: &Program, name: &str) -> Result<u32, Stop> {
    let entries = || program.functions.iter().enumerate().filter(|(_, function)| function.kind == Kind::Entry);
    if let Some((index, _)) = entries().find(|(_, function)| function.name == name) {
        return Ok(index as u32);
    }
    let mut near: Vec<(usize, &str)> =
        entries().map(|(_, function)| (distance(name, &function.name), function.name.as_str())).collect();
    near.sort();
    let names: Vec<&str> = near.iter().take(5).map(|(_, name)| *name).collect();
    let help = match names.as_slice() {
        [] => "the PTX has no entries".to_owned(),
        names => format!("the PTX has {} entries, among them {}", near.len(), names.join(", ")),
    };
    Err(Stop::usage("unknown-entry", format!("no kernel `{name}` in the PTX")).with_help(help))
}

/// Returns the number of edits that transform one name into the other (Levenshtein distance).
fn distance(a: &str, b: &str) -> usize {
    let b = b.as_bytes();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.iter().enumerate() {
            let cost = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = cost.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::distance;

    #[test]
    fn edits() {
        assert_eq!(distance("reduce_sum", "reduce_sum"), 0);
        assert_eq!(distance("reduce_sum", "reduce_max"), 3);
        assert_eq!(distance("", "abc"), 3);
    }
}
