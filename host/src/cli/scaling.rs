//! `host scaling`: times of the same work on 1, 2, … GPUs, and a model's prediction for more.

use super::exit::{CLEAN, WRONG};
use super::group::Count;
use super::{ending, look, number, stdout};
use ladders::error::{Error, Result};
use ladders::group::model::{Model, Network};
use ladders::group::sample::{Load, Sample, Scaling, Subject, efficiency};
use ladders::group::scaling::{self, Request};
use ladders::input::{self, size};
use ladders::kernels::Role;
use ladders::plot::{self, Line, Panel};
use ladders::table::{Cell, Column, Grid, Tone};
use ladders::wrap::wrap;
use rustwarp::Launcher;
use rustwarp::backend::gpus;
use std::path::PathBuf;

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// What to measure: reduce (sum of f32), histogram (u8, 256 bins), scan (i32), matmul (f32, by rows), all-reduce,
    /// reduce-scatter, all-gather and broadcast (f32, 8 bytes to 4 GiB), copies of pinned memory to-device, to-host and
    /// both-ways [default: all]
    #[arg(value_parser = subject, value_name = "SUBJECT")]
    subjects: Vec<Subject>,
    /// The largest number of GPUs, or all
    #[arg(long, value_name = "N|all", default_value = "all")]
    gpus: Count,
    /// Elements: of each GPU in weak scaling, of all in strong scaling; bytes that each GPU copies in a direction
    #[arg(long, value_parser = size::parse, default_value = "2^30")]
    n: u64,
    /// Side of the matrices of matmul, whose rows the GPUs divide
    #[arg(long, value_parser = size::parse, default_value = "16384")]
    side: u64,
    /// Samples of each time
    #[arg(long, default_value_t = 11, value_parser = number::positive::<u32>)]
    repeat: u32,
    /// Read the times from a file that --json has written, instead of measuring them
    #[arg(long, value_name = "FILE", conflicts_with_all = ["gpus", "n", "side", "repeat", "json"])]
    from: Option<PathBuf>,
    /// Predict for hosts of this many GPUs
    #[arg(long, value_name = "N", default_value_t = 8, value_parser = number::positive::<u32>)]
    gpus_per_host: u32,
    /// Predict for a network with this bandwidth of each GPU in GB/s (50: InfiniBand of 400 Gbit/s)
    #[arg(long, value_name = "GB/s", default_value_t = 50.0, value_parser = positive)]
    network: f64,
    /// Predict for a network with this latency of a step in microseconds
    #[arg(long, value_name = "US", default_value_t = 5.0, value_parser = positive)]
    network_latency: f64,
    /// Print one JSON object per time instead of the tables; with FILE, write the objects there and print the tables
    /// too
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    json: Option<Option<PathBuf>>,
    /// Plot the efficiency over the number of GPUs, measured and predicted, as SVG
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn subject(text: &str) -> std::result::Result<Subject, String> {
    let names: Vec<_> = Subject::ALL.iter().map(|subject| subject.name()).collect();
    Subject::named(text).ok_or_else(|| format!("there are: {}", names.join(" ")))
}

fn positive(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| *number > 0.0 && number.is_finite());
    number.ok_or_else(|| "write a number above 0".to_owned())
}

/// Columns of sentences that are not written to a terminal.
const COLUMNS: usize = 120;

/// Where the columns are that a table leaves out on a narrow terminal.
const ALL: &str = "a wider terminal or COLUMNS=N shows all";

