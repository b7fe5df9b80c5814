//! `highest_bit` and `lowest_bit`: the number of the highest or lowest bit that is set in any element, from 0 on.
//!
//! Only `best` computes them: the others combine by sum, maximum and minimum.

use super::{FAMILY, only_best};
use crate::compare::Expected;
use crate::error::{Error, Result};
use crate::kernels::ladder::{Chosen, Ladder, Resolved, Run, Rung};
use crate::kernels::plan::Plan;
use crate::kernels::spelling::DTYPE;
use crate::kernels::{BlockRule, Entry, Job, Oracle, Problem, Work};
use kernels_gpu::reduce::bits::{BLOCK, Bit, Bits, Highest, Lowest, NONE, reduce_bit};
use rustwarp::backend::Buffer;
use rustwarp::element::{Dtype, Element, Value};
use std::marker::PhantomData;

/// The types that have bits.
pub(super) const DTYPES: &[Dtype] = &[Dtype::I32, Dtype::U32, Dtype::I64, Dtype::U64];

/// The ladder of this operation, `highest_bit` or `lowest_bit`.
pub(super) fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    fn of<T: Element + Bits>(op: &str) -> Resolved {
        if op == "highest_bit" { Resolved::of::<Set<Highest, T>>() } else { Resolved::of::<Set<Lowest, T>>() }
    }
    match dtype {
        Dtype::I32 => Ok(of::<i32>(op)),
        Dtype::U32 => Ok(of::<u32>(op)),
        Dtype::I64 => Ok(of::<i64>(op)),
        Dtype::U64 => Ok(of::<u64>(op)),
        other => Err(Error::Usage(format!("reduce has {op} for integers only, and not for {other}: use {DTYPE} u32"))),
    }
}

/// The bit `B` of all elements.
struct Set<B, T>(PhantomData<(B, T)>);

impl<B: Bit, T: Element + Bits> Ladder for Set<B, T> {
    const FAMILY: &'static str = FAMILY.name;
    /// Whether the rung has a kernel.
    type Kernel = bool;
    type Operands<'j> = Buffer<'j, T>;

    fn rungs() -> Vec<Rung<bool>> {
        only_best::rungs(BlockRule::WholeWarps { default: BLOCK })
    }

    fn entries(rung: &Rung<bool>) -> Vec<Entry> {
        if rung.kernel { vec![Entry::of(reduce_bit::<B, T>)] } else { Vec::new() }
    }

    fn refusal(rung: &Rung<bool>, _: Problem<'_>) -> Option<String> {
        (!rung.kernel).then(|| "combines by sum, max and min only".to_owned())
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let bit = Value::Int(bit_of::<B, T>(problem.view::<T>(0)?).unwrap_or(NONE).into());
        Ok(Oracle::elements::<u32>(vec![1], move |_, _| Expected::exactly(bit)).with_value(bit))
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, bool>]) -> Result<Buffer<'j, T>> {
        only_best::upload(job, rungs, rustwarp::bits::scratch_bytes::<T>)
    }

    fn work(input: &Buffer<'_, T>) -> Work {
        Work::bytes(input.bytes())
    }

    fn prepare(input: &Buffer<'_, T>, rung: &Chosen<'_, bool>, run: Run<'_>) -> Result<()> {
        let output = rung.uninit::<u32>(1, "bit")?;
        if input.is_empty() {
            // A grid of 0 blocks is not valid, so nothing is launched.
            let none = Buffer::from_slice(rung.device, &[NONE], "no bit")?;
            return run(Plan::new(rung.block, 0, &output, &[1]).copy(&output, &none));
        }
        let plan = rustwarp::bits::Plan::<B, T, _>::new(&rung.device, input.len(), rung.tuning())?;
        run(Plan::of_library(plan.prepare(input, &output)?, &output, &[1]))
    }
}

/// The bit, element by element and bit by bit; `None` if none is set.
fn bit_of<B: Bit, T: Element>(input: &[T]) -> Option<u32> {
    let is_set = |bit: &u32| input.iter().any(|x| matches!(x.value(), Value::Int(x) if x >> bit & 1 == 1));
    let mut bits = (0..8 * size_of::<T>() as u32).filter(is_set);
    if B::NAME == "highest" { bits.next_back() } else { bits.next() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_looks_at_every_element() {
        assert_eq!((bit_of::<Highest, _>(&[8_u32, 9]), bit_of::<Lowest, _>(&[8_u32, 9])), (Some(3), Some(0)));
        assert_eq!((bit_of::<Highest, _>(&[0, -8_i64]), bit_of::<Lowest, _>(&[0, -8_i64])), (Some(63), Some(3)));
        assert_eq!((bit_of::<Highest, i32>(&[]), bit_of::<Lowest, _>(&[0_u64; 3])), (None, None));
    }
}
