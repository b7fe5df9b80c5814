//! Lines that need no scrolling. Rows of tables in documentation and lines whose one word is an address are left out:
//! both can't be broken. rustfmt breaks code at the same width, but neither comments nor strings.

use super::known::{self, Known};
use super::tree::{Finding, Tree};

/// For help and documentation.
pub const ASKS: &str = "a line has at most 120 columns, comments and strings too; table rows and addresses aside";

const COLUMNS: usize = 120;

/// Folders whose lines are not broken yet.
const KNOWN: &[Known] = &[];

/// Lines that are too long.
pub fn check(tree: &Tree) -> Vec<Finding> {
    known::without("long_lines", KNOWN, found(tree))
}

fn found(tree: &Tree) -> Vec<Finding> {
    let lines = tree.files.iter().flat_map(|file| file.text.lines().zip(1..).map(move |line| (file, line)));
    let long = lines.filter(|(_, (line, _))| line.chars().count() > COLUMNS && !is_unbreakable(line));
    let finding = |(file, (line, number)): (&super::tree::File, (&str, usize))| {
        let text =
            format!("{} columns, {COLUMNS} is the limit: break it, a string by `\\` at the end", line.chars().count());
        Finding::new(&file.path, number, text)
    };
    long.map(finding).collect()
}

/// A comment that is a row of a table, or nothing but an address.
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
