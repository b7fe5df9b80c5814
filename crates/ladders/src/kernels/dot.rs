//! Dot product: the sum of `a[i] * b[i]`, of floats.
//!
//! NaN in, NaN out, and infinity times 0 is NaN. Vectors without elements give 0.

use super::generic::with_float;
use super::problem::{awkward_lengths, bench_lengths};
use super::reduce::oracle::Reference;
use super::{BlockRule, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::compare::Expected;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::dot::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;

/// The family.
pub const FAMILY: Family = Family {
    name: "dot",
    idea: "the sum of a[i] * b[i]: how the blocks' sums become one",
    operands: &[Operand::of_elements("a"), Operand::of_elements("b")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F64],
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
    peer: Some("dot"),
};

/// A row of the table.
struct Variant<T: 'static> {
    name: &'static str,
    idea: &'static str,
    block: BlockRule,
    /// Blocks per multiprocessor; `None` for as many as fill it.
    blocks_per_sm: Option<u32>,
    /// Elements that one thread takes in one round.
    per_thread: u32,
    scheme: Scheme<T>,
}

/// A launcher of both vectors, and where each block's sum, or the sum of all, goes.
type Plain<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>) -> Call<'a>;
/// A launcher of both vectors, the blocks' sums, the ticket, and the output.
type Ticketed<T> = for<'a> fn(Slice<'a, T>, Slice<'a, T>, PtrMut<'a, T>, PtrMut<'a, u32>, PtrMut<'a, T>) -> Call<'a>;

/// How the blocks' sums become one.
enum Scheme<T: 'static> {
    /// The host adds them. Dynamic shared memory holds an element per thread.
    Host(Plain<T>),
    /// Each is added to the output, which is set to 0 first.
    Atomic(Plain<T>),
    /// The last block adds them: the ticket is 0 before and after.
    LastBlock(Ticketed<T>),
}

/// The table, slowest first.
fn table<T: Element + Real>() -> Vec<Variant<T>> {
    vec![
        Variant {
            name: "host_sum",
            idea: host_sum::IDEA,
            block: BlockRule::PowerOfTwo { min: 1, default: host_sum::BLOCK },
            blocks_per_sm: None,
            per_thread: 1,
            scheme: Scheme::Host(host_sum::dot_host_sum::<T>),
        },
        Variant {
            name: "atomic",
            idea: atomic::IDEA,
            block: BlockRule::WholeWarps { default: atomic::BLOCK },
            blocks_per_sm: None,
            per_thread: 1,
            scheme: Scheme::Atomic(atomic::dot_atomic::<T>),
        },
        Variant {
            name: "single_launch",
            idea: single_launch::IDEA,
            block: BlockRule::WholeWarps { default: single_launch::BLOCK },
            blocks_per_sm: None,
            per_thread: 1,
            scheme: Scheme::LastBlock(single_launch::dot_single_launch::<T>),
        },
        Variant {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::WholeWarps { default: best::BLOCK },
            blocks_per_sm: Some(best::BLOCKS_PER_SM),
            per_thread: 16 / size_of::<T>() as u32,
            scheme: Scheme::LastBlock(best::dot_best::<T>),
        },
    ]
}

impl<T> Scheme<T> {
    /// The launch; what a scheme has no use for is left out.
    fn call<'a>(
        &self,
        [a, b]: [Slice<'a, T>; 2],
        partials: PtrMut<'a, T>,
        ticket: PtrMut<'a, u32>,
        output: PtrMut<'a, T>,
    ) -> Call<'a> {
        match self {
            Self::Host(kernel) => kernel(a, b, partials),
            Self::Atomic(kernel) => kernel(a, b, output),
            Self::LastBlock(kernel) => kernel(a, b, partials, ticket, output),
        }
    }
}

fn variants() -> Vec<VariantInfo> {
    fn entry<T: Element + Real>(row: usize) -> Entry {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out, ticket) = unsafe { (Slice::<T>::new(0, 0), PtrMut::<T>::new(0), PtrMut::new(0)) };
        table::<T>()[row].scheme.call([none; 2], out, ticket, out).into()
    }
    let info = |(row, variant): (usize, Variant<f32>)| {
        let entries = vec![entry::<f32>(row), entry::<f64>(row)];
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries }
    };
    table::<f32>().into_iter().enumerate().map(info).collect()
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    fn typed<T: Element>(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (a, b) = (problem.view::<T>(0)?, problem.view::<T>(1)?);
        if a.len() != b.len() {
            let (a, b) = (a.len(), b.len());
            return Err(Error::Usage(format!("dot needs two vectors of one length, not {a} and {b}")));
        }
        let expected = reference(a, b);
        let value = expected(0).value;
        Ok(Oracle::elements::<T>(vec![1], move |_, depth| expected(depth)).with_value(value))
    }
    with_float!(FAMILY, problem.dtype, T => typed::<T>(problem))
}