/// Measures or reads the times, and prints tables and the model.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let is_svg = |path| ending::require("--plot", path, "plots are written as SVG", &["svg"]);
    options.plot.as_deref().map_or(Ok(()), is_svg)?;
    options.json.iter().flatten().chain(&options.plot).try_for_each(|path| input::require_writable(path))?;
    let samples = match &options.from {
        Some(path) => read(path, &options.subjects)?,
        None => measured(options)?,
    };
    if let Some(Some(path)) = &options.json {
        let lines = samples.iter().map(|sample| Ok(object(sample)? + "\n")).collect::<Result<String>>()?;
        input::write_text(path, &lines)?;
    }
    if !matches!(options.json, Some(None)) {
        let network = options.network();
        let text = [table(&samples), predictions(&samples, &network)].join("\n\n");
        stdout::line(&text)?;
    }
    if let Some(path) = &options.plot {
        input::write_text(path, &plot::svg(&panels(&samples, &options.network()))?)?;
    }
    Ok(if samples.iter().all(|sample| sample.verified) { CLEAN } else { WRONG })
}

impl Options {
    fn network(&self) -> Network {
        Network { gpus_per_host: self.gpus_per_host, gbps: self.network, latency_us: self.network_latency }
    }
}

/// Measures the times on the GPUs of this process. JSON lines are printed as they are there.
fn measured(options: &Options) -> Result<Vec<Sample>> {
    if Launcher::from_environment()?.is_some() {
        let text = "scaling measures the GPUs of one process: start it once, without a launcher";
        return Err(Error::Usage(text.to_owned()));
    }
    let (have, why) = gpus().map_or_else(
        |error| (0, error.to_string()),
        |gpus| (gpus.len() as u32, format!("the driver lists {}", gpus.len())),
    );
    let count = match options.gpus {
        Count::All => have,
        Count::Number(count) => count,
    };
    if have == 0 || count > have {
        return Err(Error::Library(rustwarp::Error::NoDevice(format!(
            "scaling on {} GPUs: {why}; simulators measure no times, but --from FILE.json reads those of GPUs",
            options.gpus
        ))));
    }
    let subjects = if options.subjects.is_empty() { Subject::ALL.to_vec() } else { options.subjects.clone() };
    let request = Request { subjects, n: options.n, side: options.side, gpus: count, repeat: options.repeat };
    let (mut samples, mut printed) = (Vec::new(), Ok(()));
    scaling::measure(&request, &mut |sample| {
        if let (Some(None), Ok(text)) = (&options.json, object(&sample)) {
            let line = stdout::line(&text);
            printed = std::mem::replace(&mut printed, Ok(())).and(line);
        }
        samples.push(sample);
    })?;
    printed.map(|()| samples)
}

fn object(sample: &Sample) -> Result<String> {
    serde_json::to_string(sample).map_err(|error| Error::Usage(format!("a time cannot be written: {error}")))
}

/// The times of a file, of these subjects or of all.
fn read(path: &PathBuf, subjects: &[Subject]) -> Result<Vec<Sample>> {
    let text = std::fs::read_to_string(path).map_err(|error| Error::input(path, error.to_string()))?;
    let mut samples = Vec::new();
    for (index, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let sample: Sample = serde_json::from_str(line).map_err(|error| {
            Error::input(path, format!("line {} is no time of `host scaling --json`: {error}", index + 1))
        })?;
        if sample.gpus == 0 || !(sample.time_ms > 0.0 && sample.time_ms.is_finite()) {
            let text = format!("line {} has no GPU or no time above 0: measure again", index + 1);
            return Err(Error::input(path, text));
        }
        samples.push(sample);
    }
    samples.retain(|sample| subjects.is_empty() || subjects.contains(&sample.subject));
    if samples.is_empty() {
        return Err(Error::input(path, "it has no times of the subjects: write it by `host scaling --json FILE`"));
    }
    Ok(samples)
}

/// The columns of measured and of predicted times.
fn columns() -> [Column; 7] {
    [
        Column::text("subject"),
        Column::text("scaling"),
        Column::number("GPUs"),
        Column::number("n"),
        Column::number("time"),
        Column::number("rate"),
        Column::number("efficiency"),
    ]
}

