//! `host FAMILY --stream`: files that are read in chunks, of any size.

use super::exit::{CLEAN, WRONG};
use super::{device, family, output};
use clap::{Arg, ArgAction, ArgMatches, Command};
use indicatif::{ProgressBar, ProgressStyle};
use ladders::error::{Error, Result};
use ladders::input::{self, size};
use ladders::kernels::{BEST, Family};
use ladders::streamed::{self, Events, Place, Progress, Request};
use rustwarp::backend::{Checks, DeviceInfo, human, require_host_memory};
use rustwarp::diagnostic::note;
use rustwarp::{Device, Group};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How the input is streamed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Options {
    /// Bytes of a chunk.
    chunk: Option<u64>,
    /// Whether the result is not compared.
    unverified: bool,
}

/// Options that choose kernels or launches, which a streamed run does not have.
const NOT_HERE: [&str; 9] = ["n", "shape", "seed", "block", "grid", "ptx", "arch", "repeat", "plot"];

/// Adds the options to a family's command, if it can be streamed.
pub(super) fn command(family: &Family, command: Command) -> Command {
    if !streamed::streams(family) {
        return command;
    }
    let flag = |name: &'static str| Arg::new(name).long(name).action(ArgAction::SetTrue);
    command
        .arg(flag("stream").requires("input").help(
            "Read .npy files or raw elements in chunks while the device works on them: for inputs larger than its \
             memory. .npy files that do not fit are always read so",
        ))
        .arg(
            Arg::new("chunk").long("chunk").value_name("BYTES").requires("stream").value_parser(size::parse).help(
                "Bytes of a chunk with --stream: 256M, 2^26 [default: 64M, or less on a device with little memory]",
            ),
        )
        .arg(flag("no-verify").requires("stream").help("With --stream: do not compute a reference"))
}

/// How to stream, if that was requested or the input does not fit.
pub(super) fn chosen(family: &Family, options: &family::Options, matches: &ArgMatches) -> Result<Option<Options>> {
    if !streamed::streams(family) {
        // Products of narrow types are those of another family, under the name of one that has the option.
        return match matches.try_get_one::<bool>("stream") {
            Ok(Some(true)) => Err(Error::Usage("--stream multiplies f32 and f64: leave it or --dtype out".to_owned())),
            _ => Ok(None),
        };
    }
    if !matches.get_flag("stream") {
        let reason = too_large(family, options)?;
        return Ok(reason.map(|reason| {
            note(format_args!("{reason}: it is read in chunks, by the variant `{BEST}`"));
            Options::default()
        }));
    }
    if !["all", BEST].contains(&options.variant.as_str()) {
        let text = format!("--stream runs the variant `{BEST}`, not `{}`: leave --variant out", options.variant);
        return Err(Error::Usage(text));
    }
    if let Some(option) = NOT_HERE.into_iter().find(|option| family::is_typed(matches, option)) {
        return Err(Error::Usage(format!("--{option} has no meaning with --stream: leave one of them out")));
    }
    let (chunk, unverified) = (matches.get_one::<u64>("chunk").copied(), matches.get_flag("no-verify"));
    Ok(Some(Options { chunk, unverified }))
}

/// Why `.npy` files do not fit in the memory of this machine or of the device; `None` if they fit, or another reason
/// prevents streaming.
fn too_large(family: &Family, options: &family::Options) -> Result<Option<String>> {
    /// Bytes below which every device has room.
    const SMALL: u64 = 1 << 30;

    let paths = &options.data.input;
    let is_npy = |path: &PathBuf| path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("npy"));
    let any = ["all", BEST].contains(&options.variant.as_str()) && options.block.is_none() && options.grid.is_none();
    let bytes = paths.iter().map(|path| path.metadata().map_or(0, |about| about.len())).fold(0, u64::saturating_add);
    if !paths.iter().all(is_npy) || !any || options.ptx.ptx.is_some() || options.ptx.arch.is_some() {
        return Ok(None);
    }
    // Files that cannot be streamed are judged by the run that loads them.
    let request = request(family, options, family.op(options.op.as_deref())?, Options::default());
    let Ok(inputs) = streamed::open(&request) else { return Ok(None) };
    let needed = inputs.bytes().saturating_add(inputs.result_bytes(&request));
    if needed < SMALL {
        return Ok(None);
    }
    let names: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
    let names = names.join(" and ");
    // A file is read, and then converted; the result comes back.
    let of_host = bytes.saturating_mul(2).saturating_add(inputs.result_bytes(&request));
    if let Err(error) = require_host_memory(of_host, &format!("loading {names}"), "") {
        return Ok(Some(error.to_string().trim_end_matches(": ").to_owned()));
    }
    let info = device::info(options.device.device)?;
    let reason = beyond_device(needed, device::room(options.device.device, &info)?, &info);
    Ok(reason.map(|reason| format!("the work on {names} {reason}")))
}

/// Why operands and result of this size do not fit in the room that a device has.
fn beyond_device(needed: u64, room: u64, info: &DeviceInfo) -> Option<String> {
    let text = || format!("needs {} of device memory, and {} has room for {}", human(needed), info.device, human(room));
    (needed > room).then(text)
}

