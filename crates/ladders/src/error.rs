//! The error type of this crate.

use rustwarp::diagnostic::Diagnostic;
use std::path::PathBuf;

/// An error, whose message says what was attempted, on what, and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A request is not valid: a family, variant, setting or size that does not exist, or operands that do not fit.
    #[error("{0}")]
    Usage(String),
    /// The data of a file cannot be used.
    #[error("{}: {reason}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// The problem and its solution.
        reason: String,
    },
    /// A result could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A program that measures another library is not built.
    #[error("{0}")]
    NoPeer(String),
    /// The kernel faulted: access out of bounds, trap, panic, deadlock.
    #[error("{0}")]
    Fault(Box<Diagnostic>),
    /// The library reported any other error.
    #[error(transparent)]
    Library(rustwarp::Error),
}

/// This crate's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Creates an error for a bad input file; `reason` is the problem with its solution.
    pub fn input(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Input { path: path.into(), reason: reason.into() }
    }
}

impl From<rustwarp::Error> for Error {
    fn from(error: rustwarp::Error) -> Self {
        match error {
            rustwarp::Error::Fault(fault) => Self::Fault(fault),
            other => Self::Library(other),
        }
    }
}
