//! `host FAMILY`: one family's variants on one input, verified and timed.

use super::{CLEAN, WRONG, device, output};
use crate::backend::{Backend, Checks, Choice, require_host_memory, require_memory};
use crate::bench::{Cache, Plan};
use crate::element::{Array, Dtype, Element};
use crate::error::{Error, Result};
use crate::input::{self, generate::generate, npy, size};
use crate::kernels::{Family, Job};
use crate::with_dtype;
use indicatif::{ProgressBar, ProgressStyle};
use std::path::PathBuf;
use std::time::Duration;

/// Elements that are generated when nobody says how many: on a GPU, and on the simulator.
const DEFAULT_N: (u64, u64) = (1 << 22, 1 << 16);

/// Options of the subcommand.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// A variant, several with commas, best, or all
    #[arg(long, default_value = "all")]
    pub variant: String,
    /// sum, max, min; the family's first when left out
    #[arg(long)]
    pub op: Option<String>,
    /// Type of the elements: f32 f64 i32 u32 i64 u64; default f32, or what the file holds
    #[arg(long, value_parser = str::parse::<Dtype>)]
    pub dtype: Option<Dtype>,
    /// A file for each operand, in order: .npy, .txt, or raw little-endian elements
    #[arg(long, value_name = "FILE", conflicts_with_all = ["n", "seed"])]
    pub input: Vec<PathBuf>,
    /// Generate this many elements: 1000000, 4M, 2^22; default 2^22 on a GPU, 2^16 on the simulator
    #[arg(long, value_parser = size::parse)]
    pub n: Option<u64>,
    /// Which numbers are generated: SplitMix64 with this seed, the same on every machine
    #[arg(long, default_value_t = 42)]
    pub seed: u64,
    /// Threads per block
    #[arg(long)]
    pub block: Option<u32>,
    /// Blocks, for variants that take any grid
    #[arg(long)]
    pub grid: Option<u32>,
    #[command(flatten)]
    pub device: device::Options,
    #[command(flatten)]
    pub ptx: device::PtxOptions,
    #[command(flatten)]
    pub timing: Timing,
    /// Write the result of the one variant that --variant names as .npy, if it is verified
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub json: output::Options,
}

/// How to time.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Timing {
    /// Samples per variant on a GPU
    #[arg(long, default_value_t = 21)]
    pub repeat: u32,
    /// Leave the L2 cache as the run before left it, instead of flushing it
    #[arg(long)]
    pub warm: bool,
}

impl Timing {
    /// State of the cache that was asked for.
    pub fn cache(&self) -> Cache {
        if self.warm { Cache::Warm } else { Cache::Cold }
    }
}

/// Runs the family on the device that the options name.
pub(super) fn run(family: &Family, options: &Options) -> anyhow::Result<u8> {
    run_on(family, options, options.device.device, Checks::Bounds)
}

