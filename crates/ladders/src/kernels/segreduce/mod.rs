//! Segmented reduction: one value from each segment of a vector, by sum, maximum or minimum.
//!
//! Segment `k` has the elements `offsets[k]..offsets[k + 1]`. Elements before the first offset and behind the last
//! belong to none. An empty segment gives the identity; otherwise a segment gives what `reduce` gives.

use super::block::MAX_GRID;
use super::generic::with_op;
use super::reduce::oracle::{Reference, reference};
use super::settings::{Choice, Number};
use super::{
    BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Setting, Trial, VariantInfo, Work,
};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::reduce::{Op, Sum};
use kernels_gpu::segreduce::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;

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
    idea: "one value from each segment: balance, whatever the lengths",
    operands: &[Operand::of_elements("values"), Operand::of("offsets", Dtype::U64)],
    ops: &["sum", "max", "min"],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[LENGTH.listed(), MIX.listed()],
    variants,
    cases,
    sizes,
    generate: |demand| {
        let mut operands = demand.vectors(1)?;
        let (mean, mix) = (demand.settings.number(&LENGTH), demand.settings.choice(&MIX));
        let offsets = mix::offsets(operands[0].len() as u64, mean, mix, demand.seed.wrapping_add(1));
        operands.push(Tensor::from(u64::wrap(offsets)));
        Ok(operands)
    },
    oracle,
    run,
    specials: false,
    limits: Limits::GRID_OF_DEVICE,
    peer: Some("segreduce"),
};

/// A row of the table.
struct Variant<T: 'static> {
    name: &'static str,
    idea: &'static str,
    block: BlockRule,
    scheme: Scheme<T>,
}

/// A launcher of values, offsets and results.
type Plain<T> = for<'a> fn(Slice<'a, T>, Slice<'a, u64>, PtrMut<'a, T>) -> Call<'a>;
/// The same, then the blocks' carries and their segments, and the ticket.
type Balanced<T> = for<'a> fn(
    Slice<'a, T>,
    Slice<'a, u64>,
    PtrMut<'a, T>,
    PtrMut<'a, T>,
    PtrMut<'a, u64>,
    PtrMut<'a, u32>,
) -> Call<'a>;

/// What gets an equal part of the work.
enum Scheme<T: 'static> {
    /// So many threads for each segment; `None` for a block.
    Segments(Option<u32>, Plain<T>),
    /// A grid that fills the device, and each block an equal part of elements and ends.
    Balanced(Balanced<T>),
}

impl<T> Scheme<T> {
    /// The launch; what a scheme has no use for is left out.
    fn call<'a>(
        &self,
        (values, offsets): (Slice<'a, T>, Slice<'a, u64>),
        results: PtrMut<'a, T>,
        carries: PtrMut<'a, T>,
        keys: PtrMut<'a, u64>,
        ticket: PtrMut<'a, u32>,
    ) -> Call<'a> {
        match self {
            Self::Segments(_, kernel) => kernel(values, offsets, results),
            Self::Balanced(kernel) => kernel(values, offsets, results, carries, keys, ticket),
        }
    }
}

/// The table.
fn table<O: Op<T>, T: Element>() -> Vec<Variant<T>> {
    vec![
        Variant {
            name: "block_per_segment",
            idea: block_per_segment::IDEA,
            block: BlockRule::WholeWarps { default: block_per_segment::BLOCK },
            scheme: Scheme::Segments(None, block_per_segment::segreduce_block_per_segment::<O, T>),
        },
        Variant {
            name: "warp_per_segment",
            idea: warp_per_segment::IDEA,
            block: BlockRule::WholeWarps { default: warp_per_segment::BLOCK },
            scheme: Scheme::Segments(Some(32), warp_per_segment::segreduce_warp_per_segment::<O, T>),
        },
        Variant {
            name: "thread_per_segment",
            idea: thread_per_segment::IDEA,
            block: BlockRule::Any { default: thread_per_segment::BLOCK },
            scheme: Scheme::Segments(Some(1), thread_per_segment::segreduce_thread_per_segment::<O, T>),
        },
        Variant {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
            scheme: Scheme::Balanced(best::segreduce_best::<O, T>),
        },
    ]
}

fn variants() -> Vec<VariantInfo> {
    fn entry<O: Op<T>, T: Element>(row: usize) -> Entry {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        unsafe {
            let (out, keys, ticket) = (PtrMut::new(0), PtrMut::new(0), PtrMut::new(0));
            table::<O, T>()[row].scheme.call((Slice::new(0, 0), Slice::new(0, 0)), out, out, keys, ticket).into()
        }
    }
    let info = |(row, variant): (usize, Variant<i32>)| {
        let types = |op: &&str| -> Vec<Entry> {
            let typed = |dtype: &Dtype| {
                with_dtype!(*dtype, T => {
                    with_op!(FAMILY, *op, O => entry::<O, T>(row)).ok()
                }, else => None)
            };
            Dtype::NUMBERS.iter().filter_map(typed).collect()
        };
        let entries = FAMILY.ops.iter().flat_map(types).collect();
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries }
    };
    table::<Sum, i32>().into_iter().enumerate().map(info).collect()
}

/// One tile of 4-byte elements is 4096, so that the largest are several tiles, and blocks.
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

