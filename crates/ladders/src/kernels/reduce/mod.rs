//! Reduction: one value from many, by sum, maximum or minimum; and where the maximum or minimum is.
//!
//! `highest_bit` and `lowest_bit` give the number of the bit, from 0 for the lowest one, among those that are set in
//! any element; 2^32 - 1 if none is set.
//!
//! `argmax` and `argmin` give the index of the first one, as u64: the first NaN counts as both, and an empty input has
//! the index 2^64 - 1, which stands for none.
//!
//! `summary` gives the sum, the mean, the variance, the minimum and the maximum, as f64.
//!
//! Integer sums wrap. NaN in, NaN out, for every operation; the maximum of -0 and +0 is +0, the minimum -0. An empty
//! input gives the identity: 0, the type's lowest value (-inf), its highest value (+inf).
//!
//! Elements of f16 and bf16 are added and compared as f32, which is the type of the result.

use super::generic::{Reduces, Reduction, with_op};
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::problem::{awkward_lengths, bench_lengths};
use super::{Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, RungId, Work};
use crate::compare::Expected;
use crate::error::Result;
use crate::kernels::spelling::{BLOCK_SIZE, N};
use bound::Bound;
pub use floats::Operation;
use kernels_gpu::reduce::{Max, Min, Sum, best, double_accumulator::Widen, sorted};
use launches::{Blueprint, Scratch};
use rustwarp::backend::{Backend, Buffer, Module, require_memory};
use rustwarp::element::{Dtype, Element, Summand};
use rustwarp::with_dtype;
use scheme::{Kernel, RunValue, Scheme, Table};
use std::marker::PhantomData;

mod arg;
mod bits;
pub mod bound;
mod floats;
mod half;
mod launches;
mod only_best;
pub mod oracle;
mod scheme;
mod summary;
mod table;

/// The types that are also reduced in parts: on several devices, and in chunks.
pub const IN_PARTS: &[Dtype] = Dtype::NUMBERS;

/// The family.
pub const FAMILY: Family = Family {
    name: "reduce",
    idea: "one value from many: sum, max, min, where max or min is, the highest or lowest bit; or a summary",
    operands: &[Operand::of_elements("input")],
    ops: &["sum", "max", "min", "argmax", "argmin", "highest_bit", "lowest_bit", "summary"],
    dtypes: DTYPES,
    only: &[
        ("argmax", Dtype::NUMBERS),
        ("argmin", Dtype::NUMBERS),
        ("highest_bit", bits::DTYPES),
        ("lowest_bit", bits::DTYPES),
        ("summary", Dtype::NUMBERS),
    ],
    settings: &[],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes: bench_lengths,
    of_vectors: true,
    generate: |demand| demand.vectors(1),
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: true,
    limits: Limits::DEFAULT,
    peers: &["reduce"],
};

/// Types of the elements: the numbers, and the types of [`half`].
const DTYPES: &[Dtype] =
    &[Dtype::F32, Dtype::F64, Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64, Dtype::F16, Dtype::Bf16];

/// Reduces the first `n` elements of `input` with one variant; `None` for `block` and `grid` stands for its defaults.
///
/// # Errors
/// [`Error::Usage`](crate::Error::Usage) for more elements than a grid can take, and the errors of the device.
pub fn reduce<O: Operation<T>, T: Element + Widen>(
    device: &dyn Backend,
    module: Module,
    input: &Buffer<'_, T>,
    n: usize,
    rung: RungId,
) -> Result<T> {
    if n == 0 {
        return Ok(O::identity());
    }
    let Rung { name, block, ref kernel, .. } = table::rungs::<O, T>()[rung.row];
    let block = block.choose(None, name, device.info().max_block)?;
    let mut value = O::identity();
    with_value::<O, T>(&Chosen { name, kernel, block, grid: None, device }, input, n, &mut |plan, output| {
        plan.run(device, module)?;
        value = output.read(1)?[0];
        Ok(())
    })?;
    Ok(value)
}

/// Whether a variant has kernels for this operation and type.
pub fn has_kernels<O: Operation<T>, T: Element + Widen>(rung: RungId) -> bool {
    let Rung { kernel, .. } = &table::rungs::<O, T>()[rung.row];
    !matches!(kernel, Planned::Here(Kernel { scheme: Scheme::Missing, .. }))
}

