//! Dot product: the sum of `a[i] * b[i]`, of floats.
//!
//! NaN in, NaN out, and infinity times 0 is NaN. Vectors without elements give 0.

use super::generic::with_float;
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::problem::{awkward_lengths, bench_lengths};
use super::reduce::oracle::Reference;
use super::{BlockRule, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use crate::kernels::spelling::N;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::dot::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element};
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "dot",
    idea: "the sum of a[i] * b[i]: how the blocks' sums become one",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F64],
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
    peers: &["dot"],
};

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_float!(FAMILY, dtype, T => Ok(Resolved::of::<Dot<T>>()))
}

/// The family for one element type.
struct Dot<T>(PhantomData<T>);

/// A launcher that takes both vectors, and the destination of each block's sum or of the total.
type Plain<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>;
/// A launcher that takes both vectors, the blocks' sums, the ticket, and the output.
type Ticketed<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>, PtrMut<'a, u32>, PtrMut<'a, T>) -> Call<'a>;

/// The way in which the blocks' sums are added. A thread takes one element in a round, in a grid that fills the device.
enum Scheme<T: 'static> {
    /// The host adds them. Dynamic shared memory holds an element per thread.
    Host(Plain<T>),
    /// Each is added to the output, which is set to 0 first.
    Atomic(Plain<T>),
    /// The last block adds them: the ticket is 0 before and after.
    LastBlock(Ticketed<T>),
}

/// Vectors on a device, with the initial values of output and ticket.
struct Vectors<'j, T> {
    a: Buffer<'j, T>,
    b: Buffer<'j, T>,
    zero: Buffer<'j, T>,
    ticket: Buffer<'j, u32>,
}

impl<T: Element + Real> Ladder for Dot<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Scheme<T>>;
    type Operands<'j> = Vectors<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        vec![
            Rung {
                name: "host_sum",
                idea: host_sum::IDEA,
                block: BlockRule::PowerOfTwo { min: 1, default: host_sum::BLOCK },
                kernel: Planned::Here(Scheme::Host(host_sum::dot_host_sum::<T>)),
            },
            Rung {
                name: "atomic",
                idea: atomic::IDEA,
                block: BlockRule::WholeWarps { default: atomic::BLOCK },
                kernel: Planned::Here(Scheme::Atomic(atomic::dot_atomic::<T>)),
            },
            Rung {
                name: "single_launch",
                idea: single_launch::IDEA,
                block: BlockRule::WholeWarps { default: single_launch::BLOCK },
                kernel: Planned::Here(Scheme::LastBlock(single_launch::dot_single_launch::<T>)),
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
            Planned::Here(Scheme::Host(launcher) | Scheme::Atomic(launcher)) => Entry::of(launcher),
            Planned::Here(Scheme::LastBlock(launcher)) => Entry::of(launcher),
            Planned::ByLibrary => Entry::of(best::dot_best::<T>),
        }]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (a, b) = (problem.view::<T>(0)?, problem.view::<T>(1)?);
        if a.len() != b.len() {
            let (a, b) = (a.len(), b.len());
            return Err(Error::Usage(format!("dot needs two vectors of one length, not {a} and {b}")));
        }
        let expected = reference(a, b);
        let value = expected(0).value;
        Ok(Oracle::elements::<T>(vec![1], move |_, depth| expected(depth)).with_value(value))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Vectors<'j, T>> {
        let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
        let (device, bytes) = (job.device, 2 * size_of_val(a) as u64);
        require_memory(device, Some(bytes), "dot of two vectors", &format!("use a smaller {N} or input"))?;
        Ok(Vectors {
            a: Buffer::from_slice(device, a, "a")?,
            b: Buffer::from_slice(device, b, "b")?,
            zero: Buffer::from_slice(device, &[T::ZERO], "zero")?,
            ticket: Buffer::from_slice(device, &[0_u32], "ticket")?,
        })
    }

    fn work(vectors: &Vectors<'_, T>) -> Work {
        Work::bytes(2 * vectors.a.bytes())
    }

    fn prepare(vectors: &Vectors<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let Vectors { a, b, zero, ticket } = vectors;
        let n = a.len();
        let output = rung.uninit::<T>(1, "output")?;
        if n == 0 {
            return run(Plan::new(rung.block, 0, &output, &[1]).copy(&output, zero));
        }
        let Planned::Here(scheme) = rung.kernel else {
            let plan = rustwarp::dot::Plan::new(&rung.device, n, rung.tuning())?;
            return run(Plan::of_library(plan.prepare([a, b], &output)?, &output, &[1]).with_depth(plan.depth()));
        };
        let (block, grid) = (rung.block, grid(rung, n));
        let partials = rung.uninit::<T>(grid as usize, "partial sums")?;
        let (a, b, shape) = (a.slice(n), b.slice(n), Shape::linear(grid, block));
        let plan = Plan::new(block, grid, &output, &[1]).with_depth(depth(scheme, n as u64, block, grid));
        // SAFETY of all launches: the kernel's own launcher made the call, with vectors of `n` elements, a partial sum
        // per block, and a block size that its rule allows.
        run(match scheme {
            Scheme::Host(launcher) => {
                let shape = shape.with_shared(block * size_of::<T>() as u32);
                // SAFETY: as above, with an element of shared memory per thread.
                let plan = unsafe { plan.launch(launcher(a, b, partials.ptr()), shape) };
                plan.host(|| {
                    let sum = partials.read(grid as usize)?.into_iter().fold(T::ZERO, |sum, block| sum.add(block));
                    output.write(&[sum])
                })
            }
            // SAFETY: as above, and the output is 0.
            Scheme::Atomic(launcher) => unsafe { plan.copy(&output, zero).launch(launcher(a, b, output.ptr()), shape) },
            // SAFETY: as above, and every launch leaves the ticket at 0.
            Scheme::LastBlock(launcher) => unsafe {
                plan.launch(launcher(a, b, partials.ptr(), ticket.ptr(), output.ptr()), shape)
            },
        })
    }
}

