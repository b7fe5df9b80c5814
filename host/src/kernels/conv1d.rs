//! Convolution of signals: `out[i] = sum of in[i + j - K/2] * mask[j]`.
//!
//! Signal and mask are vectors, the mask of 1 to 512 taps; the result is as long as the signal. Results are within
//! `(K + 1) * epsilon * sum(|in * mask|)` of the exact ones, and the same on every run.

use super::convolution::{BORDER, DTYPES, MAX_AXIS, Reference, border, require_finite};
use super::generic::with_float;
use super::settings::{Kind, Setting};
use super::{BlockRule, Case, Demand, Entry, Family, Job, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::backend::{Buffer, Shape, require_memory};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::tensor::{Tensor, text};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv1d::{BLOCK, MAX_MASK, basic, best, cached, constant, tiled};
use kernels_gpu::conv2d::Frame;
use kernels_gpu::filter::{Sample, ZERO};

/// The family.
pub const FAMILY: Family = Family {
    name: "conv1d",
    idea: "convolution of signals: data that neighbours share, from the caches to registers",
    operands: &[Operand::of_elements("signal"), Operand::of_elements("mask")],
    ops: &[],
    dtypes: DTYPES,
    only: &[],
    settings: &[
        BORDER,
        Setting {
            name: "mask",
            help: "Taps of a generated mask",
            generated: true,
            kind: Kind::Number { default: 5, min: 1, max: MAX_MASK as u64 },
        },
    ],
    variants,
    cases,
    sizes,
    generate,
    oracle,
    run,
    specials: false,
    peer: Some("conv"),
};

/// What is given to a kernel.
struct Operands<'a, T> {
    input: Slice<'a, T>,
    mask: Slice<'a, T>,
    /// The mask, on the host.
    taps: &'a [T],
    border: u32,
    output: PtrMut<'a, T>,
    block: u32,
}

/// A row of the table.
struct Variant<T: 'static> {
    name: &'static str,
    idea: &'static str,
    block: BlockRule,
    launch: for<'a> fn(&Operands<'a, T>) -> Launch<'a>,
    /// Taps of masks that have a kernel of their own, and of one of those that share one.
    kinds: &'static [u32],
}

/// What a variant does: the same grid for each of its calls, in order.
struct Launch<'a> {
    calls: Vec<Call<'a>>,
    /// Outputs per block.
    outputs: u32,
    /// Bytes of dynamic shared memory.
    shared: u32,
}

impl<'a> Launch<'a> {
    fn new(call: Call<'a>, outputs: u32) -> Self {
        Self { calls: vec![call], outputs, shared: 0 }
    }

    fn with_shared(self, shared: u32) -> Self {
        Self { shared, ..self }
    }
}

/// The table, slowest first.
fn table<T: Element + Sample>() -> Vec<Variant<T>> {
    vec![
        Variant {
            name: "basic",
            idea: "a thread per output, signal and mask from device memory: as fast as the caches",
            block: BlockRule::Any { default: BLOCK },
            launch: |of| Launch::new(basic::conv1d_basic::<T>(of.input, of.mask, of.border, of.output), of.block),
            kinds: &[1],
        },
        Variant {
            name: "constant",
            idea: "the mask by value: taps are operands from constant memory, up to 32 in a launch; no loop for 3, 5, 7, 9, 31",
            block: BlockRule::Any { default: BLOCK },
            launch: launch_constant,
            kinds: &CONSTANT_KINDS,
        },
        Variant {
            name: "tiled",
            idea: "tile and halo loaded once into shared memory by a thread per element; halo threads then idle",
            block: BlockRule::WholeWarps { default: BLOCK },
            launch: |of| {
                let call = tiled::conv1d_tiled::<T>(of.input, of.mask, of.border, of.output);
                Launch::new(call, of.block + 1 - of.taps.len() as u32).with_shared(of.block * size_of::<T>() as u32)
            },
            kinds: &[1],
        },
        Variant {
            name: "cached",
            idea: "a tile without halo: no idle thread, the halo comes from L1 and L2",
            block: BlockRule::Any { default: BLOCK },
            launch: |of| {
                let call = cached::conv1d_cached::<T>(of.input, of.mask, of.border, of.output);
                Launch::new(call, of.block).with_shared(of.block * size_of::<T>() as u32)
            },
            kinds: &[1],
        },
        Variant {
            name: "best",
            idea: "eight neighbouring outputs per thread (of f64 four): what one loads from the tile, the others use",
            block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
            launch: |of| {
                let call = best::conv1d_best::<T>(of.input, of.mask, of.border, of.output);
                let outputs = of.block * best::outputs_per_thread(size_of::<T>());
                Launch::new(call, outputs).with_shared(best::shared_bytes(of.taps.len() as u32, size_of::<T>()))
            },
            kinds: &[1],
        },
    ]
}