/// The error bound of a rung's sums of f32 or f64.
pub fn bound(rung: RungId, dtype: Dtype) -> Bound {
    fn of<T: Element + Widen>(rung: RungId) -> Bound
    where
        Sum: Operation<T>,
    {
        match &table::rungs::<Sum, T>()[rung.row].kernel {
            Planned::Here(kernel) => kernel.scheme.bound(),
            Planned::ByLibrary => Bound::Plain,
        }
    }
    if dtype == Dtype::F64 { of::<f64>(rung) } else { of::<f32>(rung) }
}

/// Plans the reduction of the first `n` elements of `input`, of which there is at least one, and passes the plan to
/// `run` with the memory of the value.
fn with_value<O: Operation<T>, T: Element + Widen>(
    rung: &Chosen<'_, Table<T>>,
    input: &Buffer<'_, T>,
    n: usize,
    run: RunValue<'_, T>,
) -> Result<()> {
    if let Planned::Here(Kernel { scheme: Scheme::ByPlan(plan), .. }) = rung.kernel {
        return (plan.prepare)(rung, input, n, run);
    }
    let Planned::Here(kernel) = rung.kernel else {
        let plan = rustwarp::reduce::Plan::<O, T, _>::new(&rung.device, n, rung.tuning())?;
        let output = rung.uninit::<T>(1, "output")?;
        let launch = plan.prepare(input, &output)?;
        return run(Plan::of_library(launch, &output, &[1]).with_depth(plan.depth()), &output);
    };
    let blueprint = blueprint(rung, kernel, n)?;
    let scratch = Scratch::new::<O>(rung.device, &blueprint)?;
    let launches = scratch.launches(&blueprint, kernel, input.slice(n));
    let output = launches.output();
    let plan = Plan::new(rung.block, blueprint.grids[0], output, &[1]).with_depth(blueprint.depth);
    run(launches.add_to(plan), output)
}

/// Lengths 0, 1, and around a warp, a block, and tiles of several rungs. They are few, because there are many rungs,
/// operations and types: all lengths for a float type, an integer type and a type of 16 bits, and some for the others.
fn cases() -> Vec<Case> {
    const SOME: [u64; 5] = [0, 1, 33, 257, 1009];
    let type_of =
        |case: Case| if SOME.contains(&case.size[0]) { case } else { case.only(&[Dtype::F32, Dtype::I64, Dtype::F16]) };
    awkward_lengths().into_iter().map(type_of).collect()
}

fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    with_dtype!(
        dtype,
        T => match op {
            "argmax" => Ok(Resolved::of::<arg::Place<Max, T>>()),
            "argmin" => Ok(Resolved::of::<arg::Place<Min, T>>()),
            "highest_bit" | "lowest_bit" => bits::resolve(op, dtype),
            "summary" => Ok(Resolved::of::<summary::All<T>>()),
            op => with_op!(FAMILY, op, O => Resolved::of::<Reduce<O, T>>()),
        },
        else => match op {
            "highest_bit" | "lowest_bit" => bits::resolve(op, dtype),
            op => half::resolve(op, dtype),
        }
    )
}

/// The family for one operation and element type.
struct Reduce<O, T>(PhantomData<(O, T)>);

impl<O: Operation<T> + Reduces, T: Element + Widen> Ladder for Reduce<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Table<T>;
    type Operands<'j> = Input<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        table::rungs::<O, T>()
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match &rung.kernel {
            Planned::Here(kernel) => kernel.entries(&rung.block.kernels()),
            Planned::ByLibrary => vec![Entry::of(best::reduce_best::<O, T::Entry>)],
        }
    }

    fn refusal(rung: &Rung<Self::Kernel>, problem: Problem<'_>) -> Option<String> {
        refusal(rung, problem)
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::<T>(problem, O::REDUCTION, Bound::Plain)
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, Self::Kernel>]) -> Result<Input<'j, T>> {
        Input::upload(job, rungs, 1)
    }

    fn work(input: &Input<'_, T>) -> Work {
        Work::bytes(input.buffer.bytes())
    }

    fn prepare(input: &Input<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let n = input.buffer.len();
        if n == 0 {
            // A grid of 0 blocks is not valid, so nothing is launched.
            let identity = Buffer::from_slice(rung.device, &[O::identity()], "identity")?;
            return run(Plan::new(rung.block, 0, &identity, &[1]));
        }
        with_value::<O, T>(rung, &input.buffer, n, &mut |plan, _| {
            let view = || input.problem.view::<T>(0);
            let oracle = match rung.kernel {
                Planned::Here(Kernel { scheme: Scheme::ByPlan(plan), .. }) => Some(fixed((plan.sum)(view()?))),
                Planned::Here(Kernel { scheme, .. }) if scheme.bound() != Bound::Plain => {
                    Some(oracle::<T>(input.problem, O::REDUCTION, scheme.bound())?)
                }
                _ => None,
            };
            run(match oracle {
                Some(oracle) => plan.with_oracle(oracle),
                None => plan,
            })
        })
    }
}

