//! `argmax` and `argmin`: the index of the first maximum or minimum.
//!
//! Every rung computes the value, and a second pass searches its first index; `best` does both in one pass.

use super::launches::Scratch;
use super::table::{self, Kernel, Operation, Scheme};
use super::{FAMILY, Input, blueprint, oracle::first_place};
use crate::compare::Expected;
use crate::kernels::ladder::{Chosen, Ladder, Run, Rung};
use crate::kernels::plan::Plan;
use crate::kernels::{Entry, Job, Oracle, Problem, Work};
use kernels_gpu::reduce::arg::{NOWHERE, reduce_arg};
use kernels_gpu::reduce::{double_accumulator::Widen, find as search};
use rustwarp::backend::{Buffer, Shape};
use rustwarp::element::{Element, Value};
use rustwarp::error::Result;
use std::marker::PhantomData;

/// The first index of the value that `O`, `Max` or `Min`, gives.
pub(super) struct Place<O, T>(PhantomData<(O, T)>);

impl<O: Operation<T>, T: Element + Widen> Ladder for Place<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel<T>;
    type Operands<'j> = Input<'j, T>;

    fn rungs() -> Vec<Rung<Kernel<T>>> {
        table::rungs::<O, T>()
    }

    /// The entries that `sum`, `max` and `min` do not have. The second pass belongs to every rung and is listed once.
    fn entries(rung: &Rung<Kernel<T>>) -> Vec<Entry> {
        match rung.kernel.scheme {
            Scheme::Single { .. } => vec![Entry::of(reduce_arg::<O, T>)],
            _ if rung.name == "interleaved" && O::NAME == "max" => vec![Entry::of(search::reduce_find::<T>)],
            _ => Vec::new(),
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::<T>(&problem)
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, Kernel<T>>]) -> Result<Input<'j, T>> {
        // The single pass has an index for each partial value.
        Input::upload(job, rungs, 3)
    }

    fn work(input: &Input<'_, T>) -> Work {
        Work::bytes(input.buffer.bytes())
    }

    fn prepare(input: &Input<'_, T>, rung: &Chosen<'_, Kernel<T>>, run: Run<'_>) -> Result<()> {
        let (device, block, n) = (rung.device, rung.block, input.buffer.len());
        let nowhere = Buffer::from_slice(device, &[NOWHERE], "no index")?;
        let output = rung.uninit::<u64>(1, "index")?;
        if n == 0 {
            // A grid of 0 blocks is not valid, so nothing is launched.
            return run(Plan::new(block, 0, &output, &[1]).copy(&output, &nowhere));
        }
        let blueprint = blueprint(rung, n)?;
        let (grid, values) = (blueprint.grids[0], input.buffer.slice(n));
        let plan = Plan::new(block, grid, &output, &[1]);
        if let Scheme::Single { .. } = rung.kernel.scheme {
            let partials = rung.uninit::<T>(grid as usize, "partial values")?;
            let indices = rung.uninit::<u64>(grid as usize, "partial indices")?;
            let ticket = Buffer::from_slice(device, &[0_u32], "ticket")?;
            let (partial, index) = (partials.ptr(), indices.ptr());
            let call = reduce_arg::<O, T>(values, partial, index, ticket.ptr(), output.ptr());
            // SAFETY: the kernel's own launcher made the call, with a block size that its rule allows, a partial value
            // and index per block, and a ticket that every launch leaves at 0.
            return run(unsafe { plan.launch(call, Shape::linear(grid, block)) });
        }
        let scratch = Scratch::new::<O>(device, &blueprint)?;
        let launches = scratch.launches(&blueprint, rung.kernel, values);
        let call = search::reduce_find(values, launches.output().slice(1), output.ptr());
        let fill = device.info().multiprocessors * (2048 / search::BLOCK);
        let shape = Shape::linear((n as u64).div_ceil(search::BLOCK.into()).min(fill.into()) as u32, search::BLOCK);
        let plan = launches.add_to(plan).copy(&output, &nowhere);
        // SAFETY: the kernel's own launcher made the call; the value that it searches is present, and any grid is
        // valid.
        run(unsafe { plan.launch(call, shape) })
    }
}

/// The right index; for an empty input the highest number, which stands for none.
fn oracle<'a, T: Element>(problem: &Problem<'a>) -> Result<Oracle<'a>> {
    let first = first_place(problem.op == "argmax", problem.view::<T>(0)?);
    let index = Value::Int(first.map_or(NOWHERE, |index| index as u64).into());
    Ok(Oracle::elements::<u64>(vec![1], move |_, _| Expected::exactly(index)).with_value(index))
}
