//! `host bench`: families at several sizes on a GPU, beside the vendor's libraries.

use super::family::Timing;
use super::{CLEAN, WRONG, device, output};
use crate::backend::{Backend, Checks, Choice, Module, Printed, require_host_memory, require_memory};
use crate::bench::{self, Plan};
use crate::element::{Array, Dtype, Element};
use crate::error::{Error, Result};
use crate::input::{generate::generate, size};
use crate::kernels::{self, FAMILIES, Family, Job, Row, reduce};
use crate::{peers, with_dtype};

/// Sizes that are measured when nobody says which.
const SIZES: [u64; 5] = [1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28];

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Options {
    /// Families; all when left out
    families: Vec<String>,
    /// Numbers of elements; default 2^20, 2^22, 2^24, 2^26, 2^28
    #[arg(long, value_parser = size::parse, value_delimiter = ',')]
    n: Vec<u64>,
    /// Operations; the family's first when left out
    #[arg(long, value_delimiter = ',')]
    op: Vec<String>,
    /// Types of the elements; default f32
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
    let module = options.ptx.load(&*device)?;
    let Some(plan) = Plan::new(&*device, options.timing.repeat, options.timing.cache())? else { return Ok(CLEAN) };
    eprintln!("{}", machine(&*device, &plan));

    let bench = Bench { options, device: &*device, module, plan: &plan };
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
    module: Module,
    plan: &'a Plan<'a>,
}

impl Bench<'_> {
    fn family(&self, family: &Family, report: &mut output::Report<'_>) -> Result<()> {
        let or = |given: &[u64], default: &[u64]| if given.is_empty() { default.to_vec() } else { given.to_vec() };
        let ops = match (self.options.op.as_slice(), family.ops) {
            // An --op for another family of the same run is none of this one's business.
            (_, []) | ([], _) => vec![family.op(None)?],
            (ops, _) => ops.iter().map(|op| family.op(Some(op))).collect::<Result<_>>()?,
        };
        let dtypes = if self.options.dtype.is_empty() { vec![Dtype::F32] } else { self.options.dtype.clone() };
        // So is a variant's name that only another family has.
        let elsewhere = self.options.families.len() != 1 && !family.variants_named(&self.options.variant);
        let variants = family.select(if elsewhere { "all" } else { &self.options.variant })?;
        for op in ops {
            for &dtype in &dtypes {
                for n in or(&self.options.n, &SIZES) {
                    self.measure(family, op, dtype, n, &variants, report)?;
                }
            }
        }
        Ok(())
    }

    fn measure(
        &self,
        family: &Family,
        op: &str,
        dtype: Dtype,
        n: u64,
        variants: &[&'static str],
        report: &mut output::Report<'_>,
    ) -> Result<()> {
        let options = self.options;
        let bytes = n.checked_mul(dtype.size() as u64).and_then(|bytes| bytes.checked_mul(family.operands as u64));
        let what = format!("{} with {n} elements of {dtype}", family.name);
        require_memory(self.device, bytes, &what, "use a smaller --n")?;
        require_host_memory(bytes.unwrap_or(u64::MAX), &what, "use a smaller --n")?;
        let seeds = (0..family.operands).map(|operand| options.seed.wrapping_add(operand as u64));
        let inputs: Vec<Array> = with_dtype!(
            dtype,
            T => seeds.map(|seed| T::wrap(generate::<T>(n as usize, seed))).collect(),
            else => return Err(Error::Usage(format!("{} has no kernel for {dtype}", family.name)))
        );
        let job = Job {
            device: self.device,
            module: self.module,
            inputs: &inputs,
            op,
            variants,
            block: options.block,
            grid: None,
            plan: Some(self.plan),
        };
        report.section(&format!("{} {op} {dtype}, {n} elements", family.name).replace("  ", " "));
        (family.run)(&job, &mut |row| report.add(row))?;
        if options.peers && family.name == reduce::FAMILY.name {
            for row in self.peers(family, &job)? {
                report.add(row);
            }
        }
        Ok(())
    }

    /// Rows like ours, verified against the same reference.
    fn peers(&self, family: &Family, job: &Job<'_>) -> Result<Vec<Row>> {
        let input = &job.inputs[0];
        let (options, dtype) = (self.options, input.dtype());
        let gpu = self.device.info().device.trim_start_matches("gpu:").parse().unwrap_or(0);
        let request = peers::Request {
            op: job.op,
            dtype: dtype.name(),
            n: input.len() as u64,
            seed: options.seed,
            repeat: options.timing.repeat,
            cache: options.timing.cache(),
            gpu,
        };
        let lines = peers::run(family.name, &request)?;
        let row = |line: peers::Line| {
            let expected = with_dtype!(dtype, T => {
                let values = T::view(input).unwrap_or_default();
                let value = line.value.parse::<T>().map(T::value).ok();
                value.map(|value| (value, reduce::oracle::reference(job.op, values).expected::<T>(reduce::PEER_DEPTH)))
            }, else => None);
            let (value, expected) = expected.ok_or_else(|| {
                Error::Device(format!("{} printed '{}', which is no {dtype}", line.library, line.value))
            })?;
            let mut row = Row::new(family.name, &line.library, job, expected.judge(value));
            (row.value, row.reference) = (Some(value), Some(expected.value));
            row.set_timing(
                bench::Timing {
                    median_ms: line.time_ms,
                    min_ms: line.min_ms,
                    max_ms: line.max_ms,
                    spread: line.spread,
                    samples: options.timing.repeat,
                    cache: options.timing.cache(),
                },
                input.bytes().len() as u64,
                self.plan.limit_gbps,
            );
            Ok(row)
        };
        lines.into_iter().map(row).collect()
    }
}
