//! Convolution of pictures by a separable mask, the product of a column of R taps and a row of C:
//! `out[y][x] = sum over i of column[i] * (sum over j of in[y + i - R/2][x + j - C/2] * row[j])`, for each channel.
//!
//! A picture is height x width x channels, row-major; column and row have up to [`MAX_MASK`] taps each, which are
//! finite. The result has the shape of the picture. Sums of rows are not rounded to the picture's type. Gaussian and
//! box filters are separable: an element takes R + C multiply-adds instead of the R * C of
//! [`conv2d`](mod@crate::conv2d).
//!
//! - *Error bound*: `(R + C + 1) * epsilon * sum of |in * column * row|`, and the rounding to `u8` or `f16`.
//! - *Determinism*: the same bits on every run on every device.
//! - *Choice*: equal numbers of 3, 5, 7, 9, 13 and 17 taps have kernels of their own; those of up to 7 filter three or
//!   four channels together, and those of `f32` are fastest where picture and output start on 16 bytes and rows are a
//!   multiple of 16 bytes long. Others have a tile of sums in shared memory.
//! - *Source*: rows that march down the picture with their window in registers. The kernels are
//!   `kernels_gpu::separable`.

use crate::backend::{Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::conv2d::{Frame, frame, require, require_elements};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::filter::Border;
use crate::launch::{Launch, Tuning};
use crate::pixel::{Bits, bits, bits_mut, require_block, shape, start_on_vectors, strips, unrolled_strips};
use crate::ptx::library;
use crate::unrolled::pair;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::separable::{best, tiled};

pub use crate::conv2d::{MAX_MASK, Pixel};

/// Whether these numbers of taps have a kernel of their own, which supports any number of strips. It is public for the
/// ladders.
#[doc(hidden)]
pub use crate::conv2d::marches;

/// Filters a picture of `[rows, columns, channels]` by the product of a column and a row of taps, which lie on the
/// host.
///
/// ```no_run
/// use rustwarp::filter::Border;
///
/// let device = rustwarp::Device::default()?;
/// let photo = device.upload(&[128_u8; 480 * 640 * 3])?;
/// let binomial = [0.25_f32, 0.5, 0.25];
/// let soft = rustwarp::separable::separable(&photo, [480, 640, 3], [&binomial, &binomial], Border::Clamp)?;
/// assert_eq!(soft.download()?, [128; 480 * 640 * 3]);
/// # Ok::<(), rustwarp::Error>(())
/// ```
///
/// # Errors
/// [`Error::Mismatch`] if the buffer does not have the length of its shape, [`Error::Argument`] for sizes beyond the
/// limits, [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn separable<'a, T: Pixel>(
    picture: impl Into<View<'a, T>>,
    shape: [usize; 3],
    taps: [&[T::Tap]; 2],
    border: Border,
) -> Result<Buffer<T>> {
    let picture = picture.into();
    separable_on(picture.device(), picture, shape, taps, border)
}

/// Writes the filtered picture to the output, which has its shape, in the stream of the output's device. It waits only
/// for the copies of the taps.
///
/// # Errors
/// Those of [`separable()`].
pub fn separable_into<'a, T: Pixel>(
    picture: impl Into<View<'a, T>>,
    shape: [usize; 3],
    taps: [&[T::Tap]; 2],
    border: Border,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (picture, output) = (picture.into(), output.into());
    require_elements(picture.len(), &shape, "picture")?;
    let frame = frame(shape, taps.map(<[_]>::len), border)?;
    Plan::new(output.device(), frame, taps, Tuning::default())?.launch(picture, output)
}

fn separable_on<T: Pixel>(
    device: &Device,
    picture: View<'_, T>,
    shape: [usize; 3],
    taps: [&[T::Tap]; 2],
    border: Border,
) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(picture.len())?;
    separable_into(picture, shape, taps, border, &mut output)?;
    Ok(output)
}

