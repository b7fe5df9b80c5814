//! `host FAMILY --gpus N`: the family's problem on a group of devices, of this process or of the ranks of a launcher.

use super::exit::{CLEAN, WRONG};
use super::{family, operands, output, rank};
use clap::{ArgMatches, FromArgMatches};
use ladders::error::{Error, Result};
use ladders::kernels::{BEST, Family};
use ladders::{group, input};
use rustwarp::backend::{Choice, Handle, gpus};
use rustwarp::diagnostic::note;
use rustwarp::{Device, Group, Launcher};
use std::fmt;
use std::str::FromStr;

/// Options of the families that a group of devices solves.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Solve the problem on N GPUs, or on all, each of which has a part; with --device sim on N simulators. Under
    /// torchrun, mpirun or srun, each process is one of the N ranks
    #[arg(long, value_name = "N|all")]
    pub gpus: Option<Count>,
}

/// The value of `--gpus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    /// Every GPU of this machine, or every rank of the launcher.
    All,
    /// This number.
    Number(u32),
}

impl FromStr for Count {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Self, String> {
        match text.parse() {
            _ if text == "all" => Ok(Self::All),
            Ok(number) if number > 0 => Ok(Self::Number(number)),
            _ => Err("write a number from 1, or all".to_owned()),
        }
    }
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::All => f.write_str("all"),
            Self::Number(number) => number.fmt(f),
        }
    }
}

/// What the command line and the launcher request.
#[derive(Debug)]
pub(super) struct Requested {
    count: Count,
    /// The place of this process, if a launcher has started it.
    launcher: Option<Launcher>,
}

/// The group to solve the family's problem on, if the command line has `--gpus`.
pub(super) fn requested(family: &Family, matches: &ArgMatches) -> Result<Option<Requested>> {
    if !matches.try_contains_id("gpus").unwrap_or(false) {
        return Ok(None);
    }
    // clap has checked the arguments against the same definition.
    let options = Options::from_arg_matches(matches).map_err(|error| Error::Usage(error.to_string()))?;
    let Some(count) = options.gpus else { return Ok(None) };
    let launcher = Launcher::from_environment()?;
    launcher.iter().for_each(|launcher| rank::set(launcher.rank));
    group::solver(family)?;
    if let Some(option) = ["block", "grid", "ptx", "arch"].into_iter().find(|name| family::is_typed(matches, name)) {
        return Err(Error::Usage(format!("--gpus runs the library's `{BEST}`: leave --{option} out")));
    }
    let variant = matches.get_one::<String>("variant").filter(|_| family::is_typed(matches, "variant"));
    if let Some(variant) = variant.filter(|variant| *variant != BEST) {
        return Err(Error::Usage(format!("--gpus runs the library's `{BEST}`: leave --variant {variant} out")));
    }
    Ok(Some(Requested { count, launcher }))
}

/// Runs the family on the group. The first rank prints and writes the result.
pub(super) fn run(family: &Family, options: &family::Options, requested: &Requested) -> anyhow::Result<u8> {
    let op = family.op(options.op.as_deref())?;
    options.data.dtype.map_or(Ok(()), |dtype| group::require_kernel(family, dtype))?;
    let choice = options.device.device;
    if let Choice::Gpu(number @ 1..) = choice {
        return Err(Error::Usage(format!("--device gpu:{number} is one device: use --device gpu with --gpus")).into());
    }
    // The files are read first: a bad one is an error without a device, on every rank.
    let files = operands::read(family, &options.data)?;
    let group = open(requested.count, choice, requested.launcher.as_ref())?;
    let first = group.ranks().contains(&0);
    if first {
        let why = match (choice, group.devices().next()) {
            (Choice::Auto, Some(device)) if !device.info().is_gpu() => {
                gpus().map_or_else(|error| format!(": {error}"), |_| ": the driver finds no GPU".to_owned())
            }
            _ => String::new(),
        };
        note(format_args!("using {}{why}", group::described(&group)));
        options.output.iter().try_for_each(|path| family::require_output(family, path, 1))?;
        options.json.require_writable()?;
    }
    let device = group.devices().next().ok_or_else(|| Error::Usage("a group without devices".to_owned()))?;
    let inputs = operands::or_generated(family, &options.data, &options.settings, device.backend(), files)?;
    let problem = family::problem(family, op, &inputs, &options.settings)?;
    let solve = || group::run(&group, family, problem, options.timing.repeat);
    if !first {
        solve()?;
        return Ok(CLEAN);
    }
    let mut report = output::Report::new(&options.json);
    let result = solve();
    if let Err(Error::Fault(fault)) = &result {
        report.fault(family.name, fault);
    }
    let result = result.and_then(|solved| {
        let Some((mut row, result)) = solved else { return Ok(()) };
        let path = options.output.as_ref().filter(|_| row.is_clean());
        let written = path.map_or(Ok(()), |path| input::write(path, &result));
        row.output = path.filter(|_| written.is_ok()).cloned();
        // A verified result is shown even if it cannot be written.
        report.add(row);
        if let Some(values) = family::few(&result) {
            report.values(values);
        }
        written
    });
    let (clean, ()) = report.finish(result)?;
    Ok(if clean { CLEAN } else { WRONG })
}

/// Opens the requested group.
pub(super) fn opened(options: &family::Options, requested: &Requested) -> Result<Group> {
    open(requested.count, options.device.device, requested.launcher.as_ref())
}

/// The group: the devices of this process, or this process among the ranks of a launcher.
fn open(count: Count, choice: Choice, launcher: Option<&Launcher>) -> Result<Group> {
    let with_gpus = match choice {
        Choice::Sim => false,
        Choice::Gpu(_) => true,
        // `auto`, and what may follow.
        _ => gpus().is_ok_and(|gpus| !gpus.is_empty()),
    };
    let Some(launcher) = launcher else {
        return Ok(match (count, with_gpus) {
            (Count::All, true) => Group::all(),
            (Count::Number(number), true) => Group::gpus(number),
            (Count::Number(number), false) => Group::simulated(number as usize),
            (Count::All, false) => {
                let text = "--gpus all: there are as many simulators as are asked for: use --gpus N";
                return Err(Error::Usage(text.to_owned()));
            }
        }?);
    };
    if let Count::Number(number) = count
        && number as usize != launcher.size
    {
        let text = format!("--gpus {number}: the launcher has started {} ranks: use --gpus all", launcher.size);
        return Err(Error::Usage(text));
    }
    let device = match with_gpus {
        true => u32::try_from(launcher.local_rank).map_or_else(|_| Device::gpu(u32::MAX), Device::gpu)?,
        false => Device::sim()?,
    };
    Ok(Group::join(device, launcher)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_number_or_all() {
        assert_eq!(("all".parse(), "4".parse()), (Ok(Count::All), Ok(Count::Number(4))));
        for text in ["", "0", "-1", "two", "ALL", "4294967296"] {
            assert!(text.parse::<Count>().is_err(), "{text}");
        }
    }
}
