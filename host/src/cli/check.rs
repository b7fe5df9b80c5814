//! `host check`: a family, or an entry of any PTX file, on the simulator with checkers on.

use super::exit::{CLEAN, WRONG};
use super::{device, family, launch, look, narrow, output, races, seeds, simulation};
use crate::sarif;
use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Args, Command, FromArgMatches};
use ladders::error::Error;
use ladders::kernels::{self, Family, failing};
use rustwarp::backend::{CHECKERS, Checker, Checkers, Checks, Choice};
use rustwarp::diagnostic::{Diagnostic, note};
use rustwarp::ptx::Image;

/// Options of the subcommand: those of the check, and those of the family or of `run`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    #[command(flatten)]
    how: How,
    /// A family or a PTX file, followed by the options of `host FAMILY` or `host run`: `host check FAMILY --help` shows
    /// them. The options above may also follow it. `failing` stands for the examples of `host list --failing`
    // It is one list, so that everything after the target belongs to the target, `--help` included.
    #[arg(required = true, value_name = "TARGET", trailing_var_arg = true, allow_hyphen_values = true)]
    target: Vec<String>,
}

/// Options of the check, before or after the target; those after it take precedence.
#[derive(Clone, Debug, Default, clap::Args)]
#[group(skip)]
struct How {
    // From the table of the simulator's checkers, as are the names.
    #[arg(long, value_parser = checkers(), value_delimiter = ',', value_name = "LIST", help = checks_help())]
    checks: Vec<String>,
    #[command(flatten)]
    races: races::Options,
    #[command(flatten)]
    simulation: simulation::Options,
}

/// The name of every checker, and `all`.
fn checkers() -> PossibleValuesParser {
    let one = |checker: &Checker| PossibleValue::new(checker.name).help(checker.help);
    PossibleValuesParser::new(CHECKERS.iter().map(one).chain([PossibleValue::new(ALL).help("every one")]))
}

const ALL: &str = "all";

fn checks_help() -> String {
    let names: Vec<String> = CHECKERS.iter().map(|checker| format!("{} ({})", checker.name, checker.help)).collect();
    let default: Vec<&str> = CHECKERS.iter().filter(|checker| checker.default).map(|checker| checker.name).collect();
    format!(
        "What to look for, besides what every run on the simulator checks: {}, or {ALL} [default: {}]",
        names.join(", "),
        default.join(",")
    )
}

impl How {
    fn or(self, others: Self) -> Self {
        Self {
            checks: if self.checks.is_empty() { others.checks } else { self.checks },
            races: self.races.or(others.races),
            simulation: self.simulation.or(others.simulation),
        }
    }

    fn checks(&self) -> Checks {
        let default = self.races.checkers();
        if self.checks.is_empty() {
            return Checks::On(default);
        }
        let mut on = default.on;
        for checker in CHECKERS {
            if let Some(switch) = on.switch(checker.name) {
                *switch = self.checks.iter().any(|name| name == checker.name || name == ALL);
            }
        }
        Checks::On(Checkers { on, ..default })
    }
}

/// Runs the check. Exit code 0 means that nothing was found and every result is right.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    // clap requires at least one.
    let (target, rest) = options.target.split_first().map_or(("", &[][..]), |(first, rest)| (first.as_str(), rest));
    let mut found = Vec::new();
    let examples = (target == failing::FAMILY.name).then_some(&failing::FAMILY);
    let (how, result) = match kernels::family(target).or(examples) {
        Some(family) => {
            let command = family::command(family, command::<FamilyOptions>(target, family.idea));
            let matches = command.get_matches_from(rest);
            look::choose(&matches);
            let how = how(&matches)?.or(options.how.clone());
            let family = narrow::solver(family, &matches)?;
            let parsed = family::parse(family, &matches)?;
            require_fit(&parsed, &how)?;
            how.simulation.require_writable()?;
            let mut report = output::Report::new(&parsed.json);
            let result = match examples {
                Some(_) => check_examples(&parsed, &how, &mut report, &mut found),
                None => check_family(family, &parsed, &how, &mut report, &mut found).map(|()| true),
            };
            let result = report.finish(result).map_err(anyhow::Error::from);
            // Under --seeds there are no rows: the findings decide.
            (how, result.map(|(rows, whole)| (rows && whole && found.is_empty(), parsed.json.to_stdout())))
        }
        None => {
            let path = launch::ptx_file(target)?;
            let command = command::<PtxOptions>(target, "Launch an entry on the simulator, checkers on");
            let matches = command.get_matches_from(rest);
            look::choose(&matches);
            let parsed = PtxOptions::from_arg_matches(&matches).map_err(|error| Error::Usage(error.to_string()))?;
            let how = parsed.how.or(options.how.clone());
            how.simulation.require_writable()?;
            let image = Image::read(path)?;
            let device = device::open(Choice::Sim, how.checks(), output::printed(parsed.show.json))?;
            let result = launch::run(&*device, &image, &parsed.launch, &how.simulation, parsed.show, &mut found);
            (how, result.map(|clean| (clean, parsed.show.json)))
        }
    };
    // The findings are reported after a fault too; after bad input there are none.
    let ran = result.as_ref().err().is_none_or(|error| matches!(error.downcast_ref(), Some(Error::Fault(_))));
    if let Some(path) = how.simulation.sarif().filter(|_| ran) {
        sarif::write(path, &found)?;
    }
    let (clean, json) = result?;
    // Success is stated, since no output could also mean that nothing was checked.
    if clean && !json {
        note("clean: no checker found anything");
    }
    Ok(if clean { CLEAN } else { WRONG })
}