/// The cells of a time, which may be a predicted one.
fn cells(sample: &Sample, efficiency: Option<f64>) -> [String; 7] {
    [
        sample.subject.name().to_owned(),
        scaling_name(sample.scaling).to_owned(),
        sample.gpus.to_string(),
        sample.n.to_string(),
        time(sample.time_ms),
        format!("{} {}", digits(sample.rate()), sample.unit()),
        efficiency.map_or("-".to_owned(), percent),
    ]
}

/// The measured times.
fn table(samples: &[Sample]) -> String {
    let mut grid = Grid::new(columns().into_iter().chain([Column::text("verified").rank(1)]), ALL);
    let mut sorted: Vec<&Sample> = samples.iter().collect();
    sorted.sort_by_key(|one| (one.subject, one.scaling, one.gpus, one.n));
    for sample in sorted {
        let verified = if sample.verified { Cell::new("yes", Tone::Good) } else { Cell::new("WRONG", Tone::Bad) };
        grid.row(cells(sample, sample.efficiency(samples)).map(Cell::from).into_iter().chain([verified]));
    }
    grid.render(look::stdout())
}

/// The fitted model, its predictions, and how far it is from the measurements.
fn predictions(samples: &[Sample], network: &Network) -> String {
    let model = match Model::fit(samples) {
        Ok(model) => model,
        Err(error) => return format!("no model: {error}"),
    };
    let mut text = String::from("Model, fitted to 1 and 2 GPUs:\n");
    for costs in &model.costs {
        let unit = if costs.subject == Subject::Matmul { ("TFLOP/s", 1e3) } else { ("GB/s", 1.0) };
        text += &format!(
            "  {}: launch {:.1} us, {} {} per GPU, {:.1} us per step between GPUs\n",
            costs.subject.name(),
            costs.launch_us,
            digits(costs.rate / unit.1),
            unit.0,
            costs.step_us
        );
    }
    match model.links {
        Some(links) => {
            text += &format!("  all-reduce: {:.1} us per step, bus {} GB/s\n", links.step_us, digits(links.bus_gbps));
        }
        None => text += "  all-reduce: not measured on 2 GPUs, so nothing is predicted for more GPUs\n",
    }
    let assumptions = format!(
        "Assumptions: time = launch + work / rate + steps * step + exchange, with 2 * log2(GPUs) steps, and exchanges \
         as rings; a product overlaps what it gathers with what it computes; one process per GPU; hosts of {} GPUs, \
         between which each GPU has {} GB/s and {} us more per step, used after the links of the host, not meanwhile.",
        network.gpus_per_host, network.gbps, network.latency_us
    );
    text += &format!("{}\n\n", wrap(&assumptions, Some(look::stdout().width.unwrap_or(COLUMNS)), 0));
    if let Some(grid) = predicted(&model, samples, network) {
        text += &format!("Predicted:\n{}\n\n", grid.render(look::stdout()));
    }
    text + &residuals(&model, samples)
}

/// The numbers of GPUs for which times are predicted.
fn counts() -> impl Iterator<Item = u32> {
    (3..=10).map(|power| 1 << power)
}

/// The series of a subject, from its measurement on one GPU.
fn series(samples: &[Sample]) -> impl Iterator<Item = (&Sample, Scaling)> {
    let is_one = |sample: &&Sample| sample.gpus == 1 && sample.scaling != Scaling::Size;
    samples.iter().filter(is_one).map(|sample| (sample, sample.scaling))
}

/// The work of a series on this many GPUs.
fn load(one: &Sample, scaling: Scaling, gpus: u32) -> Load {
    let n = if scaling == Scaling::Weak { one.n.saturating_mul(gpus.into()) } else { one.n };
    Load { n, gpus, ..one.load() }
}

