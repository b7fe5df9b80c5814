//! `host FAMILY`: one family's variants on one input, verified and timed.

use super::describe::describe;
use super::exit::{CLEAN, WRONG};
use super::{device, narrow, number, operands, output, simulation};
use clap::parser::ValueSource;
use clap::{Arg, ArgAction, ArgMatches, Command, FromArgMatches};
use indicatif::{ProgressBar, ProgressStyle};
use ladders::bench::{Cache, Plan};
use ladders::error::{Error, Result};
use ladders::input;
use ladders::kernels::settings::{self, Kind, Number, Range};
use ladders::kernels::{Family, Job, Problem, Resolved, Row, RungId, Settings};
use rustwarp::backend::{Backend, Checks, Choice};
use rustwarp::diagnostic::{Diagnostic, note};
use rustwarp::element::{Dtype, Scalar};
use rustwarp::tensor::Tensor;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Variants, separated by commas, or best, or all
    #[arg(long, default_value = "all")]
    pub variant: String,
    /// The operation, such as sum, max or min [default: the family's first]
    #[arg(long)]
    pub op: Option<String>,
    #[command(flatten)]
    pub data: operands::Options,
    /// Threads per block
    #[arg(long, value_parser = number::positive::<u32>)]
    pub block: Option<u32>,
    /// Blocks, for variants that take any grid
    #[arg(long, value_parser = number::positive::<u32>)]
    pub grid: Option<u32>,
    #[command(flatten)]
    pub device: device::Options,
    #[command(flatten)]
    pub ptx: device::PtxOptions,
    #[command(flatten)]
    pub timing: Timing,
    /// Write the result of the one variant named by --variant, if it is verified, as the name says: .npy, .csv, .txt,
    /// .json, .bin (raw elements), or .png and .jpg for a picture
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub json: output::Options,
    /// The family's own options; see [`command`].
    #[arg(skip)]
    pub settings: Settings,
}

/// Adds the family's own options to its command.
pub(super) fn command(family: &Family, command: Command) -> Command {
    let command = narrow::command(family, describe(family, command));
    command.args(family.settings.iter().map(|setting| {
        let mut arg = Arg::new(setting.name).long(setting.name).help(setting.help);
        if setting.generated {
            arg = arg.conflicts_with("input");
        }
        // Either the whole shape along x is given, or each axis.
        if let Some(whole) = ["block", "grid"].into_iter().find(|whole| is_axis_of(setting.name, whole)) {
            arg = arg.conflicts_with(whole);
        }
        match setting.kind {
            Kind::Flag => arg.action(ArgAction::SetTrue),
            Kind::Number(Number { default, .. }) => {
                arg.value_name("N").help(format!("{}; default {default}", setting.help))
            }
            Kind::Choice(settings::Choice(choices)) => {
                arg.value_parser(clap::builder::PossibleValuesParser::new(choices))
            }
            Kind::Range(Range { default: (low, high) }) => arg
                .value_name("LOW:HIGH")
                .allow_hyphen_values(true)
                .help(format!("{}; default {low}:{high}", setting.help)),
        }
    }))
}

/// Whether `setting` is an axis of `whole`, as `block-x` of `block`.
pub(super) fn is_axis_of(setting: &str, whole: &str) -> bool {
    setting.strip_prefix(whole).is_some_and(|axis| axis.starts_with('-'))
}

/// Whether the option was given on the command line.
pub(super) fn is_typed(matches: &ArgMatches, option: &str) -> bool {
    matches.value_source(option) == Some(ValueSource::CommandLine)
}

/// Converts the matches of [`command`] to options.
pub(super) fn parse(family: &Family, matches: &ArgMatches) -> Result<Options> {
    // clap has checked the arguments against the same definition.
    let mut options = Options::from_arg_matches(matches).map_err(|error| Error::Usage(error.to_string()))?;
    if family.operands.is_empty() {
        let about_data = ["input", "n", "shape", "seed"];
        if let Some(option) = about_data.into_iter().find(|option| is_typed(matches, option)) {
            return Err(Error::Usage(format!("{} has no operands: leave --{option} out", family.name)));
        }
    }
    let mut given = Vec::new();
    for setting in family.settings {
        match setting.kind {
            Kind::Flag if matches.get_flag(setting.name) => given.push((setting.name, "")),
            Kind::Flag => {}
            _ => given.extend(matches.get_one::<String>(setting.name).map(|text| (setting.name, text.as_str()))),
        }
    }
    options.settings = Settings::new(family.settings, given)?;
    options.variant = narrow::variant(family, matches, options.variant)?;
    Ok(options)
}

/// Options for timing.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Timing {
    /// Samples per variant on a GPU
    #[arg(long, default_value_t = 21, value_parser = number::any::<u32>)]
    pub repeat: u32,
    /// Do not flush the L2 cache before each sample
    #[arg(long)]
    pub warm: bool,
}

impl Timing {
    /// The requested state of the cache.
    pub fn cache(&self) -> Cache {
        if self.warm { Cache::Warm } else { Cache::Cold }
    }
}

/// Runs the family on the device that the options name.
pub(super) fn run(family: &Family, options: &Options) -> anyhow::Result<u8> {
    let (device, simulation) = (options.device.device, simulation::Options::default());
    let mut report = output::Report::new(&options.json);
    let result = run_on(family, options, device, Checks::Bounds, &simulation, &mut report, &mut Vec::new());
    let (clean, ()) = report.finish(result)?;
    Ok(if clean { CLEAN } else { WRONG })
}

