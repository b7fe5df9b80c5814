//! The launches of the rungs.

use super::Operation;
use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::picture::{self as kernels, Op, Picture, SIDE, best::near};
use rustwarp::backend::Shape;

/// A kernel and the shape to launch it with.
pub(super) type Launch<'a> = Result<(Call<'a>, Shape)>;

/// The operands of a kernel.
#[derive(Clone, Copy)]
pub(super) struct Operands<'a> {
    pub input: Slice<'a, u8>,
    pub picture: Picture,
    pub output: PtrMut<'a, u8>,
    /// The output, in pixels or bytes depending on the operation.
    pub results: usize,
    pub block: u32,
    pub grid: Option<u32>,
    pub multiprocessors: u32,
}

/// The kernel of a rung for one operation.
pub(super) struct Kernel {
    /// Makes the launch.
    pub launch: for<'a> fn(&Operands<'a>) -> Launch<'a>,
    /// Whether the kernel supports any number of blocks.
    pub any_grid: bool,
}

/// Shape with these numbers of blocks along two axes.
fn shape(across: u32, down: u32, block: [u32; 2], shared: u32) -> Result<Shape> {
    if down > 65_535 {
        let why = format!(
            "the picture needs {down} blocks below each other, and a grid has at most 65535: use a lower picture"
        );
        return Err(Error::Usage(why));
    }
    Ok(Shape::new([across, down, 1], [block[0], block[1], 1]).with_shared(shared))
}

pub(super) fn pixel<'a, O: Op>(of: &Operands<'a>) -> Launch<'a> {
    let Picture { rows, columns, .. } = of.picture;
    let call = kernels::pixel::picture_pixel::<O>(of.input, of.picture, of.output);
    Ok((call, shape(columns.div_ceil(SIDE), rows.div_ceil(SIDE), [SIDE; 2], 0)?))
}

pub(super) fn tiled<'a, O: Op>(of: &Operands<'a>) -> Launch<'a> {
    let Picture { rows, columns, channels, amount } = of.picture;
    let call = kernels::tiled::picture_tiled::<O>(of.input, of.picture, of.output);
    let shared = kernels::tiled::shared_bytes(channels, O::reach(amount));
    Ok((call, shape(columns.div_ceil(SIDE), rows.div_ceil(SIDE), [SIDE; 2], shared)?))
}

/// The kernel of the rung `best`.
pub(super) fn best(operation: Operation) -> Kernel {
    match operation {
        Operation::Scale => Kernel {
            launch: |of| Ok((kernels::best::picture_best_scale(of.input, of.picture, of.output), grid_of_device(of))),
            any_grid: true,
        },
        Operation::Grey => Kernel {
            launch: |of| Ok((kernels::best::picture_best_grey(of.input, of.picture, of.output), grid_of_device(of))),
            any_grid: true,
        },
        Operation::Blur => Kernel { launch: best_blur, any_grid: false },
    }
}

fn best_blur<'a>(of: &Operands<'a>) -> Launch<'a> {
    let Picture { rows, columns, channels, amount } = of.picture;
    if near::suits(of.picture) && (of.input.address() | of.output.address()).is_multiple_of(near::EACH.into()) {
        let strip = near::strip(of.picture, of.multiprocessors * near::THREADS_PER_SM);
        let blocks = near::threads(of.picture, strip).div_ceil(near::BLOCK);
        let shape = Shape::linear(blocks, near::BLOCK);
        let kernel = match (amount, channels) {
            (1, 1) => near::picture_best_blur_near::<1, 1>,
            (1, _) => near::picture_best_blur_near::<1, 3>,
            (2, 1) => near::picture_best_blur_near::<2, 1>,
            (2, _) => near::picture_best_blur_near::<2, 3>,
            (_, 1) => near::picture_best_blur_near::<3, 1>,
            _ => near::picture_best_blur_near::<3, 3>,
        };
        return Ok((kernel(of.input, of.picture, strip, of.output), shape));
    }
    let across = columns.div_ceil(kernels::best::blur::width(channels, amount));
    let strip =
        kernels::best::blur::strip(of.picture, across, of.multiprocessors * (2048 / kernels::best::blur::BLOCK));
    let shape = shape(across, rows.div_ceil(strip), [kernels::best::blur::BLOCK, 1], 0)?;
    Ok((kernels::best::blur::picture_best_blur(of.input, of.picture, strip, of.output), shape))
}

/// A grid with several times the blocks that fill the device, and at most one for each part of the work.
fn grid_of_device(of: &Operands<'_>) -> Shape {
    let needed = of.results.div_ceil(kernels::best::EACH * of.block as usize).max(1);
    let fill = of.multiprocessors * (2048 / of.block).max(1) * kernels::best::WAVES;
    let grid = of.grid.unwrap_or_else(|| u32::try_from(needed).unwrap_or(fill).min(fill));
    Shape::linear(grid, of.block)
}
