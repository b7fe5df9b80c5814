//! What a device is told when it is opened, and before it simulates.

use crate::error::{Error, Result};
pub use ptx_sim::check::{CHECKERS, Checker, Code, Severity, code};

/// Which device to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Choice {
    /// A GPU if one answers, else the simulator.
    #[default]
    Auto,
    /// The GPU of this number.
    Gpu(u32),
    /// The simulator.
    Sim,
}

impl std::str::FromStr for Choice {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "gpu" => Ok(Self::Gpu(0)),
            "sim" => Ok(Self::Sim),
            _ => match text.strip_prefix("gpu:").map(str::parse) {
                Some(Ok(number)) => Ok(Self::Gpu(number)),
                _ => Err(Error::Usage(format!("'{text}' is no device; there are auto, gpu, gpu:K and sim"))),
            },
        }
    }
}

/// What the simulator watches for besides accesses out of bounds, which always end a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// Nothing more: the fastest.
    #[default]
    Bounds,
    /// These checkers.
    On(Checkers),
}

/// Checkers that cost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkers {
    /// Those that are on, by the names of [`CHECKERS`]. How the race checker reads a program is said here, below.
    pub on: ptx_sim::Checks,
    /// For the race checker.
    pub atomics: Atomics,
    /// For the race checker.
    pub same_value: SameValue,
}

impl Default for Checkers {
    /// Every checker whose findings are mistakes.
    fn default() -> Self {
        Self { on: ptx_sim::Checks::ALL, atomics: Atomics::default(), same_value: SameValue::default() }
    }
}

/// What the race checker thinks of threads that write one value to the same place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SameValue {
    /// A race, as PTX and Rust have it.
    #[default]
    Report,
    /// Nothing to report.
    Ignore,
}

impl std::str::FromStr for SameValue {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "report" => Ok(Self::Report),
            "ignore" => Ok(Self::Ignore),
            _ => Err(Error::Usage(format!("'{text}' is neither report nor ignore"))),
        }
    }
}

/// What the race checker takes atomics without a memory order for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomics {
    /// `Source` for PTX by LLVM, which drops what the source says; else `Ptx`.
    #[default]
    Auto,
    /// Acquire and release.
    Source,
    /// Relaxed, as PTX says.
    Ptx,
}

impl std::str::FromStr for Atomics {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "source" => Ok(Self::Source),
            "ptx" => Ok(Self::Ptx),
            _ => Err(Error::Usage(format!("'{text}' is no meaning of atomics; there are auto, source and ptx"))),
        }
    }
}

/// What a simulator can be told, and a GPU can't.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    /// Another order of events for each seed; `None` for the fixed one.
    pub seed: Option<u64>,
    /// The device to simulate: a profile's name, or a file's path.
    pub profile: Option<String>,
    /// Threads of the host; `None` for as many as there are. Checks for races and seeds take one.
    pub workers: Option<u32>,
}

/// Where the simulator sends what kernels print; a GPU's driver always takes standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Printed {
    /// As on a GPU.
    #[default]
    Stdout,
    /// For commands whose standard output is read by programs.
    Stderr,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn devices_are_named_as_documented() {
        assert_eq!("gpu:3".parse::<Choice>().expect("a device"), Choice::Gpu(3));
        assert_eq!("gpu".parse::<Choice>().expect("a device"), Choice::Gpu(0));
        for text in ["", "cpu", "gpu:", "gpu:x", "gpu:-1", "Sim"] {
            assert!(text.parse::<Choice>().is_err(), "{text}");
        }
    }
}
