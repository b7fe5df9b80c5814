//! Correctly rounded sums of floats: the exact sum of all elements, rounded once.
//!
//! NaN, or infinities of both signs, give NaN; an infinity gives that infinity. An exact sum of 0 is +0.

use super::generic::with_float;
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::problem::{awkward_lengths, bench_lengths};
use super::settings::Choice;
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Setting, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use crate::input::generate::generate_with;
use crate::kernels::spelling::{BLOCK_SIZE, N};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::exact_sum::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Array, Dtype, Element};
use rustwarp::exact_sum as library;
use std::marker::PhantomData;

mod oracle;

const DATA: Setting<Choice> = Setting {
    name: "data",
    help: "Generated elements: as in other families; of every sign and exponent of the type (but the highest 40); \
           those and their negatives, of which a few are missing",
    generated: true,
    kind: Choice(&["plain", "spread", "cancelling"]),
};

/// The family.
pub const FAMILY: Family = Family {
    name: "exact_sum",
    idea: "the exact sum of floats, rounded once: the same bits in any order",
    operands: &[Operand::of_elements("input")],
    ops: &[],
    dtypes: &[Dtype::F32, Dtype::F64],
    only: &[],
    settings: &[DATA.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: true,
    generate: |demand| {
        let mut operands = demand.vectors(1)?;
        let (data, len) = (demand.settings.choice(&DATA), operands[0].len());
        if data != "plain" {
            operands[0] = spread(demand.dtype, len, demand.seed, data == "cancelling").into();
        }
        Ok(operands)
    },
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: true,
    limits: Limits::DEFAULT,
    peers: &[],
};

fn cases() -> Vec<Case> {
    let others =
        [1009, 20011].into_iter().flat_map(|n| ["spread", "cancelling"].map(|data| Case::new(&[n]).with("data", data)));
    awkward_lengths().into_iter().chain(others).collect()
}

fn sizes() -> Vec<Case> {
    let others = ["spread", "cancelling"].map(|data| Case::new(&[1 << 28]).with("data", data));
    bench_lengths().into_iter().chain(others).collect()
}

/// Floats of every sign, and of every exponent but the highest 40, so that their sum is finite; if they cancel, the
/// second half negates the first one, from the end, except for every thousandth element.
fn spread(dtype: Dtype, len: usize, seed: u64, cancelling: bool) -> Array {
    /// The number with these random bits, and one of the exponents.
    fn finite(bits: u64) -> f64 {
        let exponent = (bits >> 52 & 0x7ff) % (0x7ff - 40);
        f64::from_bits(bits & !(0x7ff << 52) | exponent << 52)
    }
    fn finite_single(bits: u64) -> f32 {
        let (bits, exponent) = (bits as u32, (bits >> 32) as u32 % (0xff - 40));
        f32::from_bits(bits & !(0xff << 23) | exponent << 23)
    }
    fn cancel<T: Copy + std::ops::Neg<Output = T>>(mut values: Vec<T>) -> Vec<T> {
        let n = values.len();
        for i in (0..n / 2).filter(|i| i % 1000 != 7) {
            values[n - 1 - i] = -values[i];
        }
        values
    }
    let (double, single) = (|| generate_with(len, seed, finite), || generate_with(len, seed, finite_single));
    match (dtype, cancelling) {
        (Dtype::F64, false) => Array::F64(double()),
        (Dtype::F64, true) => Array::F64(cancel(double())),
        (_, false) => Array::F32(single()),
        (_, true) => Array::F32(cancel(single())),
    }
}

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_float!(FAMILY, dtype, T => Ok(Resolved::of::<ExactSum<T>>()))
}

/// The family for one element type.
struct ExactSum<T>(PhantomData<T>);

/// A launcher that takes the input, the digits of the total, the words of the launch, and the output.
type Launcher<T> = for<'a> fn(Slice<'a, T>, PtrMut<'a, i64>, PtrMut<'a, u32>, PtrMut<'a, T>) -> Call<'a>;

/// A vector on a device.
struct Input<'j, T> {
    buffer: Buffer<'j, T>,
    zero: Buffer<'j, T>,
}

