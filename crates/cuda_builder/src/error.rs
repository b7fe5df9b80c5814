//! Errors of this crate. Each message names the action, its object, and the remedy.

use std::{fmt, io, path::PathBuf};

use crate::arch::{Arch, UnknownArch};

/// Why a device build, a search for tools or their installation failed.
///
/// `Debug` prints the message too: a build script whose `main` returns the error shows it that way. Messages contain
/// their reasons, so that no error has a source that would be printed again.
#[derive(thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No complete device toolchain was found.
    #[error("no device toolchain found; looked at:\n{looked}\nfix: {fix}")]
    NoToolchain {
        /// One line per searched place, with the pieces that it lacks.
        looked: String,
        /// The command that adds it.
        fix: String,
    },
    /// The toolchain that the user named is not usable.
    #[error("the device toolchain `{asked}` is not usable: {missing}\nfix: {fix}")]
    BadToolchain {
        /// Its name or path, as the user wrote it.
        asked: String,
        /// The pieces that it lacks.
        missing: String,
        /// The action that helps.
        fix: String,
    },
    /// A tool that only checks need is missing.
    #[error(
        "`{tool}` is needed to {purpose}, and is neither in a CUDA toolkit (PATH, CUDA_HOME, /usr/local/cuda) nor in \
         the cache\nfix: {fix}"
    )]
    NoCudaTool {
        /// `ptxas` or `nvdisasm`.
        tool: &'static str,
        /// The action that needs it.
        purpose: &'static str,
        /// The command that adds it.
        fix: String,
    },
    /// The cache's folder cannot be written.
    #[error("cannot write to the cache's folder {}: {reason}\nfix: {fix}", path.display())]
    Cache {
        /// The folder.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
        /// The commands that help.
        fix: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} {}: {reason}", path.display())]
    Io {
        /// The action: "read", "write", …
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        reason: io::Error,
    },
    /// A program could not be started.
    #[error("cannot start `{program}` to {purpose}: {reason}")]
    Start {
        /// The program.
        program: String,
        /// The action that it was started for.
        purpose: String,
        /// The system's reason.
        reason: io::Error,
    },
    /// A program ran and failed.
    #[error("`{program}` failed to {purpose} ({status}){}", indented(output))]
    Tool {
        /// The program.
        program: String,
        /// The action that it was started for.
        purpose: String,
        /// Its exit status in words.
        status: String,
        /// Its output.
        output: String,
    },
    /// rustc rejected the kernels. Its messages are on standard error, except those in `messages`.
    #[error("{messages}{package} does not compile for {arch}: see the compiler's messages above")]
    Compile {
        /// The kernel crate.
        package: String,
        /// Architecture of the build.
        arch: Arch,
        /// Messages that were not printed, because another architecture's build was shown.
        messages: String,
    },
    /// The kernels break a rule of the device that rustc does not check.
    #[error("{package}: {problem}")]
    Kernel {
        /// The kernel crate.
        package: String,
        /// The item, its defect, and what to write instead.
        problem: String,
    },
    /// The output of a program has an unexpected form.
    #[error("unexpected output of `{program}`: {problem}{}", indented(output))]
    Answer {
        /// The program.
        program: String,
        /// The expectation that it breaks.
        problem: String,
        /// The output.
        output: String,
    },
    /// A text is not the name of an architecture.
    #[error(transparent)]
    UnknownArch(#[from] UnknownArch),
    /// The manifest of the kernel crate is not usable.
    #[error("cannot read the kernel crate's manifest {}: {problem}", path.display())]
    Manifest {
        /// The Cargo.toml.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// A library that rustc wrote can't be read.
    #[error(
        "cannot read the library {}: {problem}\nfix: remove the folder `target/nvptx` and build again",
        path.display()
    )]
    Library {
        /// The rlib.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// Options that contradict each other.
    #[error("{0}")]
    Options(String),
    /// The tools could not be installed.
    #[error("{problem}\nfix: {fix}")]
    Setup {
        /// The step that failed.
        problem: String,
        /// The command or action that helps.
        fix: String,
    },
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Error {
    /// Makes an [`Error::Io`]; for `map_err` on file operations.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |reason| Self::Io { action, path, reason }
    }
}

/// A program's output, indented below the line that introduces it.
fn indented(output: &str) -> String {
    output.trim_end().lines().map(|line| format!("\n  {line}")).collect()
}
