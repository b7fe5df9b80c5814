//! Histograms: how many elements fall into each bin, as 64-bit counts.
//!
//! The elements are those of one array of any shape. A `u8` or `u32` is its own bin; letters have bins of four; floats
//! are counted in the equal parts of a half-open range: [`kernels_gpu::histogram::sample`] has the rules, to the last
//! bit. What belongs to no bin is not counted; an empty input gives zeros.

use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Row, Trial, VariantInfo, Work};
use kernels_gpu::histogram::{self, *};
use launches::{Place, Plan, Scheme};
use question::{Question, SETTINGS};
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::element::{Dtype, Scalar};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;

mod launches;
mod oracle;
mod question;

/// The family.
pub const FAMILY: Family = Family {
    name: "histogram",
    idea: "how many elements fall into each bin: many threads, few counters",
    operands: &[Operand::of_any_file("input", Dtype::U8)],
    ops: &[],
    dtypes: &[Dtype::U8, Dtype::U32, Dtype::F32, Dtype::F64],
    only: &[],
    settings: SETTINGS,
    variants,
    cases,
    sizes,
    generate: question::generate_input,
    oracle: oracle::oracle,
    run,
    specials: true,
    limits: Limits::GRID_OF_DEVICE,
    peer: Some("histogram"),
};

/// A row of the table.
struct Variant<T: 'static> {
    name: &'static str,
    idea: &'static str,
    block: BlockRule,
    scheme: Scheme<T>,
}

/// The table, slowest first.
fn table<T: Sample>() -> Vec<Variant<T>> {
    let any = BlockRule::Any { default: histogram::BLOCK };
    vec![
        Variant {
            name: "contiguous",
            idea: contiguous::IDEA,
            block: any,
            scheme: Scheme::Global(contiguous::histogram_contiguous::<T>),
        },
        Variant {
            name: "interleaved",
            idea: interleaved::IDEA,
            block: any,
            scheme: Scheme::Global(interleaved::histogram_interleaved::<T>),
        },
        Variant {
            name: "shared",
            idea: shared::IDEA,
            block: any,
            scheme: Scheme::Launches(shared::histogram_shared::<T>),
        },
        Variant {
            name: "partial",
            idea: partial::IDEA,
            block: any,
            scheme: Scheme::First(partial::histogram_partial::<T>),
        },
        Variant {
            name: "aggregated",
            idea: aggregated::IDEA,
            block: any,
            scheme: Scheme::First(aggregated::histogram_aggregated::<T>),
        },
        Variant {
            name: "best",
            idea: best::IDEA,
            block: BlockRule::WholeWarps { default: best::lanes::BLOCK },
            scheme: Scheme::Best {
                lanes: best::lanes::histogram_best_lanes::<T>,
                windows: best::windows::histogram_best_windows::<T>,
            },
        },
    ]
}

/// Runs code that is generic over what is counted, and what it is in memory: the same but for letters.
macro_rules! with_sample {
    ($dtype:expr, $letters:expr, $s:ident of $t:ident => $body:expr) => {
        match ($dtype, $letters) {
            (Dtype::U8, true) => {
                type $s = Letter;
                type $t = u8;
                Ok($body)
            }
            (Dtype::U8, false) => {
                type $s = u8;
                type $t = u8;
                Ok($body)
            }
            (Dtype::U32, _) => {
                type $s = u32;
                type $t = u32;
                Ok($body)
            }
            (Dtype::F32, _) => {
                type $s = f32;
                type $t = f32;
                Ok($body)
            }
            (Dtype::F64, _) => {
                type $s = f64;
                type $t = f64;
                Ok($body)
            }
            (other, _) => Err(FAMILY.no_kernel(other)),
        }
    };
}

fn variants() -> Vec<VariantInfo> {
    fn entries<T: Sample>(row: usize) -> Vec<Entry> {
        table::<T>()[row].scheme.entries()
    }
    let info = |(row, variant): (usize, Variant<u8>)| {
        let entries = [entries::<u8>, entries::<Letter>, entries::<u32>, entries::<f32>, entries::<f64>];
        let entries = entries.into_iter().flat_map(|entries| entries(row)).collect();
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries }
    };
    table::<u8>().into_iter().enumerate().map(info).collect()
}

fn cases() -> Vec<Case> {
    use Dtype::{F32, F64, U8, U32};
    let n = |n: u64| Case::new(&[n]);
    vec![
        n(0),
        n(1),
        n(31),
        n(33),
        n(257),
        n(1009),
        // All loads of a round, and several blocks.
        n(100_003).only(&[U8]),
        // Windows, and more than one of them.
        n(1009).with("bins", "1000").only(&[U32]),
        n(2003).with("bins", "1000").only(&[F32, F64]),
        n(33_013).with("bins", "60000").only(&[U32]),
        n(1009).with("bins", "7").with("skew", "90").only(&[U8, U32]),
        n(300).with("bins", "1").only(&[U8, F32]),
        n(1009).with("bins", "3").with("range", "0.1:0.7").only(&[F32, F64]),
        // The last of the largest small ones: few bins, because blocks of one thread clear and add all of them too.
        n(1009).with("letters", "").only(&[U8]),
    ]
}

fn sizes() -> Vec<Case> {
    use Dtype::{F32, F64, U8, U32};
    let n = |power: u32| Case::new(&[1 << power]);
    vec![
        n(22),
        n(24),
        n(28),
        n(30).only(&[U8]),
        n(28).with("skew", "90").only(&[U8]),
        n(28).with("bins", "1024").only(&[U32, F32, F64]),
        n(28).with("bins", "65536").only(&[U32]),
        n(28).with("bins", "2^20").only(&[U32]),
        n(28).with("bins", "65536").with("skew", "50").only(&[U32]),
    ]
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let question = Question::of(&job.problem)?;
    with_sample!(job.problem.dtype, question.letters, S of T => typed::<S, T>(job, &question, emit)?)
}

/// Counts elements that are a `T` in memory, and an `S` for the kernels: the same type, or one that is nothing but a
/// `T`.
fn typed<S: Sample, T: Scalar>(job: &Job<'_>, question: &Question, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<T>(0)?;
    let (n, bins) = (input.len(), question.bins as usize);
    let bytes = size_of_val(input) as u64 + (bins * size_of::<u64>()) as u64;
    let needed = bytes + (bins * size_of::<u64>()) as u64;
    require_memory(job.device, Some(needed), "histogram with its counts", "use a smaller --n or input")?;
    let buffer = Buffer::from_slice(job.device, input, "input")?;
    let mut result = T::wrap(Vec::new()).into();
    for name in job.variants {
        let Some(variant) = table::<S>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("histogram has no variant '{name}'")));
        };
        let plan = Plan::new(&variant, job, question, n as u64)?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let place = Place::new(job.device, &plan, question)?;
        let launches = place.launches(&variant.scheme, &plan, question, &buffer, n);
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (plan.block, plan.grid),
            output: launches.counts(),
            result: vec![bins],
            depth: 0,
            work: Work::bytes(bytes),
        };
        let row;
        (result, row) = job.measure(&trial, &mut || launches.run(job.module))?;
        emit(row);
    }
    Ok(result)
}
