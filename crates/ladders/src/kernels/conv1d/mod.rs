//! Convolution of signals: `out[i] = sum of in[i + j - K/2] * mask[j]`.
//!
//! The signal is samples or samples x channels, each channel filtered separately, the mask a vector of 1 to 512 taps;
//! the result has the shape of the signal. Results are within `(K + 1) * epsilon * sum(|in * mask|)` of the exact ones,
//! and the same on every run.

use super::convolution::{Arrays, BORDER, DTYPES, border, oracle};
use super::generic::with_float;
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::settings::{Number, Setting};
use super::{Case, Demand, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use crate::kernels::spelling::{BLOCK_SIZE, N};
use kernels_gpu::conv1d::{Frame, MAX_MASK};
use kernels_gpu::conv2d;
use kernels_gpu::filter::Sample;
use rustwarp::backend::Shape;
use rustwarp::conv1d as library;
use rustwarp::element::{Dtype, Element};
use rustwarp::tensor::{Tensor, text};
use std::marker::PhantomData;
use table::{Kernel, Launch, Operands};

mod table;

const MASK: Setting<Number> = Setting {
    name: "mask",
    help: "Taps of a generated mask",
    generated: true,
    kind: Number { default: 5, min: 1, max: MAX_MASK as u64 },
};

/// The family.
pub const FAMILY: Family = Family {
    name: "conv1d",
    idea: "convolution of signals: data that neighbours share, from the caches to registers",
    operands: &[Operand::of_elements("signal"), Operand::of_elements("mask")],
    ops: &[],
    dtypes: DTYPES,
    only: &[],
    settings: &[BORDER.listed(), MASK.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: true,
    generate,
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["conv"],
};

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    with_float!(FAMILY, dtype, T => Ok(Resolved::of::<Convolution<T>>()))
}

/// The family for one element type.
struct Convolution<T>(PhantomData<T>);

impl<T: Element + Sample> Ladder for Convolution<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Kernel<T>>;
    type Operands<'j> = Arrays<'j, T, Frame>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        table::rungs()
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match &rung.kernel {
            Planned::Here(kernel) => kernel.entries(),
            Planned::ByLibrary => table::library::<T>(),
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle::<T, T>(problem, row(frame(problem)?))
    }

    fn block(job: &Job<'_>, rung: &Rung<Self::Kernel>) -> Result<u32> {
        let taps = frame(job.problem)?.taps;
        let Planned::Here(Kernel { by_taps: Some(by_taps), .. }) = rung.kernel else {
            return rung.choose(job.block, job);
        };
        let block = rung.choose(job.block.or(Some(by_taps(taps))), job)?;
        if block < taps {
            let (name, least) = (rung.name, taps.next_multiple_of(32));
            return Err(Error::Usage(format!(
                "`{name}` cannot run with {BLOCK_SIZE} {block}: a mask of {taps} taps needs at least {least} threads"
            )));
        }
        Ok(block)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Arrays<'j, T, Frame>> {
        Arrays::upload(
            job,
            frame(job.problem)?,
            ["signal", "conv1d of a signal into another one"],
            &format!("use a smaller {N} or input"),
        )
    }

    fn work(signal: &Arrays<'_, T, Frame>) -> Work {
        signal.work()
    }

    fn prepare(signal: &Arrays<'_, T, Frame>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Arrays { input, mask, taps, frame, shape } = signal;
        let block = rung.block;
        let output = rung.uninit::<T>(input.len(), "output")?;
        let depth = taps.len() as u64;
        if input.is_empty() {
            return run(Plan::new(block, 0, &output, shape).with_depth(depth));
        }
        let Planned::Here(kernel) = rung.kernel else {
            let plan = library::Plan::<T, _>::new(&rung.device, *frame)?;
            return run(Plan::of_library(plan.prepare([input, mask], &output)?, &output, shape).with_depth(depth));
        };
        let Launch { calls, grid: [across, down], shared } = (kernel.launch)(&Operands {
            input: input.slice(input.len()),
            mask: mask.slice(mask.len()),
            taps,
            frame: *frame,
            output: output.ptr(),
            block,
        });
        let launch = Shape::new([across, down, 1], [block, 1, 1]).with_shared(shared);
        let mut plan = Plan::new(block, across * down, &output, shape).with_depth(depth);
        for call in calls {
            // SAFETY: the kernel's own launcher made the call, with operands of this frame, an output as large as the
            // input, and the grid, block and shared memory that the table makes for it.
            plan = unsafe { plan.launch(call, launch) };
        }
        run(plan)
    }
}

