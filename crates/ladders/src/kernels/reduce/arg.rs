//! `argmax` and `argmin`: the index of the first maximum or minimum.
//!
//! Every rung computes the value, and a second pass searches its first index; `best` does both in one pass.

use super::scheme::Table;
use super::table;
use super::{FAMILY, Input, Operation, oracle::first_place, refusal, with_value};
use crate::compare::Expected;
use crate::error::Result;
use crate::kernels::generic::{Reduces, Reduction};
use crate::kernels::ladder::{Chosen, Ladder, Planned, Run, Rung};
use crate::kernels::plan::Plan;
use crate::kernels::{Entry, Job, Oracle, Problem, Work};
use cuda_std::launch::{Call, SliceMut};
use kernels_gpu::reduce::arg::{NOWHERE, reduce_arg};
use kernels_gpu::reduce::{double_accumulator::Widen, find as search};
use rustwarp::backend::{Buffer, Shape};
use rustwarp::element::{Element, Value};
use std::marker::PhantomData;

/// The first index of the value that `O`, `Max` or `Min`, gives.
pub(super) struct Place<O, T>(PhantomData<(O, T)>);

impl<O: Operation<T> + Reduces, T: Element + Widen> Ladder for Place<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Table<T>;
    type Operands<'j> = Input<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        table::rungs::<O, T>()
    }

    /// The entries that `sum`, `max` and `min` do not have. The second pass belongs to every rung and is listed once.
    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match &rung.kernel {
            Planned::Here(kernel) if kernel.lists_search && O::REDUCTION == Reduction::Max => {
                vec![Entry::of(|input, wanted, place| Call::from(search::reduce_find::<T>(input, wanted, place)))]
            }
            Planned::Here(_) => Vec::new(),
            Planned::ByLibrary => vec![Entry::of(reduce_arg::<O, T>)],
        }
    }

    fn refusal(rung: &Rung<Self::Kernel>, problem: Problem<'_>) -> Option<String> {
        refusal(rung, problem)
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::<T>(&problem, O::REDUCTION == Reduction::Max)
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, Self::Kernel>]) -> Result<Input<'j, T>> {
        // The single pass has an index for each partial value.
        Input::upload(job, rungs, 3)
    }

    fn work(input: &Input<'_, T>) -> Work {
        Work::bytes(input.buffer.bytes())
    }

    fn prepare(input: &Input<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let (device, block, n) = (rung.device, rung.block, input.buffer.len());
        let nowhere = Buffer::from_slice(device, &[NOWHERE], "no index")?;
        let output = rung.uninit::<u64>(1, "index")?;
        if n == 0 {
            // A grid of 0 blocks is not valid, so nothing is launched.
            return run(Plan::new(block, 0, &output, &[1]).copy(&output, &nowhere));
        }
        if let Planned::ByLibrary = rung.kernel {
            let plan = rustwarp::reduce::ArgPlan::<O, T, _>::new(&device, n, rung.tuning())?;
            return run(Plan::of_library(plan.prepare(&input.buffer, &output)?, &output, &[1]));
        }
        with_value::<O, T>(rung, &input.buffer, n, &mut |plan, value| {
            // SAFETY: the plan borrows `output`, and reads it after the launch.
            let place = unsafe { SliceMut::new(output.address(), 1) };
            let call = search::reduce_find(input.buffer.slice(n), value.slice(1), place.atomic());
            let fill = device.info().multiprocessors * (2048 / search::BLOCK);
            let shape = Shape::linear((n as u64).div_ceil(search::BLOCK.into()).min(fill.into()) as u32, search::BLOCK);
            let plan = plan.with_result(&output, &[1]).copy(&output, &nowhere);
            // SAFETY: the kernel's own launcher made the call; the value that it searches is present, and any grid is
            // valid.
            run(unsafe { plan.launch(call.into(), shape) })
        })
    }
}

/// The right index of the first maximum (`larger`) or minimum; for an empty input the highest number, which stands for
/// none.
fn oracle<'a, T: Element>(problem: &Problem<'a>, larger: bool) -> Result<Oracle<'a>> {
    let first = first_place(larger, problem.view::<T>(0)?);
    let index = Value::Int(first.map_or(NOWHERE, |index| index as u64).into());
    Ok(Oracle::elements::<u64>(vec![1], move |_, _| Expected::exactly(index)).with_value(index))
}
