//! Errors in text that is not valid PTX.

/// A syntax error: the position in the text, what was found there and what the grammar allows instead.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: found {found}, expected {expected}")]
#[non_exhaustive]
pub struct ParseError {
    /// Line number, from 1.
    pub line: u32,
    /// Column in bytes, from 1.
    pub column: u32,
    /// The offending text, as the message names it.
    pub found: String,
    /// What the grammar allows at this position.
    pub expected: String,
}

impl ParseError {
    /// Builds the error for byte `start` of `text`.
    pub(crate) fn at(
        text: &str,
        start: usize,
        line: u32,
        found: impl Into<String>,
        expected: impl Into<String>,
    ) -> Self {
        let before = &text.as_bytes()[..start.min(text.len())];
        let column = before.iter().rev().take_while(|&&b| b != b'\n').count() + 1;
        ParseError {
            line,
            column: u32::try_from(column).unwrap_or(u32::MAX),
            found: found.into(),
            expected: expected.into(),
        }
    }

    /// Builds an error that concerns a whole line.
    pub(crate) fn on_line(line: u32, found: impl Into<String>, expected: impl Into<String>) -> Self {
        ParseError { line, column: 1, found: found.into(), expected: expected.into() }
    }
}