/// Runs the family on `device`, and adds findings to `found`.
pub(super) fn run_on(
    family: &Family,
    options: &Options,
    choice: Choice,
    checks: Checks,
    how: &simulation::Options,
    report: &mut output::Report,
    found: &mut Vec<Diagnostic>,
) -> Result<()> {
    let op = family.op(options.op.as_deref())?;
    let variants = family.select(&options.variant)?;
    // Wrong options are errors before a device is opened and data is generated.
    for variant in &variants {
        family.info(*variant).block.choose(options.block, variant.name, u32::MAX)?;
    }
    if let Some(path) = &options.output {
        require_output(family, path, variants.len())?;
    }
    options.json.require_writable()?;
    // The files are read first: a bad one is an error without a device.
    options.data.dtype.map_or(Ok(()), |dtype| family.require_kernel(dtype))?;
    let files = operands::read(family, &options.data)?;
    let device = device::open(choice, checks, options.json.printed())?;
    how.apply(&*device)?;
    let module = options.ptx.load(&*device, family)?;
    let inputs = operands::or_generated(family, &options.data, &options.settings, &*device, files)?;
    let problem = problem(family, op, &inputs, &options.settings)?;
    let ladder = family.resolve(&problem)?;
    let oracle = ladder.oracle(problem)?;
    note_left_out(&ladder, problem, &variants);

    let plan = Plan::new(&*device, options.timing.repeat, options.timing.cache())?;
    let job = Job {
        device: &*device,
        module,
        problem,
        oracle: &oracle,
        variants: &variants,
        block: options.block,
        grid: options.grid,
        plan: plan.as_ref(),
    };
    let progress = progress(variants.len());
    // The row that names the output file is added after the file has been written.
    let mut waiting = None;
    let result = ladder.run(&job, &mut |row| {
        progress.set_message(row.variant.clone());
        progress.inc(1);
        found.extend(row.diagnostics());
        match options.output {
            Some(_) => waiting = Some(row),
            None => progress.suspend(|| report.add(row)),
        }
    });
    progress.finish_and_clear();
    if let Err(Error::Fault(fault)) = &result {
        report.fault(family.name, fault);
        found.extend(device.observed().map(|observed| observed.findings).unwrap_or_default());
        found.push(fault.as_ref().clone());
    }
    let result = result?;
    if let (Some(mut row), Some(path)) = (waiting, &options.output) {
        let written = if row.is_clean() { input::write(path, &result).map(|()| Some(path.clone())) } else { Ok(None) };
        if let Ok(output) = &written {
            row.output.clone_from(output);
        }
        // A verified result is shown even if it cannot be written.
        report.add(row);
        written?;
    }
    if let Some(values) = few(&result) {
        report.values(values);
    }
    Ok(())
}

/// Checks that the output file can be written, before there is a result.
pub(super) fn require_output(family: &Family, path: &Path, variants: usize) -> Result<()> {
    if variants > 1 {
        let text = "--output writes the result of a single variant: choose one variant with --variant";
        return Err(Error::Usage(text.to_owned()));
    }
    if family.of_vectors {
        input::require_vector_format(path, &format!("the result of {}", family.name), None)?;
    } else {
        input::require_format(path)?;
    }
    input::require_writable(path)
}

/// The elements of an array that fits in one or two lines; a single element is in the table already.
pub(super) fn few(result: &Tensor) -> Option<String> {
    if !(2..=32).contains(&result.len()) {
        return None;
    }
    rustwarp::with_dtype!(result.dtype(), T => {
        let values = <T as Scalar>::view(result.data())?;
        let narrow = result.dtype() == Dtype::F32;
        Some(values.iter().map(|x| input::number(x.value(), narrow)).collect::<Vec<_>>().join(" "))
    }, else => None)
}

/// Runs variants once on a device that measures no times, and returns all rows in order.
pub(super) fn rows(family: &Family, options: &Options, device: &dyn Backend, variants: &[RungId]) -> Result<Vec<Row>> {
    let op = family.op(options.op.as_deref())?;
    options.data.dtype.map_or(Ok(()), |dtype| family.require_kernel(dtype))?;
    let files = operands::read(family, &options.data)?;
    let module = options.ptx.load(device, family)?;
    let inputs = operands::or_generated(family, &options.data, &options.settings, device, files)?;
    let problem = problem(family, op, &inputs, &options.settings)?;
    let ladder = family.resolve(&problem)?;
    let oracle = ladder.oracle(problem)?;
    note_left_out(&ladder, problem, variants);
    let (block, grid) = (options.block, options.grid);
    let job = Job { device, module, problem, oracle: &oracle, variants, block, grid, plan: None };
    let mut rows = Vec::new();
    let progress = progress(variants.len());
    let result = ladder.run(&job, &mut |row| {
        progress.set_message(row.variant.clone());
        progress.inc(1);
        rows.push(row);
    });
    progress.finish_and_clear();
    result.map(|_| rows)
}

/// Prints why variants are left out, if there are others that solve the problem.
pub(super) fn note_left_out(ladder: &Resolved, problem: Problem<'_>, variants: &[RungId]) {
    for variant in variants.iter().filter(|_| variants.len() > 1) {
        if let Some(why) = ladder.refusal(*variant, problem) {
            note(format_args!("`{}` is left out: it {why}", variant.name));
        }
    }
}

/// The problem with these operands.
pub(super) fn problem<'a>(
    family: &Family,
    op: &'a str,
    inputs: &'a [Tensor],
    settings: &'a Settings,
) -> Result<Problem<'a>> {
    let dtype = match inputs {
        [first, ..] => first.dtype(),
        [] => family.dtypes[0],
    };
    family.require_kernel(dtype)?;
    Ok(Problem { inputs, dtype, op, settings })
}

/// A progress bar on standard error, shown on a terminal only.
fn progress(len: usize) -> ProgressBar {
    let bar = ProgressBar::new(len as u64);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
