//! Options for opening a device, and for simulating launches.

use crate::error::{Error, Result};
pub use ptx_sim::check::{CHECKERS, Checker, Code, Severity, code};
use std::fmt;
use std::time::Duration;

/// The device to use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Choice {
    /// A GPU if there is one, else the simulator.
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
                _ => Err(Error::Argument(format!("unknown device `{text}`; expected `auto`, `gpu`, `gpu:K` or `sim`"))),
            },
        }
    }
}

/// The checks of the simulator besides accesses out of bounds, which always end a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// No other checks, which is fastest.
    #[default]
    Bounds,
    /// These checkers.
    On(Checkers),
}

/// Checkers that cost time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checkers {
    /// The enabled checkers, by the names of [`CHECKERS`]. The fields below configure the race checker.
    pub on: ptx_sim::Checks,
    /// How the race checker interprets atomics without an ordering.
    pub atomics: Atomics,
    /// How the race checker treats same-value writes.
    pub same_value: SameValue,
    /// How the race checker interprets volatile accesses.
    pub volatile: Volatile,
}

impl Default for Checkers {
    /// Enables all checkers whose findings are mistakes.
    fn default() -> Self {
        Self {
            on: ptx_sim::Checks::DEFECTS,
            atomics: Atomics::default(),
            same_value: SameValue::default(),
            volatile: Volatile::default(),
        }
    }
}

/// How the race checker treats same-value writes to one address.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum SameValue {
    /// They are reported as races, as PTX and Rust define them.
    #[default]
    Report,
    /// They are ignored.
    Ignore,
}

impl std::str::FromStr for SameValue {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "report" => Ok(Self::Report),
            "ignore" => Ok(Self::Ignore),
            _ => Err(Error::Argument(format!(
                "unknown treatment of same-value writes `{text}`; expected `report` or `ignore`"
            ))),
        }
    }
}

impl fmt::Display for SameValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Report => "report",
            Self::Ignore => "ignore",
        })
    }
}

/// How the race checker interprets volatile accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Volatile {
    /// They are strong accesses, as PTX defines them.
    #[default]
    Strong,
    /// They are ordinary accesses, as C++ defines them, and race.
    Weak,
}

impl std::str::FromStr for Volatile {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "strong" => Ok(Self::Strong),
            "weak" => Ok(Self::Weak),
            _ => Err(Error::Argument(format!(
                "unknown interpretation of volatile accesses `{text}`; expected `strong` or `weak`"
            ))),
        }
    }
}

impl fmt::Display for Volatile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Strong => "strong",
            Self::Weak => "weak",
        })
    }
}

/// How the race checker interprets atomics without an ordering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Atomics {
    /// `Source` for PTX written by LLVM, which drops the source's ordering; else `Ptx`.
    #[default]
    Auto,
    /// They are read as acquire and release.
    Source,
    /// They are read as relaxed, which is their meaning in PTX.
    Ptx,
}

impl std::str::FromStr for Atomics {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "source" => Ok(Self::Source),
            "ptx" => Ok(Self::Ptx),
            _ => Err(Error::Argument(format!(
                "unknown interpretation of atomics `{text}`; expected `auto`, `source` or `ptx`"
            ))),
        }
    }
}

impl fmt::Display for Atomics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Auto => "auto",
            Self::Source => "source",
            Self::Ptx => "ptx",
        })
    }
}

/// Options of the simulator, which a GPU does not have.
#[derive(Clone, Debug, Default)]
pub struct Simulation {
    /// Seed of the schedule; `None` for the default schedule.
    pub seed: Option<u64>,
    /// The device to simulate: name of a built-in profile, or path of a file.
    pub profile: Option<String>,
    /// Number of host threads; `None` for one per processor. Race checks and seeds use one.
    pub workers: Option<u32>,
    /// Limit on the warp instructions of a launch, after which it is a fault; `None` for no limit.
    pub fuel: Option<u64>,
    /// Limit on the time of a launch, after which it is a fault; `None` for no limit.
    pub timeout: Option<Duration>,
    /// Whether launches go on after a faulty access to memory, which is a finding then.
    pub keep_going: bool,
}

/// Destination of the text that simulated kernels print; a GPU's driver always prints to standard output.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Printed {
    /// Standard output, as on a GPU.
    #[default]
    Stdout,
    /// Standard error, for commands whose standard output is read by programs.
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
