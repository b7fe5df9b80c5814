//! Convolution of images: `out[y][x] = sum of in[y + i - R/2][x + j - C/2] * mask[i][j]`, for each channel.
//!
//! The image is height x width or height x width x channels, the mask R x C with up to 32 of each; the result has the
//! shape of the image. Results are within `(R * C + 1) * epsilon * sum(|in * mask|)` of the exact ones, and the same
//! on every run. Images of `u8` and `f16` have masks and sums of `f32`, and results that are rounded to their type.

use super::convolution::{Arrays, BORDER, PIXELS, generated_taps, oracle};
use super::generic::with_float;
use super::images::{self, MASK, MASK_ROWS};
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::{Case, Demand, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::Result;
use kernels_gpu::conv2d::Frame;
use narrow::Narrow;
use rustwarp::conv2d as library;
use rustwarp::conv2d::Pixel;
use rustwarp::element::Dtype;
use rustwarp::tensor::Tensor;
use std::marker::PhantomData;
use table::{Kernel, Operands, Real};

mod narrow;
mod table;

/// The family.
pub const FAMILY: Family = Family {
    name: "conv2d",
    idea: "convolution of images: data that neighbours share, from the caches to registers",
    operands: &[Operand::of_elements("image"), Operand::of_sums("mask")],
    ops: &[],
    dtypes: PIXELS,
    only: &[],
    settings: &[BORDER.listed(), MASK.listed(), MASK_ROWS.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: false,
    generate,
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["conv", "images"],
};

fn resolve(_: &str, dtype: Dtype) -> Result<Resolved> {
    match dtype {
        Dtype::U8 => Ok(Resolved::of::<Narrow<u8>>()),
        Dtype::F16 => Ok(Resolved::of::<Narrow<half::f16>>()),
        _ => with_float!(FAMILY, dtype, T => Ok(Resolved::of::<Convolution<T>>())),
    }
}

/// The family for one element type.
struct Convolution<T>(PhantomData<T>);

impl<T: Real> Ladder for Convolution<T> {
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
        oracle::<T, T>(problem, frame(problem)?)
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Self::Kernel>]) -> Result<Arrays<'j, T, Frame>> {
        upload(job)
    }

    fn work(image: &Arrays<'_, T, Frame>) -> Work {
        image.work()
    }

    fn prepare(image: &Arrays<'_, T, Frame>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let Planned::Here(kernel) = rung.kernel else { return by_library(image, rung, run) };
        rung.require_no_grid()?;
        let Arrays { input, mask, taps, frame, shape } = image;
        let output = rung.uninit::<T>(input.len(), "output")?;
        let depth = taps.len() as u64;
        if input.is_empty() {
            return run(Plan::new(rung.block, 0, &output, shape).with_depth(depth));
        }
        let (calls, launch) = (kernel.launch)(&Operands {
            input: input.slice(input.len()),
            mask: mask.slice(mask.len()),
            taps,
            frame: *frame,
            output: output.ptr(),
        })?;
        let mut plan = Plan::new(rung.block, launch.grid.iter().product(), &output, shape).with_depth(depth);
        for call in calls {
            // SAFETY: the kernel's own launcher made the call, with operands of this frame, an output as large as the
            // input, and the grid, block and shared memory that the table makes for it.
            plan = unsafe { plan.launch(call, launch) };
        }
        run(plan)
    }
}

/// Checks the sizes of an image and its mask, and copies them to the device.
fn upload<'j, T: Pixel>(job: &'j Job<'_>) -> Result<Arrays<'j, T, Frame, T::Tap>> {
    Arrays::upload(job, frame(job.problem)?, ["image", "conv2d of an image into another one"], "use a smaller one")
}

/// Prepares the library's plan.
fn by_library<T: Pixel, K>(image: &Arrays<'_, T, Frame, T::Tap>, rung: &Chosen<'_, K>, run: Run<'_>) -> Result<()> {
    let Arrays { input, taps, frame, shape, .. } = image;
    // The number of blocks follows the request as closely as the image can be divided.
    if !library::marches(*frame) {
        rung.require_no_grid()?;
    }
    let output = rung.uninit::<T>(input.len(), "output")?;
    let depth = taps.len() as u64;
    if input.is_empty() {
        return run(Plan::new(rung.block, 0, &output, shape).with_depth(depth));
    }
    let plan = library::Plan::<T, _>::new(&rung.device, *frame, taps, rung.tuning())?;
    let launch = plan.prepare(input, &output)?;
    let blocks = launch.shape().grid.iter().product();
    run(Plan::new(rung.block, blocks, &output, shape).with_depth(depth).then(launch))
}

