//! Vector addition: `out[i] = a[i] + b[i]`.

use super::problem::{awkward_lengths, bench_lengths};
use super::{BlockRule, Entry, Family, Job, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::backend::{Buffer, Shape, require_memory};
use crate::compare::Expected;
use crate::element::{Dtype, Element, Value};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::with_dtype;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::vecadd;

/// The family.
pub const FAMILY: Family = Family {
    name: "vecadd",
    idea: "out[i] = a[i] + b[i]: the smallest kernel",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: Dtype::NUMBERS,
    settings: &[],
    variants,
    cases: awkward_lengths,
    sizes: bench_lengths,
    generate: |demand| demand.vectors(2),
    oracle,
    run,
    specials: true,
    peer: None,
};

/// The only variant.
const NAME: &str = "grid_stride";
const BLOCK: BlockRule = BlockRule::Any { default: vecadd::BLOCK };

fn variants() -> Vec<VariantInfo> {
    fn entry<T: Element>() -> Entry {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out) = unsafe { (Slice::<T>::new(0, 0), PtrMut::<T>::new(0)) };
        vecadd::vecadd::<T>(none, none, out).into()
    }
    let entries = Dtype::NUMBERS.iter().filter_map(|dtype| with_dtype!(dtype, T => Some(entry::<T>()), else => None));
    let idea = "each thread jumps by the size of the grid: any grid handles any length";
    vec![VariantInfo { name: NAME, idea, block: BLOCK, entries: entries.collect() }]
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    fn typed<T: Element>(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (a, b) = (problem.view::<T>(0)?, problem.view::<T>(1)?);
        if a.len() != b.len() {
            return Err(Error::Usage(format!(
                "vecadd needs two inputs of one length, not {} and {}",
                a.len(),
                b.len()
            )));
        }
        let sum = move |i: usize, _| Expected::exactly(reference(a[i], b[i]));
        let wrapped = a.iter().zip(b).any(|(&a, &b)| wraps(a, b));
        Ok(Oracle::elements::<T>(vec![a.len()], sum).with_wrapped(wrapped))
    }
    with_dtype!(problem.dtype, T => typed::<T>(problem), else => Err(no_kernel(problem.dtype)))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_dtype!(job.problem.dtype, T => typed::<T>(job, emit), else => Err(no_kernel(job.problem.dtype)))
}

fn no_kernel(dtype: Dtype) -> Error {
    Error::Usage(format!("vecadd has no kernel for {dtype}"))
}

fn typed<T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
    let n = a.len();
    let bytes = 3 * size_of_val(a) as u64;
    require_memory(job.device, Some(bytes), "vecadd of three arrays", "use a smaller --n or input")?;
    let device_a = Buffer::from_slice(job.device, a, "a")?;
    let device_b = Buffer::from_slice(job.device, b, "b")?;
    let output = Buffer::<T>::uninit(job.device, n, "out")?;

    let info = job.device.info();
    let block = BLOCK.choose(job.block, NAME, info.max_block)?;
    // Enough blocks to fill the device, and no more than there is work for.
    let fill = info.multiprocessors * (2048 / block).max(1);
    let needed = (n as u64).div_ceil(u64::from(block));
    let grid = job.grid.unwrap_or_else(|| needed.min(u64::from(fill)) as u32);

    let call = vecadd::vecadd::<T>(device_a.slice(n), device_b.slice(n), output.ptr());
    let trial = Trial {
        family: FAMILY.name,
        variant: NAME,
        shape: (block, grid),
        output: &output,
        result: vec![n],
        depth: 1,
        work: Work::bytes(bytes),
    };
    let (sums, row) = job.measure(&trial, &mut || match grid {
        0 => Ok(()),
        // SAFETY: the call is the kernel's own launcher's; its buffers live on and have the `n` elements that it takes, and any
        // grid and block will do.
        _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
    })?;
    emit(row);
    Ok(sums)
}

/// The sum as the type gives it: computed in a wider type, then rounded (floats) or wrapped (integers). Rounding the f64 sum of
/// two f32 to f32 gives the correctly rounded sum, since 53 >= 2 * 24 + 2 (Figueroa, 1995).
fn reference<T: Element>(a: T, b: T) -> Value {
    T::round(wide(a, b)).value()
}

fn wraps<T: Element>(a: T, b: T) -> bool {
    match (wide(a, b), reference(a, b)) {
        (Value::Int(wide), Value::Int(sum)) => wide != sum,
        _ => false,
    }
}

fn wide<T: Element>(a: T, b: T) -> Value {
    match (a.value(), b.value()) {
        (Value::Int(a), Value::Int(b)) => Value::Int(a + b),
        (Value::Float(a), Value::Float(b)) => Value::Float(a + b),
        _ => Value::Float(f64::NAN),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reference_rounds_and_wraps() {
        assert!(matches!(reference(i32::MAX, 1), Value::Int(x) if x == i128::from(i32::MIN)));
        assert!(wraps(i32::MAX, 1) && !wraps(i32::MAX, 0) && !wraps(f32::MAX, f32::MAX));
        assert!(matches!(reference(f32::MAX, f32::MAX), Value::Float(x) if x == f64::INFINITY));
        assert!(matches!(reference(1.0_f32, f32::EPSILON / 2.0), Value::Float(1.0)), "a tie goes to even");
        assert!(matches!(reference(f64::NAN, 1.0), Value::Float(x) if x.is_nan()));
    }
}
