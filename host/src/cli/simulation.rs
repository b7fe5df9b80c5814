//! How the simulator simulates: the options of every command that may use it.

use ladders::input;
use rustwarp::backend::{Backend, Simulation};
use rustwarp::error::{Error, Result};
use std::path::{Path, PathBuf};

/// What a GPU can't be told.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Simulate under N orders of events, and show each finding once, with the seed that shows it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub seeds: Option<u64>,
    /// Simulate this device: a profile's name (h200, a100, rtx-3050-laptop, …), or a TOML file with one
    #[arg(long, value_name = "NAME|FILE")]
    pub profile: Option<String>,
    /// Threads of this machine to simulate with; a check for races and --seeds always use one
    /// [default: as many as there are]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub workers: Option<u32>,
    /// Write what was found as SARIF 2.1.0, which CI systems show on a pull request; also when nothing was found
    #[arg(long, value_name = "FILE")]
    pub sarif: Option<PathBuf>,
}

impl Options {
    /// These, and where they leave something open the others.
    pub fn or(self, others: Self) -> Self {
        Self {
            seeds: self.seeds.or(others.seeds),
            profile: self.profile.or(others.profile),
            workers: self.workers.or(others.workers),
            sarif: self.sarif.or(others.sarif),
        }
    }

    /// Tells the device; nothing when nothing was asked for.
    pub fn apply(&self, device: &dyn Backend) -> Result<()> {
        if self.sarif.is_some() && device.info().is_gpu() {
            return Err(Error::Usage("--sarif needs the simulator's checks: add --device sim".to_owned()));
        }
        if self.seeds.is_none() && self.profile.is_none() && self.workers.is_none() {
            return Ok(());
        }
        device.simulate(&self.with_seed(None))
    }

    /// What the device is told for one order of events.
    pub fn with_seed(&self, seed: Option<u64>) -> Simulation {
        Simulation { seed, profile: self.profile.clone(), workers: self.workers }
    }

    /// Refuses a file that can't be written, before there is anything to write to it.
    pub fn require_writable(&self) -> Result<()> {
        self.sarif().map_or(Ok(()), input::require_writable)
    }

    /// Where the SARIF goes.
    pub fn sarif(&self) -> Option<&Path> {
        self.sarif.as_deref()
    }
}
