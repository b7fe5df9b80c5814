//! `host explain`: what a variant costs and why, beside another one; or an entry of any PTX file.

use super::{CLEAN, WRONG, family, launch, output};
use crate::backend::{self, Choice, Device};
use crate::error::{Error, Result};
use crate::explain::page::Variant;
use crate::explain::{Page, html, text};
use crate::kernels::{self, FAMILIES, Family};
use crate::ptx::Image;
use clap::{Args, Command, FromArgMatches};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};

/// Elements when nobody says how many: enough to fill a large device, and a few seconds of simulation.
const DEFAULT_N: u64 = 1 << 22;

/// Options of the subcommand: those of the family or of `run`, and a few of its own.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// A family or a PTX file, then its options: `host explain FAMILY --help` shows them
    #[arg(required = true, value_name = "TARGET", trailing_var_arg = true, allow_hyphen_values = true)]
    target: Vec<String>,
}

/// The device to estimate times for when nobody says which.
const PROFILE: &str = "H200";

/// What every target has.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct Own {
    /// Write the page with its plots to one HTML file that needs nothing else
    #[arg(long, value_name = "FILE")]
    html: Option<PathBuf>,
    /// The device to estimate times for: H200, A100, RTX 3050 laptop, or a TOML file like those of crates/ptx_sim/profiles
    #[arg(long, value_name = "NAME|FILE", default_value = PROFILE)]
    profile: String,
}

/// What follows the name of a family.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct Against {
    /// Compare with this variant
    #[arg(long)]
    against: Option<String>,
    #[command(flatten)]
    own: Own,
}

/// What follows the name of a PTX file.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct PtxOptions {
    #[command(flatten)]
    launch: launch::Options,
    #[command(flatten)]
    own: Own,
    /// The page as one JSON object
    #[arg(long)]
    json: bool,
}

/// Explains; exit code 1 when a result is wrong.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    // clap insists on the first.
    let (target, options) = options.target.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    if let Some(found) = kernels::family(target) {
        return explain_family(found, options);
    }
    let path = Path::new(target);
    if path.extension().is_none_or(|extension| extension != "ptx") && !path.exists() {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        let text = format!("'{target}' is no family and no PTX file; families: {}", names.join(" "));
        return Err(Error::Usage(text).into());
    }
    let command = command(target, "Launch an entry on the simulator and explain its cost");
    let matches = PtxOptions::augment_args(command).get_matches_from(options);
    let parsed = PtxOptions::from_arg_matches(&matches).map_err(|error| Error::Usage(error.to_string()))?;
    explain_ptx(path, &parsed)
}

fn explain_family(family: &Family, options: &[String]) -> anyhow::Result<u8> {
    let command = command(family.name, family.idea);
    let command = Against::augment_args(family::command(family, family::Options::augment_args(command)));
    let matches = command.about(family.idea).long_about(family.idea).get_matches_from(options);
    let mut parsed = family::parse(family, &matches)?;
    let own = Against::from_arg_matches(&matches).map_err(|error| Error::Usage(error.to_string()))?;
    if let Choice::Gpu(_) = parsed.device.device {
        let text =
            "explain runs on the simulator: leave --device out, and choose the device to estimate for with --profile";
        return Err(Error::Usage(text.to_owned()).into());
    }
    if parsed.n.is_none() && parsed.shape.is_empty() && parsed.input.is_empty() && family::is_of_vectors(family) {
        parsed.n = Some(DEFAULT_N);
    }
    let page = family_page(family, &parsed, own.against.as_deref(), &own.own.profile)?;
    let clean = page.variants.iter().all(|variant| variant.verified);
    show(&page, parsed.json.to_stdout(), own.own.html.as_deref())?;
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
    let profile = &options.own.profile;
    let (backend, device): (_, Device) = backend::explaining(profile, output::printed(options.json))?;
    launch::launch(&*backend, &image, &options.launch)?;
    let observed = backend.observed().unwrap_or_default();
    let name = options.launch.entry.clone().unwrap_or_default();
    let title = format!("{} of {}", name, path.display());
    let variant = Variant::new(&name, "", true, observed.counters, observed.launches, 0);
    let page = Page { title, device, variants: vec![variant], next: None };
    show(&page, options.json, options.own.html.as_deref())?;
    Ok(CLEAN)
}

fn show(page: &Page, json: bool, html: Option<&Path>) -> anyhow::Result<()> {
    if let Some(path) = html {
        let write = std::fs::write(path, html::render(page)?);
        write.map_err(|source| Error::Write { path: path.to_owned(), source })?;
        eprintln!("wrote {}", path.display());
    }
    if json {
        output::line(&serde_json::to_string(page)?)?;
    } else {
        output::line(&text::render(page, std::io::stdout().is_terminal()))?;
    }
    Ok(())
}

/// What the target's options belong to. clap prints help and usage errors itself, and ends the process with 0 or 2.
fn command(target: &str, about: &'static str) -> Command {
    Command::new("explain")
        .bin_name(format!("host explain {target}"))
        .no_binary_name(true)
        .about(about)
        .long_about(about)
}
