//! Scan, or prefix sum: each element becomes the sum, maximum or minimum of all elements up to it; with `--exclusive`,
//! of all before it, and the first one becomes the identity.
//!
//! Integer sums wrap. From the first NaN on everything is NaN, for every operation; the maximum of -0 and +0 is +0, the
//! minimum -0. The identities are 0, the type's lowest value (-inf), its highest value (+inf). The scan of an empty
//! input is empty.

use super::entry::Nothing;
use super::generic::{Reduces, with_op};
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::problem::bench_lengths;
use super::settings::Flag;
use super::{Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Setting, Settings, Work};
use crate::error::{Error, Result};
use crate::kernels::spelling::{BLOCK_SIZE, N};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::reduce::Op;
use launches::{Blueprint, Scratch};
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::element::{Dtype, Element};
use rustwarp::scan as library;
use rustwarp::with_dtype;
use std::marker::PhantomData;
use table::Scheme;

mod launches;
pub(crate) mod oracle;
mod table;

pub(crate) const EXCLUSIVE: Setting<Flag> =
    Setting { name: "exclusive", help: "Leave each element out of its own sum", generated: false, kind: Flag };

/// What the setting asks for.
pub(crate) fn kind(settings: &Settings) -> library::Kind {
    if settings.flag(&EXCLUSIVE) { library::Kind::Exclusive } else { library::Kind::Inclusive }
}

/// The family.
pub const FAMILY: Family = Family {
    name: "scan",
    idea: "prefix sums: each element becomes the sum, max or min of all up to it",
    operands: &[Operand::of_elements("input")],
    ops: &["sum", "max", "min"],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[EXCLUSIVE.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes: bench_lengths,
    of_vectors: true,
    generate: |demand| demand.vectors(1),
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: true,
    limits: Limits::DEFAULT,
    peers: &["scan"],
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

fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    with_dtype!(
        dtype,
        T => with_op!(FAMILY, op, O => Resolved::of::<Scan<O, T>>()),
        else => Err(FAMILY.no_kernel(dtype))
    )
}

/// The family for one operation and element type.
struct Scan<O, T>(PhantomData<(O, T)>);

/// A vector on a device.
struct Input<'j, T> {
    buffer: Buffer<'j, T>,
    kind: library::Kind,
}

impl<O: Op<T> + Reduces, T: Element> Ladder for Scan<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Scheme<T>>;
    type Operands<'j> = Input<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        table::rungs::<O, T>()
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        let scheme = match &rung.kernel {
            Planned::Here(scheme) => scheme,
            Planned::ByLibrary => {
                let (input, state, output) = (Slice::nothing(), PtrMut::nothing(), PtrMut::nothing());
                let calls = library::calls::<O, T>(input, library::Kind::Inclusive, state, output, 0);
                return calls.map(Entry::from).into();
            }
        };
        match scheme {
            Scheme::Steps(step) => vec![Entry::of(step)],
            Scheme::ScanThenAdd { scan, add, lists_add, .. } => {
                let added = lists_add.then(|| Entry::of(add));
                added.into_iter().chain([Entry::of(scan)]).collect()
            }
            Scheme::ReduceThenScan { total, scan, .. } => vec![Entry::of(total), Entry::of(scan)],
            Scheme::OnePass { scan, .. } => vec![Entry::of(scan)],
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let input = &problem.inputs[0];
        if input.shape().len() != 1 {
            let shape = rustwarp::tensor::text(input.shape());
            return Err(Error::Usage(format!("scan takes a vector, not an array of {shape} elements: reshape it")));
        }
        Ok(oracle::oracle::<T>(O::REDUCTION, problem.settings.flag(&EXCLUSIVE), problem.view::<T>(0)?))
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, Self::Kernel>]) -> Result<Input<'j, T>> {
        let input = job.problem.view::<T>(0)?;
        // The rungs run in turn, so the largest scratch memory counts.
        let mut scratch = 0;
        for rung in rungs {
            rung.require_no_grid()?;
            scratch = scratch.max(match rung.kernel {
                Planned::Here(scheme) => Blueprint::new(scheme, input.len() as u64, rung.block)?.scratch_bytes(),
                Planned::ByLibrary => library::scratch_bytes::<T>(input.len())?,
            });
        }
        let bytes = (2 * size_of_val(input) as u64).checked_add(scratch);
        let advice = &format!("use a smaller {N} or input, or a larger {BLOCK_SIZE}");
        require_memory(job.device, bytes, "scan with its result and the sums of its blocks", advice)?;
        let kind = kind(job.problem.settings);
        Ok(Input { buffer: Buffer::from_slice(job.device, input, "input")?, kind })
    }

    fn work(input: &Input<'_, T>) -> Work {
        Work::bytes(2 * input.buffer.bytes())
    }

    fn prepare(input: &Input<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let Input { ref buffer, kind } = *input;
        let n = buffer.len();
        let Planned::Here(scheme) = rung.kernel else {
            let plan = library::Plan::<O, T, _>::new(&rung.device, n, kind)?;
            let output = rung.uninit::<T>(n, "output")?;
            return run(Plan::of_library(plan.prepare(buffer, &output)?, &output, &[n]).with_depth(plan.depth()));
        };
        let blueprint = Blueprint::new(scheme, n as u64, rung.block)?;
        let scratch = Scratch::<T>::new(rung.device, &blueprint)?;
        run(scratch.plan(&blueprint, scheme, buffer.slice(n), kind == library::Kind::Exclusive))
    }
}
