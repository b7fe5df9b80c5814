//! The error type of this library. Each kind has an exit code for the command line.

use crate::diagnostic::Diagnostic;
use std::path::PathBuf;

/// An error, whose message says what was attempted, on what, and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option or argument is not valid.
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
    /// Memory of one device was passed to work on another.
    #[error("{what} is on {found}, and the work is on {expected}: copy it there first")]
    OtherDevice {
        /// The argument.
        what: &'static str,
        /// The device on which the work runs.
        expected: String,
        /// The device that holds the memory.
        found: String,
    },
    /// The lengths or shapes of the arguments do not match.
    #[error("{0}")]
    Mismatch(String),
    /// The requested device does not exist.
    #[error("{0}")]
    NoDevice(String),
    /// There is no PTX, or none that the device can run.
    #[error("{0}")]
    NoPtx(String),
    /// A file is not valid PTX.
    #[error("{0}")]
    BadPtx(String),
    /// The device lacks a feature that the program needs.
    #[error("{0}")]
    Unsupported(String),
    /// The device rejected a request: too little memory or other resources, or a driver that fails.
    #[error("{0}")]
    Device(String),
    /// The kernel faulted: access out of bounds, trap, panic, deadlock.
    #[error("{0}")]
    Fault(Box<Diagnostic>),
    /// A result could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
}

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The exit code of the command line: 2 for usage or bad input, 3 for a missing device, driver or PTX, 4 for a
    /// fault of the kernel. (0 means done and verified, 1 a wrong result or a finding; neither is an error here.)
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_)
            | Self::OtherDevice { .. }
            | Self::Mismatch(_)
            | Self::Input { .. }
            | Self::BadPtx(_)
            | Self::Write { .. } => 2,
            Self::NoDevice(_) | Self::NoPtx(_) | Self::Unsupported(_) | Self::Device(_) => 3,
            Self::Fault(_) => 4,
        }
    }

    /// Creates an error for a bad input file; `reason` is the problem with its solution.
    pub fn input(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Input { path: path.into(), reason: reason.into() }
    }
}