/// Every border with odd and even masks, signals shorter than the mask, several blocks with a partial last one; and
/// signals of two, three, five and twelve channels, and of more than a block takes.
fn cases() -> Vec<Case> {
    let shaped = |size: &[u64], mask: &str, border: &str| Case::new(size).with("mask", mask).with("border", border);
    let case = |n: u64, mask: &str, border: &str| shaped(&[n], mask, border);
    vec![
        case(0, "3", "clamp"),
        case(1, "1", "zero"),
        case(1, "5", "mirror"),
        case(2, "31", "mirror"),
        case(31, "3", "zero"),
        case(33, "4", "clamp"),
        case(257, "2", "mirror"),
        case(1009, "7", "clamp"),
        case(2048, "9", "zero"),
        case(4099, "31", "mirror"),
        case(6151, "5", "zero"),
        case(600, "1", "clamp"),
        case(2100, "13", "zero"),
        case(3000, "6", "clamp"),
        case(3000, "10", "mirror"),
        case(700, "127", "clamp"),
        case(300, "200", "zero"),
        case(1100, "512", "mirror"),
        shaped(&[0, 2], "3", "clamp"),
        shaped(&[5, 1], "4", "mirror"),
        shaped(&[1, 3], "5", "mirror"),
        shaped(&[2, 5], "9", "clamp"),
        shaped(&[700, 2], "5", "zero"),
        shaped(&[2101, 2], "8", "mirror"),
        shaped(&[2101, 2], "31", "zero"),
        shaped(&[900, 2], "200", "clamp"),
        shaped(&[5, 2], "2", "mirror"),
        shaped(&[2, 2], "9", "clamp"),
        shaped(&[2900, 2], "512", "mirror"),
        shaped(&[345, 3], "31", "clamp"),
        shaped(&[260, 5], "2", "mirror"),
        shaped(&[33, 12], "7", "zero"),
        shaped(&[150, 4], "300", "mirror"),
        shaped(&[41, 35], "33", "clamp"),
    ]
}

fn sizes() -> Vec<Case> {
    let case = |n: u64, mask: &str| Case::new(&[n]).with("mask", mask);
    let one = [case(1 << 22, "5"), case(1 << 26, "5"), case(1 << 26, "31"), case(1 << 26, "127")];
    let several = |samples, channels, mask| Case::new(&[samples, channels]).with("mask", mask);
    // Stereo sound; an electrocardiogram of twelve leads.
    one.into_iter().chain([several(1 << 25, 2, "5"), several(1 << 25, 2, "31"), several(5_592_405, 12, "31")]).collect()
}

fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let axes = "SAMPLES or SAMPLESxCHANNELS";
    let signal = match demand.size.len() {
        2 => demand.tensor(0, &demand.axes::<2>(axes)?)?,
        _ => demand.tensor(0, &demand.axes::<1>(axes)?)?,
    };
    Ok(vec![signal, demand.tensor(1, &[demand.settings.number(&MASK) as usize])?])
}

/// Checks the operands and returns their sizes.
fn frame(problem: Problem<'_>) -> Result<Frame> {
    let (signal, mask) = (problem.inputs[0].shape(), problem.inputs[1].shape());
    let (samples, channels, taps) = match (signal, mask) {
        (&[samples], &[taps]) => (samples, 1, taps),
        (&[samples, channels], &[taps]) => (samples, channels, taps),
        _ => {
            return Err(Error::Usage(format!(
                "conv1d takes a signal of samples or samples x channels and a vector as a mask, not a signal of {} \
                 and a mask of {}",
                text(signal),
                text(mask)
            )));
        }
    };
    Ok(library::frame([samples, channels, taps], border(problem.settings))?)
}

/// The signal as an image of one row.
fn row(frame: Frame) -> conv2d::Frame {
    let Frame { samples, channels, taps, border } = frame;
    conv2d::Frame { rows: 1, columns: samples, channels, mask_rows: 1, mask_columns: taps, border }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::Array;
    use rustwarp::tensor::Tensor;

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let settings = Settings::new(FAMILY.settings, []).expect("defaults");
        let refusal = |signal: &[usize], mask: &[usize]| {
            let of = |shape: &[usize]| Tensor::new(shape, Array::F64(vec![1.0; shape.iter().product()])).expect("made");
            let inputs = [of(signal), of(mask)];
            let problem = Problem { inputs: &inputs, dtype: Dtype::F64, op: "", settings: &settings };
            FAMILY
                .resolve(&problem)
                .and_then(|ladder| ladder.oracle(problem))
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert!(refusal(&[4], &[512]).is_ok() && refusal(&[4, 12], &[3]).is_ok());
        assert!(refusal(&[4], &[0]).expect_err("empty").contains("1 to 512"));
        assert!(refusal(&[4], &[513]).expect_err("too long").contains("Fourier"));
        assert!(refusal(&[4], &[2, 2]).expect_err("a matrix").contains("a mask of 2x2"));
        assert!(refusal(&[4, 4, 4], &[2]).expect_err("an image").contains("samples x channels"));
        assert!(refusal(&[1, 65_536], &[2]).expect_err("turned round").contains("65535 channels"));
    }
}