/// A filter of pictures of one size by one column and row, with its kernel, launch configuration and the taps' memory.
/// It can be launched any number of times, without further allocations.
pub struct Plan<T: Pixel, H: Handle = Device> {
    frame: Frame,
    /// Column and row, on the device.
    memory: [Memory<T::Tap, H>; 2],
    /// Column and row, on the host.
    taps: [Vec<T::Tap>; 2],
    strip: u32,
    shape: Shape,
    /// The launch in strips whose rows are unrolled, for pictures and outputs that start on vectors.
    unrolled: Option<Shape>,
}

impl<T: Pixel, H: Handle> Plan<T, H> {
    /// Plans the filter of a picture of a frame's sizes by the product of a column and a row: with about as many blocks
    /// as the tuning says, if the numbers of taps have a kernel that supports any number.
    /// [`conv2d::frame`](crate::conv2d::frame) makes the frame.
    ///
    /// # Errors
    /// Those of [`conv2d::frame`](crate::conv2d::frame), which this function checks again, since a frame's fields are
    /// public; [`Error::Mismatch`] if column or row have other numbers of taps than the frame, [`Error::Argument`] for
    /// a picture that needs more blocks than a grid can have and for a tuning that the kernel does not support,
    /// [`Error::OutOfMemory`] if the device has less memory free.
    pub fn new(device: &H, frame: Frame, taps: [&[T::Tap]; 2], tuning: Tuning) -> Result<Self> {
        let needed = [frame.mask_rows, frame.mask_columns].map(|n| n as usize);
        require([frame.rows, frame.columns, frame.channels].map(|n| n as usize), needed)?;
        for (name, taps, needed) in [("column", taps[0], needed[0]), ("row", taps[1], needed[1])] {
            if taps.len() != needed {
                return Err(Error::Mismatch(format!("the {name} has {} taps, and {needed} are needed", taps.len())));
            }
        }
        let info = device.backend().info();
        require_block("separable", tuning, info)?;
        let mut unrolled = None;
        let (strip, shape) = if marches(frame) {
            let (size, channels) = (frame.mask_rows, best::channels_per_thread(frame.mask_rows, frame.channels));
            let bytes = size_of::<T>();
            if let Some(strip) = best::unrolled_rows(size, frame.channels, bytes) {
                unrolled = unrolled_strips::<T>(frame, strip, tuning, info)?;
            }
            let limits = (info, best::blocks_per_sm(size, channels, bytes), best::longest_strip(size, channels, bytes));
            strips::<T>(frame, channels, tuning, limits)?
        } else {
            (0, tiles::<T>(frame)?)
        };
        let memory = [
            Memory::from_slice(device.clone(), taps[0], "column")?,
            Memory::from_slice(device.clone(), taps[1], "row")?,
        ];
        Ok(Self { frame, memory, taps: taps.map(<[_]>::to_vec), strip, shape, unrolled })
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
        let (picture, output, [column, row]) = (picture.into(), output.into(), &self.memory);
        let n = rows as usize * columns as usize * channels as usize;
        picture.require(column.device(), n, "the picture")?;
        output.require_output(column.device(), n, &[picture.span()])?;
        let operands = Operands {
            input: bits(&picture, n),
            column: column.slice(self.taps[0].len()),
            row: row.slice(self.taps[1].len()),
            taps: [&self.taps[0], &self.taps[1]],
            frame: self.frame,
        };
        let unrolled = self.unrolled.filter(|_| start_on_vectors(&picture, &output));
        let unrolled = unrolled.and_then(|shape| Some((unrolled_call::<T>(&operands, bits_mut(&output))?, shape)));
        let march = || (call::<T>(operands, self.strip, bits_mut(&output)), self.shape);
        let (call, shape) = unrolled.unwrap_or_else(march);
        // SAFETY: picture and taps have the sizes of the frame, the block is the kernel's, the strips or tiles cover
        // the picture, and the shared memory is the tile's; rows start on vectors where strips are unrolled.
        let launch = unsafe { Launch::new(call, shape) };
        Ok(launch.using([picture.reads(), column.reads(), row.reads(), output.writes()]))
    }
}

impl<T: Pixel> Plan<T> {
    /// Starts the filter of the picture, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, picture: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (picture, output) = (picture.into(), output.into());
        self.memory[0].device().run(&library::SEPARABLE, &self.prepare(picture, output.as_view())?)
    }
}

