//! `host run FILE.ptx`: launches an entry of any PTX file.

use super::output::printed;
use super::{CLEAN, WRONG, device, launch};
use crate::backend::Checks;
use crate::ptx::Image;
use std::path::PathBuf;

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// The PTX file (on a GPU, a cubin will do)
    file: PathBuf,
    #[command(flatten)]
    launch: launch::Options,
    #[command(flatten)]
    device: device::Options,
    #[command(flatten)]
    show: launch::Show,
}

/// Launches it; on the simulator the counters follow.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let image = Image::read(&options.file)?;
    let device = device::open(options.device.device, Checks::Bounds, printed(options.show.json))?;
    Ok(if launch::run(&*device, &image, &options.launch, options.show)? { CLEAN } else { WRONG })
}
