//! Transposition: `out[c][r] = in[r][c]`, for any number of rows and columns, row-major. The result is exact. The
//! kernel is `kernels_gpu::transpose::best`.

use crate::backend::Shape;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::launch::{Launch, MAX_GRID};
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::transpose::{BLOCK, best};

/// Transposes a matrix of `rows` x `columns` into one of `columns` x `rows`.
///
/// # Errors
/// [`Error::Mismatch`] if the buffer does not have `rows * columns` elements, [`Error::Usage`] for more blocks than a
/// grid can have, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn transpose<T: Element>(input: &Buffer<T>, rows: usize, columns: usize) -> Result<Buffer<T>> {
    let (device, n) = (input.device(), input.len());
    if rows.checked_mul(columns) != Some(n) {
        return Err(Error::Mismatch(format!("{n} elements are not a matrix of {rows}x{columns}")));
    }
    let plan = Plan::new::<T>(rows, columns)?;
    let output = device.uninit::<T>(n)?;
    launch(&plan, input.slice(n), output.ptr()).run(device.backend(), device.family("transpose")?)?;
    Ok(output)
}

/// Grid of one transposition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of blocks, one per tile; 0 for an empty matrix.
    pub grid: u32,
    rows: u32,
    columns: u32,
}

impl Plan {
    /// Plans a grid for a matrix of `rows` x `columns`.
    ///
    /// # Errors
    /// [`Error::Usage`] for sides beyond 2^32 - 1, and for more blocks than a grid can have.
    pub fn new<T>(rows: usize, columns: usize) -> Result<Self> {
        let (Ok(height), Ok(width)) = (u32::try_from(rows), u32::try_from(columns)) else {
            return Err(Error::Usage(format!("transpose takes up to 2^32 - 1 rows and columns, not {rows}x{columns}")));
        };
        let side = best::side(size_of::<T>());
        let tiles = u64::from(height.div_ceil(side)) * u64::from(width.div_ceil(side));
        if tiles > MAX_GRID {
            return Err(Error::Usage(format!(
                "a matrix of {rows}x{columns} needs {tiles} blocks, and a grid has at most {MAX_GRID}: transpose it \
                 in parts"
            )));
        }
        Ok(Self { grid: tiles as u32, rows: height, columns: width })
    }

    /// Threads per block.
    pub fn block(&self) -> u32 {
        BLOCK
    }
}

/// Writes the transposed input to the output; both have the plan's size, and they do not overlap.
pub fn launch<'a, T: Element>(plan: &Plan, input: Slice<'a, T>, output: PtrMut<'a, T>) -> Launch<'a> {
    let call = best::transpose_best::<T>(input, plan.rows, plan.columns, output);
    // SAFETY: the matrices have the plan's size, the block is the kernel's, and every tile has a block.
    unsafe { Launch::new(call, Shape::linear(plan.grid, BLOCK)) }
}

impl Device {
    /// [`transpose`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`transpose()`].
    pub fn transpose<T: Element>(&self, input: &Buffer<T>, rows: usize, columns: usize) -> Result<Buffer<T>> {
        self.require(input, "the matrix")?;
        transpose(input, rows, columns)
    }
}
