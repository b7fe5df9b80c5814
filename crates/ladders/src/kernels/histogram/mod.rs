//! Histograms: the number of elements in each bin, as 64-bit counts.
//!
//! The elements are those of one array of any shape. The bin of a `u8` or `u32` is its value; letters have bins of
//! four; floats are counted in the equal parts of a half-open range. [`kernels_gpu::histogram::sample`] defines the
//! bins exactly. Elements that belong to no bin are not counted; an empty input gives zeros. Bytes may be those of
//! interleaved channels, whose counts have the shape channels x bins; only `best` counts them.

use super::entry::Nothing;
use super::ladder::{Chosen, Ladder, Planned, Run, Rung, merge};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::Result;
use crate::kernels::spelling::N;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::histogram::{self, *};
use launches::Scheme;
pub(crate) use question::Question;
use question::{LETTERS, SETTINGS};
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::element::{Dtype, Scalar};
use rustwarp::histogram::{self as library, Counted};
use std::marker::PhantomData;

mod launches;
mod operands;
pub(crate) mod oracle;
pub(crate) mod question;

/// The family.
pub const FAMILY: Family = Family {
    name: "histogram",
    idea: "how many elements fall into each bin: many threads, few counters",
    operands: &[Operand::of_any_file("input", Dtype::U8)],
    ops: &[],
    dtypes: &[Dtype::U8, Dtype::U32, Dtype::F32, Dtype::F64],
    only: &[],
    settings: SETTINGS,
    variants: || variants(FAMILY.dtypes),
    cases,
    sizes,
    of_vectors: true,
    generate: operands::generate_input,
    resolve: |problem| resolve(problem.dtype, problem.settings.flag(&LETTERS)),
    specials: true,
    limits: Limits::DEFAULT,
    peers: &["histogram"],
};

/// Resolves the ladder for elements of this type; bytes may be letters.
fn resolve(dtype: Dtype, letters: bool) -> Result<Resolved> {
    match (dtype, letters) {
        (Dtype::U8, true) => Ok(Resolved::of::<Histogram<Letter>>()),
        (Dtype::U8, false) => Ok(Resolved::of::<Histogram<u8>>()),
        (Dtype::U32, _) => Ok(Resolved::of::<Histogram<u32>>()),
        (Dtype::F32, _) => Ok(Resolved::of::<Histogram<f32>>()),
        (Dtype::F64, _) => Ok(Resolved::of::<Histogram<f64>>()),
        (other, _) => Err(FAMILY.no_kernel(other)),
    }
}

/// The variants with the entries of these types.
///
/// # Panics
/// If a type has no kernels.
fn variants(dtypes: &[Dtype]) -> Vec<super::VariantInfo> {
    let all = dtypes.iter().flat_map(|&dtype| {
        let letters = (dtype == Dtype::U8).then_some((dtype, true));
        [(dtype, false)].into_iter().chain(letters)
    });
    merge(all.map(|(dtype, letters)| {
        let refused = |error| panic!("histogram lists {dtype} (letters: {letters}), which has no kernels: {error}");
        resolve(dtype, letters).unwrap_or_else(refused)
    }))
}

/// The family for the rule `S`.
struct Histogram<S>(PhantomData<S>);

/// Elements on a device, and their bins.
struct Elements<'j, T> {
    input: Buffer<'j, T>,
    question: Question,
}