impl Device {
    /// [`separable`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`separable()`].
    pub fn separable<'a, T: Pixel>(
        &self,
        picture: impl Into<View<'a, T>>,
        shape: [usize; 3],
        taps: [&[T::Tap]; 2],
        border: Border,
    ) -> Result<Buffer<T>> {
        let picture = picture.into();
        picture.require_on(self, "the picture")?;
        separable_on(self, picture, shape, taps, border)
    }
}

/// The launch of [`tiled::separable_tiled`]. It is public for the ladders.
///
/// # Errors
/// [`Error::Argument`] for a picture that needs more blocks than a grid can have.
#[doc(hidden)]
pub fn tiles<T: Pixel>(frame: Frame) -> Result<Shape> {
    let grid = [frame.columns.div_ceil(tiled::WIDTH), frame.rows.div_ceil(tiled::HEIGHT), frame.channels];
    let shared = tiled::shared_elements(frame.mask_rows) * size_of::<T::Tap>() as u32;
    Ok(shape(grid, [tiled::WIDTH, tiled::ROWS], frame)?.with_shared(shared))
}

/// A picture, a column and a row with the sizes of a frame. It is public for the ladders.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Operands<'a, T: Pixel> {
    /// The picture.
    pub input: Slice<'a, Bits<T>>,
    /// The column, on the device.
    pub column: Slice<'a, T::Tap>,
    /// The row, on the device.
    pub row: Slice<'a, T::Tap>,
    /// Column and row, on the host.
    pub taps: [&'a [T::Tap]; 2],
    /// The sizes.
    pub frame: Frame,
}

/// The kernel for these operands, which filters strips of this number of rows if the numbers of taps have a kernel of
/// their own. It is public for the ladders, which list its entry.
#[doc(hidden)]
pub fn call<'a, T: Pixel>(of: Operands<'a, T>, strip: u32, output: PtrMut<'a, Bits<T>>) -> Call<'a> {
    use best::{separable_best, separable_best_channels};
    let Operands { input, column, row, taps, frame } = of;
    if !marches(frame) {
        return tiled::separable_tiled::<T::Kind>(input, column, row, frame, output);
    }
    match (frame.mask_rows, best::channels_per_thread(frame.mask_rows, frame.channels)) {
        (3, 1) => separable_best::<T::Kind, 3>(input, pair(taps), frame, strip, output),
        (3, 3) => separable_best_channels::<T::Kind, 3, 3>(input, pair(taps), frame, strip, output),
        (3, _) => separable_best_channels::<T::Kind, 3, 4>(input, pair(taps), frame, strip, output),
        (5, 1) => separable_best::<T::Kind, 5>(input, pair(taps), frame, strip, output),
        (5, 3) => separable_best_channels::<T::Kind, 5, 3>(input, pair(taps), frame, strip, output),
        (5, _) => separable_best_channels::<T::Kind, 5, 4>(input, pair(taps), frame, strip, output),
        (7, 1) => separable_best::<T::Kind, 7>(input, pair(taps), frame, strip, output),
        (7, 3) => separable_best_channels::<T::Kind, 7, 3>(input, pair(taps), frame, strip, output),
        (7, _) => separable_best_channels::<T::Kind, 7, 4>(input, pair(taps), frame, strip, output),
        (9, _) => separable_best::<T::Kind, 9>(input, pair(taps), frame, strip, output),
        (13, _) => separable_best::<T::Kind, 13>(input, pair(taps), frame, strip, output),
        _ => separable_best::<T::Kind, 17>(input, pair(taps), frame, strip, output),
    }
}

/// The kernel for these operands that filters strips whose rows are unrolled, if there is one. It is public for the
/// ladders, which list its entry, and for tests.
#[doc(hidden)]
pub fn unrolled_call<'a, T: Pixel>(of: &Operands<'a, T>, output: PtrMut<'a, Bits<T>>) -> Option<Call<'a>> {
    (T::UNROLLED.outer)(of.input, of.taps, of.frame, output)
}
