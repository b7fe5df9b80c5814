//! The one error type of this library. Each kind has the exit code that scripts rely on.

use crate::diagnostic::Diagnostic;
use std::path::PathBuf;

/// What went wrong: what was attempted, on what, and what to do next.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An option or argument that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// A file with data that can't be used.
    #[error("{}: {reason}", path.display())]
    Input {
        /// The file.
        path: PathBuf,
        /// What is wrong with it, and what to do.
        reason: String,
    },
    /// Memory of one device was given to work on another.
    #[error("{what} lies on {found}, and the work is on {expected}: copy it there first")]
    OtherDevice {
        /// The argument.
        what: &'static str,
        /// The device that works.
        expected: String,
        /// The device that the memory lies on.
        found: String,
    },
    /// Arguments whose lengths or shapes do not fit together.
    #[error("{0}")]
    Mismatch(String),
    /// The device that was asked for is not there.
    #[error("{0}")]
    NoDevice(String),
    /// No PTX, or none that the device can run.
    #[error("{0}")]
    NoPtx(String),
    /// A PTX file that is no valid PTX.
    #[error("{0}")]
    BadPtx(String),
    /// The device lacks something that the program needs; the program is not to blame.
    #[error("{0}")]
    Unsupported(String),
    /// The device refused a request: not enough memory or other resources, or a driver that fails.
    #[error("{0}")]
    Device(String),
    /// The kernel broke: access out of bounds, trap, panic, deadlock.
    #[error("{0}")]
    Fault(Box<Diagnostic>),
    /// A result could not be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Shorthand.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// Of the process: 2 usage or bad input, 3 no such device, driver or PTX, 4 the kernel faulted. (0 is done and
    /// verified, 1 a wrong result or a finding, and neither is an error here.)
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

    /// Bad input: `reason` says what is wrong with the file, and what to do.
    pub fn input(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self::Input { path: path.into(), reason: reason.into() }
    }
}
