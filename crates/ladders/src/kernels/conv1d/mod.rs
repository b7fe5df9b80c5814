//! Convolution of signals: `out[i] = sum of in[i + j - K/2] * mask[j]`.
//!
//! The signal is samples or samples x channels, each channel filtered by itself, the mask a vector of 1 to 512 taps;
//! the result has the shape of the signal. Results are within
//! `(K + 1) * epsilon * sum(|in * mask|)` of the exact ones, and the same on every run.

use super::convolution::{BORDER, DTYPES, MAX_AXIS, Reference, border, require_finite};
use super::generic::with_float;
use super::settings::{Number, Setting};
use super::{Case, Demand, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use kernels_gpu::conv1d::{Frame, MAX_CHANNELS, MAX_MASK, tiled};
use kernels_gpu::conv2d;
use kernels_gpu::filter::Sample;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::Element;
use rustwarp::error::{Error, Result};
use rustwarp::tensor::{Tensor, text};
use table::{Launch, Operands, Variant, entries, table};

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
    variants,
    cases,
    sizes,
    generate,
    oracle,
    run,
    specials: false,
    limits: Limits::DEFAULT,
    peer: Some("conv"),
};

fn variants() -> Vec<VariantInfo> {
    let info = |(row, variant): (usize, table::Variant<f32>)| VariantInfo {
        name: variant.name,
        idea: variant.idea,
        block: variant.block,
        entries: [entries::<f32>(row), entries::<f64>(row)].concat(),
    };
    table::<f32>().into_iter().enumerate().map(info).collect()
}

/// Every border with odd and even masks, signals shorter than the mask, several blocks with a ragged end; and some with
/// channels: two, three, five, twelve, and more than a block takes.
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
        case(700, "127", "clamp"),
        case(300, "200", "zero"),
        case(1100, "512", "mirror"),
        shaped(&[0, 2], "3", "clamp"),
        shaped(&[5, 1], "4", "mirror"),
        shaped(&[1, 3], "5", "mirror"),
        shaped(&[2, 5], "9", "clamp"),
        shaped(&[700, 2], "5", "zero"),
        shaped(&[2101, 2], "8", "mirror"),
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

/// The problem's sizes, after refusing what can't be filtered.
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
    if !(1..=MAX_MASK as usize).contains(&taps) {
        return Err(Error::Usage(format!(
            "conv1d takes masks of 1 to {MAX_MASK} taps, not {taps}: beyond that a Fourier transform does less work"
        )));
    }
    if channels > MAX_CHANNELS as usize {
        return Err(Error::Usage(format!(
            "conv1d takes signals of up to {MAX_CHANNELS} channels, not {channels}: filter some of them at a time; a \
             signal of one \
             channel is a vector, or samples x 1"
        )));
    }
    if samples.saturating_mul(channels) > MAX_AXIS {
        return Err(Error::Usage(format!(
            "conv1d takes signals of up to 2^30 elements, not {}: filter it in parts",
            text(signal)
        )));
    }
    let [samples, channels, taps] = [samples, channels, taps].map(|n| n as u32);
    Ok(Frame { samples, channels, taps, border: border(problem.settings) })
}

/// The same as a row of a picture.
fn row(frame: Frame) -> conv2d::Frame {
    let Frame { samples, channels, taps, border } = frame;
    conv2d::Frame { rows: 1, columns: samples, channels, mask_rows: 1, mask_columns: taps, border }
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    fn typed<T: Element>(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (signal, mask, frame) = (problem.view::<T>(0)?, problem.view::<T>(1)?, frame(problem)?);
        require_finite(mask)?;
        let reference = Reference::new(signal, mask, row(frame));
        let shape = problem.inputs[0].shape().to_vec();
        Ok(Oracle::elements::<T>(shape, move |i, depth| reference.expected(i, depth, T::DTYPE)))
    }
    with_float!(FAMILY, problem.dtype, T => typed::<T>(problem))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_float!(FAMILY, job.problem.dtype, T => typed::<T>(job, emit))
}

