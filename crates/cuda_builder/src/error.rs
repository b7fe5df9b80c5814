//! What can go wrong, said as: what was attempted, on what, and what to do.

use std::{io, path::PathBuf};

use crate::arch::Arch;

/// Why a device build, a search for tools or their installation failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// No complete device toolchain anywhere.
    #[error("no device toolchain found; looked at:\n{looked}\nfix: {fix}")]
    NoToolchain {
        /// One line per place, with what is missing there.
        looked: String,
        /// The command that adds it.
        fix: String,
    },
    /// The toolchain that was asked for by name or path is not usable.
    #[error("the device toolchain `{asked}` is not usable: {missing}\nfix: {fix}")]
    BadToolchain {
        /// As the user wrote it.
        asked: String,
        /// What it lacks.
        missing: String,
        /// What to do.
        fix: String,
    },
    /// A tool that only checks need is not there.
    #[error(
        "`{tool}` is needed to {purpose}, and is neither in a CUDA toolkit (PATH, CUDA_HOME, /usr/local/cuda) nor in the cache\nfix: {fix}"
    )]
    NoCudaTool {
        /// `ptxas` or `nvdisasm`.
        tool: &'static str,
        /// What it was wanted for.
        purpose: &'static str,
        /// The command that adds it.
        fix: String,
    },
    /// Reading or writing failed.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// "read", "write", …
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A program could not be started.
    #[error("cannot start `{program}` to {purpose}: {source}")]
    Start {
        /// The program.
        program: String,
        /// What it should have done.
        purpose: String,
        /// Why.
        source: io::Error,
    },
    /// A program ran and failed.
    #[error("`{program}` failed to {purpose} ({status}){}", indented(output))]
    Tool {
        /// The program.
        program: String,
        /// What it should have done.
        purpose: String,
        /// Exit status in words.
        status: String,
        /// What it printed.
        output: String,
    },
    /// rustc refused the kernels. Its messages are on standard error, except those that only this architecture has.
    #[error("{messages}{package} does not compile for {arch}: see the compiler's messages above")]
    Compile {
        /// The kernel crate.
        package: String,
        /// For which GPU.
        arch: Arch,
        /// The messages that have not been shown.
        messages: String,
    },
    /// The kernels break a rule of the device that rustc does not know.
    #[error("{package}: {problem}")]
    Kernel {
        /// The kernel crate.
        package: String,
        /// What is wrong with which item, and what to write instead.
        problem: String,
    },
    /// A program answered something that this crate can't read.
    #[error("cannot make sense of what `{program}` printed: {problem}{}", indented(output))]
    Answer {
        /// The program.
        program: String,
        /// What was looked for.
        problem: String,
        /// What it printed.
        output: String,
    },
    /// Not an architecture.
    #[error("unknown architecture `{name}`; known are: {}", Arch::ALL.iter().map(|arch| arch.target_cpu()).collect::<Vec<_>>().join(" "))]
    UnknownArch {
        /// As the user wrote it.
        name: String,
    },
    /// Options that contradict each other.
    #[error("{0}")]
    Options(String),
    /// The tools could not be installed.
    #[error("{problem}\nfix: {fix}")]
    Setup {
        /// What could not be done.
        problem: String,
        /// The command or action that helps.
        fix: String,
    },
}

impl Error {
    /// For `map_err` on file operations.
    pub(crate) fn io(action: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { action, path, source }
    }
}

/// A program's output under the line that introduces it.
fn indented(output: &str) -> String {
    output.trim_end().lines().map(|line| format!("\n  {line}")).collect()
}