/// Rejects options that exclude each other.
fn require_fit(options: &family::Options, how: &How) -> Result<(), Error> {
    let refuse = |text: &str| Err(Error::Usage(text.to_owned()));
    match (options.device.device, how.simulation.seeds) {
        (Choice::Gpu(_), _) => refuse("check runs on the simulator, and a GPU has no checkers: leave --device out"),
        (_, Some(_)) if options.output.is_some() => refuse("--seeds runs several times: leave --output out"),
        (_, Some(_)) if options.json.plot.is_some() => refuse("--seeds shows findings, not counters: leave --plot out"),
        _ => options.json.require_writable(),
    }
}

/// Adds findings and rows to the report; under `--seeds` the distinct findings instead.
fn check_family(
    family: &Family,
    options: &family::Options,
    how: &How,
    report: &mut output::Report,
    found: &mut Vec<Diagnostic>,
) -> Result<(), Error> {
    let Some(count) = how.simulation.seeds else {
        return family::run_on(family, options, Choice::Sim, how.checks(), &how.simulation, report, found);
    };
    let variants = family.select(&options.variant)?;
    let device = device::open(Choice::Sim, how.checks(), options.json.printed())?;
    let report = &*report;
    let emit = |found: &Diagnostic| {
        report.object(seeds::object(found));
        Ok(())
    };
    let work = || {
        report.schedule();
        Ok(family::rows(family, options, &*device, &variants)?.iter().flat_map(|row| row.diagnostics()).collect())
    };
    *found = seeds::explore(&*device, &how.simulation, count, options.json.to_stdout(), emit, work)?;
    Ok(())
}

/// Checks the failing examples one after the other, where a fault counts as a finding. Returns whether none ended in a
/// fault.
fn check_examples(
    options: &family::Options,
    how: &How,
    report: &mut output::Report,
    found: &mut Vec<Diagnostic>,
) -> Result<bool, Error> {
    let mut whole = true;
    let names: Vec<_> = failing::FAMILY.select(&options.variant)?.iter().map(|rung| rung.name).collect();
    if let Some(path) = &options.output {
        family::require_output(&failing::FAMILY, path, names.len())?;
    }
    for name in names {
        let one = family::Options { variant: name.to_owned(), ..options.clone() };
        let mut found_here = Vec::new();
        let result = check_family(&failing::FAMILY, &one, how, report, &mut found_here);
        found.append(&mut found_here);
        match result {
            Err(Error::Fault(fault)) => {
                note(format_args!("{} {name}: {}", failing::FAMILY.name, look::report(&fault)));
                whole = false;
            }
            other => other?,
        }
    }
    Ok(whole)
}

fn how(matches: &clap::ArgMatches) -> Result<How, Error> {
    How::from_arg_matches(matches).map_err(|error| Error::Usage(error.to_string()))
}

/// Options after the name of a family.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct FamilyOptions {
    #[command(flatten)]
    family: family::Options,
    #[command(flatten)]
    how: How,
}

/// Options after the name of a PTX file.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
struct PtxOptions {
    #[command(flatten)]
    launch: launch::Options,
    #[command(flatten)]
    how: How,
    #[command(flatten)]
    show: launch::Show,
}

/// The command that parses the target's options. clap prints help and usage errors itself, and ends the process with 0
/// or 2.
fn command<T: Args>(target: &str, about: &'static str) -> Command {
    let command = Command::new("check").bin_name(format!("host check {target}")).no_binary_name(true);
    let command = T::augment_args(command.arg(look::option()));
    // The doc comment of the options' type is for readers of the code.
    command.about(about).long_about(about)
}
