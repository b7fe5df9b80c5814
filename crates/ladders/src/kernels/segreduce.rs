//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`. Elements before the first offset and after the last
//! belong to no segment. An empty segment gives the identity; the results of the others are those of `reduce`.

use super::generic::{Reduces, with_op};
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::lengths::{self, LENGTH, MIX};
use super::plan::Plan;
use super::reduce::oracle::{Reference, reference};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::Result;
use crate::kernels::spelling::N;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::reduce::Op;
use kernels_gpu::segreduce::*;
use rustwarp::MAX_GRID;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::segreduce as library;
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "segreduce",
    idea: "one value from each segment: balanced work for segments of any length",
    operands: &[Operand::of_elements("values"), Operand::of("offsets", Dtype::U64)],
    ops: &["sum", "max", "min"],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[LENGTH.listed(), MIX.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: true,
    generate: |demand| {
        let mut operands = demand.vectors(1)?;
        let offsets = lengths::asked(demand, operands[0].len());
        operands.push(Tensor::from(u64::wrap(offsets)));
        Ok(operands)
    },
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["segreduce"],
};

/// A launcher that takes values, offsets and results.
type Launcher<T> = for<'a> fn(Slice<'a, T>, Slice<'a, u64>, PtrMut<'a, T>) -> Call<'a>;
/// A kernel with this number of threads for each segment; `None` for a block.
struct Kernel<T: 'static>(Option<u32>, Launcher<T>);

fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    with_dtype!(
        dtype,
        T => with_op!(FAMILY, op, O => Resolved::of::<Segreduce<O, T>>()),
        else => Err(FAMILY.no_kernel(dtype))
    )
}

/// The family for one operation and element type.
struct Segreduce<O, T>(PhantomData<(O, T)>);

/// Segments on a device.
struct Segments<'j, T> {
    values: Buffer<'j, T>,
    ends: Buffer<'j, u64>,
    /// The offsets on the host.
    offsets: &'j [u64],
}

impl<T> Segments<'_, T> {
    /// Number of segments.
    fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of elements of all segments.
    fn inside(&self) -> u64 {
        self.offsets[self.count()] - self.offsets[0]
    }
}

impl<O: Op<T> + Reduces, T: Element> Ladder for Segreduce<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Kernel<T>>;
    type Operands<'j> = Segments<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        vec![
            Rung {
                name: "block_per_segment",
                idea: block_per_segment::IDEA,
                block: BlockRule::WholeWarps { default: block_per_segment::BLOCK },
                kernel: Planned::Here(Kernel(None, block_per_segment::segreduce_block_per_segment::<O, T>)),
            },
            Rung {
                name: "warp_per_segment",
                idea: warp_per_segment::IDEA,
                block: BlockRule::WholeWarps { default: warp_per_segment::BLOCK },
                kernel: Planned::Here(Kernel(Some(32), warp_per_segment::segreduce_warp_per_segment::<O, T>)),
            },
            Rung {
                name: "thread_per_segment",
                idea: thread_per_segment::IDEA,
                block: BlockRule::Any { default: thread_per_segment::BLOCK },
                kernel: Planned::Here(Kernel(Some(1), thread_per_segment::segreduce_thread_per_segment::<O, T>)),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
                kernel: Planned::ByLibrary,
            },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel {
            Planned::Here(Kernel(_, launcher)) => vec![Entry::of(launcher)],
            Planned::ByLibrary => vec![
                Entry::of(best::segreduce_best::<O, T>),
                Entry::of(best::pieces::segreduce_best_pieces::<O, T>),
                Entry::of(best::whole::segreduce_best_whole::<O, T>),
            ],
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (values, offsets) = (problem.view::<T>(0)?, offsets(&problem)?);
        let segment = |pair: &[u64]| reference(O::REDUCTION, &values[pair[0] as usize..pair[1] as usize]);
        let expected: Vec<Reference> = offsets.windows(2).map(segment).collect();
        let wrapped = expected.iter().any(|segment| segment.wrapped);
        let judge = Oracle::elements::<T>(vec![expected.len()], move |k, depth| expected[k].expected::<T>(depth));
        Ok(judge.with_wrapped(wrapped))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Segments<'j, T>> {
        let (values, offsets) = (job.problem.view::<T>(0)?, offsets(&job.problem)?);
        let (device, segments) = (job.device, offsets.len() - 1);
        let operands = size_of_val(values) + size_of_val(offsets) + segments * size_of::<T>();
        let memory = operands as u64 + library::scratch_bytes::<T>(device.info(), values.len());
        require_memory(
            device,
            Some(memory),
            "segreduce with its offsets and results",
            &format!("use a smaller {N} or input"),
        )?;
        Ok(Segments {
            values: Buffer::from_slice(device, values, "values")?,
            ends: Buffer::from_slice(device, offsets, "offsets")?,
            offsets,
        })
    }

    fn work(segments: &Segments<'_, T>) -> Work {
        let moved = (segments.inside() + segments.count() as u64) * size_of::<T>() as u64;
        Work::bytes(moved + segments.ends.bytes())
    }

    fn prepare(segments: &Segments<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let count = segments.count();
        let output = rung.uninit::<T>(count, "results")?;
        let Segments { values, ends, offsets } = segments;
        let Planned::Here(Kernel(threads, launcher)) = *rung.kernel else {
            let plan = library::Plan::<O, T, _>::new(&rung.device, values.len(), offsets, rung.tuning())?;
            return run(Plan::of_library(plan.prepare(values, &output)?, &output, &[count]).with_depth(plan.depth()));
        };
        let grid = grid(rung, threads, count);
        let call = launcher(values.slice(values.len()), ends.slice(ends.len()), output.ptr());
        // SAFETY: the kernel's own launcher made the call, with offsets that ascend and end within the values, a result
        // per segment, and a block size that its rule allows.
        let plan = unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &[count]) };
        run(plan.with_depth(depth(threads, offsets, rung.block)))
    }
}

