//! Scan, or prefix sum: each element becomes the sum, maximum or minimum of all elements up to it; with `--exclusive`,
//! of all before it, and the first one becomes the identity.
//!
//! Integer sums wrap. From the first NaN on everything is NaN, for every operation; the maximum of -0 and +0 is +0, the
//! minimum -0. The identities are 0, the type's lowest value (-inf), its highest value (+inf). A scan of nothing is
//! nothing.

use super::generic::with_op;
use super::problem::bench_lengths;
use super::settings::Flag;
use super::{Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Setting, Trial, VariantInfo, Work};
use kernels_gpu::reduce::{Op, Sum};
use launches::{Plan, Scratch};
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::element::{Dtype, Element};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;
use table::Variant;

mod launches;
mod oracle;
pub mod table;

const EXCLUSIVE: Setting<Flag> =
    Setting { name: "exclusive", help: "Leave each element out of its own sum", generated: false, kind: Flag };

/// The family.
pub const FAMILY: Family = Family {
    name: "scan",
    idea: "prefix sums: each element becomes the sum, max or min of all up to it",
    operands: &[Operand::of_elements("input")],
    ops: &["sum", "max", "min"],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[EXCLUSIVE.listed()],
    variants,
    cases,
    sizes: bench_lengths,
    generate: |demand| demand.vectors(1),
    oracle,
    run,
    specials: true,
    limits: Limits::DEFAULT,
    peer: Some("scan"),
};

/// Lengths around warps and blocks and a prime above each section and tile, alternately inclusive and exclusive.
fn cases() -> Vec<Case> {
    let lengths = [0, 1, 31, 32, 33, 256, 1031, 257];
    let alternate = |(i, &n): (usize, &u64)| match i % 2 {
        0 => Case::new(&[n]),
        _ => Case::new(&[n]).with("exclusive", ""),
    };
    let mut cases: Vec<_> = lengths.iter().enumerate().map(alternate).collect();
    cases.extend([Case::new(&[1]), Case::new(&[33]).with("exclusive", ""), Case::new(&[3079])]);
    cases
}

fn variants() -> Vec<VariantInfo> {
    fn entries<O: Op<T>, T: Element>(row: usize) -> Vec<Entry> {
        table::variants::<O, T>().get(row).map(Variant::entries).unwrap_or_default()
    }
    let info = |(row, variant): (usize, Variant<i32>)| {
        let types = |op: &&str| -> Vec<Entry> {
            let typed = |dtype: &Dtype| {
                with_dtype!(dtype, T => {
                    with_op!(FAMILY, *op, O => entries::<O, T>(row)).unwrap_or_default()
                }, else => Vec::new())
            };
            Dtype::NUMBERS.iter().flat_map(typed).collect()
        };
        let entries = FAMILY.ops.iter().flat_map(types).collect();
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries }
    };
    table::variants::<Sum, i32>().into_iter().enumerate().map(info).collect()
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let input = &problem.inputs[0];
    if input.shape().len() != 1 {
        let shape = rustwarp::tensor::text(input.shape());
        return Err(Error::Usage(format!("scan takes a vector, not an array of {shape} elements: reshape it")));
    }
    let exclusive = problem.settings.flag(&EXCLUSIVE);
    with_dtype!(
        problem.dtype,
        T => oracle::oracle::<T>(problem.op, exclusive, problem.view::<T>(0)?),
        else => Err(FAMILY.no_kernel(problem.dtype))
    )
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_dtype!(
        job.problem.dtype,
        T => with_op!(FAMILY, job.problem.op, O => typed::<O, T>(job, emit)?),
        else => Err(FAMILY.no_kernel(job.problem.dtype))
    )
}

fn typed<O: Op<T>, T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<T>(0)?;
    let exclusive = job.problem.settings.flag(&EXCLUSIVE);
    // The variants run in turn, so the largest scratch memory counts.
    let mut scratch = 0;
    for name in job.variants {
        job.require_no_grid(name)?;
        scratch = scratch.max(plan::<O, T>(job, name, input.len())?.1.scratch_bytes());
    }
    let bytes = 2 * size_of_val(input) as u64;
    require_memory(
        job.device,
        bytes.checked_add(scratch),
        "scan with its result and the sums of its blocks",
        "use a smaller --n or input, or a larger --block",
    )?;
    let device_input = Buffer::from_slice(job.device, input, "input")?;
    let mut result = Tensor::from(T::wrap(Vec::new()));
    for name in job.variants {
        let (variant, plan) = plan::<O, T>(job, name, input.len())?;
        let scratch = Scratch::<T>::new(job.device, &plan)?;
        let launches = scratch.launches(&plan, &variant, device_input.slice(input.len()), exclusive);
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (plan.block, plan.grid()),
            output: scratch.output(),
            result: vec![input.len()],
            depth: plan.depth,
            work: Work::bytes(bytes),
        };
        let row;
        (result, row) = job.measure(&trial, &mut || launches.run(job.module))?;
        emit(row);
    }
    Ok(result)
}

/// What the job's launches of a variant look like.
fn plan<O: Op<T>, T: Element>(job: &Job<'_>, name: &str, n: usize) -> Result<(Variant<T>, Plan)> {
    let found = table::variants::<O, T>().into_iter().find(|variant| variant.name == name);
    let variant = found.ok_or_else(|| Error::Usage(format!("scan has no variant '{name}'")))?;
    let block = variant.block.choose(job.block, name, job.device.info().max_block)?;
    let plan = Plan::new(&variant, n as u64, block)?;
    Ok((variant, plan))
}
