//! Source text of places, and the part of a line to underline.

use crate::files::Files;
use crate::stop::{Place, Source};
use std::ops::Range;

/// The source line of a place, and the part of it to underline.
pub(super) struct Excerpt {
    /// Line number, from 1.
    line: u32,
    row: String,
    /// Path shown in the report.
    path: String,
    /// Range of bytes to underline in `row`; after [`Excerpt::join`] or [`Excerpt::split`], in their text.
    pub span: Range<usize>,
}

/// Consecutive lines of a file.
pub(super) struct Lines {
    pub path: String,
    pub text: String,
    /// Number of the first line, from 1.
    pub first: u32,
    /// Number of places in these lines.
    pub places: usize,
}

impl Excerpt {
    /// Reads the line of a place; `None` if its text is not available.
    pub fn new(place: &Place, files: &Files) -> Option<Self> {
        match place.user_source() {
            Some(source) => {
                let file = files.open(&source.file, &source.recorded);
                let row = file.text()?.lines().nth((source.line as usize).checked_sub(1)?)?.to_owned();
                let span = underline(&row, source.column as usize);
                Some(Self { line: source.line, row, path: file.shown.clone(), span })
            }
            None if place.ptx_line > 0 && !place.ptx.is_empty() => {
                // Limits the indentation, which generated PTX can make arbitrarily large.
                let indent = (place.ptx_column as usize).saturating_sub(1).min(64);
                let row = format!("{}{}", " ".repeat(indent), place.ptx);
                let span = indent..row.len();
                Some(Self { line: place.ptx_line, row, path: format!("PTX of `{}`", place.function), span })
            }
            None => None,
        }
    }

    /// Joins excerpts of one file into the lines from the first excerpt to the last.
    pub fn join(source: &Source, excerpts: &mut [Self], files: &Files) -> Option<Lines> {
        let file = files.open(&source.file, &source.recorded);
        let text = file.text()?;
        let first = excerpts.iter().map(|excerpt| excerpt.line).min()?;
        let last = excerpts.iter().map(|excerpt| excerpt.line).max()?;
        let mut whole = String::new();
        for (line, row) in (first..=last).zip(text.lines().skip(first as usize - 1)) {
            for excerpt in excerpts.iter_mut().filter(|excerpt| excerpt.line == line) {
                excerpt.span = excerpt.span.start + whole.len()..excerpt.span.end + whole.len();
            }
            whole.push_str(row);
            whole.push('\n');
        }
        Some(Lines { path: file.shown.clone(), text: whole, first, places: excerpts.len() })
    }

    /// Returns the excerpt's line alone.
    pub fn split(&mut self) -> Lines {
        Lines { path: self.path.clone(), text: self.row.clone(), first: self.line, places: 1 }
    }
}

/// Returns the bytes of the expression that starts at a column (from 1, in bytes); of the whole line for column 0.
///
/// The expression is a path with its fields, calls and indices on this line, and the operators in front of it:
/// compilers report the column where such an expression starts.
pub(super) fn underline(row: &str, column: usize) -> Range<usize> {
    let Some(start) = column.checked_sub(1).filter(|start| *start < row.len() && row.is_char_boundary(*start)) else {
        let start = row.len() - row.trim_start().len();
        return start..row.trim_end().len().max(start);
    };
    let mut end = start + prefix(&row[start..]);
    loop {
        let rest = &row[end..];
        let more = match rest.chars().next() {
            Some('(' | '[') => group(rest),
            Some('!') if matches!(rest.as_bytes().get(1), Some(b'(' | b'[')) => group(&rest[1..]).map(|len| len + 1),
            Some('?') => Some(1),
            Some('.') if rest[1..].starts_with(is_word) => Some(1 + word(&rest[1..])),
            Some(':') if rest.starts_with("::<") => None,
            Some(':') if rest.starts_with("::") && rest[2..].starts_with(is_word) => Some(2 + word(&rest[2..])),
            Some(first) if is_word(first) => Some(word(rest)),
            _ => None,
        };
        // Two adjacent words do not form an expression.
        match more {
            Some(len) if len > 0 && !(row[..end].ends_with(is_word) && rest.starts_with(is_word) && end > start) => {
                end += len
            }
            _ => break,
        }
    }
    let first = row[start..].chars().next().map_or(0, char::len_utf8);
    start..end.max(start + first)
}

/// Returns the length of the operators before an operand: `*`, `&mut `, `-`, `!`.
fn prefix(text: &str) -> usize {
    let operand = text.trim_start_matches(['*', '&', '-', '!']);
    let operators = text.len() - operand.len();
    let operand = if operators > 0 { operand.strip_prefix("mut ").unwrap_or(operand) } else { operand };
    if operand.starts_with(|c| is_word(c) || c == '(') { text.len() - operand.len() } else { 0 }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn word(text: &str) -> usize {
    text.find(|c| !is_word(c)).unwrap_or(text.len())
}

/// Returns the length of a bracketed group that closes on this line.
fn group(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' | '{' => depth += 1,
            ')' | ']' | '}' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        if depth == 0 {
            return Some(at + c.len_utf8());
        }
    }
    None
}
