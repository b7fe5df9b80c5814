//! Why a text is not PTX.

/// The text is not PTX that can be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}, column {column}: found {found}, expected {expected}")]
pub struct ParseError {
    /// 1-based.
    pub line: u32,
    /// 1-based, in bytes.
    pub column: u32,
    /// What stands there.
    pub found: String,
    /// What could stand there.
    pub expected: String,
}

impl ParseError {
    /// An error at byte `start` of `text`.
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

    /// An error that belongs to a whole line.
    pub(crate) fn on_line(line: u32, found: impl Into<String>, expected: impl Into<String>) -> Self {
        ParseError { line, column: 1, found: found.into(), expected: expected.into() }
    }
}
