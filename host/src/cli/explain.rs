//! `host explain`: the cost of a variant with its causes, beside another variant; or of an entry of any PTX file.

use super::exit::{CLEAN, WRONG};
use super::{ending, family, launch, look, narrow, output, predict, stdout};
use clap::{Args, Command, FromArgMatches};
use ladders::error::{Error, Result};
use ladders::explain::page::Variant;
use ladders::explain::{Page, html, text};
use ladders::input::{self, size};
use ladders::kernels::{self, Family};
use rustwarp::backend::{self, Choice, Device};
use rustwarp::diagnostic::note;
use rustwarp::ptx::Image;
use std::path::{Path, PathBuf};

/// Default number of elements: enough to fill a large device, and a few seconds of simulation.
const DEFAULT_N: u64 = 1 << 22;

/// Options of the subcommand: those of the family or of `run`, and a few of its own.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// A family or a PTX file, followed by its options: `host explain FAMILY --help` shows them
    #[arg(required = true, value_name = "TARGET", trailing_var_arg = true, allow_hyphen_values = true)]
    target: Vec<String>,
}

/// Default device for the estimated times.
const PROFILE: &str = "H200";

/// Options for every target.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct Own {
    /// Write the page with its plots to one self-contained HTML file
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The device to estimate times for: H200, H100, A100, RTX 3050 laptop, or a TOML file like those of
    /// crates/ptx_sim/profiles
    #[arg(long, value_name = "NAME|FILE", default_value = PROFILE)]
    profile: String,
}

/// Options after the name of a family.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct Against {
    /// Compare with this variant
    #[arg(long, conflicts_with = "predict")]
    against: Option<String>,
    /// Predict the times at this size, which is too large to simulate, from runs of the size of --n or --shape and of
    /// twice that along each axis: 2^28, 8192x8192x8192. A vector is made up to eight times as long where its blocks do
    /// not fill the device
    #[arg(
        long, value_name = "SIZE", value_parser = size::parse, value_delimiter = 'x',
        conflicts_with_all = ["input", "html"]
    )]
    predict: Vec<u64>,
    #[command(flatten)]
    own: Own,
}

/// Options after the name of a PTX file.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct PtxOptions {
    #[command(flatten)]
    launch: launch::Options,
    #[command(flatten)]
    own: Own,
    /// Print the page as one JSON object instead of text; with FILE, write the object there and print the text too
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    json: Option<Option<PathBuf>>,
}

/// Options that other commands have for a family: one page explains several variants, nothing is timed, and `--html`
/// has the plots.
const NOT_HERE: [&str; 4] = ["output", "plot", "repeat", "warm"];

/// Explains the target. Exit code 1 means that a result is wrong.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    // clap requires at least one.
    let (target, options) = options.target.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    if let Some(found) = kernels::family(target) {
        return explain_family(found, options);
    }
    let path = launch::ptx_file(target)?;
    let command = command(target, "Launch an entry on the simulator and explain its cost");
    let matches = PtxOptions::augment_args(command).get_matches_from(options);
    look::choose(&matches);
    let parsed = PtxOptions::from_arg_matches(&matches).map_err(|error| Error::Usage(error.to_string()))?;
    explain_ptx(path, &parsed)
}

fn explain_family(family: &Family, options: &[String]) -> anyhow::Result<u8> {
    let command = command(family.name, family.idea);
    let command = Against::augment_args(family::command(family, family::Options::augment_args(command)));
    let command = NOT_HERE.into_iter().fold(command, |command, option| command.mut_arg(option, |arg| arg.hide(true)));
    let matches = command.about(family.idea).long_about(family.idea).get_matches_from(options);
    look::choose(&matches);
    if let Some(option) = NOT_HERE.into_iter().find(|option| family::is_typed(&matches, option)) {
        return Err(Error::Usage(format!("explain has no --{option}: leave it out (--html FILE has plots)")).into());
    }
    let family = narrow::solver(family, &matches)?;
    let mut parsed = family::parse(family, &matches)?;
    let own = Against::from_arg_matches(&matches).map_err(|error| Error::Usage(error.to_string()))?;
    if let Choice::Gpu(_) = parsed.device.device {
        let text =
            "explain runs on the simulator: leave --device out, and choose the device to estimate for with --profile";
        return Err(Error::Usage(text.to_owned()).into());
    }
    if parsed.data.n.is_none() && parsed.data.shape.is_empty() && parsed.data.input.is_empty() && family.of_vectors {
        parsed.data.n = Some(DEFAULT_N);
    }
    require_writable(parsed.json.json.as_ref(), own.own.html.as_deref())?;
    if !own.predict.is_empty() {
        return predict::run(family, &parsed, &own.predict, &own.own.profile);
    }
    let page = family_page(family, &parsed, own.against.as_deref(), &own.own.profile)?;
    let clean = page.variants.iter().all(|variant| variant.verified == Some(true));
    show(&page, parsed.json.json.as_ref(), own.own.html.as_deref())?;
    Ok(if clean { CLEAN } else { WRONG })
}

fn family_page(family: &Family, options: &family::Options, against: Option<&str>, profile: &str) -> Result<Page> {
    let mut variants = family.select(&options.variant)?;
    for other in against.map_or(Ok(Vec::new()), |name| family.select(name))? {
        if !variants.contains(&other) {
            variants.push(other);
        }
    }
    let (backend, device) = backend::explaining(profile, options.json.printed())?;
    let rows = family::rows(family, options, &*backend, &variants)?;
    Ok(Page::of_rows(family, device, rows))
}

fn explain_ptx(path: &Path, options: &PtxOptions) -> anyhow::Result<u8> {
    let image = Image::read(path)?;
    require_writable(options.json.as_ref(), options.own.html.as_deref())?;
    let profile = &options.own.profile;
    let (backend, device): (_, Device) =
        backend::explaining(profile, output::printed(matches!(options.json, Some(None))))?;
    launch::launch(&*backend, &image, &options.launch)?;
    let observed = backend.observed().unwrap_or_default();
    let name = options.launch.entry.clone().unwrap_or_default();
    let title = format!("{} of {}", name, path.display());
    let variant = Variant::new(&name, "", None, observed.counters, observed.launches, observed.between);
    let (shape, variants) = (String::new(), vec![variant]);
    let page = Page { title, n: 0, shape, device, accuracy: None, variants, next: None };
    show(&page, options.json.as_ref(), options.own.html.as_deref())?;
    Ok(CLEAN)
}

/// Checks that the files can be written, before the simulation.
fn require_writable(json: Option<&Option<PathBuf>>, html: Option<&Path>) -> Result<()> {
    let is_html = |path| ending::require("--html", path, "the page is written as HTML", &["html", "htm"]);
    html.map_or(Ok(()), is_html)?;
    let json = json.and_then(|file| file.as_deref());
    json.into_iter().chain(html).try_for_each(input::require_writable)
}

/// Writes the page's files and prints it; `json` is the value of `--json [FILE]`.
fn show(page: &Page, json: Option<&Option<PathBuf>>, html: Option<&Path>) -> anyhow::Result<()> {
    if let Some(path) = html {
        input::write_text(path, &html::render(page)?)?;
        note(format_args!("wrote {}", path.display()));
    }
    stdout::page(page, json, || text::render(page, look::stdout()))
}

/// The command that parses the target's options. clap prints help and usage errors itself, and ends the process with 0
/// or 2.
fn command(target: &str, about: &'static str) -> Command {
    Command::new("explain")
        .arg(look::option())
        .bin_name(format!("host explain {target}"))
        .no_binary_name(true)
        .about(about)
        .long_about(about)
}