impl<S: Counted> Ladder for Histogram<S> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Scheme<S>>;
    type Operands<'j> = Elements<'j, S::Element>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        let any = BlockRule::Any { default: histogram::BLOCK };
        vec![
            Rung {
                name: "contiguous",
                idea: contiguous::IDEA,
                block: any,
                kernel: Planned::Here(Scheme::Global(|input, bins, range, counts| {
                    contiguous::histogram_contiguous::<S>(input, bins, range, counts).into()
                })),
            },
            Rung {
                name: "interleaved",
                idea: interleaved::IDEA,
                block: any,
                kernel: Planned::Here(Scheme::Global(|input, bins, range, counts| {
                    interleaved::histogram_interleaved::<S>(input, bins, range, counts).into()
                })),
            },
            Rung {
                name: "shared",
                idea: shared::IDEA,
                block: any,
                kernel: Planned::Here(Scheme::Launches(shared::histogram_shared::<S>)),
            },
            Rung {
                name: "partial",
                idea: partial::IDEA,
                block: any,
                kernel: Planned::Here(Scheme::First(partial::histogram_partial::<S>)),
            },
            Rung {
                name: "aggregated",
                idea: aggregated::IDEA,
                block: any,
                kernel: Planned::Here(Scheme::First(aggregated::histogram_aggregated::<S>)),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::WholeWarps { default: best::lanes::BLOCK },
                kernel: Planned::ByLibrary,
            },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match &rung.kernel {
            Planned::Here(scheme) => scheme.entries(),
            Planned::ByLibrary => {
                let (window, totals) = (0, [PtrMut::nothing(); 2]);
                let calls = library::calls::<S>(Slice::nothing(), (1, [0.0; 3]), window, totals, PtrMut::nothing());
                let (pixels, columns) = library::channels::KERNELS;
                // Letters have no channels, but are bytes: their kernels are listed once.
                let pixels = if S::Element::DTYPE == Dtype::U8 { &pixels[..] } else { &[] };
                let kernels = pixels.iter().flat_map(|&pixel| columns.map(|columns| (pixel, columns)));
                let channels = kernels
                    .map(|kernel| library::channels::call(Slice::nothing(), kernel, 1, totals, PtrMut::nothing()));
                calls.into_iter().chain(channels).map(Entry::from).collect()
            }
        }
    }

    fn refusal(rung: &Rung<Self::Kernel>, problem: Problem<'_>) -> Option<String> {
        let has_channels = Question::of(&problem).is_ok_and(|question| question.has_channels());
        let one = has_channels && matches!(rung.kernel, Planned::Here(_));
        one.then(|| "counts one channel, not several, which `best` does".to_owned())
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::oracle(problem)
    }

    fn block(job: &Job<'_>, rung: &Rung<Self::Kernel>) -> Result<u32> {
        let question = Question::of(&job.problem)?;
        let default = match rung.kernel {
            Planned::Here(_) => None,
            // SAFETY: the question was read from this ladder's problem, whose rule is `S`.
            Planned::ByLibrary => Some(library::default_block(job.device.info(), &unsafe { question.bins::<S>() })),
        };
        rung.choose(job.block.or(default), job)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Elements<'j, S::Element>> {
        let (input, question) = (job.problem.view::<S::Element>(0)?, Question::of(&job.problem)?);
        let needed = size_of_val(input) as u64 + 2 * (question.counts() * size_of::<u64>()) as u64;
        require_memory(job.device, Some(needed), "histogram with its counts", &format!("use a smaller {N} or input"))?;
        Ok(Elements { input: Buffer::from_slice(job.device, input, "input")?, question })
    }

    fn work(elements: &Elements<'_, S::Element>) -> Work {
        Work::bytes(elements.input.bytes() + (elements.question.counts() * size_of::<u64>()) as u64)
    }

    fn prepare(elements: &Elements<'_, S::Element>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        launches::prepare(rung, &elements.question, &elements.input, run)
    }
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
        // An incomplete pixel, no whole vector, whole vectors and rounds.
        n(0).with("channels", "3").only(&[U8]),
        n(5).with("channels", "3").only(&[U8]),
        n(1007).with("channels", "2").only(&[U8]),
        n(1007).with("channels", "3").with("bins", "200").only(&[U8]),
        n(1007).with("channels", "4").only(&[U8]),
        n(1007).with("channels", "4").with("active", "3").only(&[U8]),
        n(100_003).with("channels", "3").with("active", "2").only(&[U8]),
        n(100_003).with("channels", "4").with("active", "3").with("skew", "90").only(&[U8]),
        // The number of bins is small, because blocks of one thread clear and add all of them too.
        n(1009).with("letters", "").only(&[U8]),
    ]
}

fn sizes() -> Vec<Case> {
    use Dtype::{F32, F64, U8, U32};
    let n = |power: u32| Case::new(&[1 << power]);
    // As many pixels as four channels have, whose sizes are whole pixels for the library that is measured beside it.
    let rgb = |power: u32| Case::new(&[3 << power]).with("channels", "3").only(&[U8]);
    let rgba = |power: u32| n(power).with("channels", "4").only(&[U8]);
    let rgbx = |power: u32| rgba(power).with("active", "3");
    vec![
        n(22),
        n(24),
        n(28),
        n(30).only(&[U8]),
        n(28).with("skew", "90").only(&[U8]),
        rgb(20),
        rgb(22),
        rgb(26),
        rgb(26).with("skew", "90"),
        rgba(22),
        rgba(24),
        rgba(28),
        rgba(28).with("skew", "90"),
        rgbx(22),
        rgbx(24),
        rgbx(28),
        rgbx(28).with("skew", "90"),
        n(28).with("bins", "1024").only(&[U32, F32, F64]),
        n(28).with("bins", "65536").only(&[U32]),
        n(28).with("bins", "2^20").only(&[U32]),
        n(28).with("bins", "65536").with("skew", "50").only(&[U32]),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "histogram lists i64 (letters: false), which has no kernels")]
    fn a_listed_type_without_kernels_is_not_left_out() {
        variants(&[Dtype::U8, Dtype::I64]);
    }
}
