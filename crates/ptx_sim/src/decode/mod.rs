//! Tree to [`Program`](crate::Program): names become rows, offsets and indices; opcodes become functions.

mod asynchronous;
mod control;
mod function;
mod instruction;
mod locations;
mod matrix;
mod memory;
mod module;
mod names;
mod operands;
mod queries;
#[cfg(test)]
mod tests;
mod texture;
mod warp;

use crate::syntax::ParseError;

/// Why an instruction was not decoded.
enum Reject {
    /// The text is wrong.
    Error(ParseError),
    /// We can't execute it.
    Unsupported(String),
}

impl From<ParseError> for Reject {
    fn from(error: ParseError) -> Self {
        Reject::Error(error)
    }
}

/// An instruction that is kept and not executable.
fn unsupported<T>(why: impl Into<String>) -> Result<T, Reject> {
    Err(Reject::Unsupported(why.into()))
}
