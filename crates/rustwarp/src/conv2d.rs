//! Convolution of pictures: `out[y][x] = sum of in[y + i - R/2][x + j - C/2] * mask[i][j]`, for each channel.
//!
//! A picture is height x width x channels, row-major; the mask is R x C with up to [`MAX_MASK`] of each, and its taps
//! are finite. The result has the shape of the picture.
//!
//! - *Error bound*: `(R * C + 1) * epsilon * sum of |in * mask|`.
//! - *Determinism*: the same bits on every run on every device.
//! - *Choice*: pictures of three or four channels and masks of at most 5 x 5 have a thread per pixel, which filters all
//!   its channels.
//! - *Source*: rows that march down the picture with their window in registers. The kernels are
//!   `kernels_gpu::conv2d::best`.

use crate::backend::{Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::filter::{Border, MAX_AXIS};
use crate::launch::{Launch, Tuning};
use crate::ptx::library;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv2d::{ROWS, TILE, best, channels};
use kernels_gpu::filter::Sample;

/// Sizes of a picture and a mask, and the border, as kernels take them: see [`frame`].
pub use kernels_gpu::conv2d::Frame;

/// Largest number of rows and of columns of a mask.
pub use kernels_gpu::conv2d::MAX_MASK;

/// Filters a picture of `[rows, columns, channels]` by a mask of `[rows, columns]`, which lies on the host.
///
/// # Errors
/// [`Error::Mismatch`] if the buffer or the mask does not have the length of its shape, [`Error::Argument`] for sizes
/// beyond the limits, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn conv2d<'a, T: Element + Sample>(
    picture: impl Into<View<'a, T>>,
    shape: [usize; 3],
    mask: &[T],
    mask_shape: [usize; 2],
    border: Border,
) -> Result<Buffer<T>> {
    let picture = picture.into();
    conv2d_on(picture.device(), picture, shape, (mask, mask_shape), border)
}

/// Writes the filtered picture to the output, which has its shape, in the stream of the output's device. It waits only
/// for the copy of the mask.
///
/// # Errors
/// Those of [`conv2d()`].
pub fn conv2d_into<'a, T: Element + Sample>(
    picture: impl Into<View<'a, T>>,
    shape: [usize; 3],
    (mask, mask_shape): (&[T], [usize; 2]),
    border: Border,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (picture, output) = (picture.into(), output.into());
    let n = picture.len();
    let elements = |shape: &[usize]| shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
    if elements(&shape) != Some(n) {
        return Err(Error::Mismatch(format!("{n} elements are not a picture of {}", crate::tensor::text(&shape))));
    }
    if elements(&mask_shape) != Some(mask.len()) {
        let text = crate::tensor::text(&mask_shape);
        return Err(Error::Mismatch(format!("{} elements are not a mask of {text}", mask.len())));
    }
    let frame = frame(shape, mask_shape, border)?;
    Plan::new(output.device(), frame, mask, Tuning::default())?.launch(picture, output)
}

fn conv2d_on<T: Element + Sample>(
    device: &Device,
    picture: View<'_, T>,
    shape: [usize; 3],
    mask: (&[T], [usize; 2]),
    border: Border,
) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(picture.len())?;
    conv2d_into(picture, shape, mask, border, &mut output)?;
    Ok(output)
}

/// Converts shapes to the sizes that kernels take.
///
/// # Errors
/// [`Error::Argument`] for sizes without a kernel.
pub fn frame(picture: [usize; 3], mask: [usize; 2], border: Border) -> Result<Frame> {
    require(picture, mask)?;
    let ([rows, columns, channels], [mask_rows, mask_columns]) = (picture.map(|n| n as u32), mask.map(|n| n as u32));
    Ok(Frame { rows, columns, channels, mask_rows, mask_columns, border: border.for_kernels() })
}

/// Checks that there is a kernel for these shapes.
///
/// # Errors
/// Those of [`frame`].
fn require([rows, columns, channels]: [usize; 3], mask: [usize; 2]) -> Result<()> {
    if mask.iter().any(|n| !(1..=MAX_MASK as usize).contains(n)) {
        let shape = crate::tensor::text(&mask);
        return Err(Error::Argument(format!("conv2d takes masks of 1x1 to {MAX_MASK}x{MAX_MASK}, not {shape}")));
    }
    if rows > MAX_AXIS || columns.saturating_mul(channels) > MAX_AXIS {
        let shape = crate::tensor::text(&[rows, columns, channels]);
        return Err(Error::Argument(format!(
            "conv2d takes images of up to 2^30 rows, and elements in a row, not {shape}"
        )));
    }
    Ok(())
}

