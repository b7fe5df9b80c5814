//! `host run FILE.ptx`: launches an entry of any PTX file.

use super::exit::{CLEAN, WRONG};
use super::output::printed;
use super::{device, launch, simulation};
use crate::sarif;
use ladders::error::Error;
use rustwarp::backend::Checks;
use rustwarp::ptx::Image;
use std::path::PathBuf;

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// The PTX file (or, on a GPU, a cubin)
    file: PathBuf,
    #[command(flatten)]
    launch: launch::Options,
    #[command(flatten)]
    device: device::Options,
    #[command(flatten)]
    simulation: simulation::Options,
    #[command(flatten)]
    show: launch::Show,
}

/// Launches the entry; on the simulator the counters follow.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let image = Image::read(&options.file)?;
    options.simulation.require_writable()?;
    let device = device::open(options.device.device, Checks::Bounds, printed(options.show.json))?;
    let mut found = Vec::new();
    let result = launch::run(&*device, &image, &options.launch, &options.simulation, options.show, &mut found);
    let ran = result.as_ref().err().is_none_or(|error| matches!(error.downcast_ref(), Some(Error::Fault(_))));
    if let Some(path) = options.simulation.sarif().filter(|_| ran) {
        sarif::write(path, &found)?;
    }
    Ok(if result? { CLEAN } else { WRONG })
}
