//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`. Elements before the first offset and after the last
//! belong to no segment. An empty segment gives the identity; the results of the others are those of `reduce`.

use super::generic::with_op;
use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::reduce::oracle::{Reference, reference};
use super::settings::{Choice, Number};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Setting, Work};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::reduce::Op;
use kernels_gpu::segreduce::*;
use rustwarp::MAX_GRID;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;
use std::marker::PhantomData;

mod mix;

const LENGTH: Setting<Number> = Setting {
    name: "length",
    help: "Mean length of the generated segments",
    generated: true,
    kind: Number { default: 128, min: 1, max: 1 << 40 },
};

const MIX: Setting<Choice> = Setting {
    name: "mix",
    help: "Lengths of the generated segments: all equal; from 0 to twice the mean; many short ones and few long ones",
    generated: true,
    kind: Choice(&["equal", "uniform", "power"]),
};

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
        let (mean, mix) = (demand.settings.number(&LENGTH), demand.settings.choice(&MIX));
        let offsets = mix::offsets(operands[0].len() as u64, mean, mix, demand.seed.wrapping_add(1));
        operands.push(Tensor::from(u64::wrap(offsets)));
        Ok(operands)
    },
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::GRID_OF_DEVICE,
    peer: Some("segreduce"),
};

/// A launcher that takes values, offsets and results.
type Plain<T> = for<'a> fn(Slice<'a, T>, Slice<'a, u64>, PtrMut<'a, T>) -> Call<'a>;
/// A launcher that takes also the blocks' carries, the segments of these, and the ticket.
type Balanced<T> = for<'a> fn(
    Slice<'a, T>,
    Slice<'a, u64>,
    PtrMut<'a, T>,
    PtrMut<'a, T>,
    PtrMut<'a, u64>,
    PtrMut<'a, u32>,
) -> Call<'a>;

/// The distribution of the work.
enum Scheme<T: 'static> {
    /// This number of threads for each segment; `None` for a block.
    Segments(Option<u32>, Plain<T>),
    /// A grid that fills the device, with an equal number of elements and ends for each block.
    Balanced(Balanced<T>),
}

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
    ticket: Buffer<'j, u32>,
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

