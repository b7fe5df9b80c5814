//! Length of lines in Rust files. Rows of tables in documentation and lines that consist of an address are exempt,
//! because they cannot be broken. rustfmt breaks code at the same width, but neither comments nor strings.

use super::known::{self, Known};
use super::tree::{Finding, Tree};

/// The requirement, for help and documentation.
pub const REQUIRES: &str = "a line of a Rust file has at most 120 columns, including comments and strings; table rows \
    and addresses are exempt";

const COLUMNS: usize = 120;

/// Exceptions: folders with long lines.
const KNOWN: &[Known] = &[];

/// Reports lines that are too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    known::without("long_lines", KNOWN, found(tree))
}

fn found(tree: &Tree) -> Vec<Finding> {
    let lines = tree.files.iter().flat_map(|file| file.text.lines().zip(1..).map(move |line| (file, line)));
    let long = lines.filter(|(_, (line, _))| line.chars().count() > COLUMNS && !is_unbreakable(line));
    let finding = |(file, (line, number)): (&super::tree::File, (&str, usize))| {
        let text =
            format!("{} columns, but the limit is {COLUMNS}: break the line, a string by `\\`", line.chars().count());
        Finding::new(&file.path, number, text)
    };
    long.map(finding).collect()
}

/// Whether a line is a comment that consists of a row of a table or of an address.
fn is_unbreakable(line: &str) -> bool {
    let Some(comment) = line.trim_start().strip_prefix("//") else { return false };
    let text = comment.trim_start_matches(['/', '!']).trim_start();
    text.starts_with('|') || text.contains("://") && !text.trim_start_matches("- ").trim().contains(' ')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_line_is_found() {
        let wide = "é".repeat(120);
        let text =
            format!("// {wide}\n{wide}\n/// | {wide} |\n//! <https://{wide}>\n// see https://{wide}\n    \"{wide}\"");
        let found: Vec<_> = found(&Tree::of(&[("a.rs", &text)])).into_iter().map(|finding| finding.line).collect();
        assert_eq!(found, [1, 5, 6]);
    }
}
