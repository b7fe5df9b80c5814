//! Vector addition: `out[i] = a[i] + b[i]`.

use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::problem::{awkward_lengths, bench_lengths};
use super::{BlockRule, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use crate::kernels::spelling::{BLOCK_SIZE, GRID_SIZE, N};
use cuda_std::launch::{Call, Slice, SliceMut};
use kernels_gpu::vecadd::{self, best, one_per_thread, vectorised};
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Value};
use rustwarp::{require_grid, with_dtype};
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "vecadd",
    idea: "out[i] = a[i] + b[i]: the smallest kernel",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[],
    variants: || FAMILY.merge(resolve),
    cases: awkward_lengths,
    sizes: bench_lengths,
    of_vectors: true,
    generate: |demand| demand.vectors(2),
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: true,
    limits: Limits::DEFAULT,
    peers: &["elementwise"],
};

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_dtype!(dtype, T => Ok(Resolved::of::<Sums<T>>()), else => Err(FAMILY.no_kernel(dtype)))
}

/// The family for one element type.
struct Sums<T>(PhantomData<T>);

/// A launcher that takes both vectors, and the sum.
type Launcher<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, SliceMut<'a, T>) -> Call<'a>;

/// The kernel of a rung, and its grid.
struct Kernel<T: 'static> {
    grid: Grid,
    launcher: Launcher<T>,
}

/// The number of blocks of a rung's launch.
#[derive(Clone, Copy)]
enum Grid {
    /// A thread for each element.
    Elements,
    /// Enough blocks to fill the device, and at most one for each part of the work.
    Device,
}

/// Number of threads that fill a multiprocessor.
const THREADS_PER_SM: u32 = 2048;

impl<T: Element> Ladder for Sums<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Kernel<T>>;
    type Operands<'j> = [Buffer<'j, T>; 2];

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let here = |grid, launcher: Launcher<T>| Planned::Here(Kernel { grid, launcher });
        vec![
            Rung {
                name: "one_per_thread",
                idea: one_per_thread::IDEA,
                block: BlockRule::Any { default: one_per_thread::BLOCK },
                kernel: here(Grid::Elements, |a, b, out| one_per_thread::vecadd_one_per_thread::<T>(a, b, out).into()),
            },
            Rung {
                name: "grid_stride",
                idea: vecadd::IDEA,
                block: BlockRule::Any { default: vecadd::BLOCK },
                kernel: here(Grid::Device, |a, b, out| vecadd::vecadd::<T>(a, b, out).into()),
            },
            Rung {
                name: "vectorised",
                idea: vectorised::IDEA,
                block: BlockRule::Any { default: vectorised::BLOCK },
                kernel: here(Grid::Device, |a, b, out| vectorised::vecadd_vectorised::<T>(a, b, out.into())),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::WholeWarps { default: best::BLOCK },
                kernel: Planned::ByLibrary,
            },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        vec![match rung.kernel {
            Planned::Here(Kernel { launcher, .. }) => Entry::of(launcher),
            // The library adds short vectors by the entry of `vectorised`, which belongs to that rung.
            Planned::ByLibrary => Entry::of(best::vecadd_best::<T>),
        }]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (a, b) = (problem.view::<T>(0)?, problem.view::<T>(1)?);
        if a.len() != b.len() {
            let (a, b) = (a.len(), b.len());
            return Err(Error::Usage(format!("vecadd needs two inputs of one length, not {a} and {b}")));
        }
        let sum = move |i: usize, _| Expected::exactly(reference(a[i], b[i]));
        let wrapped = a.iter().zip(b).any(|(&a, &b)| wraps(a, b));
        Ok(Oracle::elements::<T>(vec![a.len()], sum).with_wrapped(wrapped))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<[Buffer<'j, T>; 2]> {
        let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
        let bytes = 3 * size_of_val(a) as u64;
        require_memory(job.device, Some(bytes), "vecadd of three arrays", &format!("use a smaller {N} or input"))?;
        Ok([Buffer::from_slice(job.device, a, "a")?, Buffer::from_slice(job.device, b, "b")?])
    }

    fn work([a, _]: &[Buffer<'_, T>; 2]) -> Work {
        Work::bytes(3 * a.bytes())
    }

    fn prepare([a, b]: &[Buffer<'_, T>; 2], rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let n = a.len();
        let output = rung.uninit::<T>(n, "out")?;
        match *rung.kernel {
            Planned::Here(Kernel { grid, launcher }) => {
                let shape = Shape::linear(grid.blocks(rung, n)?, rung.block);
                // SAFETY: the plan borrows `output`, and reads it after the launch.
                let sum = unsafe { SliceMut::new(output.address(), n) };
                let call = launcher(a.slice(n), b.slice(n), sum);
                // SAFETY: the kernel's own launcher made the call; its buffers have the `n` elements that it takes;
                // block and grid are those that its contract requires.
                run(unsafe { Plan::of(call, shape, &output, &[n]) })
            }
            Planned::ByLibrary => {
                let plan = rustwarp::vecadd::Plan::new(&rung.device, n, rung.tuning())?;
                run(Plan::of_library(plan.prepare([a, b], &output)?, &output, &[n]))
            }
        }
    }
}

impl Grid {
    /// Number of blocks for `n` elements: 0 for empty vectors.
    fn blocks<K>(self, rung: &Chosen<'_, K>, n: usize) -> Result<u32> {
        let block = rung.block;
        let needed = match (self, rung.grid) {
            (Self::Elements, None) => (n as u64).div_ceil(u64::from(block)),
            (Self::Elements, Some(_)) => {
                let name = rung.name;
                return Err(Error::Usage(format!("`{name}` has a thread for each element: leave {GRID_SIZE} out")));
            }
            (Self::Device, Some(grid)) => grid.into(),
            (Self::Device, None) => {
                let fill = rung.device.info().multiprocessors * (THREADS_PER_SM / block).max(1);
                (n as u64).div_ceil(u64::from(block)).min(fill.into())
            }
        };
        let grid = require_grid(needed, &format!("a sum of {n} elements"), &format!("use a larger {BLOCK_SIZE}"))?;
        Ok(if n == 0 { 0 } else { grid })
    }
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