/// Runs the family on the device that the options name.
pub(super) fn run(family: &Family, options: &family::Options, how: Options) -> anyhow::Result<u8> {
    run_where(family, options, how, || {
        let backend = device::open(options.device.device, Checks::Bounds, options.json.printed())?;
        Ok(On::Device(Device::new(backend)))
    })
}

/// Runs the family on a group of devices, of which each reads a range of the file.
pub(super) fn run_on_group(
    family: &Family,
    options: &family::Options,
    how: Options,
    group: impl FnOnce() -> Result<Group>,
) -> anyhow::Result<u8> {
    run_where(family, options, how, || {
        let group = group()?;
        if group.ranks().len() < group.size() {
            refuse_in_processes(options, how)?;
        }
        Ok(On::Group(group))
    })
}

/// Rejects what ranks cannot do that each read a range of the file in a process of their own.
///
/// # Errors
/// [`Error::Usage`] with what to leave out or to add.
fn refuse_in_processes(options: &family::Options, how: Options) -> Result<()> {
    let files = options.output.is_some() || matches!(options.json.json, Some(Some(_))) || options.json.plot.is_some();
    let text = match (how.unverified, files) {
        (false, _) => "a rank reads its range of the file alone: with --stream in several processes, add --no-verify",
        (true, true) => {
            "--stream in several processes writes no files: leave --output, --plot and the FILE of --json out"
        }
        (true, false) => return Ok(()),
    };
    Err(Error::Usage(text.to_owned()))
}

/// The devices of a run.
enum On {
    Device(Device),
    Group(Group),
}

fn run_where(
    family: &Family,
    options: &family::Options,
    how: Options,
    open: impl FnOnce() -> Result<On>,
) -> anyhow::Result<u8> {
    let mut report = output::Report::new(&options.json);
    let result = stream(family, options, how, open, &mut report);
    let (clean, right) = report.finish(result)?;
    Ok(if clean || how.unverified && right { CLEAN } else { WRONG })
}

fn request<'a>(family: &'a Family, options: &'a family::Options, op: &'static str, how: Options) -> Request<'a> {
    Request {
        family,
        op,
        dtype: options.data.dtype,
        inputs: &options.data.input,
        settings: &options.settings,
        chunk: how.chunk,
        verify: !how.unverified,
        output: options.output.as_deref().filter(|_| streamed::writes(family)),
    }
}

/// Streams the files, and adds the row. Returns whether no result is wrong.
fn stream(
    family: &Family,
    options: &family::Options,
    how: Options,
    open: impl FnOnce() -> Result<On>,
    report: &mut output::Report,
) -> Result<bool> {
    let op = family.op(options.op.as_deref())?;
    if let Some(path) = &options.output {
        if streamed::writes(family) && path.extension().is_none_or(|extension| !extension.eq_ignore_ascii_case("npy")) {
            let text = format!("--stream writes a result as .npy, which {} is not: change the name", path.display());
            return Err(Error::Usage(text));
        }
        family::require_output(family, path, 1)?;
    }
    options.json.require_writable()?;
    let request = request(family, options, op, how);
    let inputs = streamed::open(&request)?;
    let on = open()?;
    let (place, first) = match &on {
        On::Device(device) => (Place::Device(device), true),
        On::Group(group) => (Place::Group(group), group.ranks().contains(&0)),
    };
    let bar = bar(inputs.bytes());
    let begun = |path: &Path| report.unfinished(path);
    let progress = |progress: Progress| {
        // More than the files have where they are read several times.
        bar.set_length(progress.total);
        bar.set_position(progress.done);
    };
    let outcome = streamed::run(place, &request, &inputs, &Events { begun: &begun, progress: &progress });
    bar.finish_and_clear();
    if let Err(Error::Fault(fault)) = &outcome {
        report.fault(family.name, fault);
    }
    let (mut row, result) = outcome?;
    if !first {
        return Ok(true);
    }
    let right = row.verified != Some(false);
    if let (Some(true), Some(compared)) = (row.verified, inputs.sampled(&request)) {
        note(format_args!("{compared} of the {} elements of the product were compared", row.results));
    }
    let mut written = Ok(());
    if let (true, Some(path), Some(result)) = (right, &options.output, &result) {
        written = input::write(path, result);
        row.output = written.is_ok().then(|| path.clone());
    }
    report.add(row);
    written?;
    if let Some(values) = result.as_ref().and_then(family::few) {
        report.values(values);
    }
    Ok(right)
}

/// A progress bar of bytes on standard error, shown on a terminal only.
fn bar(bytes: u64) -> ProgressBar {
    let bar = ProgressBar::new(bytes);
    let template = "{spinner} {bytes}/{total_bytes} {bar:30} {bytes_per_sec} {eta} left";
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_fit_is_said_with_both_sizes() {
        let mut info = rustwarp::backend::simulator();
        info.memory = 4 << 30;
        let room = device::room(rustwarp::backend::Choice::Sim, &info).expect("the simulator's");
        assert_eq!((room, beyond_device(2 << 30, room, &info)), (2 << 30, None));
        let reason = beyond_device(3 << 30, room, &info).expect("a reason");
        assert_eq!(reason, "needs 3.0 GiB of device memory, and sim has room for 2.0 GiB");
    }
}
