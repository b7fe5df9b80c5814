//! `host bench`: families at several sizes on a GPU, beside the vendor's libraries.

use super::exit::{CLEAN, WRONG};
use super::family::{self, Timing};
use super::{device, output};
use ladders::bench::{self, Plan};
use ladders::error::{Error, Result};
use ladders::kernels::{Case, Demand, Family, Job, Role, Row, Settings, Work};
use ladders::peers;
use rustwarp::backend::{Backend, Checks, Choice, Module};
use rustwarp::diagnostic::note;
use rustwarp::element::Dtype;
use rustwarp::tensor::text;
use std::cell::RefCell;
use std::collections::BTreeSet;

mod choice;
mod problems;

use choice::Chosen;
pub(super) use problems::{Problems, settings};

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// Families [default: all]
    families: Vec<String>,
    #[command(flatten)]
    problems: Problems,
    /// Variants, separated by commas, or best, or all
    #[arg(long, default_value = "all")]
    variant: String,
    /// Threads per block
    #[arg(long, value_parser = super::number::positive::<u32>)]
    block: Option<u32>,
    /// Blocks, for variants that take any grid
    #[arg(long, value_parser = super::number::positive::<u32>)]
    grid: Option<u32>,
    /// gpu or gpu:K
    #[arg(long, default_value = "gpu", value_parser = str::parse::<Choice>)]
    device: Choice,
    #[command(flatten)]
    ptx: device::PtxOptions,
    #[command(flatten)]
    timing: Timing,
    /// Also measure the vendor's libraries, with those programs of bench/peers that are built
    #[arg(long)]
    peers: bool,
    #[command(flatten)]
    json: output::Options,
}

/// Prints one table per family, operation, type and size.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    // Wrong options are errors before a device is opened.
    let chosen = options.chosen()?;
    options.json.require_writable()?;
    let device = match options.device {
        Choice::Sim => Err(Error::Library(rustwarp::Error::NoDevice(
            "the simulator measures no times: use `host FAMILY --device sim` for its counters".into(),
        ))),
        Choice::Auto => device::open(Choice::Gpu(0), Checks::Bounds, options.json.printed()),
        choice => device::open(choice, Checks::Bounds, options.json.printed()),
    }?;
    let Some(plan) = Plan::new(&*device, options.timing.repeat, options.timing.cache())? else { return Ok(CLEAN) };
    note(machine(&*device, &plan));

    let bench = Bench { options, device: &*device, plan: &plan, missing: Missing::default() };
    let mut report = output::Report::new(&options.json);
    let result = chosen.iter().try_for_each(|one| bench.family(one, &mut report));
    let (clean, ()) = report.finish(result)?;
    Ok(if clean { CLEAN } else { WRONG })
}

/// Names a problem: family, operation, type, size and settings.
pub(super) fn heading(family: &Family, op: &str, dtype: Dtype, case: &Case, settings: &Settings) -> String {
    let size: Vec<_> = case.size.iter().map(|&n| n as usize).collect();
    let words = [family.name, op, dtype.name(), &text(&size), &settings.text()];
    words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Describes the machine of the measurements.
fn machine(device: &dyn Backend, plan: &Plan<'_>) -> String {
    let info = device.info();
    format!(
        "{}, {}; {}, device-to-device copy {:.0} GB/s (read + write)",
        info.name,
        info.driver.as_deref().unwrap_or("no driver"),
        match info.peak_gbps {
            Some(peak) => format!("fractions refer to the nominal peak of {peak:.0} GB/s"),
            None => "fractions refer to the copy, since the nominal peak is unknown".to_owned(),
        },
        plan.copy_gbps
    )
}

/// Parameters that all measurements of a run share.
struct Bench<'a> {
    options: &'a Options,
    device: &'a dyn Backend,
    plan: &'a Plan<'a>,
    missing: Missing,
}

