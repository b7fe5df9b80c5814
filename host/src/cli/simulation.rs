//! Options of the simulator, for every command that may use it.

use super::number;
use ladders::error::{Error, Result};
use ladders::input;
use rustwarp::backend::{Backend, Simulation};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options that a GPU does not have.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Simulate under N schedules, and show each finding once, with the first seed that shows it
    #[arg(long, value_name = "N", value_parser = number::positive::<u64>)]
    pub seeds: Option<u64>,
    /// Simulate this device: a profile's name (h200, a100, rtx-3050-laptop, …), or a TOML file with a profile
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// Threads of this machine to simulate with; race checks and --seeds always use one [default: one per processor]
    #[arg(long, value_name = "N", value_parser = number::positive::<u32>)]
    pub workers: Option<u32>,
    /// Stop a launch after N warp instructions, as a fault, so that a kernel that loops forever ends
    #[arg(long, value_name = "N", value_parser = number::positive::<u64>)]
    pub fuel: Option<u64>,
    /// Stop a launch after N seconds, as a fault
    #[arg(long, value_name = "SECONDS", value_parser = number::positive::<u64>)]
    pub timeout: Option<u64>,
    /// Report a faulty access to memory and go on: a load gives 0, a write has no effect
    #[arg(long)]
    pub keep_going: bool,
    /// Write the findings as SARIF 2.1.0, which CI systems show on a pull request; also if there are none
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
}

impl Options {
    /// These options, completed by `others`.
    pub fn or(self, others: Self) -> Self {
        Self {
            seeds: self.seeds.or(others.seeds),
            profile: self.profile.or(others.profile),
            workers: self.workers.or(others.workers),
            fuel: self.fuel.or(others.fuel),
            timeout: self.timeout.or(others.timeout),
            keep_going: self.keep_going || others.keep_going,
            sarif: self.sarif.or(others.sarif),
        }
    }

    /// Sets the options on the device; does nothing if none was given.
    pub fn apply(&self, device: &dyn Backend) -> Result<()> {
        if self.sarif.is_some() && device.info().is_gpu() {
            return Err(Error::Usage("--sarif needs the simulator's checks: add --device sim".to_owned()));
        }
        let no_limits = self.workers.is_none() && self.fuel.is_none() && self.timeout.is_none();
        if self.seeds.is_none() && self.profile.is_none() && no_limits && !self.keep_going {
            return Ok(());
        }
        if device.info().is_gpu() {
            let text = "--seeds, --profile, --workers, --fuel, --timeout and --keep-going are options of the \
                simulator: add --device sim";
            return Err(Error::Usage(text.to_owned()));
        }
        Ok(device.simulate(&self.with_seed(None))?)
    }

    /// The options for one schedule.
    pub fn with_seed(&self, seed: Option<u64>) -> Simulation {
        let (profile, keep_going) = (self.profile.clone(), self.keep_going);
        let timeout = self.timeout.map(Duration::from_secs);
        Simulation { seed, profile, workers: self.workers, fuel: self.fuel, timeout, keep_going }
    }

    /// Checks that the file can be written, before there are findings.
    pub fn require_writable(&self) -> Result<()> {
        self.sarif().map_or(Ok(()), input::require_writable)
    }

    /// Path of the SARIF file.
    pub fn sarif(&self) -> Option<&Path> {
        self.sarif.as_deref()
    }
}
