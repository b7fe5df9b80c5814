//! Transposition: `out[c][r] = in[r][c]`, for any number of rows and columns, row-major. The result is exact. The
//! kernel is `kernels_gpu::transpose::best`.

use crate::backend::{Handle, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::ptx::library;
use kernels_gpu::transpose::{BLOCK, best};
use std::marker::PhantomData;

/// Transposes a matrix of `rows` x `columns` into one of `columns` x `rows`.
///
/// # Errors
/// [`Error::Mismatch`] if the buffer does not have `rows * columns` elements, [`Error::Argument`] for more blocks than
/// a grid can have, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn transpose<'a, T: Element>(input: impl Into<View<'a, T>>, rows: usize, columns: usize) -> Result<Buffer<T>> {
    let input = input.into();
    transpose_on(input.device(), input, [rows, columns])
}

/// Writes the transposed matrix of `rows` x `columns` to the output, without waiting, in the stream of the output's
/// device.
///
/// # Errors
/// Those of [`transpose()`].
pub fn transpose_into<'a, T: Element>(
    input: impl Into<View<'a, T>>,
    rows: usize,
    columns: usize,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (input, output) = (input.into(), output.into());
    let n = input.len();
    if rows.checked_mul(columns) != Some(n) {
        return Err(Error::Mismatch(format!("{n} elements are not a matrix of {rows}x{columns}")));
    }
    Plan::<T>::new(output.device(), [rows, columns])?.launch(input, output)
}

fn transpose_on<T: Element>(device: &Device, input: View<'_, T>, [rows, columns]: [usize; 2]) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(input.len())?;
    transpose_into(input, rows, columns, &mut output)?;
    Ok(output)
}

/// A transposition of a matrix of `T` of one size, with its launch configuration. It can be launched any number of
/// times.
pub struct Plan<T, H: Handle = Device> {
    device: H,
    rows: u32,
    columns: u32,
    shape: Shape,
    element: PhantomData<T>,
}

impl<T: Element, H: Handle> Plan<T, H> {
    /// Plans the transposition of a matrix of this number of rows and of columns: a block for each tile.
    ///
    /// # Errors
    /// [`Error::Argument`] for sides beyond 2^32 - 1, and for more blocks than a grid can have.
    pub fn new(device: &H, [rows, columns]: [usize; 2]) -> Result<Self> {
        let (Ok(height), Ok(width)) = (u32::try_from(rows), u32::try_from(columns)) else {
            return Err(Error::Argument(format!(
                "transpose takes up to 2^32 - 1 rows and columns, not {rows}x{columns}"
            )));
        };
        let side = best::side(size_of::<T>());
        let tiles = u64::from(height.div_ceil(side)) * u64::from(width.div_ceil(side));
        let grid = require_grid(tiles, &format!("a matrix of {rows}x{columns}"), "transpose it in parts")?;
        let shape = Shape::linear(grid, BLOCK);
        Ok(Self { device: device.clone(), rows: height, columns: width, shape, element: PhantomData })
    }

    /// The launch that writes the transposed input to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let n = self.rows as usize * self.columns as usize;
        let (input, output) = (input.into(), output.into());
        input.require(&self.device, n, "the matrix")?;
        output.require_output(&self.device, n, &[input.span()])?;
        let call = best::transpose_best::<T>(input.slice(n), self.rows, self.columns, output.ptr());
        // SAFETY: the matrices have the plan's size, the block is the kernel's, and every tile has a block.
        let launch = unsafe { Launch::new(call, self.shape) };
        Ok(launch.using([input.reads(), output.writes()]))
    }
}

impl<T: Element> Plan<T> {
    /// Starts the transposition, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (input, output) = (input.into(), output.into());
        self.device.run(&library::TRANSPOSE, &self.prepare(input, output.as_view())?)
    }
}

impl Device {
    /// [`transpose`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`transpose()`].
    pub fn transpose<'a, T: Element>(
        &self,
        input: impl Into<View<'a, T>>,
        rows: usize,
        columns: usize,
    ) -> Result<Buffer<T>> {
        let input = input.into();
        input.require_on(self, "the matrix")?;
        transpose_on(self, input, [rows, columns])
    }
}
