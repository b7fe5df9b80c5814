//! Code in Markdown files that is copied from sources: a comment `<!-- code PATH#NAME -->` stands above its block.
//!
//! `PATH` is relative to the root of the project. The excerpt is what stands between the lines that contain
//! `ANCHOR: NAME` and `ANCHOR_END: NAME`, without indentation; without `#NAME` it is the whole file, without such
//! lines.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::read;

const START: &str = "<!-- code ";

/// The document's text with every excerpt as its source has it.
///
/// # Errors
/// Fails if a source cannot be read or lacks the name, or no block of code follows the comment.
pub fn updated(root: &Path, document: &Path, text: &str) -> Result<String> {
    let mut new = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = start(rest) {
        let comment = &rest[at..];
        let block = || -> Result<(&str, usize, &str)> {
            let (first, after) = comment.split_once('\n').context("nothing follows it")?;
            let source = first.strip_prefix(START).and_then(|text| text.strip_suffix(" -->"));
            let source = source.context("it does not end in ` -->`")?;
            let (fence, code) = after.split_once('\n').context("nothing follows it")?;
            ensure!(fence.starts_with("```"), "no block of code follows it");
            let end = if code.starts_with("```") { 0 } else { code.find("\n```").context("its block has no end")? + 1 };
            let head = first.len() + 1 + fence.len() + 1;
            Ok((source, head, &code[end..]))
        };
        let place = || format!("{}: a comment `{START}…`", document.display());
        let (source, head, after) = block().with_context(place)?;
        new.push_str(&rest[..at + head]);
        new.push_str(&excerpt(root, source).with_context(|| document.display().to_string())?);
        rest = after;
    }
    new.push_str(rest);
    Ok(new)
}

/// The place of the first comment at the start of a line; one inside a line is text about such comments.
fn start(text: &str) -> Option<usize> {
    text.match_indices(START).map(|(at, _)| at).find(|at| *at == 0 || text[..*at].ends_with('\n'))
}

/// The lines that `PATH` or `PATH#NAME` names.
fn excerpt(root: &Path, source: &str) -> Result<String> {
    let (path, name) = source.split_once('#').map_or((source, None), |(path, name)| (path, Some(name)));
    let text = read(root, Path::new(path))?;
    let marks = |line: &str, word: &str| line.split_once(word).is_some_and(|(_, after)| Some(after.trim()) == name);
    let mut lines: Vec<&str> = match name {
        None => text.lines().collect(),
        Some(name) => {
            let inside = text.lines().skip_while(|line| !marks(line, "ANCHOR: ")).skip(1);
            let inside: Vec<_> = inside.take_while(|line| !marks(line, "ANCHOR_END: ")).collect();
            ensure!(!inside.is_empty(), "{path} has no lines between `ANCHOR: {name}` and `ANCHOR_END: {name}`");
            inside
        }
    };
    lines.retain(|line| !line.contains("ANCHOR: ") && !line.contains("ANCHOR_END: "));
    let indentation = |line: &&&str| line.len() - line.trim_start().len();
    let common = lines.iter().filter(|line| !line.is_empty()).map(|line| indentation(&line)).min().unwrap_or(0);
    Ok(lines.iter().map(|line| format!("{}\n", line.get(common..).unwrap_or_default())).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_replaced_by_their_sources() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let source = "fn a() {\n    // ANCHOR: b\n    let b = 1;\n\n    b\n    // ANCHOR_END: b\n}\n";
        std::fs::write(folder.path().join("a.rs"), source)?;
        let text = "A `<!-- code X -->`\n<!-- code a.rs#b -->\n```rust\nold\n```\ntext\n\
                    <!-- code a.rs -->\n```rust\n```\nend\n";
        let new = updated(folder.path(), Path::new("x.md"), text)?;
        let expected = "A `<!-- code X -->`\n<!-- code a.rs#b -->\n```rust\nlet b = 1;\n\nb\n```\ntext\n\
                        <!-- code a.rs -->\n```rust\nfn a() {\n    let b = 1;\n\n    b\n}\n```\nend\n";
        assert_eq!(new, expected);
        assert_eq!(updated(folder.path(), Path::new("x.md"), &new)?, new);
        for (text, word) in [
            ("<!-- code b.rs -->\n```rust\n```\n", "b.rs"),
            ("<!-- code a.rs#c -->\n```rust\n```\n", "ANCHOR: c"),
            ("<!-- code a.rs -->\ntext\n", "no block of code"),
        ] {
            let error = updated(folder.path(), Path::new("x.md"), text).expect_err(text);
            assert!(format!("{error:#}").contains(word), "{error:#}");
        }
        Ok(())
    }
}