/// What a kernel must give that adds at most so many products in a chain: the sum of exact products, within the bound
/// for sums and what is lost where a product is smaller than any number of the type.
fn reference<T: Element>(a: &[T], b: &[T]) -> impl Fn(u64) -> Expected + use<T> {
    let wide = |x: &T| match x.value() {
        rustwarp::element::Value::Float(x) => x,
        rustwarp::element::Value::Int(_) => f64::NAN,
    };
    // The product of two f64 is the rounded product and what rounding cut off, which is an f64 again.
    let exact = |(a, b): (&T, &T)| {
        let (a, b) = (wide(a), wide(b));
        let product = a * b;
        let rest = if product.is_finite() { a.mul_add(b, -product) } else { 0.0 };
        [product, rest]
    };
    let sum = Reference::of_floats(a.iter().zip(b).flat_map(exact));
    let half_smallest = if T::DTYPE == Dtype::F32 { f64::powi(2.0, -150) } else { f64::from_bits(1) };
    let underflow = a.len() as f64 * half_smallest;
    move |depth| {
        let expected = sum.expected::<T>(depth);
        Expected { tolerance: expected.tolerance + underflow, ..expected }
    }
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_float!(FAMILY, job.problem.dtype, T => typed::<T>(job, emit))
}

fn typed<T: Element + Real>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let (a, b) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?);
    let (device, n) = (job.device, a.len());
    let bytes = 2 * size_of_val(a) as u64;
    require_memory(device, Some(bytes), "dot of two vectors", "use a smaller --n or input")?;
    let (device_a, device_b) = (Buffer::from_slice(device, a, "a")?, Buffer::from_slice(device, b, "b")?);
    let zero = Buffer::from_slice(device, &[T::ZERO], "zero")?;
    let ticket = Buffer::from_slice(device, &[0_u32], "ticket")?;
    let mut result = Tensor::from(T::wrap(vec![T::ZERO]));
    for name in job.variants {
        let Some(variant) = table::<T>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("dot has no variant '{name}'")));
        };
        let (block, grid) = shape(job, &variant, n)?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<T>::uninit(device, 1, "output")?;
        let partials = Buffer::<T>::uninit(device, grid as usize, "partial sums")?;
        let slices = [device_a.slice(n), device_b.slice(n)];
        let call = variant.scheme.call(slices, partials.ptr(), ticket.ptr(), output.ptr());
        let cache = if matches!(variant.scheme, Scheme::Host(_)) { block * size_of::<T>() as u32 } else { 0 };
        let launch = || {
            // SAFETY: the call is the kernel's own launcher's, with vectors of `n` elements, a partial sum per block,
            // and a block size that its rule allows.
            unsafe { device.launch(job.module, &call, Shape::linear(grid, block).with_shared(cache)) }
        };
        let clear = || device.copy(output.address(), zero.address(), size_of::<T>() as u64);
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![1],
            depth: depth(&variant, n as u64, block, grid),
            work: Work::bytes(bytes),
        };
        let mut row;
        (result, row) = job.measure(&trial, &mut || match variant.scheme {
            _ if grid == 0 => clear(),
            Scheme::Host(_) => {
                launch()?;
                let sum = partials.read(grid as usize)?.into_iter().fold(T::ZERO, |sum, block| sum.add(block));
                output.write(&[sum])
            }
            Scheme::Atomic(_) => clear().and_then(|()| launch()),
            Scheme::LastBlock(_) => launch(),
        })?;
        row.value = result.single();
        emit(row);
    }
    Ok(result)
}

/// Threads per block, and blocks, for `n` elements: as many as fill the device, and no more than there is work for.
fn shape<T: Element + Real>(job: &Job<'_>, variant: &Variant<T>, n: usize) -> Result<(u32, u32)> {
    /// Threads that fill a multiprocessor.
    const THREADS_PER_SM: u32 = 2048;

    let info = job.device.info();
    let block = variant.block.choose(job.block, variant.name, info.max_block)?;
    let full = variant.blocks_per_sm.unwrap_or((THREADS_PER_SM / block).max(1)) * info.multiprocessors;
    let needed = (n as u64).div_ceil(u64::from(block) * u64::from(variant.per_thread));
    let grid = match job.grid {
        Some(grid) if n > 0 => grid,
        _ => needed.min(full.into()) as u32,
    };
    Ok((block, grid))
}

/// Most additions in a chain from a product to the result.
fn depth<T: Element + Real>(variant: &Variant<T>, n: u64, block: u32, grid: u32) -> u64 {
    let (block, grid) = (u64::from(block), u64::from(grid).max(1));
    let per_thread = u64::from(variant.per_thread);
    // A thread may take one element in front of the aligned part and one behind it.
    let chain = n.div_ceil(grid * block * per_thread) * per_thread + 2;
    let tree = u64::from(block.next_power_of_two().ilog2());
    chain
        + tree
        + match variant.scheme {
            Scheme::Host(_) | Scheme::Atomic(_) => grid,
            Scheme::LastBlock(_) => grid.div_ceil(block) + tree,
        }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passes<T: Element>(a: &[T], b: &[T], result: T, depth: u64) -> bool {
        reference(a, b)(depth).judge(result.value()).verified
    }

    #[test]
    fn products_are_exact() {
        // The square of 1 + 2^-30 is 1 + 2^-29 + 2^-60: the last term is all that is left, and f64 would have rounded
        // it off.
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
