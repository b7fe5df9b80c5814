//! `host bench`: families at several sizes on a GPU, beside the vendor's libraries.

use super::family::{self, Timing};
use super::{CLEAN, WRONG, device, output};
use crate::backend::{Backend, Checks, Choice, Module, Printed};
use crate::bench::{self, Plan};
use crate::element::Dtype;
use crate::error::{Error, Result};
use crate::input::size;
use crate::kernels::{self, Case, Demand, FAMILIES, Family, Job, Row, Settings, Work};
use crate::peers;
use crate::tensor::text;

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// Families; all when left out
    families: Vec<String>,
    /// Sizes, as --n of the family; each family has its own when left out
    #[arg(long, value_parser = size::parse, value_delimiter = ',')]
    n: Vec<u64>,
    /// Sizes of several axes, for one family: 4096x1024,1024x4096
    #[arg(long, value_delimiter = ',', conflicts_with = "n")]
    shape: Vec<String>,
    /// A setting of the family, for one family: --set bins=2^16; may be repeated
    #[arg(long, value_name = "NAME=VALUE")]
    set: Vec<String>,
    /// Operations; the family's first when left out
    #[arg(long, value_delimiter = ',')]
    op: Vec<String>,
    /// Types of the elements; the family's first when left out
    #[arg(long, value_delimiter = ',', value_parser = str::parse::<Dtype>)]
    dtype: Vec<Dtype>,
    /// A variant, several with commas, best, or all
    #[arg(long, default_value = "all")]
    variant: String,
    /// Threads per block
    #[arg(long)]
    block: Option<u32>,
    /// Which numbers are generated
    #[arg(long, default_value_t = 42)]
    seed: u64,
    /// gpu or gpu:K
    #[arg(long, default_value = "gpu", value_parser = str::parse::<Choice>)]
    device: Choice,
    #[command(flatten)]
    ptx: device::PtxOptions,
    #[command(flatten)]
    timing: Timing,
    /// Measure the vendor's libraries too, with the programs of bench/peers
    #[arg(long)]
    peers: bool,
    #[command(flatten)]
    json: output::Options,
}

impl Options {
    /// The sizes that were asked for, or the family's, with the settings that were asked for.
    fn cases(&self, family: &Family) -> Result<Vec<Case>> {
        let shape = |text: &String| {
            let axes: Vec<u64> = text.split('x').map(size::parse).collect::<Result<_>>()?;
            Ok(Case::new(&axes))
        };
        let mut cases = match (self.n.as_slice(), self.shape.as_slice()) {
            ([], []) => (family.sizes)(),
            (sizes, []) => sizes.iter().map(|&n| Case::new(&[n])).collect(),
            (_, shapes) => shapes.iter().map(shape).collect::<Result<_>>()?,
        };
        for word in &self.set {
            let (name, value) = word.split_once('=').unwrap_or((word, ""));
            let setting = family.settings.iter().find(|setting| setting.name == name).ok_or_else(|| {
                let names: Vec<_> = family.settings.iter().map(|setting| setting.name).collect();
                Error::Usage(format!("{} has no setting '{name}'; there are: {}", family.name, names.join(" ")))
            })?;
            for case in &mut cases {
                case.settings.retain(|(have, _)| *have != name);
                case.settings.push((setting.name, value.to_owned()));
            }
        }
        Ok(cases)
    }
}

/// One table per family, operation, type and size.
pub(super) fn run(options: &Options) -> anyhow::Result<u8> {
    let families: Vec<&Family> = match options.families.as_slice() {
        [] => FAMILIES.iter().collect(),
        names => names.iter().map(|name| find(name)).collect::<Result<_>>()?,
    };
    let device = match options.device {
        Choice::Sim => {
            Err(Error::NoDevice("a simulator has no time: use `host FAMILY --device sim` for its counters".into()))
        }
        Choice::Auto => device::open(Choice::Gpu(0), Checks::Bounds, Printed::Stdout),
        choice => device::open(choice, Checks::Bounds, Printed::Stdout),
    }?;
    let Some(plan) = Plan::new(&*device, options.timing.repeat, options.timing.cache())? else { return Ok(CLEAN) };
    eprintln!("{}", machine(&*device, &plan));

    let bench = Bench { options, device: &*device, plan: &plan };
    let mut report = output::Report::new(&options.json);
    for family in families {
        if let Err(error) = bench.family(family, &mut report) {
            report.abandon(family.name, &error);
            return Err(error.into());
        }
    }
    Ok(if report.finish()? { CLEAN } else { WRONG })
}

fn find(name: &str) -> Result<&'static Family> {
    kernels::family(name).ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().map(|family| family.name).collect();
        Error::Usage(format!("'{name}' is no family; there are: {}", names.join(" ")))
    })
}

/// A number comes with its machine.
fn machine(device: &dyn Backend, plan: &Plan<'_>) -> String {
    let info = device.info();
    format!(
        "{}, {}; {}, device-to-device copy {:.0} GB/s (read + write)",
        info.name,
        info.driver.as_deref().unwrap_or("no driver"),
        match info.peak_gbps {
            Some(peak) => format!("nominal peak {peak:.0} GB/s, which fractions refer to"),
            None => "nominal peak unknown, so that fractions refer to the copy".to_owned(),
        },
        plan.copy_gbps
    )
}

