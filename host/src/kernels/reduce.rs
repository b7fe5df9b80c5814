//! Reduction: one value from many, by sum, maximum or minimum.
//!
//! Integer sums wrap. NaN in, NaN out, for every operation; the maximum of -0 and +0 is +0, the minimum -0. An empty input
//! gives the identity: 0, the type's lowest value (-inf), its highest value (+inf).

use super::{Family, Job, Row, VariantInfo};
use crate::backend::{Backend, Buffer, Module, require_memory};
use crate::element::{Array, Dtype, Element};
use crate::error::{Error, Result};
use crate::with_dtype;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::reduce::{Max, Min, Op, Sum};
use launches::{Plan, Scratch};
use table::Variant;

mod launches;
pub mod oracle;
pub mod table;

/// The family.
pub const FAMILY: Family = Family {
    name: "reduce",
    idea: "one value from many: sum, max or min",
    operands: 1,
    ops: &["sum", "max", "min"],
    dtypes: Dtype::NUMBERS,
    variants,
    run,
};

/// Longest chain of additions that a library is granted whose order is not known: more than any tree on a full GPU needs for
/// 2^32 elements.
pub const PEER_DEPTH: u64 = 1 << 14;

/// Runs code that is generic over the operation.
macro_rules! with_op {
    ($op:expr, $o:ident => $body:expr) => {
        match $op {
            "sum" => {
                type $o = Sum;
                Ok($body)
            }
            "max" => {
                type $o = Max;
                Ok($body)
            }
            "min" => {
                type $o = Min;
                Ok($body)
            }
            other => Err(Error::Usage(format!("reduce has no operation '{other}'; there are: sum max min"))),
        }
    };
}

/// Reduces the first `n` elements of `input` with one variant; `block` and `grid` as the variant likes when `None`.
///
/// # Errors
/// [`Error::Usage`] for a variant or block size that there is not, and whatever the device reports.
pub fn reduce<O: Op<T>, T: Element>(
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

fn find<O: Op<T>, T: Element>(name: &str) -> Result<Variant<T>> {
    let found = table::variants::<O, T>().into_iter().find(|variant| variant.name == name);
    found.ok_or_else(|| Error::Usage(format!("reduce has no variant '{name}'")))
}

fn variants() -> Vec<VariantInfo> {
    fn entries<O: Op<T>, T: Element>(row: usize) -> Vec<String> {
        let variant = &table::variants::<O, T>()[row];
        // SAFETY: nothing is launched; only the names are of interest.
        let (input, out, ticket) = unsafe { (Slice::new(0, 0), PtrMut::new(0), PtrMut::new(0)) };
        let name = |block| variant.scheme.call(block, input, out, ticket, out).entry.into_owned();
        variant.block.kernels().into_iter().map(name).collect()
    }
    let info = |(row, variant): (usize, Variant<i32>)| {
        let types = |op: &&str| -> Vec<String> {
            let typed = |dtype: &Dtype| with_dtype!(dtype, T => with_op!(*op, O => entries::<O, T>(row)).unwrap_or_default(), else => Vec::new());
            Dtype::NUMBERS.iter().flat_map(typed).collect()
        };
        let entries = FAMILY.ops.iter().flat_map(types).collect();
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries }
    };
    table::variants::<Sum, i32>().into_iter().enumerate().map(info).collect()
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Array> {
    let dtype = job.inputs[0].dtype();
    with_dtype!(
        dtype,
        T => with_op!(job.op, O => typed::<O, T>(job, emit)?),
        else => Err(Error::Usage(format!("reduce has no kernel for {dtype}")))
    )
}

fn typed<O: Op<T>, T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Array> {
    let Some(input) = T::view(&job.inputs[0]) else { return Err(Error::Usage("reduce needs one input".into())) };
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
    let reference = oracle::reference(job.op, input);
    let buffer = Buffer::from_slice(job.device, input, "input")?;
    let mut value = O::identity();
    for name in job.variants {
        let mut row;
        (value, row) = variant_row::<O, T>(job, name, &buffer, n, &reference)?;
        row.wrapped = reference.wrapped;
        emit(row);
    }
    Ok(T::wrap(vec![value]))
}

/// What the job's launches of a variant look like, for `n` elements, which is not 0.
fn plan<O: Op<T>, T: Element>(job: &Job<'_>, name: &str, n: usize) -> Result<(Variant<T>, Plan)> {
    let variant = find::<O, T>(name)?;
    let info = job.device.info();
    let block = variant.block.choose(job.block, name, info.max_block)?;
    let plan = Plan::new(&variant, info, n as u64, block, job.grid)?;
    Ok((variant, plan))
}

/// Runs one variant, compares, and times it.
fn variant_row<O: Op<T>, T: Element>(
    job: &Job<'_>,
    name: &str,
    input: &Buffer<'_, T>,
    n: usize,
    reference: &oracle::Reference,
) -> Result<(T, Row)> {
    let row = |value: T, block, grid, depth| {
        let expected = reference.expected::<T>(depth);
        let mut row = Row::new(FAMILY.name, name, job, expected.judge(value.value()));
        (row.value, row.reference) = (Some(value.value()), Some(expected.value));
        (row.block, row.grid) = (block, grid);
        row
    };
    if n == 0 {
        // No grid has 0 blocks: there is nothing to launch.
        let block = find::<O, T>(name)?.block.choose(job.block, name, job.device.info().max_block)?;
        let mut row = row(O::identity(), block, 0, 0);
        row.observe(job.device.observed());
        return Ok((O::identity(), row));
    }
    let (variant, plan) = plan::<O, T>(job, name, n)?;
    let scratch = Scratch::new::<O>(job.device, &plan)?;
    let launches = scratch.launches(&plan, &variant, input.slice(n));
    job.device.observed();
    launches.run(job.module)?;
    let value = launches.result()?;
    let mut row = row(value, plan.block, plan.grids[0], plan.depth);
    row.observe(job.device.observed());
    row.time(job, (n * size_of::<T>()) as u64, &mut || launches.run(job.module))?;
    Ok((value, row))
}