/// The block to launch with.
fn block<T>(job: &Job<'_>, variant: &Variant<T>, taps: u32) -> Result<u32> {
    let max = job.device.info().max_block;
    if variant.name != "tiled" {
        return variant.block.choose(job.block, variant.name, max);
    }
    let block = variant.block.choose(job.block.or(Some(tiled::block(taps))), variant.name, max)?;
    if block < taps {
        let least = taps.next_multiple_of(32);
        return Err(Error::Usage(format!(
            "'tiled' can't run with --block {block}: a mask of {taps} taps needs at least {least} threads"
        )));
    }
    Ok(block)
}

fn typed<T: Element + Sample>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let (signal, mask, frame) = (job.problem.view::<T>(0)?, job.problem.view::<T>(1)?, frame(job.problem)?);
    let n = signal.len();
    let bytes = 2 * size_of_val(signal) as u64;
    require_memory(job.device, Some(bytes), "conv1d of a signal into another one", "use a smaller --n or input")?;
    let (device_signal, device_mask) =
        (Buffer::from_slice(job.device, signal, "signal")?, Buffer::from_slice(job.device, mask, "mask")?);
    let shape = job.problem.inputs[0].shape();
    let mut result = Tensor::new(shape, T::wrap(signal.to_vec()))?;
    for name in job.variants {
        let Some(variant) = table::<T>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("conv1d has no variant '{name}'")));
        };
        job.require_no_grid(name)?;
        let block = block(job, &variant, frame.taps)?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<T>::uninit(job.device, n, "output")?;
        let operands = Operands {
            input: device_signal.slice(n),
            mask: device_mask.slice(mask.len()),
            taps: mask,
            frame,
            output: output.ptr(),
            block,
        };
        let none = Launch { calls: Vec::new(), grid: [0, 0], shared: 0 };
        let Launch { calls, grid: [across, down], shared } =
            if signal.is_empty() { none } else { (variant.launch)(&operands) };
        let launch = Shape { grid: [across, down, 1], ..Shape::linear(across, block) }.with_shared(shared);
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, across * down),
            output: &output,
            result: shape.to_vec(),
            depth: mask.len() as u64,
            work: Work { bytes, flops: 2 * (mask.len() * n) as u64 },
        };
        let row;
        (result, row) = job.measure(&trial, &mut || {
            calls.iter().try_for_each(|call| {
                // SAFETY: the call is the kernel's own launcher's, with a signal and a mask of this frame, an output as
                // long as the signal, and the grid, block and shared memory that the table makes for it.
                unsafe { job.device.launch(job.module, call, launch) }
            })
        })?;
        emit(row);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::{Array, Dtype};

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let settings = Settings::new(FAMILY.settings, []).expect("defaults");
        let refusal = |signal: &[usize], mask: &[usize]| {
            let of = |shape: &[usize]| Tensor::new(shape, Array::F64(vec![1.0; shape.iter().product()])).expect("made");
            let inputs = [of(signal), of(mask)];
            let problem = Problem { inputs: &inputs, dtype: Dtype::F64, op: "", settings: &settings };
            oracle(problem).map(|_| ()).map_err(|error| error.to_string())
        };
        assert!(refusal(&[4], &[512]).is_ok() && refusal(&[4, 12], &[3]).is_ok());
        assert!(refusal(&[4], &[0]).expect_err("empty").contains("1 to 512"));
        assert!(refusal(&[4], &[513]).expect_err("too long").contains("Fourier"));
        assert!(refusal(&[4], &[2, 2]).expect_err("a matrix").contains("a mask of 2x2"));
        assert!(refusal(&[4, 4, 4], &[2]).expect_err("a picture").contains("samples x channels"));
        assert!(refusal(&[1, 65_536], &[2]).expect_err("turned round").contains("65535 channels"));
    }
}