/// Whether this mask has a kernel of its own, which supports any number of strips. It is public for the ladders.
#[doc(hidden)]
pub fn marches(frame: Frame) -> bool {
    let size = frame.mask_rows;
    frame.mask_columns == size && frame.rows >= size && frame.columns >= size && best::SIZES.contains(&size)
}

/// Largest number of rows and of columns of a mask by which all channels of a pixel are filtered together. (H200, 4096
/// x 4096 x 3 f32 by 5 x 5: 580 us, and 641 us channel by channel, whose loads skip two elements of three. Larger masks
/// are limited by arithmetic.)
const MAX_SHARED_MASK: u32 = 5;

/// Whether a thread filters all channels of a pixel.
fn shares_channels(frame: Frame) -> bool {
    channels::per_thread(frame.channels) > 1 && frame.mask_rows.max(frame.mask_columns) <= MAX_SHARED_MASK
}

const _: () = assert!(best::any_size::WIDTH * best::any_size::ROWS == best::BLOCK);

/// A filter of pictures of one size by one mask, with its kernel, launch configuration and the mask's memory. It can be
/// launched any number of times, without further allocations.
pub struct Plan<T, H: Handle = Device> {
    frame: Frame,
    /// The mask, on the device.
    mask: Memory<T, H>,
    /// The mask, on the host.
    taps: Vec<T>,
    strip: u32,
    /// Whether a thread filters all channels of a pixel.
    shares_channels: bool,
    shape: Shape,
}

impl<T: Element + Sample, H: Handle> Plan<T, H> {
    /// Plans the filter of a picture of a frame's sizes by the mask of these taps: with about as many blocks as the
    /// tuning says, if the mask has a kernel that supports any number.
    ///
    /// # Errors
    /// Those of [`frame`], which this function checks again, since a frame's fields are public; [`Error::Mismatch`] if
    /// the mask has another number of taps than the frame, [`Error::Argument`] for a picture that needs more blocks
    /// than a grid can have and for a tuning that the kernel does not support, [`Error::OutOfMemory`] if the device has
    /// less memory free.
    pub fn new(device: &H, frame: Frame, taps: &[T], tuning: Tuning) -> Result<Self> {
        require(
            [frame.rows, frame.columns, frame.channels].map(|n| n as usize),
            [frame.mask_rows, frame.mask_columns].map(|n| n as usize),
        )?;
        let needed = frame.mask_rows as usize * frame.mask_columns as usize;
        if taps.len() != needed {
            return Err(Error::Mismatch(format!("the mask has {} elements, and {needed} are needed", taps.len())));
        }
        let info = device.backend().info();
        let block = tuning.whole_warps(best::BLOCK, info)?;
        if block != best::BLOCK {
            return Err(Error::Argument(format!("conv2d has blocks of {} threads, not {block}", best::BLOCK)));
        }
        let shares_channels = tuning.grid.is_none() && shares_channels(frame);
        let (strip, shape) = if shares_channels {
            let each = channels::per_thread(frame.channels);
            let grid = [frame.columns.div_ceil(TILE), frame.rows.div_ceil(ROWS), frame.channels / each];
            (0, shape(grid, [TILE, ROWS], frame)?)
        } else if marches(frame) {
            let size = frame.mask_rows;
            let across = frame.columns.div_ceil(best::BLOCK * best::columns_per_thread(size_of::<T>()));
            // The number of strips is at most that which runs at the same time, since each begins with rows that others
            // load too.
            let blocks = tuning.blocks()?.unwrap_or(info.multiprocessors * best::blocks_per_sm(size));
            let strips = (blocks / across.saturating_mul(frame.channels).max(1)).max(1);
            let strip = frame.rows.div_ceil(strips).max(best::MIN_STRIP);
            (strip, shape([across, frame.rows.div_ceil(strip), frame.channels], [best::BLOCK, 1], frame)?)
        } else {
            use best::any_size::{HEIGHT, ROWS, WIDTH, shared_elements};
            let grid = [frame.columns.div_ceil(WIDTH), frame.rows.div_ceil(HEIGHT), frame.channels];
            let shared = shared_elements(frame.mask_rows, frame.mask_columns) * size_of::<T>() as u32;
            (0, shape(grid, [WIDTH, ROWS], frame)?.with_shared(shared))
        };
        let mask = Memory::from_slice(device.clone(), taps, "mask")?;
        Ok(Self { frame, mask, taps: taps.to_vec(), strip, shares_channels, shape })
    }

