//! Transposition: `out[c][r] = in[r][c]`, for any number of rows and columns, row-major, and any elements of 1, 2, 4 or
//! 8 bytes. The result is exact. The kernels are `kernels_gpu::transpose::{best, narrow, small}`.

use crate::backend::{Handle, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::ptx::library;
use bytemuck::Pod;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::transpose::{BLOCK, TILE, best, narrow, small};
use std::marker::PhantomData;

/// Transposes a matrix of `rows` x `columns` into one of `columns` x `rows`. Elements of another size than 1, 2, 4 or 8
/// bytes do not compile.
///
/// # Errors
/// [`Error::Mismatch`] if the buffer does not have `rows * columns` elements, [`Error::Argument`] for more blocks than
/// a grid can have, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn transpose<'a, T: Pod>(input: impl Into<View<'a, T>>, rows: usize, columns: usize) -> Result<Buffer<T>> {
    let input = input.into();
    transpose_on(input.device(), input, [rows, columns])
}

/// Writes the transposed matrix of `rows` x `columns` to the output, without waiting, in the stream of the output's
/// device.
///
/// # Errors
/// Those of [`transpose()`].
pub fn transpose_into<'a, T: Pod>(
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

fn transpose_on<T: Pod>(device: &Device, input: View<'_, T>, [rows, columns]: [usize; 2]) -> Result<Buffer<T>> {
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
    /// Whether tiles are those of `small`.
    is_small: bool,
    shape: Shape,
    element: PhantomData<T>,
}

impl<T: Pod, H: Handle> Plan<T, H> {
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
        const {
            let bytes = size_of::<T>();
            assert!(matches!(bytes, 1 | 2 | 4 | 8), "transpose takes elements of 1, 2, 4 or 8 bytes")
        };
        let tiles = |side: u32| u64::from(height.div_ceil(side)) * u64::from(width.div_ceil(side));
        let (is_small, tiles) = match size_of::<T>() {
            bytes @ (1 | 2) => {
                let narrow = tiles(narrow::side(bytes));
                let whole = (height | width).is_multiple_of(4 / bytes as u32);
                let is_small =
                    narrow < small::most_tiles(bytes, whole) * u64::from(device.backend().info().multiprocessors);
                (is_small, if is_small { tiles(TILE) } else { narrow })
            }
            bytes => (false, tiles(best::side(bytes))),
        };
        let grid = require_grid(tiles, &format!("a matrix of {rows}x{columns}"), "transpose it in parts")?;
        let shape = Shape::linear(grid, BLOCK);
        Ok(Self { device: device.clone(), rows: height, columns: width, is_small, shape, element: PhantomData })
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
        let (from, to, [rows, columns]) = (input.address(), output.address(), [self.rows, self.columns]);
        // SAFETY: the memory lives as long as the views, which the launch borrows. It starts on a boundary of at least
        // 8 bytes, and views on elements, so that these are integers of their size.
        let call = unsafe {
            match size_of::<T>() {
                1 if self.is_small => small::transpose_small::<u8>(Slice::new(from, n), rows, columns, PtrMut::new(to)),
                2 if self.is_small => {
                    small::transpose_small::<u16>(Slice::new(from, n), rows, columns, PtrMut::new(to))
                }
                1 => narrow::transpose_narrow::<u8>(Slice::new(from, n), rows, columns, PtrMut::new(to)),
                2 => narrow::transpose_narrow::<u16>(Slice::new(from, n), rows, columns, PtrMut::new(to)),
                4 => best::transpose_best::<u32>(Slice::new(from, n), rows, columns, PtrMut::new(to)),
                _ => best::transpose_best::<u64>(Slice::new(from, n), rows, columns, PtrMut::new(to)),
            }
        };
        // SAFETY: the matrices have the plan's size, the block is the kernel's, and every tile has a block.
        let launch = unsafe { Launch::new(call, self.shape) };
        Ok(launch.using([input.reads(), output.writes()]))
    }
}

impl<T: Pod> Plan<T> {
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
    pub fn transpose<'a, T: Pod>(
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
