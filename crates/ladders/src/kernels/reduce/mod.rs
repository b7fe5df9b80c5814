//! Reduction: one value from many, by sum, maximum or minimum; and where the maximum or minimum is.
//!
//! `argmax` and `argmin` give the index of the first one, as u64: the first NaN counts as both, and an empty input has
//! the index 2^64 - 1, which stands for none.
//!
//! Integer sums wrap. NaN in, NaN out, for every operation; the maximum of -0 and +0 is +0, the minimum -0. An empty
//! input gives the identity: 0, the type's lowest value (-inf), its highest value (+inf).

use super::generic::with_op;
use super::problem::{awkward_lengths, bench_lengths};
use super::{Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::reduce::{Max, Min, Sum, double_accumulator::Widen};
use launches::{Plan, Scratch};
use rustwarp::backend::{Backend, Buffer, Module, require_memory};
use rustwarp::element::{Dtype, Element};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;
use table::{Operation, Scheme, Variant};

mod arg;
mod launches;
pub mod oracle;
pub mod table;

/// The family.
pub const FAMILY: Family = Family {
    name: "reduce",
    idea: "one value from many: sum, max or min, or where max or min is",
    operands: &[Operand::of_elements("input")],
    ops: &["sum", "max", "min", "argmax", "argmin"],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[],
    variants,
    cases,
    sizes: bench_lengths,
    generate: |demand| demand.vectors(1),
    oracle,
    run,
    specials: true,
    limits: Limits::GRID_OF_DEVICE,
    peer: Some("reduce"),
};

/// Reduces the first `n` elements of `input` with one variant; `block` and `grid` as the variant likes when `None`.
///
/// # Errors
/// [`Error::Usage`] for a variant or block size that there is not, and whatever the device reports.
pub fn reduce<O: Operation<T>, T: Element + Widen>(
    device: &dyn Backend,
    module: Module,
    input: &Buffer<'_, T>,
    n: usize,
    variant: &str,
) -> Result<T> {
    if n == 0 {
        return Ok(O::identity());
    }
    let variant = find::<O, T>(variant)?;
    let block = variant.block.choose(None, variant.name, device.info().max_block)?;
    let plan = Plan::new(&variant, device.info(), n as u64, block, None)?;
    let scratch = Scratch::new::<O>(device, &plan)?;
    let launches = scratch.launches(&plan, &variant, input.slice(n));
    launches.run(module)?;
    launches.result()
}

/// Nothing, one, around a warp, a block, and tiles of several rungs: few, because there are many rungs, operations and
/// types. Every awkward length in a float and an integer type, and some in the others: the rungs are many.
fn cases() -> Vec<Case> {
    const SOME: [u64; 5] = [0, 1, 33, 257, 1009];
    let type_of = |case: Case| if SOME.contains(&case.size[0]) { case } else { case.only(&[Dtype::F32, Dtype::I64]) };
    awkward_lengths().into_iter().map(type_of).collect()
}

fn find<O: Operation<T>, T: Element + Widen>(name: &str) -> Result<Variant<T>> {
    let found = table::variants::<O, T>().into_iter().find(|variant| variant.name == name);
    found.ok_or_else(|| Error::Usage(format!("reduce has no variant '{name}'")))
}

fn variants() -> Vec<VariantInfo> {
    fn entries<O: Operation<T>, T: Element + Widen>(row: usize) -> Vec<Entry> {
        let variant = &table::variants::<O, T>()[row];
        // SAFETY: nothing is launched; only the names and the parameters are of interest.
        let (input, out, ticket) = unsafe { (Slice::new(0, 0), PtrMut::new(0), PtrMut::new(0)) };
        let entry = |block| variant.scheme.call(block, input, out, ticket, out).into();
        variant.block.kernels().into_iter().map(entry).collect()
    }
    let info = |(row, variant): (usize, Variant<i32>)| {
        let types = |op: &&str| -> Vec<Entry> {
            let typed = |dtype: &Dtype| {
                with_dtype!(dtype, T => match *op {
                    "argmax" => arg::entries::<Max, T>(row, &table::variants::<Max, T>()[row]),
                    "argmin" => arg::entries::<Min, T>(row, &table::variants::<Min, T>()[row]),
                    op => with_op!(FAMILY, op, O => entries::<O, T>(row)).unwrap_or_default(),
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
    with_dtype!(problem.dtype, T => match problem.op {
        "argmax" | "argmin" => arg::oracle::<T>(&problem),
        _ => typed_oracle::<T>(problem, false),
    }, else => Err(FAMILY.no_kernel(problem.dtype)))
}

/// `precise`: for rungs that add in about twice the type's precision.
fn typed_oracle<T: Element>(problem: Problem<'_>, precise: bool) -> Result<Oracle<'_>> {
    let reference = oracle::reference(problem.op, problem.view::<T>(0)?);
    let (value, wrapped) = (reference.expected::<T>(0).value, reference.wrapped);
    let judge = Oracle::elements::<T>(vec![1], move |_, depth| match precise {
        true => reference.expected_precisely::<T>(depth),
        false => reference.expected::<T>(depth),
    });
    Ok(judge.with_value(value).with_wrapped(wrapped))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_dtype!(
        job.problem.dtype,
        T => match job.problem.op {
            "argmax" => arg::typed::<Max, T>(job, emit),
            "argmin" => arg::typed::<Min, T>(job, emit),
            op => with_op!(FAMILY, op, O => typed::<O, T>(job, emit)?),
        },
        else => Err(FAMILY.no_kernel(job.problem.dtype))
    )
}

fn typed<O: Operation<T>, T: Element + Widen>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<T>(0)?;
    let n = input.len();
    // The variants run in turn, so the largest scratch memory counts.
    let mut scratch = 0;
    for name in job.variants.iter().filter(|_| n > 0) {
        scratch = scratch.max(Scratch::<T>::bytes(&plan::<O, T>(job, name, n)?.1));
    }
    let bytes = (size_of_val(input) as u64).checked_add(scratch);
    require_memory(
        job.device,
        bytes,
        "reduce with its partial results",
        "use a smaller --n or input, or a larger --block",
    )?;
    let buffer = Buffer::from_slice(job.device, input, "input")?;
    let mut result = T::wrap(vec![O::identity()]).into();
    for name in job.variants {
        let mut row;
        (result, row) = variant_row::<O, T>(job, name, &buffer, n)?;
        row.value = result.single();
        emit(row);
    }
    Ok(result)
}

/// What the job's launches of a variant look like, for `n` elements, which is not 0.
fn plan<O: Operation<T>, T: Element + Widen>(job: &Job<'_>, name: &str, n: usize) -> Result<(Variant<T>, Plan)> {
    let variant = find::<O, T>(name)?;
    let info = job.device.info();
    let block = variant.block.choose(job.block, name, info.max_block)?;
    let plan = Plan::new(&variant, info, n as u64, block, job.grid)?;
    Ok((variant, plan))
}

/// Runs one variant, compares, and times it.
fn variant_row<O: Operation<T>, T: Element + Widen>(
    job: &Job<'_>,
    name: &str,
    input: &Buffer<'_, T>,
    n: usize,
) -> Result<(Tensor, Row)> {
    let trial = |output, shape, depth| Trial {
        family: FAMILY.name,
        variant: name,
        shape,
        output,
        result: vec![1],
        depth,
        work: Work::bytes((n * size_of::<T>()) as u64),
    };
    if n == 0 {
        // No grid has 0 blocks: there is nothing to launch.
        let block = find::<O, T>(name)?.block.choose(job.block, name, job.device.info().max_block)?;
        let identity = Buffer::from_slice(job.device, &[O::identity()], "identity")?;
        return job.measure(&trial(&identity, (block, 0), 0), &mut || Ok(()));
    }
    let (variant, plan) = plan::<O, T>(job, name, n)?;
    let scratch = Scratch::new::<O>(job.device, &plan)?;
    let launches = scratch.launches(&plan, &variant, input.slice(n));
    let precise = match variant.scheme {
        Scheme::Split { precise: true, .. } => Some(typed_oracle::<T>(job.problem, true)?),
        _ => None,
    };
    let job = Job { oracle: precise.as_ref().unwrap_or(job.oracle), ..*job };
    job.measure(&trial(launches.output(), (plan.block, plan.grids[0]), plan.depth), &mut || launches.run(job.module))
}
