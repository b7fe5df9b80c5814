//! Vector addition: `out[i] = a[i] + b[i]`.

use super::block::{self, MAX_GRID};
use super::problem::{awkward_lengths, bench_lengths};
use super::{BlockRule, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::compare::Expected;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::vecadd::{self, best, one_per_thread};
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Value};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;

/// The family.
pub const FAMILY: Family = Family {
    name: "vecadd",
    idea: "out[i] = a[i] + b[i]: the smallest kernel",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[],
    variants,
    cases: awkward_lengths,
    sizes: bench_lengths,
    generate: |demand| demand.vectors(2),
    oracle,
    run,
    specials: true,
    limits: Limits::GRID_OF_DEVICE,
    peer: None,
};

/// A row of the table.
struct Variant<T: 'static> {
    name: &'static str,
    idea: &'static str,
    block: BlockRule,
    grid: Grid,
    kernel: for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>,
}

/// How many blocks a variant is launched with.
#[derive(Clone, Copy)]
enum Grid {
    /// A thread for each element.
    Elements,
    /// As many as fill the device, and no more than there is work for.
    Device,
    /// One for every so many chunks of 16 bytes per thread.
    Tiles(usize),
}

/// Threads that fill a multiprocessor.
const THREADS_PER_SM: u32 = 2048;

/// The table.
fn table<T: Element>() -> Vec<Variant<T>> {
    vec![
        Variant {
            name: "one_per_thread",
            idea: one_per_thread::IDEA,
            block: BlockRule::Any { default: one_per_thread::BLOCK },
            grid: Grid::Elements,
            kernel: one_per_thread::vecadd_one_per_thread::<T>,
        },
        Variant {
            name: "grid_stride",
            idea: vecadd::IDEA,
            block: BlockRule::Any { default: vecadd::BLOCK },
            grid: Grid::Device,
            kernel: vecadd::vecadd::<T>,
        },
        Variant {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::WholeWarps { default: best::BLOCK },
            grid: Grid::Tiles(best::EACH),
            kernel: best::vecadd_best::<T>,
        },
    ]
}

fn variants() -> Vec<VariantInfo> {
    fn entry<T: Element>(row: usize) -> Entry {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out) = unsafe { (Slice::<T>::new(0, 0), PtrMut::<T>::new(0)) };
        (table::<T>()[row].kernel)(none, none, out).into()
    }
    let info = |(row, variant): (usize, Variant<f32>)| {
        let entries =
            Dtype::NUMBERS.iter().filter_map(|dtype| with_dtype!(dtype, T => Some(entry::<T>(row)), else => None));
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries: entries.collect() }
    };
    table::<f32>().into_iter().enumerate().map(info).collect()
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
    with_dtype!(problem.dtype, T => typed::<T>(problem), else => Err(FAMILY.no_kernel(problem.dtype)))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_dtype!(job.problem.dtype, T => typed::<T>(job, emit), else => Err(FAMILY.no_kernel(job.problem.dtype)))
}

fn typed<T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
    let n = a.len();
    let bytes = 3 * size_of_val(a) as u64;
    require_memory(job.device, Some(bytes), "vecadd of three arrays", "use a smaller --n or input")?;
    let device_a = Buffer::from_slice(job.device, a, "a")?;
    let device_b = Buffer::from_slice(job.device, b, "b")?;
    let mut sums = Tensor::from(T::wrap(Vec::new()));
    for name in job.variants {
        let Some(variant) = table::<T>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("vecadd has no variant '{name}'")));
        };
        let (block, grid) = shape(job, &variant, n)?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<T>::uninit(job.device, n, "out")?;
        let call = (variant.kernel)(device_a.slice(n), device_b.slice(n), output.ptr());
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![n],
            depth: 1,
            work: Work::bytes(bytes),
        };
        let row;
        (sums, row) = job.measure(&trial, &mut || match grid {
            0 => Ok(()),
            // SAFETY: the call is the kernel's own launcher's; its buffers live on and have the `n` elements that it
            // takes; block and grid are those that its contract asks for.
            _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
        })?;
        emit(row);
    }
    Ok(sums)
}

/// Threads per block, and blocks, for `n` elements: 0 when there is nothing to add.
fn shape<T: Element>(job: &Job<'_>, variant: &Variant<T>, n: usize) -> Result<(u32, u32)> {
    let info = job.device.info();
    let block = variant.block.choose(job.block, variant.name, info.max_block)?;
    let needed = match (variant.grid, job.grid) {
        (Grid::Elements, None) => (n as u64).div_ceil(u64::from(block)),
        (Grid::Elements, Some(_)) => {
            let name = variant.name;
            return Err(Error::Usage(format!("'{name}' has a thread for each element: leave --grid out")));
        }
        (_, Some(grid)) => grid.into(),
        (Grid::Device, None) => {
            let fill = info.multiprocessors * (THREADS_PER_SM / block).max(1);
            (n as u64).div_ceil(u64::from(block)).min(fill.into())
        }
        (Grid::Tiles(chunks), None) => {
            let tile = chunks * 16 / size_of::<T>() * block as usize;
            n.div_ceil(tile).min(MAX_GRID as usize) as u64
        }
    };
    let grid = block::grid(needed, &format!("a sum of {n} elements"), "use a larger --block")?;
    Ok((block, if n == 0 { 0 } else { grid }))
}

/// The sum as the type gives it: computed in a wider type, then rounded (floats) or wrapped (integers). Rounding the
/// f64 sum of two f32 to f32 gives the correctly rounded sum, since 53 >= 2 * 24 + 2 (Figueroa, 1995).
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
