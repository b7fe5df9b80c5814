//! `--device`, and the PTX to load.

use super::stdout;
use ladders::error::Result;
use ladders::kernels::Family;
use rustwarp::backend::{self, Backend, Checks, Choice, DeviceInfo, Module, Printed};
use rustwarp::diagnostic::note;
use rustwarp::ptx::{self, Image};
use std::path::PathBuf;

/// Options of every command that launches something.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// auto (a GPU if there is one, else the simulator), gpu, gpu:K or sim
    #[arg(long, default_value = "auto", value_parser = str::parse::<Choice>)]
    pub device: Choice,
}

/// Opens the device, and reports on standard error which one it is.
pub(super) fn open(choice: Choice, checks: Checks, printed: Printed) -> Result<Box<dyn Backend>> {
    if printed == Printed::Stderr && choice != Choice::Sim {
        stdout::reserve()?;
    }
    let (device, text) = backend::open_printing(choice, checks, printed)?;
    match checks {
        Checks::Bounds => note(text),
        // The device was not requested: only the simulator has checkers.
        Checks::On(_) => note("using the simulator: check always does"),
    }
    Ok(device)
}

/// Properties of the device that [`open`] would open; those of the simulator if there is none.
pub(super) fn info(choice: Choice) -> Result<DeviceInfo> {
    let number = match choice {
        Choice::Sim => return Ok(backend::simulator()),
        Choice::Gpu(number) => number,
        // `auto`, and what may follow.
        _ => 0,
    };
    let gpus = match backend::gpus() {
        Err(rustwarp::Error::NoDevice(_)) => Vec::new(),
        gpus => gpus?,
    };
    Ok(gpus.into_iter().nth(number as usize).unwrap_or_else(backend::simulator))
}

/// Bytes of device memory that a run on the device of [`info`] can have: what other processes leave of a GPU's memory,
/// and half of a simulator's, whose contents are in this machine's memory twice.
pub(super) fn room(choice: Choice, info: &DeviceInfo) -> Result<u64> {
    if !info.is_gpu() {
        return Ok(info.memory / 2);
    }
    // Only an opened GPU says it; the run opens it again, for large inputs only.
    let (device, _) = backend::open(choice, Checks::Bounds)?;
    Ok(device.free_memory()?)
}

/// The source of a family's PTX.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct PtxOptions {
    /// Use this PTX file (or cubin, on a GPU) instead of the built one; its entries must have the same names and
    /// parameters
    #[arg(long, value_name = "FILE", conflicts_with = "arch")]
    pub ptx: Option<PathBuf>,
    /// Use the PTX built for this architecture instead of the best for the device, e.g. sm_75
    #[arg(long)]
    pub arch: Option<String>,
}

impl PtxOptions {
    /// Finds the kernels, and loads those of the family.
    ///
    /// # Errors
    /// Fails if the PTX is not found or cannot be read, or the device refuses it.
    pub fn load(&self, device: &dyn Backend, family: &Family) -> Result<Module> {
        let Some(path) = &self.ptx else {
            return Ok(ptx::load_family(device, "kernels-gpu", family.name, self.arch.as_deref())?);
        };
        let image = Image::read(path)?;
        Ok(device.load(&image.bytes, &image.path.display().to_string())?)
    }
}
