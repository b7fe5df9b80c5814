//! `argmax` and `argmin`: the index of the first maximum or minimum.
//!
//! Every rung can: it finds the value, and a second pass looks for its first place. `best` does both in one pass.

use super::launches::Scratch;
use super::table::{Operation, Scheme, Variant};
use super::{FAMILY, find, oracle::first_place, plan};
use crate::compare::Expected;
use crate::kernels::{Entry, Job, Oracle, Problem, Row, Trial, Work};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::reduce::arg::{NOWHERE, reduce_arg};
use kernels_gpu::reduce::{double_accumulator::Widen, find as search};
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Element, Scalar, Value};
use rustwarp::error::Result;
use rustwarp::tensor::Tensor;

/// The entries of a row that `sum`, `max` and `min` don't have; `O` is `Max` or `Min`. The second pass is everybody's,
/// and listed once.
pub(super) fn entries<O: Operation<T>, T: Element + Widen>(row: usize, variant: &Variant<T>) -> Vec<Entry> {
    // SAFETY: nothing is launched; only the names and the parameters are of interest.
    let (input, out, ticket, index) =
        unsafe { (Slice::<T>::new(0, 0), PtrMut::new(0), PtrMut::new(0), PtrMut::new(0)) };
    match variant.scheme {
        Scheme::Single { .. } => vec![reduce_arg::<O, T>(input, out, index, ticket, index).into()],
        _ if row == 0 && O::NAME == "max" => vec![search::reduce_find(input, input, index).into()],
        _ => Vec::new(),
    }
}

/// The right index; without elements there is none, and the highest number stands for that.
pub(super) fn oracle<'a, T: Element>(problem: &Problem<'a>) -> Result<Oracle<'a>> {
    let first = first_place(problem.op == "argmax", problem.view::<T>(0)?);
    let index = Value::Int(first.map_or(NOWHERE, |index| index as u64).into());
    Ok(Oracle::elements::<u64>(vec![1], move |_, _| Expected::exactly(index)).with_value(index))
}

/// Runs the job's variants for the first place of the value that `O`, `Max` or `Min`, gives.
pub(super) fn typed<O: Operation<T>, T: Element + Widen>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<T>(0)?;
    let (device, n) = (job.device, input.len());
    let bytes = size_of_val(input) as u64;
    // The variants run in turn, so the largest scratch memory counts. In one pass it holds an index for each value.
    let mut scratch = 0;
    for name in job.variants.iter().filter(|_| n > 0) {
        scratch = scratch.max(Scratch::<T>::bytes(&plan::<O, T>(job, name, n)?.1).saturating_mul(3));
    }
    require_memory(
        device,
        bytes.checked_add(scratch),
        "reduce with its partial results",
        "use a smaller --n or input, or a larger --block",
    )?;
    let buffer = Buffer::from_slice(device, input, "input")?;
    let nowhere = Buffer::from_slice(device, &[NOWHERE], "no index")?;
    let mut result = Tensor::from(u64::wrap(vec![NOWHERE]));
    for name in job.variants {
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<u64>::uninit(device, 1, "index")?;
        let trial = |shape| Trial {
            family: FAMILY.name,
            variant: name,
            shape,
            output: &output,
            result: vec![1],
            depth: 0,
            work: Work::bytes(bytes),
        };
        let clear = || device.copy(output.address(), nowhere.address(), size_of::<u64>() as u64);
        let mut row;
        if n == 0 {
            // No grid has 0 blocks: there is nothing to launch.
            let block = find::<O, T>(name)?.block.choose(job.block, name, device.info().max_block)?;
            (result, row) = job.measure(&trial((block, 0)), &mut || clear())?;
        } else {
            let (variant, plan) = plan::<O, T>(job, name, n)?;
            let (block, grid) = (plan.block, plan.grids[0]);
            let values = buffer.slice(n);
            (result, row) = if matches!(variant.scheme, Scheme::Single { .. }) {
                let partials = Buffer::<T>::uninit(device, grid as usize, "partial values")?;
                let indices = Buffer::<u64>::uninit(device, grid as usize, "partial indices")?;
                let ticket = Buffer::from_slice(device, &[0_u32], "ticket")?;
                let (partial, index) = (partials.ptr(), indices.ptr());
                let call = reduce_arg::<O, T>(values, partial, index, ticket.ptr(), output.ptr());
                job.measure(&trial((block, grid)), &mut || {
                    // SAFETY: the call is the kernel's own launcher's, with a block size that its rule allows, a
                    // partial value and index per block, and a ticket that every launch leaves at 0.
                    unsafe { device.launch(job.module, &call, Shape::linear(grid, block)) }
                })?
            } else {
                let scratch = Scratch::new::<O>(device, &plan)?;
                let launches = scratch.launches(&plan, &variant, values);
                let call = search::reduce_find(values, launches.output().slice(1), output.ptr());
                let fill = device.info().multiprocessors * (2048 / search::BLOCK);
                let shape =
                    Shape::linear((n as u64).div_ceil(search::BLOCK.into()).min(fill.into()) as u32, search::BLOCK);
                job.measure(&trial((block, grid)), &mut || {
                    launches.run(job.module)?;
                    clear()?;
                    // SAFETY: the call is the kernel's own launcher's; the value that it looks for is there, and any
                    // grid will do.
                    unsafe { device.launch(job.module, &call, shape) }
                })?
            };
        }
        row.value = result.single();
        emit(row);
    }
    Ok(result)
}
