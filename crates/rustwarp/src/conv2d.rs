//! Convolution of pictures: `out[y][x] = sum of in[y + i - R/2][x + j - C/2] * mask[i][j]`, for each channel.
//!
//! A picture is height x width x channels, row-major; the mask is R x C with up to [`MAX_MASK`] of each, and its taps
//! are finite. The result has the shape of the picture. Pictures of `u8` and `f16` have masks of `f32`: see [`Pixel`].
//! For masks that are the product of a column and a row, [`separable`](mod@crate::separable) is faster.
//!
//! - *Error bound*: `(R * C + 1) * epsilon * sum of |in * mask|`, and the rounding to `u8` or `f16`.
//! - *Determinism*: the same bits on every run on every device.
//! - *Choice*: square masks of 3, 5, 7, 9, 13 and 17 have kernels of their own; those of 3 and 5 filter two to four
//!   channels together. They are fastest where picture and output start on 16 bytes and rows are a multiple of 16 bytes
//!   long. Pictures of three or four channels and other masks of at most 5 x 5 have a thread per pixel.
//! - *Source*: rows that march down the picture with their window in registers. The kernels are
//!   `kernels_gpu::conv2d::best`.

use crate::backend::{Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::filter::{Border, MAX_AXIS};
use crate::launch::{Launch, Tuning};
use crate::pixel::{Bits, bits, bits_mut, require_block, shape, start_on_vectors, strips, unrolled_strips};
use crate::ptx::library;
use crate::unrolled::square;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv2d::{ROWS, TILE, best, channels, march};

/// The types of the elements of pictures.
pub use crate::pixel::Pixel;

/// Sizes of a picture and a mask, and the border, as kernels take them: see [`frame`].
pub use kernels_gpu::conv2d::Frame;

/// Largest number of rows and of columns of a mask.
pub use kernels_gpu::conv2d::MAX_MASK;

/// Filters a picture of `[rows, columns, channels]` by a mask of `[rows, columns]`, which lies on the host.
///
/// # Errors
/// [`Error::Mismatch`] if the buffer or the mask does not have the length of its shape, [`Error::Argument`] for sizes
/// beyond the limits, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn conv2d<'a, T: Pixel>(
    picture: impl Into<View<'a, T>>,
    shape: [usize; 3],
    mask: &[T::Tap],
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
pub fn conv2d_into<'a, T: Pixel>(
    picture: impl Into<View<'a, T>>,
    shape: [usize; 3],
    (mask, mask_shape): (&[T::Tap], [usize; 2]),
    border: Border,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (picture, output) = (picture.into(), output.into());
    require_elements(picture.len(), &shape, "picture")?;
    require_elements(mask.len(), &mask_shape, "mask")?;
    let frame = frame(shape, mask_shape, border)?;
    Plan::new(output.device(), frame, mask, Tuning::default())?.launch(picture, output)
}

fn conv2d_on<T: Pixel>(
    device: &Device,
    picture: View<'_, T>,
    shape: [usize; 3],
    mask: (&[T::Tap], [usize; 2]),
    border: Border,
) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(picture.len())?;
    conv2d_into(picture, shape, mask, border, &mut output)?;
    Ok(output)
}

