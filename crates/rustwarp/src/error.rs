//! The error type of this library.

use crate::diagnostic::Diagnostic;
use std::{fmt, path::PathBuf};

/// An error, whose message says what was attempted, on what, and what to do next. `Debug` is the message too, since a
/// `main` or a test that returns the error prints that.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is not valid, or beyond the limits of the kernels or of the device.
    #[error("{0}")]
    Argument(String),
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
    /// A module of one device was passed to another.
    #[error("the module was loaded by another device than {device}: load it there")]
    OtherModule {
        /// The device on which the work runs.
        device: String,
    },
    /// The lengths or shapes of the arguments do not match.
    #[error("{0}")]
    Mismatch(String),
    /// The requested device does not exist.
    #[error("{0}")]
    NoDevice(String),
    /// The device or this machine has too little memory free.
    #[error("{0}")]
    OutOfMemory(String),
    /// A PTX file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    UnreadablePtx {
        /// The file or its folder.
        path: PathBuf,
        /// The operating system's error.
        source: std::io::Error,
    },
    /// There is no PTX, or none that the device can run.
    #[error("{0}")]
    NoPtx(String),
    /// A file is not valid PTX.
    #[error("{0}")]
    BadPtx(String),
    /// A graph cannot contain the call.
    #[error("{attempt} in a capture: a graph contains launches, fills and copies on the device; do it before or after")]
    Capturing {
        /// The call.
        attempt: &'static str,
    },
    /// The device lacks a feature that the program needs.
    #[error("{0}")]
    Unsupported(String),
    /// The driver failed, or returned an error that is no fault of the kernel.
    #[error("{0}")]
    Device(String),
    /// The ranks of a group differ in what they do, or one of them is missing or has ended.
    #[error("{0}")]
    Group(String),
    /// Bytes of a streamed input cannot be read, or those of its result cannot be written.
    #[error("cannot {attempt} the {bytes} bytes from byte {offset} on: {source}")]
    Stream {
        /// `read` or `write`.
        attempt: &'static str,
        /// Number of bytes.
        bytes: usize,
        /// Their place in the source or sink.
        offset: u64,
        /// The operating system's error, or that of the source or sink.
        source: std::io::Error,
    },
    /// The kernel faulted: access out of bounds, trap, panic, deadlock.
    #[error("{0}")]
    Fault(Box<Diagnostic>),
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The library's result type.
pub type Result<T, E = Error> = std::result::Result<T, E>;

#[cfg(test)]
mod tests {
    use super::*;

    /// A test that ends with `?` prints the message as it is.
    #[test]
    fn debug_is_the_message() {
        let error = Error::Argument("a block has 32 threads,\nnot \"33\"".to_owned());
        assert_eq!(format!("{error:?}"), error.to_string());
    }
}
