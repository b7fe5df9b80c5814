//! Sums, maxima and minima of f16 and bf16, as f32.
//!
//! Only `best` computes them: it widens elements as it reads them, where the others show one idea each.

use super::{FAMILY, bound::Bound, only_best};
use crate::error::{Error, Result};
use crate::kernels::generic::{Reduces, with_op};
use crate::kernels::ladder::{Chosen, Ladder, Resolved, Run, Rung};
use crate::kernels::plan::Plan;
use crate::kernels::spelling::DTYPE;
use crate::kernels::{BlockRule, Entry, Job, Oracle, Problem, Work};
use kernels_gpu::reduce::{Op, best::BLOCK, best::reduce_best};
use rustwarp::backend::Buffer;
use rustwarp::element::{Dtype, Summand};
use std::marker::PhantomData;

/// The ladder of this operation, for f16 or bf16.
pub(super) fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    match dtype {
        Dtype::F16 | Dtype::Bf16 if op.starts_with("arg") => Err(Error::Usage(format!(
            "reduce has no {op} of {dtype}: use {DTYPE} f32, to which f16 and bf16 in .npy files are converted"
        ))),
        Dtype::F16 => with_op!(FAMILY, op, O => Resolved::of::<Half<O, half::f16>>()),
        Dtype::Bf16 => with_op!(FAMILY, op, O => Resolved::of::<Half<O, half::bf16>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    }
}

/// The family for one operation and type.
struct Half<O, T>(PhantomData<(O, T)>);

impl<O: Op<f32> + Reduces, T: Summand<Sum = f32>> Ladder for Half<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    /// Whether the rung has a kernel.
    type Kernel = bool;
    type Operands<'j> = Buffer<'j, T>;

    fn rungs() -> Vec<Rung<bool>> {
        only_best::rungs(BlockRule::WholeWarps { default: BLOCK })
    }

    fn entries(rung: &Rung<bool>) -> Vec<Entry> {
        if rung.kernel { vec![Entry::of(reduce_best::<O, T::Entry>)] } else { Vec::new() }
    }

    fn refusal(rung: &Rung<bool>, _: Problem<'_>) -> Option<String> {
        (!rung.kernel).then(|| format!("has no kernel for {}", T::DTYPE))
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        super::oracle::<T>(problem, O::REDUCTION, Bound::Plain)
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, bool>]) -> Result<Buffer<'j, T>> {
        only_best::upload(job, rungs, rustwarp::reduce::scratch_bytes::<T>)
    }

    fn work(input: &Buffer<'_, T>) -> Work {
        Work::bytes(input.bytes())
    }

    fn prepare(input: &Buffer<'_, T>, rung: &Chosen<'_, bool>, run: Run<'_>) -> Result<()> {
        if input.is_empty() {
            // A grid of 0 blocks is not valid, so nothing is launched.
            let identity = Buffer::from_slice(rung.device, &[O::identity()], "identity")?;
            return run(Plan::new(rung.block, 0, &identity, &[1]));
        }
        let output = rung.uninit::<f32>(1, "output")?;
        let plan = rustwarp::reduce::Plan::<O, T, _>::new(&rung.device, input.len(), rung.tuning())?;
        run(Plan::of_library(plan.prepare(input, &output)?, &output, &[1]).with_depth(plan.depth()))
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::generic::Reduction;
    use crate::kernels::reduce::oracle;

    #[test]
    fn halves_are_reduced_as_f32() {
        // In f16, 2048 + 1 is 2048.
        let x: Vec<half::f16> = [2048.0, 1.0, 1.0].map(half::f16::from_f32).into();
        let sum = oracle::reference(Reduction::Sum, &x).expected::<f32>(2);
        assert_eq!((sum.value.to_string(), sum.tolerance), ("2050".to_owned(), 3.0 * 2050.0 * f64::from(f32::EPSILON)));
        let nothing: &[half::bf16] = &[];
        assert_eq!(oracle::reference(Reduction::Max, nothing).value.to_string(), "-inf");
    }
}