impl<O: Op<T>, T: Element> Ladder for Segreduce<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Scheme<T>;
    type Operands<'j> = Segments<'j, T>;

    fn rungs() -> Vec<Rung<Scheme<T>>> {
        vec![
            Rung {
                name: "block_per_segment",
                idea: block_per_segment::IDEA,
                block: BlockRule::WholeWarps { default: block_per_segment::BLOCK },
                kernel: Scheme::Segments(None, block_per_segment::segreduce_block_per_segment::<O, T>),
            },
            Rung {
                name: "warp_per_segment",
                idea: warp_per_segment::IDEA,
                block: BlockRule::WholeWarps { default: warp_per_segment::BLOCK },
                kernel: Scheme::Segments(Some(32), warp_per_segment::segreduce_warp_per_segment::<O, T>),
            },
            Rung {
                name: "thread_per_segment",
                idea: thread_per_segment::IDEA,
                block: BlockRule::Any { default: thread_per_segment::BLOCK },
                kernel: Scheme::Segments(Some(1), thread_per_segment::segreduce_thread_per_segment::<O, T>),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
                kernel: Scheme::Balanced(best::segreduce_best::<O, T>),
            },
        ]
    }

    fn entries(rung: &Rung<Scheme<T>>) -> Vec<Entry> {
        vec![match rung.kernel {
            Scheme::Segments(_, launcher) => Entry::of(launcher),
            Scheme::Balanced(launcher) => Entry::of(launcher),
        }]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (values, offsets) = (problem.view::<T>(0)?, offsets(&problem)?);
        let segment = |pair: &[u64]| reference(problem.op, &values[pair[0] as usize..pair[1] as usize]);
        let expected: Vec<Reference> = offsets.windows(2).map(segment).collect();
        let wrapped = expected.iter().any(|segment| segment.wrapped);
        let judge = Oracle::elements::<T>(vec![expected.len()], move |k, depth| expected[k].expected::<T>(depth));
        Ok(judge.with_wrapped(wrapped))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Scheme<T>>]) -> Result<Segments<'j, T>> {
        let (values, offsets) = (job.problem.view::<T>(0)?, offsets(&job.problem)?);
        let (device, segments) = (job.device, offsets.len() - 1);
        // Scratch memory: a carry and a key per block, and the ticket.
        let scratch = u64::from(device.info().multiprocessors * best::BLOCKS_PER_SM) * 16 + 4;
        let memory = (size_of_val(values) + size_of_val(offsets) + segments * size_of::<T>()) as u64 + scratch;
        require_memory(device, Some(memory), "segreduce with its offsets and results", "use a smaller --n or input")?;
        Ok(Segments {
            values: Buffer::from_slice(device, values, "values")?,
            ends: Buffer::from_slice(device, offsets, "offsets")?,
            offsets,
            ticket: Buffer::from_slice(device, &[0_u32], "ticket")?,
        })
    }

    fn work(segments: &Segments<'_, T>) -> Work {
        let moved = (segments.inside() + segments.count() as u64) * size_of::<T>() as u64;
        Work::bytes(moved + segments.ends.bytes())
    }

    fn prepare(segments: &Segments<'_, T>, rung: &Chosen<'_, Scheme<T>>, run: Run<'_>) -> Result<()> {
        let (count, grid) = (segments.count(), grid(segments, rung));
        let output = rung.uninit::<T>(count, "results")?;
        let carries = rung.uninit::<T>(grid as usize, "carries")?;
        let keys = rung.uninit::<u64>(grid as usize, "keys")?;
        let Segments { values, ends, offsets, ticket } = segments;
        let (values, ends, results) = (values.slice(values.len()), ends.slice(ends.len()), output.ptr());
        let call = match rung.kernel {
            Scheme::Segments(_, launcher) => launcher(values, ends, results),
            Scheme::Balanced(launcher) => launcher(values, ends, results, carries.ptr(), keys.ptr(), ticket.ptr()),
        };
        // SAFETY: the kernel's own launcher made the call, with offsets that ascend and end within the values, a result
        // per segment, a carry and a key per block, and a block size that its rule allows.
        let plan = unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &[count]) };
        run(plan.with_depth(depth(rung.kernel, offsets, rung.block, grid)))
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
    let (offsets, len) = (problem.view::<u64>(1)?, problem.inputs[0].len() as u64);
    let Some(&last) = offsets.last() else {
        let text = "segreduce needs one offset more than there are segments, but the list is \
            empty: pass one offset of 0 for no segments";
        return Err(Error::Usage(text.to_owned()));
    };
    if let Some(k) = offsets.windows(2).position(|pair| pair[0] > pair[1]) {
        let (before, after) = (offsets[k], offsets[k + 1]);
        let at = k + 1;
        return Err(Error::Usage(format!(
            "the offsets of segreduce must ascend, and offset {at} is {after}, after {before}: segment {k} would end \
             before it begins"
        )));
    }
    if last > len {
        return Err(Error::Usage(format!("the last offset of segreduce is {last}, and there are {len} values")));
    }
    Ok(offsets)
}

/// Number of blocks; 0 if there is no segment.
fn grid<T: Element>(segments: &Segments<'_, T>, rung: &Chosen<'_, Scheme<T>>) -> u32 {
    let (count, inside) = (segments.count() as u64, segments.inside());
    let needed = match rung.kernel {
        Scheme::Segments(None, _) => count,
        Scheme::Segments(Some(threads), _) => count.div_ceil(u64::from((rung.block / threads).max(1))),
        Scheme::Balanced(_) => {
            let tiles = (inside + count).div_ceil(u64::from(best::tile(size_of::<T>())));
            tiles.min(u64::from(rung.device.info().multiprocessors * best::BLOCKS_PER_SM))
        }
    };
    match rung.grid {
        Some(grid) if count > 0 => grid,
        // Every kernel continues with further segments if the grid has fewer blocks.
        _ => needed.min(MAX_GRID) as u32,
    }
}

/// Largest number of additions in a chain from an element to its segment's result.
fn depth<T: Element>(scheme: &Scheme<T>, offsets: &[u64], block: u32, grid: u32) -> u64 {
    let longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let tree = u64::from(block.next_power_of_two().ilog2());
    match *scheme {
        Scheme::Segments(threads, _) => longest.div_ceil(threads.unwrap_or(block).into()) + tree,
        Scheme::Balanced(_) => {
            let (block, grid) = (u64::from(block), u64::from(grid).max(1));
            let tiles = (offsets[offsets.len() - 1] - offsets[0] + offsets.len() as u64)
                .div_ceil(grid * u64::from(best::tile(size_of::<T>())));
            let per_thread = u64::from(best::tile(size_of::<T>())) / block;
            // A chain runs through a thread's elements and the scans of lanes and of warps three times: in the tile
            // where the segment begins, in the sum of tiles where none ends, and in the tile where it ends; then over
            // the blocks' carries.
            let scan = 6 + block / 32;
            3 * (per_thread + scan) + tiles + 1 + grid.div_ceil(block) * scan + 2
        }
    }
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
