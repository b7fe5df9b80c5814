//! Reasons why an instruction was not decoded.

use crate::syntax::ParseError;

/// Reason why an instruction was not decoded.
pub enum Reject {
    /// The text is wrong.
    Error(ParseError),
    /// The instruction is not supported; the text gives the reason.
    Unsupported(String),
}

impl From<ParseError> for Reject {
    fn from(error: ParseError) -> Self {
        Reject::Error(error)
    }
}

/// Rejects an instruction, which is kept and stops the run if it is executed.
///
/// # Errors
/// Always [`Reject::Unsupported`].
pub fn unsupported<T>(why: impl Into<String>) -> Result<T, Reject> {
    Err(Reject::Unsupported(why.into()))
}
