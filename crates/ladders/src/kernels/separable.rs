//! Convolution of images by a separable mask, the product of a column of R taps and a row of C:
//! `out[y][x] = sum of column[i] * row[j] * in[y + i - R/2][x + j - C/2]`, for each channel.
//!
//! The image is height x width or height x width x channels; column and row have up to 32 taps each. The result has the
//! shape of the image. Sums are within `(R + C + 1) * epsilon * sum(|in * column * row|)` of the exact ones, and the
//! same on every run. Images of `u8` and `f16` have taps and sums of `f32`, and results that are rounded to their type.

use super::convolution::{BORDER, PIXELS, Reference, float, generated_taps, require_finite};
use super::entry::Nothing;
use super::images::{self, MASK, MASK_ROWS};
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::plan::Plan;
use super::{BlockRule, Case, Demand, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::Result;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::conv2d::{Frame, ROWS, TILE, march};
use kernels_gpu::number::Number as _;
use kernels_gpu::separable::{best, tiled, two_passes};
use rustwarp::backend::{Buffer, require_memory};
use rustwarp::conv2d::Pixel;
use rustwarp::element::{Dtype, Scalar};
use rustwarp::separable as library;
use rustwarp::tensor::Tensor;
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "separable",
    idea: "convolution of images by a column and a row: two passes, in memory, in a tile, in registers",
    operands: &[Operand::of_elements("image"), Operand::of_sums("column"), Operand::of_sums("row")],
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
        Dtype::F32 => Ok(Resolved::of::<Separable<f32>>()),
        Dtype::F64 => Ok(Resolved::of::<Separable<f64>>()),
        Dtype::U8 => Ok(Resolved::of::<Separable<u8>>()),
        Dtype::F16 => Ok(Resolved::of::<Separable<half::f16>>()),
        _ => Err(FAMILY.no_kernel(dtype)),
    }
}

/// The family for one element type.
struct Separable<T>(PhantomData<T>);

/// How a rung filters.
#[derive(Clone, Copy)]
enum Way {
    /// By way of sums in device memory.
    TwoPasses,
    /// By way of sums in shared memory.
    Tiled,
}

/// An image, a column and a row on a device.
struct Operands<'j, T: Pixel> {
    image: Buffer<'j, T>,
    column: Buffer<'j, T::Tap>,
    row: Buffer<'j, T::Tap>,
    /// Column and row, on the host.
    taps: [&'j [T::Tap]; 2],
    frame: Frame,
    shape: &'j [usize],
}

impl<T: Pixel> Ladder for Separable<T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Way>;
    type Operands<'j> = Operands<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        vec![
            Rung {
                name: "two_passes",
                idea: two_passes::IDEA,
                block: BlockRule::OneOf { sizes: &[TILE * ROWS], default: TILE * ROWS },
                kernel: Planned::Here(Way::TwoPasses),
            },
            Rung {
                name: "tiled",
                idea: tiled::IDEA,
                block: BlockRule::OneOf { sizes: &[BLOCK_OF_TILE], default: BLOCK_OF_TILE },
                kernel: Planned::Here(Way::Tiled),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::OneOf { sizes: &[march::BLOCK], default: march::BLOCK },
                kernel: Planned::ByLibrary,
            },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        let (image, taps, sums) = (Slice::nothing(), Slice::nothing(), Slice::nothing());
        let frame = images::square(1, 1);
        match rung.kernel {
            Planned::Here(Way::TwoPasses) => {
                let rows = two_passes::separable_rows::<T::Kind>(image, taps, frame, PtrMut::nothing());
                let columns = two_passes::separable_columns::<T::Kind>(sums, taps, frame, PtrMut::nothing());
                vec![rows.into(), columns.into()]
            }
            // `best` uses it too, but an entry belongs to one rung.
            Planned::Here(Way::Tiled) => {
                vec![tiled::separable_tiled::<T::Kind>(image, taps, taps, frame, PtrMut::nothing()).into()]
            }
            Planned::ByLibrary => {
                let alone = best::SIZES.iter().map(|&size| (size, 1));
                let together = best::SIZES_OF_CHANNELS.iter().flat_map(|&size| [(size, 3), (size, 4)]);
                alone.chain(together).flat_map(own_kernels::<T>).collect()
            }
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (image, frame) = (problem.view::<T>(0)?, frame(problem)?);
        let (column, row) = (problem.view::<T::Tap>(1)?, problem.view::<T::Tap>(2)?);
        require_finite(column)?;
        require_finite(row)?;
        // Products of f32 are exact in f64; those of f64 are off by half a place, which the bound has room for.
        let mask: Vec<f64> =
            column.iter().flat_map(|tap| row.iter().map(move |other| float(*tap) * float(*other))).collect();
        Ok(Reference::new(image, &mask, frame).oracle::<T>(problem, T::Tap::DTYPE))
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, Self::Kernel>]) -> Result<Operands<'j, T>> {
        let frame = frame(job.problem)?;
        let (image, column, row) =
            (job.problem.view::<T>(0)?, job.problem.view::<T::Tap>(1)?, job.problem.view::<T::Tap>(2)?);
        let sums = rungs.iter().any(|rung| matches!(rung.kernel, Planned::Here(Way::TwoPasses)));
        let each = 2 * size_of::<T>() + if sums { size_of::<T::Tap>() } else { 0 };
        let bytes = (image.len() as u64).checked_mul(each as u64);
        require_memory(job.device, bytes, "separable of an image into another one", "use a smaller one")?;
        Ok(Operands {
            image: Buffer::from_slice(job.device, image, "image")?,
            column: Buffer::from_slice(job.device, column, "column")?,
            row: Buffer::from_slice(job.device, row, "row")?,
            taps: [column, row],
            frame,
            shape: job.problem.inputs[0].shape(),
        })
    }

    fn work(of: &Operands<'_, T>) -> Work {
        let taps = of.taps[0].len() + of.taps[1].len();
        Work { bytes: 2 * of.image.bytes(), flops: 2 * (taps * of.image.len()) as u64 }
    }

    fn prepare(of: &Operands<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let Operands { image, column, row, taps, frame, shape } = of;
        // The number of blocks follows the request as closely as the image can be divided.
        if !matches!(rung.kernel, Planned::ByLibrary) || !library::marches(*frame) {
            rung.require_no_grid()?;
        }
        let output = rung.uninit::<T>(image.len(), "output")?;
        let depth = (taps[0].len() + taps[1].len()) as u64;
        if image.is_empty() {
            return run(Plan::new(rung.block, 0, &output, shape).with_depth(depth));
        }
        let (column, row) = (column.slice(taps[0].len()), row.slice(taps[1].len()));
        // SAFETY: the memory of the buffers; elements of 16 bits are taken as integers of the same layout.
        let (bits, result) = unsafe { (Slice::new(image.address(), image.len()), PtrMut::new(output.address())) };
        match rung.kernel {
            Planned::Here(Way::TwoPasses) => {
                let sums = rung.uninit::<T::Tap>(image.len(), "sums of rows")?;
                let launch = images::per_element(*frame)?;
                let rows = two_passes::separable_rows::<T::Kind>(bits, row, *frame, sums.ptr());
                let read = sums.slice(image.len());
                let columns = two_passes::separable_columns::<T::Kind>(read, column, *frame, result);
                let plan = Plan::new(rung.block, launch.grid.iter().product(), &output, shape).with_depth(depth);
                // SAFETY: operands of this frame, memory for as many sums and results, and a thread per element.
                run(unsafe { plan.launch(rows, launch).launch(columns, launch) })
            }
            Planned::Here(Way::Tiled) => {
                let launch = library::tiles::<T>(*frame)?;
                let call = tiled::separable_tiled::<T::Kind>(bits, column, row, *frame, result);
                let plan = Plan::new(rung.block, launch.grid.iter().product(), &output, shape).with_depth(depth);
                // SAFETY: operands of this frame, memory for as many results, tiles that cover the image, and shared
                // memory for one.
                run(unsafe { plan.launch(call, launch) })
            }
            Planned::ByLibrary => {
                let plan = library::Plan::<T, _>::new(&rung.device, *frame, *taps, rung.tuning())?;
                let launch = plan.prepare(image, &output)?;
                let blocks = launch.shape().grid.iter().product();
                run(Plan::new(rung.block, blocks, &output, shape).with_depth(depth).then(launch))
            }
        }
    }
}