/// The expected result for a kernel that adds at most the given number of products in a chain: the sum of exact
/// products, within the bound for sums plus the error of products that underflow.
fn reference<T: Element>(a: &[T], b: &[T]) -> impl Fn(u64) -> Expected + use<T> {
    let sum = Reference::of_floats(products(a, b));
    let n = a.len() as u64;
    move |depth| expected::<T>(&sum, n, depth)
}

/// Numbers whose sum is the exact sum of the products: each product, rounded, and its rounding error, which is an f64
/// too.
pub(crate) fn products<T: Element>(a: &[T], b: &[T]) -> impl Iterator<Item = f64> {
    let wide = |x: &T| match x.value() {
        rustwarp::element::Value::Float(x) => x,
        rustwarp::element::Value::Int(_) => f64::NAN,
    };
    a.iter().zip(b).flat_map(move |(a, b)| {
        let (a, b) = (wide(a), wide(b));
        let product = a * b;
        let rest = if product.is_finite() { a.mul_add(b, -product) } else { 0.0 };
        [product, rest]
    })
}

/// The expected sum of `n` products from the sum of all [`products`].
pub(crate) fn expected<T: Element>(sum: &Reference, n: u64, depth: u64) -> Expected {
    let half_smallest = if T::DTYPE == Dtype::F32 { f64::powi(2.0, -150) } else { f64::from_bits(1) };
    let expected = sum.expected::<T>(depth);
    Expected { tolerance: expected.tolerance + n as f64 * half_smallest, ..expected }
}

/// Number of blocks for `n` elements, one per thread: enough to fill the device, and at most one for each tile.
fn grid<K>(rung: &Chosen<'_, K>, n: usize) -> u32 {
    /// Number of threads that fill a multiprocessor.
    const THREADS_PER_SM: u32 = 2048;

    let full = (THREADS_PER_SM / rung.block).max(1) * rung.device.info().multiprocessors;
    let needed = (n as u64).div_ceil(rung.block.into());
    rung.grid.unwrap_or(needed.min(full.into()) as u32)
}

/// Largest number of additions in a chain from a product to the result.
fn depth<T>(scheme: &Scheme<T>, n: u64, block: u32, grid: u32) -> u64 {
    let (block, grid) = (u64::from(block), u64::from(grid).max(1));
    let chain = n.div_ceil(grid * block);
    let tree = u64::from(block.next_power_of_two().ilog2());
    let last = match scheme {
        Scheme::Host(_) | Scheme::Atomic(_) => grid,
        Scheme::LastBlock(_) => grid.div_ceil(block) + tree,
    };
    chain + tree + last
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes<T: Element>(a: &[T], b: &[T], result: T, depth: u64) -> bool {
        reference(a, b)(depth).judge(result.value()).verified
    }

    #[test]
    fn products_are_exact() {
        // The square of 1 + 2^-30 is 1 + 2^-29 + 2^-60: only the last term is left, which f64 would have rounded off.
        let x = 1.0 + f64::powi(2.0, -30);
        let (a, b) = ([x, 1.0, f64::powi(2.0, -29)], [x, -1.0, -1.0]);
        let left = f64::powi(2.0, -60);
        assert_eq!(format!("{}", reference(&a, &b)(0).value), left.to_string());
        assert!(passes(&a, &b, left, 0) && !passes(&a, &b, 1.0, 3));
    }

    #[test]
    fn special_values() {
        let (inf, nan) = (f32::INFINITY, f32::NAN);
        assert!(passes(&[inf, 1.0], &[2.0, 1.0], inf, 1) && !passes(&[inf, 1.0], &[2.0, 1.0], f32::MAX, 1));
        assert!(passes(&[inf, 1.0], &[0.0, 1.0], nan, 1) && !passes(&[inf, 1.0], &[0.0, 1.0], 1.0, 1));
        assert!(passes(&[1e-30_f32; 9], &[1e-30; 9], 0.0, 9), "the products underflow");
        assert!(passes::<f32>(&[], &[], 0.0, 0) && !passes::<f32>(&[], &[], 1.0, 0));
        assert!(passes(&[f64::MAX], &[2.0], f64::INFINITY, 1));
    }
}