fn predicted(model: &Model, samples: &[Sample], network: &Network) -> Option<Grid> {
    model.links?;
    let mut grid = Grid::new(columns(), ALL);
    let mut row = |load: Load, scaling: Scaling, one_ms: Option<f64>| {
        let Some(time_ms) = model.time(&load, Some(network)) else { return };
        let Load { subject, n, side, gpus } = load;
        let as_sample = Sample { subject, scaling, gpus, n, side, time_ms, verified: true, device: String::new() };
        let fraction = one_ms.and_then(|one_ms| efficiency(scaling, one_ms, time_ms, gpus));
        grid.row(cells(&as_sample, fraction));
    };
    for (one, scaling) in series(samples) {
        let one_ms = model.time(&load(one, scaling, 1), None);
        counts().for_each(|gpus| row(load(one, scaling, gpus), scaling, one_ms));
    }
    for n in [1 << 20, 1 << 30] {
        counts().for_each(|gpus| row(Load { subject: Subject::AllReduce, n, side: 0, gpus }, Scaling::Size, None));
    }
    Some(grid)
}

/// The largest differences of the model from what was measured.
fn residuals(model: &Model, samples: &[Sample]) -> String {
    let mut text = String::from("Largest difference of the model from what was measured:");
    for subject in Subject::ALL {
        for (fitted, what) in [(true, "fitted (1 and 2 GPUs)"), (false, "predicted (3 GPUs and more)")] {
            let of = samples.iter().filter(|one| one.subject == subject && (one.gpus <= 2) == fitted);
            let worst = of.filter_map(|one| Some((model.residual(one)?, one)));
            if let Some((residual, one)) = worst.max_by(|a, b| a.0.abs().total_cmp(&b.0.abs())) {
                text += &format!(
                    "\n  {} {what}: {:+.1} % at GPUs = {}, n = {}",
                    subject.name(),
                    residual * 100.0,
                    one.gpus,
                    one.n
                );
            }
        }
    }
    text
}

/// Efficiency over the number of GPUs: a panel for weak and one for strong scaling.
fn panels(samples: &[Sample], network: &Network) -> Vec<Panel> {
    let model = Model::fit(samples).ok().filter(|model| model.links.is_some());
    let mut panels = Vec::new();
    for scaling in [Scaling::Weak, Scaling::Strong] {
        let mut lines = Vec::new();
        for (one, _) in series(samples).filter(|(_, of)| *of == scaling) {
            let name = one.subject.name();
            let of_series = samples.iter().filter(|other| (other.subject, other.scaling) == (one.subject, scaling));
            let mut points: Vec<_> = of_series
                .filter_map(|other| Some((f64::from(other.gpus), other.efficiency(samples)? * 100.0)))
                .collect();
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
            lines.push(Line { name: format!("{name}, measured"), role: Role::Best, points });
            let Some(model) = &model else { continue };
            let one_ms = model.time(&load(one, scaling, 1), None);
            let point = |gpus: u32| {
                let time_ms = model.time(&load(one, scaling, gpus), Some(network))?;
                Some((f64::from(gpus), efficiency(scaling, one_ms?, time_ms, gpus)? * 100.0))
            };
            let points = [1, 2, 4].into_iter().chain(counts()).filter_map(point).collect();
            lines.push(Line { name: format!("{name}, predicted"), role: Role::Rung, points });
        }
        if !lines.is_empty() {
            let title = format!("efficiency, {} scaling", scaling_name(scaling));
            panels.push(Panel::Lines { title, axis: "GPUs", unit: "% of perfect", lines });
        }
    }
    panels
}

fn scaling_name(scaling: Scaling) -> &'static str {
    match scaling {
        Scaling::Weak => "weak",
        Scaling::Strong => "strong",
        Scaling::Size => "size",
    }
}

fn time(ms: f64) -> String {
    if ms < 10.0 { format!("{:.1} us", ms * 1e3) } else { format!("{ms:.2} ms") }
}

fn percent(fraction: f64) -> String {
    format!("{:.1} %", fraction * 100.0)
}

/// Three digits that count.
fn digits(x: f64) -> String {
    match x {
        _ if x >= 100.0 => format!("{x:.0}"),
        _ if x >= 10.0 => format!("{x:.1}"),
        _ => format!("{x:.2}"),
    }
}