/// Why a rung does not reduce this input: `sorted` has room for a block's shared memory, and some rows are for sums of
/// floats alone.
fn refusal<T: Element>(rung: &Rung<Table<T>>, problem: Problem<'_>) -> Option<String> {
    let Planned::Here(kernel) = &rung.kernel else { return None };
    match kernel.scheme {
        Scheme::Missing => Some("is for sums of f32 and f64 only".to_owned()),
        Scheme::OneBlock(_) => {
            let (n, most) = (problem.inputs.first()?.shape().iter().product::<usize>(), sorted::BYTES / size_of::<T>());
            let text = || format!("sorts at most {most} elements of {} in a block's shared memory, not {n}", T::DTYPE);
            (n > most).then(text)
        }
        _ => None,
    }
}

/// A vector on a device.
struct Input<'j, T> {
    buffer: Buffer<'j, T>,
    problem: Problem<'j>,
}

impl<'j, T: Element> Input<'j, T> {
    /// Checks that the device has room for the vector and `copies` times the rungs' scratch memory, and copies the
    /// vector there.
    fn upload(job: &'j Job<'_>, rungs: &[Chosen<'_, Table<T>>], copies: u64) -> Result<Self> {
        let input = job.problem.view::<T>(0)?;
        // The rungs run in turn, so the largest scratch memory counts.
        let mut scratch = 0;
        for rung in rungs.iter().filter(|_| !input.is_empty()) {
            scratch = scratch.max(scratch_bytes(rung, input.len())?.saturating_mul(copies));
        }
        let bytes = (size_of_val(input) as u64).checked_add(scratch);
        let advice = &format!("use a smaller {N} or input, or a larger {BLOCK_SIZE}");
        require_memory(job.device, bytes, "reduce with its scratch memory", advice)?;
        Ok(Self { buffer: Buffer::from_slice(job.device, input, "input")?, problem: job.problem })
    }
}

/// Bytes of memory that a rung needs besides `n` elements of input, which is not 0.
fn scratch_bytes<T: Element>(rung: &Chosen<'_, Table<T>>, n: usize) -> Result<u64> {
    match rung.kernel {
        Planned::Here(Kernel { scheme: Scheme::ByPlan(plan), .. }) => Ok((plan.bytes)(n)),
        Planned::Here(kernel) => Ok(Scratch::<T>::bytes(&blueprint(rung, kernel, n)?)),
        Planned::ByLibrary => Ok(rustwarp::reduce::scratch_bytes::<T>(rung.device.info(), n, rung.tuning())?),
    }
}

/// Plans the launches of a rung for `n` elements, which is not 0.
fn blueprint<K, T: Element>(rung: &Chosen<'_, K>, kernel: &Kernel<T>, n: usize) -> Result<Blueprint> {
    Blueprint::new(rung.name, kernel, rung.device.info(), n as u64, rung.block, rung.grid)
}

/// Creates the oracle for sums with this bound.
fn oracle<T: Summand>(problem: Problem<'_>, op: Reduction, bound: Bound) -> Result<Oracle<'_>> {
    let reference = oracle::reference(op, problem.view::<T>(0)?);
    let (value, wrapped) = (reference.expected::<T::Sum>(0).value, reference.wrapped);
    let judge = Oracle::elements::<T::Sum>(vec![1], move |_, depth| match bound {
        Bound::Plain => reference.expected::<T::Sum>(depth),
        // Half the bound of as many additions in any order, and `expected` doubles it.
        Bound::Sorted => reference.expected::<T::Sum>(depth.div_ceil(4) + 1),
        Bound::Wider | Bound::Compensated | Bound::Rounded => reference.expected_precisely::<T::Sum>(depth),
        Bound::Doubled => reference.expected_doubled::<T::Sum>(depth),
    });
    Ok(judge.with_value(value).with_wrapped(wrapped))
}

/// Creates the oracle for a sum with these bits.
fn fixed<'p, T: Element>(value: T) -> Oracle<'p> {
    let value = value.value();
    Oracle::elements::<T>(vec![1], move |_, _| Expected::exactly(value)).with_value(value)
}
