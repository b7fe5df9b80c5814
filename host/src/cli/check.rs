//! `host check`: a family, or an entry of any PTX file, on the simulator with every checker on.

use super::{CLEAN, WRONG, device, family, launch};
use crate::backend::{Checks, Choice};
use crate::error::Error;
use crate::kernels::{self, FAMILIES};
use crate::ptx::Image;
use clap::FromArgMatches;
use std::path::Path;

/// Options of the subcommand: those of the family, or those of `run`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// A family, or a PTX file
    target: String,
    /// The options of `host FAMILY`, or of `host run`; see there
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    options: Vec<String>,
}

/// Exit code 0 says that nothing was found and every result is right.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    if let Some(found) = kernels::family(&options.target) {
        let parsed: family::Options = parse(options)?;
        return family::run_on(found, &parsed, Choice::Sim, Checks::All);
    }
    let path = Path::new(&options.target);
    if path.extension().is_none_or(|extension| extension != "ptx") && !path.exists() {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        let text = format!("'{}' is no family and no PTX file; families: {}", options.target, names.join(" "));
        return Err(Error::Usage(text).into());
    }
    let parsed: PtxOptions = parse(options)?;
    let image = Image::read(path)?;
    let device = device::open(Choice::Sim, Checks::All)?;
    launch::launch(&*device, &image, &parsed.launch)?;
    let clean = launch::report(&*device, parsed.json)?;
    if clean && !parsed.json {
        eprintln!("clean: no checker found anything");
    }
    Ok(if clean { CLEAN } else { WRONG })
}

/// What follows the name of a PTX file.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct PtxOptions {
    #[command(flatten)]
    launch: launch::Options,
    /// What the simulator counted and found as one JSON object
    #[arg(long)]
    json: bool,
}

/// clap prints help and usage errors itself, and ends the process with 0 or 2.
fn parse<T: clap::Args + FromArgMatches>(options: &Options) -> Result<T, Error> {
    let name = format!("host check {}", options.target);
    let command = T::augment_args(clap::Command::new("check").bin_name(name.clone()).no_binary_name(true));
    T::from_arg_matches(&command.get_matches_from(&options.options)).map_err(|error| Error::Usage(error.to_string()))
}