/// Every border with odd, even and oblong masks, images smaller than the mask, partial edge tiles, several blocks and
/// channels.
fn cases() -> Vec<Case> {
    let case = |size: &[u64], mask: &str, border: &str| Case::new(size).with("mask", mask).with("border", border);
    vec![
        case(&[0, 5], "3", "zero"),
        case(&[1, 1], "3", "mirror"),
        case(&[3, 2], "5", "clamp"),
        case(&[33, 31], "3", "zero"),
        case(&[17, 131], "3", "mirror"),
        case(&[40, 64], "5", "mirror"),
        case(&[9, 530], "5", "clamp"),
        case(&[37, 44], "7", "zero"),
        case(&[20, 36], "9", "clamp"),
        case(&[19, 24], "13", "mirror"),
        case(&[18, 40], "17", "zero"),
        case(&[70, 33], "4", "mirror"),
        case(&[12, 35], "6", "zero").with("mask-rows", "3"),
        case(&[5, 7], "1", "clamp").with("mask-rows", "18"),
        case(&[34, 37], "32", "clamp").with("mask-rows", "16"),
        case(&[13, 21, 3], "3", "mirror"),
        case(&[10, 9, 5], "2", "clamp"),
        case(&[10, 9, 4], "4", "zero"),
        case(&[37, 90, 2], "3", "clamp"),
        case(&[20, 66, 2], "5", "mirror"),
        case(&[34, 200, 3], "3", "clamp"),
        case(&[19, 48, 3], "5", "zero"),
        case(&[5, 6, 3], "5", "mirror"),
        case(&[18, 140, 4], "3", "zero"),
        case(&[35, 36, 4], "5", "mirror"),
        // Rows that start on a vector, so that the edges are loaded in vectors.
        case(&[18, 8], "3", "mirror"),
        case(&[21, 48], "3", "zero"),
        case(&[35, 136], "3", "mirror"),
        case(&[22, 16], "5", "clamp"),
        case(&[20, 72], "5", "zero"),
        case(&[18, 64, 3], "3", "mirror"),
        case(&[17, 32, 2], "3", "zero"),
        // As many rows as make unrolled strips enough for the simulator's device.
        case(&[158, 24], "3", "mirror"),
        case(&[210, 40], "5", "zero"),
        case(&[158, 16, 3], "3", "clamp"),
    ]
}

fn sizes() -> Vec<Case> {
    let one = ["3", "5", "7", "9", "13", "17"].map(|mask| Case::new(&[8192, 8192]).with("mask", mask));
    one.into_iter().chain([Case::new(&[4096, 4096, 3]).with("mask", "5")]).collect()
}

fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let (image, mask) = images::generated(demand)?;
    Ok(vec![image, generated_taps(demand, 1, &mask)?])
}

/// Checks the operands and returns their sizes.
fn frame(problem: Problem<'_>) -> Result<Frame> {
    images::frame(FAMILY.name, problem, problem.inputs[1].matrix("the mask of conv2d")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;
    use rustwarp::element::Array;

    #[test]
    fn operands_that_do_not_fit_are_refused() {
        let settings = Settings::new(FAMILY.settings, []).expect("defaults");
        let refusal = |image: &[usize], mask: &[usize], tap: f32| {
            let of =
                |shape: &[usize], x| Tensor::new(shape, Array::F32(vec![x; shape.iter().product()])).expect("made");
            let inputs = [of(image, 1.0), of(mask, tap)];
            let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op: "", settings: &settings };
            FAMILY
                .resolve(&problem)
                .and_then(|ladder| ladder.oracle(problem))
                .map(|_| ())
                .map_err(|error| error.to_string())
        };
        assert!(refusal(&[4, 4], &[3, 3], 1.0).is_ok() && refusal(&[4, 4, 3], &[2, 3], 1.0).is_ok());
        assert!(refusal(&[4], &[3, 3], 1.0).expect_err("a vector").contains("height x width"));
        assert!(refusal(&[4, 4], &[3], 1.0).expect_err("a vector").contains("the mask"));
        assert!(refusal(&[4, 4], &[33, 1], 1.0).expect_err("too large").contains("1x1 to 32x32"));
        assert!(refusal(&[4, 4], &[0, 3], 1.0).expect_err("empty").contains("not 0x3"));
        assert!(refusal(&[4, 4], &[3, 3], f32::INFINITY).expect_err("infinite").contains("must be finite"));
    }
}
