//! Why an instruction was not decoded.

use crate::syntax::ParseError;

/// Reason why an instruction was not decoded.
pub enum Reject {
    /// The text is wrong.
    Error(ParseError),
    /// The instruction can't be executed here; the text says why.
    Unsupported(String),
}

impl From<ParseError> for Reject {
    fn from(error: ParseError) -> Self {
        Reject::Error(error)
    }
}

/// Rejects an instruction that is kept and not executable.
pub fn unsupported<T>(why: impl Into<String>) -> Result<T, Reject> {
    Err(Reject::Unsupported(why.into()))
}
