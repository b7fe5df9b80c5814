//! `host check`: a family, or an entry of any PTX file, on the simulator with every checker on.

use super::{CLEAN, WRONG, device, family, launch, output};
use crate::backend::{Atomics, Checks, Choice};
use crate::error::Error;
use crate::kernels::{self, FAMILIES};
use crate::ptx::Image;
use clap::{Args, Command, FromArgMatches};
use std::path::Path;

/// Options of the subcommand: those of the family, or those of `run`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// What atomics without a memory order are for the race checker: source (acquire and release), ptx (relaxed), or auto:
    /// source for PTX by LLVM, which drops the order that the source has
    #[arg(long, default_value = "auto", value_parser = str::parse::<Atomics>)]
    atomics: Atomics,
    /// A family or a PTX file, then the options of `host FAMILY` or `host run`: `host check FAMILY --help` shows them
    // One list, so that whatever follows the target is the target's, `--help` included.
    #[arg(required = true, value_name = "TARGET", trailing_var_arg = true, allow_hyphen_values = true)]
    target: Vec<String>,
}

/// Exit code 0 says that nothing was found and every result is right.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let checks = Checks::All(options.atomics);
    // clap insists on the first.
    let (target, options) = options.target.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    if let Some(found) = kernels::family(target) {
        let command = family::command(found, command::<family::Options>(target, found.idea));
        let parsed = family::parse(found, &command.get_matches_from(options))?;
        if let Choice::Gpu(_) = parsed.device.device {
            let text = "check runs on the simulator, and a GPU has no checkers: leave --device out";
            return Err(Error::Usage(text.to_owned()).into());
        }
        let code = family::run_on(found, &parsed, Choice::Sim, checks)?;
        return Ok(close(code == CLEAN, parsed.json.to_stdout()));
    }
    let path = Path::new(target);
    if path.extension().is_none_or(|extension| extension != "ptx") && !path.exists() {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        let text = format!("'{target}' is no family and no PTX file; families: {}", names.join(" "));
        return Err(Error::Usage(text).into());
    }
    let command = command::<PtxOptions>(target, "Launch an entry on the simulator, every checker on");
    let parsed = PtxOptions::from_arg_matches(&command.get_matches_from(options))
        .map_err(|error| Error::Usage(error.to_string()))?;
    let image = Image::read(path)?;
    let device = device::open(Choice::Sim, checks, output::printed(parsed.show.json))?;
    Ok(close(launch::run(&*device, &image, &parsed.launch, parsed.show)?, parsed.show.json))
}

/// Silence would not be success: says that nothing was found, and gives the exit code.
fn close(clean: bool, json: bool) -> u8 {
    if clean && !json {
        eprintln!("clean: no checker found anything");
    }
    if clean { CLEAN } else { WRONG }
}

/// What follows the name of a PTX file.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct PtxOptions {
    #[command(flatten)]
    launch: launch::Options,
    #[command(flatten)]
    show: launch::Show,
}

/// What the target's options belong to. clap prints help and usage errors itself, and ends the process with 0 or 2.
fn command<T: Args>(target: &str, about: &'static str) -> Command {
    let command = T::augment_args(Command::new("check").bin_name(format!("host check {target}")).no_binary_name(true));
    // The options' own doc comment is for readers of the code.
    command.about(about).long_about(about)
}
