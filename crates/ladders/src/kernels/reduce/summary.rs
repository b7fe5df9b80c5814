//! `summary`: sum, mean, variance, minimum and maximum, in this order.
//!
//! Only `best` computes them: the others give one value.

use super::oracle::{Reference, reference};
use super::{FAMILY, only_best};
use crate::compare::Expected;
use crate::error::Result;
use crate::kernels::generic::Reduction;
use crate::kernels::ladder::{Chosen, Ladder, Run, Rung};
use crate::kernels::plan::Plan;
use crate::kernels::{BlockRule, Entry, Job, Oracle, Problem, Work};
use kernels_gpu::reduce::best::BLOCKS;
use kernels_gpu::reduce::summary::{BLOCK, Summary, reduce_summary};
use rustwarp::backend::Buffer;
use rustwarp::element::{Array, Element, Value};
use rustwarp::tensor::Tensor;
use std::marker::PhantomData;

/// The summary of elements of `T`.
pub(super) struct All<T>(PhantomData<T>);

impl<T: Element> Ladder for All<T> {
    const FAMILY: &'static str = FAMILY.name;
    /// Whether the rung has a kernel.
    type Kernel = bool;
    type Operands<'j> = Buffer<'j, T>;

    fn rungs() -> Vec<Rung<bool>> {
        only_best::rungs(BlockRule::OneOf { sizes: &BLOCKS, default: BLOCK })
    }

    fn entries(rung: &Rung<bool>) -> Vec<Entry> {
        if rung.kernel { vec![Entry::of(reduce_summary::<T>)] } else { Vec::new() }
    }

    fn refusal(rung: &Rung<bool>, _: Problem<'_>) -> Option<String> {
        (!rung.kernel).then(|| "gives one value".to_owned())
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let expected = Expectation::of(problem.view::<T>(0)?);
        Ok(Oracle::elements::<f64>(vec![5], move |which, depth| expected.of_result(which, depth)))
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, bool>]) -> Result<Buffer<'j, T>> {
        only_best::upload(job, rungs, rustwarp::summary::scratch_bytes::<T>)
    }

    fn work(input: &Buffer<'_, T>) -> Work {
        Work::bytes(input.bytes())
    }

    fn prepare(input: &Buffer<'_, T>, rung: &Chosen<'_, bool>, run: Run<'_>) -> Result<()> {
        let output = Buffer::from_slice(rung.device, &[Summary::<T>::NONE], "summary")?;
        let read = || {
            let Summary { sum, mean, variance, min, max } = output.read(1)?[0];
            Ok(Tensor::from(Array::F64(vec![sum, mean, variance, min.to_f64(), max.to_f64()])))
        };
        if input.is_empty() {
            // A grid of 0 blocks is not valid, so nothing is launched.
            return run(Plan::reading(rung.block, 0, read));
        }
        let plan = rustwarp::summary::Plan::<T, _>::new(&rung.device, input.len(), rung.tuning())?;
        let launch = plan.prepare(input, &output)?;
        let shape = launch.shape();
        let reading = Plan::reading(shape.threads() as u32, shape.grid.iter().product(), read);
        run(reading.then(launch).with_depth(plan.depth()))
    }
}

/// What the results should be, with the data for their error bounds, which `rustwarp::summary` has.
struct Expectation {
    values: [f64; 5],
    /// Number of elements.
    n: f64,
    first: f64,
    /// Sum of the distances from the first element.
    distances: f64,
    /// Whether a sum of distances, or of their squares, may leave the range.
    overflow: [bool; 2],
}

impl Expectation {
    fn of<T: Element>(input: &[T]) -> Self {
        let n = input.len() as f64;
        let first = input.first().map_or(f64::NAN, |x| x.to_f64());
        let sum_of = |f: &dyn Fn(f64) -> f64| Reference::of_floats(input.iter().map(|x| f(x.to_f64()))).value.to_f64();
        // From distances, as small as they are, mean and variance have no more than their own rounding errors.
        let distance = sum_of(&|x| x - first) / n;
        let variance = sum_of(&|x| (x - first - distance).powi(2)) / n;
        let finite = input.iter().all(|x| x.to_f64().is_finite()) && n > 0.0;
        let moments = [sum_of(&|x| x), first + distance, variance].map(|x| if finite { x } else { f64::NAN });
        let [min, max] = [Reduction::Min, Reduction::Max].map(|op| reference(op, input).value.to_f64());
        let distances = sum_of(&|x| (x - first).abs());
        let squares = sum_of(&|x| (x - first).powi(2)) + distance * distance;
        let overflow = [distances, squares].map(|sum| finite && !sum.is_finite());
        Self { values: [moments[0], moments[1], moments[2], min, max], n, first, distances, overflow }
    }

    fn of_result(&self, which: usize, depth: u64) -> Expected {
        let Self { values: [_, mean, variance, ..], n, first, distances, overflow } = *self;
        let depth = depth as f64;
        let of_mean = mean.abs() + (depth + 2.0) * distances / n;
        let (factor, may_overflow) = match which {
            0 => (n * (of_mean + first.abs()), overflow[0]),
            1 => (of_mean, overflow[0]),
            2 => (3.0 * (depth + 3.0) * (variance + (first - mean).powi(2)), overflow[1]),
            _ => return Expected::exactly(Value::Float(self.values[which])),
        };
        Expected { value: Value::Float(self.values[which]), tolerance: f64::EPSILON * factor, may_overflow }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_refuses_other_summaries() {
        let expected = Expectation::of(&[1_i64, 2, 6]);
        assert_eq!(expected.values, [9.0, 3.0, 14.0 / 3.0, 1.0, 6.0]);
        assert!(expected.of_result(1, 2).judge(Value::Float(3.0)).verified);
        assert!(!expected.of_result(2, 2).judge(Value::Float(4.666)).verified);
        assert!(!expected.of_result(4, 2).judge(Value::Float(5.0)).verified);
        let [sum, mean, variance, min, max] = Expectation::of::<f32>(&[]).values;
        assert!(sum.is_nan() && mean.is_nan() && variance.is_nan());
        assert_eq!((min, max), (f64::INFINITY, f64::NEG_INFINITY));
    }
}