/// The segments' ends, after refusing offsets that are none.
fn offsets<'a>(problem: &Problem<'a>) -> Result<&'a [u64]> {
    let (offsets, len) = (problem.view::<u64>(1)?, problem.inputs[0].len() as u64);
    let Some(&last) = offsets.last() else {
        let text = "segreduce needs one offset more than there are segments, and there is none: no segments are one \
            offset of 0";
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

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    fn typed<T: Element>(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (values, offsets) = (problem.view::<T>(0)?, offsets(&problem)?);
        let segment = |pair: &[u64]| reference(problem.op, &values[pair[0] as usize..pair[1] as usize]);
        let expected: Vec<Reference> = offsets.windows(2).map(segment).collect();
        let wrapped = expected.iter().any(|segment| segment.wrapped);
        let judge = Oracle::elements::<T>(vec![expected.len()], move |k, depth| expected[k].expected::<T>(depth));
        Ok(judge.with_wrapped(wrapped))
    }
    with_dtype!(problem.dtype, T => typed::<T>(problem), else => Err(FAMILY.no_kernel(problem.dtype)))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_dtype!(
        job.problem.dtype,
        T => with_op!(FAMILY, job.problem.op, O => typed::<O, T>(job, emit)?),
        else => Err(FAMILY.no_kernel(job.problem.dtype))
    )
}

fn typed<O: Op<T>, T: Element>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let (values, offsets) = (job.problem.view::<T>(0)?, offsets(&job.problem)?);
    let (device, n, segments) = (job.device, values.len(), offsets.len() - 1);
    let inside = offsets[segments] - offsets[0];
    let bytes = (inside + segments as u64) * size_of::<T>() as u64 + size_of_val(offsets) as u64;
    // Scratch memory: a carry and a key per block, and the ticket.
    let scratch = u64::from(device.info().multiprocessors * best::BLOCKS_PER_SM) * 16 + 4;
    let memory = (size_of_val(values) + size_of_val(offsets) + segments * size_of::<T>()) as u64 + scratch;
    require_memory(device, Some(memory), "segreduce with its offsets and results", "use a smaller --n or input")?;
    let device_values = Buffer::from_slice(device, values, "values")?;
    let device_offsets = Buffer::from_slice(device, offsets, "offsets")?;
    let ticket = Buffer::from_slice(device, &[0_u32], "ticket")?;
    let mut results = Tensor::from(T::wrap(Vec::new()));
    for name in job.variants {
        let Some(variant) = table::<O, T>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("segreduce has no variant '{name}'")));
        };
        let (block, grid) = shape(job, &variant, inside, segments as u64)?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<T>::uninit(device, segments, "results")?;
        let carries = Buffer::<T>::uninit(device, grid as usize, "carries")?;
        let keys = Buffer::<u64>::uninit(device, grid as usize, "keys")?;
        let operands = (device_values.slice(n), device_offsets.slice(offsets.len()));
        let call = variant.scheme.call(operands, output.ptr(), carries.ptr(), keys.ptr(), ticket.ptr());
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![segments],
            depth: depth(&variant, offsets, block, grid),
            work: Work::bytes(bytes),
        };
        let row;
        (results, row) = job.measure(&trial, &mut || match grid {
            0 => Ok(()),
            // SAFETY: the call is the kernel's own launcher's, with offsets that ascend and end within the values, a
            // result per segment, a carry and a key per block, and a block size that its rule allows.
            _ => unsafe { device.launch(job.module, &call, Shape::linear(grid, block)) },
        })?;
        emit(row);
    }
    Ok(results)
}

/// Threads per block, and blocks: 0 when there is no segment.
fn shape<T: Element>(job: &Job<'_>, variant: &Variant<T>, inside: u64, segments: u64) -> Result<(u32, u32)> {
    let info = job.device.info();
    let block = variant.block.choose(job.block, variant.name, info.max_block)?;
    let needed = match variant.scheme {
        Scheme::Segments(None, _) => segments,
        Scheme::Segments(Some(threads), _) => segments.div_ceil(u64::from((block / threads).max(1))),
        Scheme::Balanced(_) => {
            let tiles = (inside + segments).div_ceil(u64::from(best::tile(size_of::<T>())));
            tiles.min(u64::from(info.multiprocessors * best::BLOCKS_PER_SM))
        }
    };
    let grid = match job.grid {
        Some(grid) if segments > 0 => grid,
        // Every kernel goes on to further segments when the grid has fewer blocks.
        _ => needed.min(MAX_GRID) as u32,
    };
    Ok((block, grid))
}

/// Most additions in a chain from an element to its segment's result.
fn depth<T: Element>(variant: &Variant<T>, offsets: &[u64], block: u32, grid: u32) -> u64 {
    let longest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0);
    let tree = u64::from(block.next_power_of_two().ilog2());
    match variant.scheme {
        Scheme::Segments(threads, _) => longest.div_ceil(threads.unwrap_or(block).into()) + tree,
        Scheme::Balanced(_) => {
            let (block, grid) = (u64::from(block), u64::from(grid).max(1));
            let tiles = (offsets[offsets.len() - 1] - offsets[0] + offsets.len() as u64)
                .div_ceil(grid * u64::from(best::tile(size_of::<T>())));
            let per_thread = u64::from(best::tile(size_of::<T>())) / block;
            // Once through a thread's elements, a scan of lanes and then of warps: in the tile where a segment begins,
            // for the sum of tiles where none ends, and where it ends. Then once more over the blocks' carries.
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
        let oracle = oracle(Problem { inputs: &inputs, dtype: Dtype::F32, op, settings: &settings })?;
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