/// Threads of a block of [`tiled`].
const BLOCK_OF_TILE: u32 = tiled::WIDTH * tiled::ROWS;

/// The entries of the kernels for this number of taps and of channels.
fn own_kernels<T: Pixel>((size, channels): (u32, u32)) -> Vec<Entry> {
    let taps = vec![T::Tap::ZERO; size as usize];
    let frame = images::square(size, channels);
    let (input, column, row) = (Slice::nothing(), Slice::nothing(), Slice::nothing());
    let operands = library::Operands { input, column, row, taps: [&taps, &taps], frame };
    let unrolled = library::unrolled_call::<T>(&operands, PtrMut::nothing());
    let march = library::call::<T>(operands, 1, PtrMut::nothing());
    [Some(march), unrolled].into_iter().flatten().map(Entry::from).collect()
}

/// Every border with equal and different numbers of taps, images smaller than the mask, partial edge tiles, several
/// blocks and channels.
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
        case(&[34, 40], "17", "zero"),
        case(&[70, 33], "4", "mirror"),
        case(&[12, 35], "6", "zero").with("mask-rows", "3"),
        case(&[5, 7], "1", "clamp").with("mask-rows", "18"),
        case(&[66, 37], "32", "clamp").with("mask-rows", "31"),
        case(&[34, 200, 3], "3", "clamp"),
        case(&[19, 48, 3], "5", "zero"),
        case(&[20, 52, 3], "7", "mirror"),
        case(&[18, 140, 4], "3", "zero"),
        case(&[35, 36, 4], "5", "mirror"),
        case(&[18, 19, 4], "7", "clamp"),
        case(&[20, 33, 3], "9", "mirror"),
        case(&[10, 9, 5], "3", "clamp"),
        case(&[10, 9, 3], "2", "zero"),
        // Rows that start on a vector, so that the edges are loaded in vectors.
        case(&[21, 48], "3", "zero"),
        case(&[22, 16], "5", "clamp"),
        case(&[18, 64, 3], "3", "mirror"),
        // As many rows as make unrolled strips enough for the simulator's device.
        case(&[158, 24], "3", "mirror"),
        case(&[312, 40], "17", "clamp"),
        case(&[105, 16, 3], "3", "zero"),
    ]
}

fn sizes() -> Vec<Case> {
    let one = ["3", "5", "9", "17"].map(|mask| Case::new(&[8192, 8192]).with("mask", mask));
    one.into_iter().chain([Case::new(&[4096, 4096, 3]).with("mask", "5")]).collect()
}

fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let (image, [rows, columns]) = images::generated(demand)?;
    Ok(vec![image, generated_taps(demand, 1, &[rows])?, generated_taps(demand, 2, &[columns])?])
}

/// Checks the operands and returns their sizes.
fn frame(problem: Problem<'_>) -> Result<Frame> {
    images::frame(FAMILY.name, problem, [problem.inputs[1].len(), problem.inputs[2].len()])
}
