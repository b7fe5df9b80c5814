//! Items shared by the convolutions of images: settings, generated operands, sizes, and launches.

use super::convolution::border;
use super::settings::{Number, Setting};
use super::{Demand, Problem};
use crate::error::{Error, Result};
use kernels_gpu::conv2d::{Frame, MAX_MASK, ROWS, TILE};
use kernels_gpu::filter::ZERO;
use rustwarp::backend::Shape;
use rustwarp::tensor::{Tensor, text};

/// Columns of a generated mask.
pub(super) const MASK: Setting<Number> = Setting {
    name: "mask",
    help: "Columns of a generated mask, and its rows unless these are given",
    generated: true,
    kind: Number { default: 5, min: 1, max: MAX_MASK as u64 },
};

/// Rows of a generated mask.
pub(super) const MASK_ROWS: Setting<Number> = Setting {
    name: "mask-rows",
    help: "Rows of a generated mask; 0 for as many as columns",
    generated: true,
    kind: Number { default: 0, min: 0, max: MAX_MASK as u64 },
};

/// Generates an image; returns it with the rows and columns of the mask to generate.
pub(super) fn generated(demand: &Demand<'_>) -> Result<(Tensor, [usize; 2])> {
    let axes = "HEIGHTxWIDTH, HEIGHTxWIDTHxCHANNELS, or one number for a square";
    let image = match demand.size.len() {
        3 => demand.tensor(0, &demand.axes::<3>(axes)?)?,
        _ => demand.tensor(0, &demand.axes::<2>(axes)?)?,
    };
    let columns = demand.settings.number(&MASK) as usize;
    let rows = match demand.settings.number(&MASK_ROWS) as usize {
        0 => columns,
        rows => rows,
    };
    Ok((image, [rows, columns]))
}

/// The sizes of a problem's image and of a mask, and the border.
///
/// # Errors
/// [`Error::Usage`] for an image of another number of axes, and those of [`rustwarp::conv2d::frame`].
pub(super) fn frame(family: &str, problem: Problem<'_>, mask: [usize; 2]) -> Result<Frame> {
    let image = &problem.inputs[0];
    let [rows, columns, channels] = match *image.shape() {
        [rows, columns] => [rows, columns, 1],
        [rows, columns, channels] => [rows, columns, channels],
        _ => {
            let shape = text(image.shape());
            return Err(Error::Usage(format!(
                "{family} takes an image of height x width or height x width x channels, not {shape}"
            )));
        }
    };
    Ok(rustwarp::conv2d::frame([rows, columns, channels], mask, border(problem.settings))?)
}

/// The sizes of an image that is as large as its mask.
pub(super) fn square(size: u32, channels: u32) -> Frame {
    Frame { rows: size, columns: size, channels, mask_rows: size, mask_columns: size, border: ZERO }
}

/// Shape with this number of blocks along each axis.
pub(super) fn shape(grid: [u32; 3], block: [u32; 2], frame: Frame) -> Result<Shape> {
    if grid[0] > i32::MAX as u32 || grid[1] > 65_535 || grid[2] > 65_535 {
        let Frame { rows, columns, channels, .. } = frame;
        return Err(Error::Usage(format!(
            "{rows}x{columns}x{channels} needs a grid of {}x{}x{} blocks, and the last two axes have at most 65535: \
             use a smaller image, or another variant",
            grid[0], grid[1], grid[2]
        )));
    }
    Ok(Shape::new(grid, [block[0], block[1], 1]))
}

/// A grid with a thread per element of a row.
pub(super) fn per_element(frame: Frame) -> Result<Shape> {
    let across = (frame.columns * frame.channels).div_ceil(TILE);
    shape([across, frame.rows.div_ceil(ROWS), 1], [TILE, ROWS], frame)
}