/// The same on a device of the caller's choice.
pub(super) fn run_on(family: &Family, options: &Options, choice: Choice, checks: Checks) -> anyhow::Result<u8> {
    let op = family.op(options.op.as_deref())?;
    let variants = family.select(&options.variant)?;
    // Refused before a device is opened and data is made.
    for variant in (family.variants)().iter().filter(|variant| variants.contains(&variant.name)) {
        variant.block.choose(options.block, variant.name, u32::MAX)?;
    }
    if let Some(path) = &options.output {
        if variants.len() > 1 {
            let text = "--output writes the result of one variant: choose it with --variant";
            return Err(Error::Usage(text.to_owned()).into());
        }
        npy::require_writable(path)?;
    }
    // Files first: a bad one needs no device to be refused.
    options.dtype.map_or(Ok(()), |dtype| require_kernel(family, dtype))?;
    let files = read_inputs(family, options)?;
    files.as_ref().map_or(Ok(()), |arrays| require_kernel(family, arrays[0].dtype()))?;
    let device = device::open(choice, checks, options.json.printed())?;
    let module = options.ptx.load(&*device)?;
    let inputs = match files {
        Some(inputs) => inputs,
        None => generate_inputs(family, options, &*device)?,
    };

    let plan = Plan::new(&*device, options.timing.repeat, options.timing.cache())?;
    let job = Job {
        device: &*device,
        module,
        inputs: &inputs,
        op,
        variants: &variants,
        block: options.block,
        grid: options.grid,
        plan: plan.as_ref(),
    };
    let mut report = output::Report::new(&options.json);
    let progress = progress(variants.len());
    // A row that names the output file waits until that is written.
    let mut waiting = None;
    let result = (family.run)(&job, &mut |row| {
        progress.set_message(row.variant.clone());
        progress.inc(1);
        match options.output {
            Some(_) => waiting = Some(row),
            None => progress.suspend(|| report.add(row)),
        }
    });
    progress.finish_and_clear();
    let result = match result {
        Ok(result) => result,
        Err(error) => {
            report.abandon(family.name, &error);
            return Err(error.into());
        }
    };
    if let (Some(mut row), Some(path)) = (waiting, &options.output) {
        if row.is_clean() {
            npy::write(path, &result)?;
            row.output = Some(path.clone());
        }
        report.add(row);
    }
    Ok(if report.finish()? { CLEAN } else { WRONG })
}

fn require_kernel(family: &Family, dtype: Dtype) -> Result<()> {
    if family.dtypes.contains(&dtype) {
        return Ok(());
    }
    let names: Vec<_> = family.dtypes.iter().map(|dtype| dtype.name()).collect();
    Err(Error::Usage(format!(
        "{} has no kernel for {dtype}: convert the data to one of {}",
        family.name,
        names.join(" ")
    )))
}

/// The files, or `None` when data is to be generated.
fn read_inputs(family: &Family, options: &Options) -> Result<Option<Vec<Array>>> {
    if options.input.is_empty() {
        return Ok(None);
    }
    if options.input.len() != family.operands {
        let (have, need) = (options.input.len(), family.operands);
        return Err(Error::Usage(format!("{} takes {need} --input, not {have}", family.name)));
    }
    let arrays: Vec<_> = options.input.iter().map(|path| input::read(path, options.dtype)).collect::<Result<_>>()?;
    match arrays.iter().find(|array| array.dtype() != arrays[0].dtype()) {
        Some(other) => {
            let (a, b) = (arrays[0].dtype(), other.dtype());
            Err(Error::Usage(format!("{} needs inputs of one type, not {a} and {b}", family.name)))
        }
        None => Ok(Some(arrays)),
    }
}

fn generate_inputs(family: &Family, options: &Options, device: &dyn Backend) -> Result<Vec<Array>> {
    let default = if device.info().is_gpu() { DEFAULT_N.0 } else { DEFAULT_N.1 };
    let n = options.n.unwrap_or(default);
    let dtype = options.dtype.unwrap_or(Dtype::F32);
    let bytes = n.checked_mul(dtype.size() as u64).and_then(|bytes| bytes.checked_mul(family.operands as u64));
    let what = format!("{} with {n} elements of {dtype}", family.name);
    require_memory(device, bytes, &what, "use a smaller --n")?;
    require_host_memory(bytes.unwrap_or(u64::MAX), &what, "use a smaller --n")?;
    let seeds = (0..family.operands).map(|operand| options.seed.wrapping_add(operand as u64));
    with_dtype!(
        dtype,
        T => Ok(seeds.map(|seed| T::wrap(generate::<T>(n as usize, seed))).collect()),
        else => Err(Error::Usage(format!("{} has no kernel for {dtype}", family.name)))
    )
}

/// A bar on standard error, on a terminal only.
fn progress(len: usize) -> ProgressBar {
    let bar = ProgressBar::new(len as u64);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {pos}/{len} {msg} {elapsed}") {
        bar.set_style(style);
    }
    bar.enable_steady_tick(Duration::from_millis(200));
    bar
}
