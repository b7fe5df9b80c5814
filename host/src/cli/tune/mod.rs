//! `host tune`: the variants of a family's `best` kernel that `cargo xtask tune` has compiled, and other block sizes
//! and grids, each measured beside the present one; on the simulator only verified.

use super::bench::{Problems, heading, settings};
use super::exit::{CLEAN, WRONG};
use super::family::{self, Timing};
use super::{device, ending, look, stdout};
use ladders::bench::{Cache, Plan};
use ladders::error::Result;
use ladders::input;
use ladders::kernels::{Demand, Family};
use rustwarp::backend::{Backend, Checks, Choice, Module, Printed};
use rustwarp::diagnostic::note;
use rustwarp::ptx::Image;
use std::path::{Path, PathBuf};

mod date;
mod list;
mod outcome;
mod sweep;
mod trial;
mod verdict;

use list::{List, Listed};
use outcome::{Conditions, Found, Outcome};
use trial::{Setup, Trial};

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// The folder that `cargo xtask tune FAMILY --prepare` has made
    folder: PathBuf,
    #[command(flatten)]
    problems: Problems,
    /// Rounds of a comparison, in each of which the present kernel and the candidate are measured
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(3..))]
    rounds: u32,
    /// gpu, gpu:K, or sim, which verifies the variants and measures nothing
    #[arg(long, default_value = "gpu", value_parser = str::parse::<Choice>)]
    device: Choice,
    #[command(flatten)]
    timing: Timing,
    /// Write the outcomes, each row with the machine
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
}

/// Prints a table of all candidates, and says what to change.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    // Wrong options are errors before a device is opened.
    let list = List::read(&options.folder)?;
    let family = list.family()?;
    options.problems.require_all_of(family)?;
    options.problems.cases(family, family.sizes)?;
    if let Some(path) = &options.csv {
        ending::require("--csv", path, "outcomes are written as CSV", &["csv"])?;
        input::require_writable(path)?;
    }
    let device = device::open(options.device, Checks::Bounds, Printed::Stdout)?;
    let plan = Plan::new(&*device, options.timing.repeat, options.timing.cache())?;
    let conditions = conditions(options, &list, &*device);
    let Conditions { gpu, driver, date, commit, .. } = &conditions;
    note(format_args!("{gpu}, {driver}; {date}, commit {commit}, PTX for {}", list.arch));

    let mut outcomes = Vec::new();
    let result = tune(options, &list, family, (&*device, plan.as_ref()), &mut outcomes);
    // Also after an error: earlier outcomes are valid.
    if !outcomes.is_empty() {
        stdout::line(&outcome::table(&outcomes).render(look::stdout()))?;
    }
    if let Some(path) = options.csv.as_ref().filter(|_| result.is_ok() || !outcomes.is_empty()) {
        input::write_text(path, &outcome::csv(&conditions, &outcomes)?)?;
    }
    result?;
    outcome::advice(&outcomes).iter().try_for_each(|line| stdout::line(line))?;
    Ok(if outcomes.iter().any(|outcome| matches!(outcome.found, Found::Wrong(_))) { WRONG } else { CLEAN })
}

fn conditions(options: &Options, list: &List, device: &dyn Backend) -> Conditions {
    let info = device.info();
    Conditions {
        gpu: info.name.clone(),
        driver: info.driver.clone().unwrap_or_else(|| "no driver".to_owned()),
        date: date::today(),
        commit: list.commit.clone(),
        arch: list.arch.clone(),
        rounds: options.rounds,
        samples: options.timing.repeat,
        cache: if options.timing.cache() == Cache::Cold { "cold" } else { "warm" },
    }
}

/// A variant with its PTX on the device, or the reason why it is refused.
type Loaded<'l> = (&'l Listed, std::result::Result<Module, String>);

fn load<'l>(list: &'l List, folder: &Path, device: &dyn Backend) -> Result<(Module, Vec<Loaded<'l>>)> {
    let of = |name: &str| -> Result<rustwarp::Result<Module>> {
        let image = Image::read(&folder.join(name))?;
        Ok(device.load(&image.bytes, &image.path.display().to_string()))
    };
    let present = of(&list.present)??;
    let mut variants = Vec::new();
    for listed in &list.variants {
        let module = match (&listed.ptx, &listed.refused) {
            (Some(name), _) => of(name)?.map_err(|error| error.to_string()),
            (None, why) => Err(why.clone().unwrap_or_default()),
        };
        variants.push((listed, module));
    }
    Ok((present, variants))
}

/// Compares every candidate with the present kernel on every problem.
fn tune(
    options: &Options,
    list: &List,
    family: &'static Family,
    (device, plan): (&dyn Backend, Option<&Plan<'_>>),
    outcomes: &mut Vec<Outcome>,
) -> Result<()> {
    let (present, variants) = load(list, &options.folder, device)?;
    for (listed, module) in &variants {
        if let Err(why) = module {
            outcomes.push(of_variant(listed, String::new(), Found::Refused(why.clone())));
        }
    }
    let variant = family.select(ladders::kernels::BEST)?[0];
    let problems = &options.problems;
    let cases = problems.cases(family, if plan.is_some() { family.sizes } else { family.cases })?;
    for op in problems.ops(family)? {
        for dtype in problems.dtypes(family)? {
            for case in cases.iter().filter(|case| case.is_for(dtype)) {
                let settings = settings(family, case)?;
                let heading = heading(family, op, dtype, case, &settings);
                let demand = Demand { size: &case.size, dtype, seed: problems.seed, settings: &settings };
                let inputs = (family.generate)(&demand)?;
                let problem = family::problem(family, op, &inputs, &settings)?;
                let ladder = family.resolve(&problem)?;
                if let Some(why) = ladder.refusal(variant, problem) {
                    note(format_args!("{heading} is left out: `{}` {why}", variant.name));
                    continue;
                }
                let oracle = ladder.oracle(problem)?;
                let trial = Trial { device, plan, rounds: options.rounds, variant, ladder, problem, oracle: &oracle };
                for (listed, module) in &variants {
                    let Ok(module) = module else { continue };
                    let found = trial.compare(Setup::of(present), Setup::of(*module)).inspect_err(|_| {
                        note(format_args!("{heading}: with {} = {}:", listed.constant, listed.value));
                    })?;
                    outcomes.push(of_variant(listed, heading.clone(), found));
                }
                if plan.is_some() {
                    sweep::launches(&trial, family, present, &heading, outcomes)?;
                }
            }
        }
    }
    Ok(())
}

fn of_variant(listed: &Listed, problem: String, found: Found) -> Outcome {
    let Listed { constant, place, present, value, .. } = listed;
    Outcome {
        constant: constant.clone(),
        place: place.clone(),
        label: format!("{constant} = {value}"),
        present: present.to_string(),
        candidate: value.to_string(),
        problem,
        found,
    }
}