/// [`constant::SIZES`], and one for the kernel of all other masks.
const CONSTANT_KINDS: [u32; constant::SIZES.len() + 1] = [3, 5, 7, 9, 31, 4];

fn launch_constant<'a, T: Element + Sample>(of: &Operands<'a, T>) -> Launch<'a> {
    fn sized<'a, T: Element + Sample, const K: usize>(
        of: &Operands<'a, T>,
        kernel: impl Fn(Slice<'a, T>, [T; K], u32, PtrMut<'a, T>) -> Call<'a>,
    ) -> Launch<'a> {
        let mask = core::array::from_fn(|j| of.taps[j]);
        Launch::new(kernel(of.input, mask, of.border, of.output), of.block)
    }
    match of.taps.len() {
        3 => sized(of, constant::conv1d_constant_sized::<T, 3>),
        5 => sized(of, constant::conv1d_constant_sized::<T, 5>),
        7 => sized(of, constant::conv1d_constant_sized::<T, 7>),
        9 => sized(of, constant::conv1d_constant_sized::<T, 9>),
        31 => sized(of, constant::conv1d_constant_sized::<T, 31>),
        mask => {
            let part = |(i, taps): (usize, &[T])| {
                let first = (i * constant::TAPS) as u32;
                let part = constant::Part { first, count: taps.len() as u32, mask: mask as u32 };
                let taps = core::array::from_fn(|j| taps.get(j).copied().unwrap_or(T::ZERO));
                constant::conv1d_constant_any::<T>(of.input, taps, part, of.border, of.output)
            };
            let calls = of.taps.chunks(constant::TAPS).enumerate().map(part).collect();
            Launch { calls, outputs: of.block, shared: 0 }
        }
    }
}

fn variants() -> Vec<VariantInfo> {
    fn entries<T: Element + Sample>(row: usize) -> Vec<Entry> {
        let variant = &table::<T>()[row];
        // SAFETY: nothing is launched; only the names and the parameters are of interest.
        let (input, mask, output) = unsafe { (Slice::new(0, 0), Slice::new(0, 0), PtrMut::new(0)) };
        let entry = |&size: &u32| {
            let taps = vec![T::ZERO; size as usize];
            let operands = Operands { input, mask, taps: &taps, border: ZERO, output, block: BLOCK };
            (variant.launch)(&operands).calls.into_iter().map(Entry::from).collect::<Vec<_>>()
        };
        variant.kinds.iter().flat_map(entry).collect()
    }
    let info = |(row, variant): (usize, Variant<f32>)| VariantInfo {
        name: variant.name,
        idea: variant.idea,
        block: variant.block,
        entries: [entries::<f32>(row), entries::<f64>(row)].concat(),
    };
    table::<f32>().into_iter().enumerate().map(info).collect()
}

/// Every border with odd and even masks, signals shorter than the mask, several blocks with a ragged end.
fn cases() -> Vec<Case> {
    let case = |n: u64, mask: &str, border: &str| Case::new(&[n]).with("mask", mask).with("border", border);
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
    ]
}

fn sizes() -> Vec<Case> {
    let case = |n: u64, mask: &str| Case::new(&[n]).with("mask", mask);
    vec![case(1 << 22, "5"), case(1 << 26, "5"), case(1 << 26, "31"), case(1 << 26, "127")]
}

fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let signal = demand.axes::<1>("one number")?;
    Ok(vec![demand.tensor(0, &signal)?, demand.tensor(1, &[demand.settings.number("mask") as usize])?])
}

/// The problem's sizes as one row of a picture, after refusing what can't be filtered.
fn frame(problem: Problem<'_>) -> Result<Frame> {
    let (signal, mask) = (problem.inputs[0].shape(), problem.inputs[1].shape());
    let (&[columns], &[mask_columns]) = (signal, mask) else {
        let (signal, mask) = (text(signal), text(mask));
        return Err(Error::Usage(format!("conv1d takes vectors, not a signal of {signal} and a mask of {mask}")));
    };
    if !(1..=MAX_MASK as usize).contains(&mask_columns) {
        return Err(Error::Usage(format!(
            "conv1d takes masks of 1 to {MAX_MASK} taps, not {mask_columns}: beyond that a Fourier transform does less work"
        )));
    }
    if columns > MAX_AXIS {
        return Err(Error::Usage(format!(
            "conv1d takes signals of up to 2^30 elements, not {columns}: filter it in parts"
        )));
    }
    let (columns, mask_columns) = (columns as u32, mask_columns as u32);
    Ok(Frame { rows: 1, columns, channels: 1, mask_rows: 1, mask_columns, border: border(problem.settings) })
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    fn typed<T: Element>(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (signal, mask, frame) = (problem.view::<T>(0)?, problem.view::<T>(1)?, frame(problem)?);
        require_finite(mask)?;
        let reference = Reference::new(signal, mask, frame);
        Ok(Oracle::elements::<T>(vec![signal.len()], move |i, depth| reference.expected(i, depth, T::DTYPE)))
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
    let mut result = Tensor::new(&[n], T::wrap(signal.to_vec()))?;
    for name in job.variants {
        let Some(variant) = table::<T>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("conv1d has no variant '{name}'")));
        };
        job.require_no_grid(name)?;
        let block = block(job, &variant, frame.mask_columns)?;
        // Of its own for each variant, so that none can pass with what another one wrote.
        let output = Buffer::<T>::uninit(job.device, n, "output")?;
        let Launch { calls, outputs, shared } = (variant.launch)(&Operands {
            input: device_signal.slice(n),
            mask: device_mask.slice(mask.len()),
            taps: mask,
            border: frame.border,
            output: output.ptr(),
            block,
        });
        let grid = frame.columns.div_ceil(outputs.max(1));
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![n],
            depth: mask.len() as u64,
            work: Work { bytes, flops: 2 * (mask.len() * n) as u64 },
        };
        let row;
        (result, row) = job.measure(&trial, &mut || match grid {
            0 => Ok(()),
            _ => calls.iter().try_for_each(|call| {
                // SAFETY: the call is the kernel's own launcher's, with an output as long as the signal, and the block and the
                // shared memory that the table makes for it.
                unsafe { job.device.launch(job.module, call, Shape::linear(grid, block).with_shared(shared)) }
            }),
        })?;
        emit(row);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::element::{Array, Dtype};
    use crate::kernels::Settings;

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let settings = Settings::new(FAMILY.settings, []).expect("defaults");
        let refusal = |mask: &[usize]| {
            let mask = Tensor::new(mask, Array::F64(vec![1.0; mask.iter().product()])).expect("made");
            let inputs = [Array::F64(vec![1.0; 4]).into(), mask];
            let problem = Problem { inputs: &inputs, dtype: Dtype::F64, op: "", settings: &settings };
            oracle(problem).map(|_| ()).map_err(|error| error.to_string())
        };
        assert!(refusal(&[512]).is_ok());
        assert!(refusal(&[0]).expect_err("empty").contains("1 to 512"));
        assert!(refusal(&[513]).expect_err("too long").contains("Fourier"));
        assert!(refusal(&[2, 2]).expect_err("a matrix").contains("a mask of 2x2"));
    }
}