impl<T: Element + Real> Ladder for ExactSum<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Launcher<T>>;
    type Operands<'j> = Input<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        vec![
            Rung {
                name: "superaccumulator",
                idea: superaccumulator::IDEA,
                block: BlockRule::OneOf { sizes: &BLOCKS, default: superaccumulator::BLOCK },
                kernel: Planned::Here(superaccumulator::exact_sum_superaccumulator::<T>),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::OneOf { sizes: &BLOCKS, default: best::BLOCK },
                kernel: Planned::ByLibrary,
            },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel {
            Planned::Here(launcher) => vec![Entry::of(launcher)],
            // The second one is the part of a sum over several devices.
            Planned::ByLibrary => vec![Entry::of(best::exact_sum_best::<T>), Entry::of(best::exact_sum_digits::<T>)],
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let value = oracle::sum(problem.view::<T>(0)?).value();
        Ok(Oracle::elements::<T>(vec![1], move |_, _| Expected::exactly(value)).with_value(value))
    }

    fn block(job: &Job<'_>, rung: &Rung<Self::Kernel>) -> Result<u32> {
        let default = match rung.kernel {
            Planned::Here(_) => None,
            Planned::ByLibrary => Some(library::default_block::<T>(job.device.info())),
        };
        rung.choose(job.block.or(default), job)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Input<'j, T>> {
        let input = job.problem.view::<T>(0)?;
        let bytes = size_of_val(input) as u64;
        require_memory(job.device, Some(bytes), "the elements of a sum", &format!("use a smaller {N} or input"))?;
        Ok(Input {
            buffer: Buffer::from_slice(job.device, input, "input")?,
            zero: Buffer::from_slice(job.device, &[T::ZERO], "zero")?,
        })
    }

    fn work(input: &Input<'_, T>) -> Work {
        Work::bytes(input.buffer.bytes())
    }

    fn prepare(Input { buffer, zero }: &Input<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let n = buffer.len();
        let output = rung.uninit::<T>(1, "output")?;
        if n == 0 {
            return run(Plan::new(rung.block, 0, &output, &[1]).copy(&output, zero));
        }
        let Planned::Here(launcher) = rung.kernel else {
            let plan = library::Plan::new(&rung.device, n, rung.tuning())?;
            return run(Plan::of_library(plan.prepare(buffer, &output)?, &output, &[1]));
        };
        let shape = shape(rung, n, size_of::<T>())?;
        let total = Buffer::from_slice(rung.device, &vec![0_i64; digit_count(size_of::<T>())], "digits of the total")?;
        let words = Buffer::from_slice(rung.device, &[0_u32; WORDS], "ticket and special values")?;
        let call = launcher(buffer.slice(n), total.ptr(), words.ptr(), output.ptr());
        let plan = Plan::new(shape.block[0], shape.grid[0], &output, &[1]);
        // SAFETY: the kernel's own launcher made the call, for whole warps with their shared memory; total and words
        // are 0, and every launch leaves them so.
        run(unsafe { plan.launch(call, shape) })
    }
}

/// The shape of a launch of `superaccumulator`, with as many blocks as fit in the shared memory of the device.
fn shape<K>(rung: &Chosen<'_, K>, n: usize, bytes: usize) -> Result<Shape> {
    let (info, block) = (rung.device.info(), rung.block);
    let shared = block / 32 * superaccumulator::column_bytes(digit_count(bytes));
    if shared > info.max_shared {
        return Err(Error::Usage(format!(
            "`{}` takes {shared} bytes of shared memory, and a block has at most {}: use a smaller {BLOCK_SIZE}",
            rung.name, info.max_shared
        )));
    }
    let fill = info.multiprocessors * (info.max_shared / shared).min(2048 / block);
    let grid = rung.grid.map_or(n.div_ceil(block as usize).min(fill as usize) as u64, u64::from);
    // A thread takes less than 2^31 elements.
    if grid == 0 || grid > MAX_GRID.into() || n as u64 / (grid * u64::from(block)) >= (1 << 31) - 1 {
        return Err(Error::Usage(format!("`{}` of {n} elements does not work with {grid} blocks", rung.name)));
    }
    Ok(Shape::linear(grid as u32, block).with_shared(shared))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_elements_have_every_exponent() {
        let Array::F32(singles) = spread(Dtype::F32, 10_000, 1, false) else { panic!("f32") };
        assert!(singles.iter().all(|x| x.is_finite()));
        assert!(singles.iter().any(|x| x.is_subnormal()) && singles.iter().any(|x| x.abs() > 1e26));
        let Array::F64(doubles) = spread(Dtype::F64, 10_000, 1, true) else { panic!("f64") };
        assert!(doubles.iter().all(|x| x.is_finite()));
        assert!(doubles.iter().any(|&x| x != 0.0 && x.abs() < 1e-300) && doubles.iter().any(|x| x.abs() > 1e290));
        let pairs = (0..5000).filter(|&i| doubles[i] == -doubles[9999 - i]).count();
        assert_eq!(pairs, 4995);
    }
}