/// What every measurement of a run shares.
struct Bench<'a> {
    options: &'a Options,
    device: &'a dyn Backend,
    plan: &'a Plan<'a>,
}

impl Bench<'_> {
    fn family(&self, family: &Family, report: &mut output::Report<'_>) -> Result<()> {
        let ops = match (self.options.op.as_slice(), family.ops) {
            // An --op for another family of the same run is none of this one's business.
            (_, []) | ([], _) => vec![family.op(None)?],
            (ops, _) => ops.iter().map(|op| family.op(Some(op))).collect::<Result<_>>()?,
        };
        let dtypes = match self.options.dtype.as_slice() {
            [] => vec![family.dtypes[0]],
            asked => asked.to_vec(),
        };
        let cases = self.options.cases(family)?;
        // So is a variant's name that only another family has.
        let elsewhere = self.options.families.len() != 1 && !family.variants_named(&self.options.variant);
        let variants = family.select(if elsewhere { "all" } else { &self.options.variant })?;
        let module = self.options.ptx.load(self.device, family)?;
        for op in ops {
            for &dtype in &dtypes {
                for case in cases.iter().filter(|case| case.is_for(dtype)) {
                    self.measure(family, module, (op, dtype), case, &variants, report)?;
                }
            }
        }
        Ok(())
    }

    fn measure(
        &self,
        family: &Family,
        module: Module,
        (op, dtype): (&str, Dtype),
        case: &Case,
        variants: &[&'static str],
        report: &mut output::Report<'_>,
    ) -> Result<()> {
        let options = self.options;
        let settings =
            Settings::new(family.settings, case.settings.iter().map(|(name, value)| (*name, value.as_str())))?;
        let demand = Demand { size: &case.size, dtype, seed: options.seed, settings: &settings };
        let inputs = (family.generate)(&demand)?;
        let problem = family::problem(family, op, &inputs, &settings)?;
        let oracle = (family.oracle)(problem)?;
        let job = Job {
            device: self.device,
            module,
            problem,
            oracle: &oracle,
            variants,
            block: options.block,
            grid: None,
            plan: Some(self.plan),
        };
        let size: Vec<_> = case.size.iter().map(|&n| n as usize).collect();
        let heading = [family.name, op, dtype.name(), &text(&size), &settings.text()];
        report.section(&heading.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" "));
        let mut work = Work::default();
        (family.run)(&job, &mut |row| {
            work = row.work;
            report.add(row);
        })?;
        if let (true, Some(program)) = (options.peers, family.peer) {
            for row in self.peers(program, family, &job, case, work)? {
                report.add(row);
            }
        }
        Ok(())
    }

    /// Rows like ours, verified against the same reference.
    fn peers(&self, program: &str, family: &Family, job: &Job<'_>, case: &Case, work: Work) -> Result<Vec<Row>> {
        let (options, dtype) = (self.options, job.problem.dtype);
        let gpu = self.device.info().device.trim_start_matches("gpu:").parse().unwrap_or(0);
        let request = peers::Request {
            family: family.name,
            op: job.problem.op,
            dtype,
            size: &case.size,
            settings: &case.settings,
            seed: options.seed,
            repeat: options.timing.repeat,
            cache: options.timing.cache(),
            gpu,
        };
        let row = |peer: peers::Peer| {
            let verdict = job.oracle.judge(&peer.result, peers::DEPTH);
            let mut row = Row::new(family.name, &peer.line.library, job, verdict);
            row.value = peer.result.single();
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
        Ok(peers::run(program, &request)?.into_iter().map(row).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    fn cases(words: &[&str]) -> Result<Vec<(Vec<u64>, usize)>> {
        let line =
            Line::try_parse_from([&["bench"], words].concat()).map_err(|error| Error::Usage(error.to_string()))?;
        let cases = line.options.cases(&kernels::transpose::FAMILY)?;
        Ok(cases.into_iter().map(|case| (case.size, case.settings.len())).collect())
    }

    #[test]
    fn sizes_are_the_familys_unless_asked() {
        let own: Vec<_> = (kernels::transpose::FAMILY.sizes)().into_iter().map(|case| (case.size, 0)).collect();
        assert_eq!(cases(&[]).expect("its own"), own);
        assert_eq!(cases(&["--n", "2^10,7"]).expect("squares"), [(vec![1024], 0), (vec![7], 0)]);
        assert_eq!(cases(&["--shape", "1kx3,5"]).expect("shapes"), [(vec![1024, 3], 0), (vec![5], 0)]);
        assert!(cases(&["--shape", "axb"]).is_err() && cases(&["--n", "1", "--shape", "1x1"]).is_err());
        let refused = cases(&["--set", "bins=3"]).expect_err("no such setting").to_string();
        assert!(refused.contains("transpose has no setting 'bins'"), "{refused}");
    }
}