/// A tile has 4096 elements of 4 bytes, so that the largest cases have several tiles and blocks.
fn cases() -> Vec<Case> {
    let case = |n: u64, length: &str, mix: &str| Case::new(&[n]).with("length", length).with("mix", mix);
    vec![
        case(0, "5", "uniform"),
        case(1, "1", "equal"),
        case(33, "1", "uniform"),
        case(257, "3", "power"),
        case(1009, "100", "uniform"),
        case(4099, "64", "equal"),
        case(8209, "5000", "equal"),
        case(9001, "300", "power"),
    ]
}

fn sizes() -> Vec<Case> {
    let case = |power: u64, length: &str, mix: &str| Case::new(&[1 << power]).with("length", length).with("mix", mix);
    vec![
        case(22, "128", "uniform"),
        case(28, "16", "equal"),
        case(28, "128", "equal"),
        case(28, "4096", "equal"),
        case(28, "1048576", "equal"),
        case(28, "128", "power"),
    ]
}

/// Checks the offsets and returns them.
fn offsets<'a>(problem: &Problem<'a>) -> Result<&'a [u64]> {
    let offsets = problem.view::<u64>(1)?;
    library::require_offsets(offsets, problem.inputs[0].len() as u64)?;
    Ok(offsets)
}

/// Number of blocks with this number of threads for each segment; 0 if there is no segment.
fn grid<K>(rung: &Chosen<'_, K>, threads: Option<u32>, segments: usize) -> u32 {
    let per_block = threads.map_or(1, |threads| (rung.block / threads).max(1));
    match rung.grid {
        Some(grid) if segments > 0 => grid,
        // Every kernel continues with further segments if the grid has fewer blocks.
        _ => (segments as u64).div_ceil(per_block.into()).min(MAX_GRID) as u32,
    }
}

/// Largest number of additions in a chain from an element to its segment's result.
fn depth(threads: Option<u32>, offsets: &[u64], block: u32) -> u64 {
    let longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let tree = u64::from(block.next_power_of_two().ilog2());
    longest.div_ceil(threads.unwrap_or(block).into()) + tree
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::Array;

    fn verdict(values: Vec<f32>, ends: Vec<u64>, op: &str, results: Vec<f32>) -> Result<bool> {
        let inputs = [Array::F32(values).into(), Array::U64(ends).into()];
        let settings = Settings::new(FAMILY.settings, [])?;
        let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op, settings: &settings };
        let oracle = FAMILY.resolve(&problem)?.oracle(problem)?;
        Ok(oracle.judge(&Array::F32(results).into(), 3).verified)
    }

    #[test]
    fn every_segment_counts_and_empty_ones_are_the_identity() {
        let right =
            |op, results| verdict(vec![9.0, 1.0, 2.0, 4.0, 9.0], vec![1, 3, 3, 4], op, results).expect("offsets");
        assert!(right("sum", vec![3.0, 0.0, 4.0]) && !right("sum", vec![3.0, 4.0, 4.0]));
        assert!(right("max", vec![2.0, f32::NEG_INFINITY, 4.0]) && !right("max", vec![2.0, 0.0, 4.0]));
        assert!(right("min", vec![1.0, f32::INFINITY, 4.0]) && !right("min", vec![1.0, f32::INFINITY]));
        assert!(verdict(vec![1.0], vec![0], "sum", vec![]).expect("no segments"));
    }

    #[test]
    fn offsets_that_are_none_are_refused() {
        let refusal = |ends| verdict(vec![1.0; 5], ends, "sum", vec![]).expect_err("refused").to_string();
        assert!(refusal(vec![0, 3, 2, 5]).contains("offset 2 is 2, after 3"));
        assert!(refusal(vec![0, 6]).contains("the last offset of segreduce is 6, and there are 5 values"));
        assert!(refusal(vec![]).contains("one offset more than there are segments"));
    }
}