    /// The launch that writes the filtered picture to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        picture: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let Frame { rows, columns, channels, .. } = self.frame;
        let (picture, output) = (picture.into(), output.into());
        let n = rows as usize * columns as usize * channels as usize;
        picture.require(self.mask.device(), n, "the picture")?;
        output.require_output(self.mask.device(), n, &[picture.span()])?;
        let (input, mask) = (picture.slice(n), self.mask.slice(self.taps.len()));
        let uses_output = output.writes();
        let (frame, output) = (self.frame, output.ptr());
        let call = match channels {
            3 if self.shares_channels => channels::conv2d_channels::<T, 3>(input, mask, frame, output),
            4 if self.shares_channels => channels::conv2d_channels::<T, 4>(input, mask, frame, output),
            _ => call(Operands { input, mask, taps: &self.taps, frame }, self.strip, output),
        };
        // SAFETY: picture and mask have the sizes of the frame, the block is the kernel's, the strips or tiles cover
        // the picture, and the shared memory is the tile's; a thread per pixel filters three or four channels, which
        // are all.
        let launch = unsafe { Launch::new(call, self.shape) };
        Ok(launch.using([picture.reads(), self.mask.reads(), uses_output]))
    }
}

impl<T: Element + Sample> Plan<T> {
    /// Starts the filter of the picture, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, picture: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (picture, output) = (picture.into(), output.into());
        self.mask.device().run(&library::CONV2D, &self.prepare(picture, output.as_view())?)
    }
}

impl Device {
    /// [`conv2d`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`conv2d()`].
    pub fn conv2d<'a, T: Element + Sample>(
        &self,
        picture: impl Into<View<'a, T>>,
        shape: [usize; 3],
        mask: &[T],
        mask_shape: [usize; 2],
        border: Border,
    ) -> Result<Buffer<T>> {
        let picture = picture.into();
        picture.require_on(self, "the picture")?;
        conv2d_on(self, picture, shape, (mask, mask_shape), border)
    }
}

/// A picture and a mask with the sizes of a frame. It is public for the ladders.
#[doc(hidden)]
pub struct Operands<'a, T> {
    /// The picture.
    pub input: Slice<'a, T>,
    /// The mask, on the device.
    pub mask: Slice<'a, T>,
    /// The mask, on the host.
    pub taps: &'a [T],
    /// The sizes of both.
    pub frame: Frame,
}

/// The kernel for these operands, which filters strips of this number of rows if the mask has a kernel of its own. It
/// is public for the ladders, which list its entry.
#[doc(hidden)]
pub fn call<'a, T: Element + Sample>(of: Operands<'a, T>, strip: u32, output: PtrMut<'a, T>) -> Call<'a> {
    let Operands { input, mask, taps, frame } = of;
    match frame.mask_rows {
        3 if marches(frame) => best::conv2d_best::<T, 3>(input, square(taps), frame, strip, output),
        5 if marches(frame) => best::conv2d_best::<T, 5>(input, square(taps), frame, strip, output),
        7 if marches(frame) => best::conv2d_best::<T, 7>(input, square(taps), frame, strip, output),
        9 if marches(frame) => best::conv2d_best::<T, 9>(input, square(taps), frame, strip, output),
        13 if marches(frame) => best::conv2d_best::<T, 13>(input, square(taps), frame, strip, output),
        17 if marches(frame) => best::conv2d_best::<T, 17>(input, square(taps), frame, strip, output),
        _ => best::any_size::conv2d_best_any::<T>(input, mask, frame, output),
    }
}

/// Shape with this number of blocks along each axis.
fn shape(grid: [u32; 3], block: [u32; 2], frame: Frame) -> Result<Shape> {
    if grid[0] > i32::MAX as u32 || grid[1] > 65_535 || grid[2] > 65_535 {
        let Frame { rows, columns, channels, .. } = frame;
        return Err(Error::Argument(format!(
            "{rows}x{columns}x{channels} needs a grid of {}x{}x{} blocks, and the last two axes have at most 65535: \
             use a smaller \
             image",
            grid[0], grid[1], grid[2]
        )));
    }
    Ok(Shape::new(grid, [block[0], block[1], 1]))
}

/// Converts a mask to the array that kernels take by value.
fn square<T: Copy, const K: usize>(taps: &[T]) -> [[T; K]; K] {
    core::array::from_fn(|i| core::array::from_fn(|j| taps[i * K + j]))
}