/// Checks that an operand has the elements of its shape.
pub(crate) fn require_elements(n: usize, shape: &[usize], what: &str) -> Result<()> {
    let needed = shape.iter().try_fold(1_usize, |product, &n| product.checked_mul(n));
    if needed == Some(n) {
        return Ok(());
    }
    Err(Error::Mismatch(format!("{n} elements are not a {what} of {}", crate::tensor::text(shape))))
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
pub(crate) fn require([rows, columns, channels]: [usize; 3], mask: [usize; 2]) -> Result<()> {
    if mask.iter().any(|n| !(1..=MAX_MASK as usize).contains(n)) {
        let shape = crate::tensor::text(&mask);
        return Err(Error::Argument(format!("masks have 1x1 to {MAX_MASK}x{MAX_MASK} taps, not {shape}")));
    }
    if rows > MAX_AXIS || columns.saturating_mul(channels) > MAX_AXIS {
        let shape = crate::tensor::text(&[rows, columns, channels]);
        return Err(Error::Argument(format!("images have up to 2^30 rows, and elements in a row, not {shape}")));
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

/// Whether a thread filters all channels of a pixel, for masks without a kernel of their own.
fn shares_channels(frame: Frame) -> bool {
    channels::per_thread(frame.channels) > 1 && frame.mask_rows.max(frame.mask_columns) <= MAX_SHARED_MASK
}

const _: () = assert!(best::any_size::WIDTH * best::any_size::ROWS == march::BLOCK);

/// A filter of pictures of one size by one mask, with its kernel, launch configuration and the mask's memory. It can be
/// launched any number of times, without further allocations.
pub struct Plan<T: Pixel, H: Handle = Device> {
    frame: Frame,
    /// The mask, on the device.
    mask: Memory<T::Tap, H>,
    /// The mask, on the host.
    taps: Vec<T::Tap>,
    strip: u32,
    shape: Shape,
    /// The launch in strips whose rows are unrolled, for pictures and outputs that start on vectors.
    unrolled: Option<Shape>,
}

impl<T: Pixel, H: Handle> Plan<T, H> {
    /// Plans the filter of a picture of a frame's sizes by the mask of these taps: with about as many blocks as the
    /// tuning says, if the mask has a kernel that supports any number.
    ///
    /// # Errors
    /// Those of [`frame`], which this function checks again, since a frame's fields are public; [`Error::Mismatch`] if
    /// the mask has another number of taps than the frame, [`Error::Argument`] for a picture that needs more blocks
    /// than a grid can have and for a tuning that the kernel does not support, [`Error::OutOfMemory`] if the device has
    /// less memory free.
    pub fn new(device: &H, frame: Frame, taps: &[T::Tap], tuning: Tuning) -> Result<Self> {
        require(
            [frame.rows, frame.columns, frame.channels].map(|n| n as usize),
            [frame.mask_rows, frame.mask_columns].map(|n| n as usize),
        )?;
        let needed = frame.mask_rows as usize * frame.mask_columns as usize;
        if taps.len() != needed {
            return Err(Error::Mismatch(format!("the mask has {} elements, and {needed} are needed", taps.len())));
        }
        let info = device.backend().info();
        require_block("conv2d", tuning, info)?;
        let mut unrolled = None;
        let (strip, shape) = if marches(frame) {
            let (size, channels) = (frame.mask_rows, best::channels_per_thread(frame.mask_rows, frame.channels));
            let bytes = size_of::<T>();
            if let Some(strip) = best::unrolled_rows(size, frame.channels, bytes) {
                unrolled = unrolled_strips::<T>(frame, strip, tuning, info)?;
            }
            let limits = (info, best::blocks_per_sm(size, channels, bytes), best::longest_strip(size, channels, bytes));
            strips::<T>(frame, channels, tuning, limits)?
        } else if shares_channels(frame) {
            let each = channels::per_thread(frame.channels);
            let grid = [frame.columns.div_ceil(TILE), frame.rows.div_ceil(ROWS), frame.channels / each];
            (0, shape(grid, [TILE, ROWS], frame)?)
        } else {
            use best::any_size::{HEIGHT, ROWS, WIDTH, shared_elements};
            let grid = [frame.columns.div_ceil(WIDTH), frame.rows.div_ceil(HEIGHT), frame.channels];
            let shared = shared_elements(frame.mask_rows, frame.mask_columns) * size_of::<T::Tap>() as u32;
            (0, shape(grid, [WIDTH, ROWS], frame)?.with_shared(shared))
        };
        let mask = Memory::from_slice(device.clone(), taps, "mask")?;
        Ok(Self { frame, mask, taps: taps.to_vec(), strip, shape, unrolled })
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
        let (input, mask) = (bits(&picture, n), self.mask.slice(self.taps.len()));
        let uses_output = output.writes();
        let operands = Operands { input, mask, taps: &self.taps, frame: self.frame };
        let unrolled = self.unrolled.filter(|_| start_on_vectors(&picture, &output));
        let unrolled = unrolled.and_then(|shape| Some((unrolled_call::<T>(&operands, bits_mut(&output))?, shape)));
        let march = || (call::<T>(operands, self.strip, bits_mut(&output)), self.shape);
        let (call, shape) = unrolled.unwrap_or_else(march);
        // SAFETY: picture and mask have the sizes of the frame, the block is the kernel's, the strips or tiles cover
        // the picture, and the shared memory is the tile's; a thread per pixel filters three or four channels, which
        // are all; rows start on vectors where strips are unrolled.
        let launch = unsafe { Launch::new(call, shape) };
        Ok(launch.using([picture.reads(), self.mask.reads(), uses_output]))
    }
}

impl<T: Pixel> Plan<T> {
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
    pub fn conv2d<'a, T: Pixel>(
        &self,
        picture: impl Into<View<'a, T>>,
        shape: [usize; 3],
        mask: &[T::Tap],
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
#[derive(Clone, Copy)]
pub struct Operands<'a, T: Pixel> {
    /// The picture.
    pub input: Slice<'a, Bits<T>>,
    /// The mask, on the device.
    pub mask: Slice<'a, T::Tap>,
    /// The mask, on the host.
    pub taps: &'a [T::Tap],
    /// The sizes of both.
    pub frame: Frame,
}

/// The kernel for these operands, which filters strips of this number of rows if the mask has a kernel of its own. It
/// is public for the ladders, which list its entry.
#[doc(hidden)]
pub fn call<'a, T: Pixel>(of: Operands<'a, T>, strip: u32, output: PtrMut<'a, Bits<T>>) -> Call<'a> {
    use best::{any_size::conv2d_best_any, conv2d_best, conv2d_best_channels};
    let Operands { input, mask, taps, frame } = of;
    if !marches(frame) {
        return match frame.channels {
            3 if shares_channels(frame) => channels::conv2d_channels::<T::Kind, 3>(input, mask, frame, output),
            4 if shares_channels(frame) => channels::conv2d_channels::<T::Kind, 4>(input, mask, frame, output),
            _ => conv2d_best_any::<T::Kind>(input, mask, frame, output),
        };
    }
    match (frame.mask_rows, best::channels_per_thread(frame.mask_rows, frame.channels)) {
        (3, 1) => conv2d_best::<T::Kind, 3>(input, square(taps), frame, strip, output),
        (3, 2) => conv2d_best_channels::<T::Kind, 3, 2>(input, square(taps), frame, strip, output),
        (3, 3) => conv2d_best_channels::<T::Kind, 3, 3>(input, square(taps), frame, strip, output),
        (3, _) => conv2d_best_channels::<T::Kind, 3, 4>(input, square(taps), frame, strip, output),
        (5, 1) => conv2d_best::<T::Kind, 5>(input, square(taps), frame, strip, output),
        (5, 2) => conv2d_best_channels::<T::Kind, 5, 2>(input, square(taps), frame, strip, output),
        (5, 3) => conv2d_best_channels::<T::Kind, 5, 3>(input, square(taps), frame, strip, output),
        (5, _) => conv2d_best_channels::<T::Kind, 5, 4>(input, square(taps), frame, strip, output),
        (7, _) => conv2d_best::<T::Kind, 7>(input, square(taps), frame, strip, output),
        (9, _) => conv2d_best::<T::Kind, 9>(input, square(taps), frame, strip, output),
        (13, _) => conv2d_best::<T::Kind, 13>(input, square(taps), frame, strip, output),
        _ => conv2d_best::<T::Kind, 17>(input, square(taps), frame, strip, output),
    }
}

/// The kernel for these operands that filters strips whose rows are unrolled, if there is one. It is public for the
/// ladders, which list its entry, and for tests.
#[doc(hidden)]
pub fn unrolled_call<'a, T: Pixel>(of: &Operands<'a, T>, output: PtrMut<'a, Bits<T>>) -> Option<Call<'a>> {
    (T::UNROLLED.whole)(of.input, of.taps, of.frame, output)
}