impl Bench<'_> {
    fn family(&self, chosen: &Chosen, report: &mut output::Report) -> Result<()> {
        let result = self.tables(chosen, report);
        if let Err(Error::Fault(fault)) = &result {
            report.fault(chosen.family.name, fault);
        }
        result
    }

    fn tables(&self, chosen: &Chosen, report: &mut output::Report) -> Result<()> {
        let module = self.options.ptx.load(self.device, chosen.family)?;
        for op in &chosen.ops {
            for &dtype in &chosen.dtypes {
                for case in chosen.cases.iter().filter(|case| case.is_for(dtype)) {
                    self.measure(chosen, module, (op, dtype), case, report)?;
                }
            }
        }
        Ok(())
    }

    fn measure(
        &self,
        chosen: &Chosen,
        module: Module,
        (op, dtype): (&str, Dtype),
        case: &Case,
        report: &mut output::Report,
    ) -> Result<()> {
        let (options, family) = (self.options, chosen.family);
        let settings = settings(family, case)?;
        let demand = Demand { size: &case.size, dtype, seed: options.problems.seed, settings: &settings };
        let inputs = (family.generate)(&demand)?;
        let problem = family::problem(family, op, &inputs, &settings)?;
        let ladder = family.resolve(&problem)?;
        let oracle = ladder.oracle(problem)?;
        family::note_left_out(&ladder, problem, &chosen.variants);
        let job = Job {
            device: self.device,
            module,
            problem,
            oracle: &oracle,
            variants: &chosen.variants,
            block: options.block,
            grid: options.grid,
            plan: Some(self.plan),
        };
        report.section(&heading(family, op, dtype, case, &settings));
        let mut work = Work::default();
        ladder.run(&job, &mut |row| {
            work = row.work;
            report.add(row);
        })?;
        for program in family.peers.iter().filter(|_| options.peers) {
            for row in self.peers(program, family, &job, case, work)? {
                report.add(row);
            }
        }
        Ok(())
    }

    /// Rows of a program's libraries, verified against the same reference as ours.
    fn peers(&self, program: &str, family: &Family, job: &Job<'_>, case: &Case, work: Work) -> Result<Vec<Row>> {
        let (options, dtype) = (self.options, job.problem.dtype);
        let gpu = number(&self.device.info().device)?;
        let request = peers::Request {
            family: family.name,
            op: job.problem.op,
            dtype,
            size: &case.size,
            settings: job.problem.settings,
            seed: options.problems.seed,
            repeat: options.timing.repeat,
            cache: options.timing.cache(),
            gpu,
        };
        let row = |peer: peers::Peer| {
            let verdict = peer.judged(job.oracle.judge(&peer.result, peers::DEPTH));
            let mut row = Row::new(family.name, &peer.line.library, job, verdict);
            row.role = Role::Library;
            row.value = peer.result.single();
            row.judged(job.oracle, &peer.result, peers::DEPTH);
            let timing = bench::Timing {
                median_ms: peer.line.time_ms,
                min_ms: peer.line.min_ms,
                max_ms: peer.line.max_ms,
                spread: peer.line.spread,
                samples: options.timing.repeat,
                cache: options.timing.cache(),
            };
            row.set_timing(timing, work, self.plan.limit_gbps, self.device.info().peak_tflops(dtype));
            row
        };
        Ok(self.missing.unless(program, peers::run(program, &request))?.into_iter().map(row).collect())
    }
}

/// The number of the GPU with this name.
///
/// # Errors
/// [`Error::Usage`] for a name that is not a GPU's, since a library measured on another GPU cannot be compared.
fn number(device: &str) -> Result<u32> {
    match device.parse() {
        Ok(Choice::Gpu(number)) => Ok(number),
        _ => Err(Error::Usage(format!(
            "cannot measure libraries beside `{device}`, which is not the name of a GPU: leave --peers out"
        ))),
    }
}

/// Peer programs that are not built: `--peers` measures those that are.
#[derive(Default)]
struct Missing(RefCell<BTreeSet<String>>);

impl Missing {
    /// Returns no measurements if the program is not built, with a note on standard error the first time.
    fn unless(&self, program: &str, measured: Result<Vec<peers::Peer>>) -> Result<Vec<peers::Peer>> {
        match measured {
            Err(Error::NoPeer(why)) => {
                if self.0.borrow_mut().insert(program.to_owned()) {
                    note(why);
                }
                Ok(Vec::new())
            }
            other => other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_measured_on_the_same_gpu() {
        assert_eq!((number("gpu:0").expect("a GPU"), number("gpu:3").expect("a GPU")), (0, 3));
        for name in ["sim", "auto", "", "gpu:", "gpu:x", "NVIDIA H200"] {
            assert!(matches!(number(name), Err(Error::Usage(_))), "{name}");
        }
    }

    #[test]
    fn peers_that_are_not_built_end_nothing() {
        let missing = Missing::default();
        let request = peers::Request {
            family: "reduce",
            op: "sum",
            dtype: Dtype::F32,
            size: &[4],
            settings: &Settings::default(),
            seed: 1,
            repeat: 1,
            cache: bench::Cache::Warm,
            gpu: 0,
        };
        for _ in 0..2 {
            let none = missing.unless("no-such-program", peers::run("no-such-program", &request)).expect("no error");
            assert!(none.is_empty());
        }
        assert_eq!(missing.0.borrow().len(), 1, "it is noted once");
        let broken = missing.unless("broken", Err(Error::Usage("it ended with 1".to_owned())));
        assert!(matches!(broken, Err(Error::Usage(_))));
    }
}
