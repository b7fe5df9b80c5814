//! The elements of pictures, and launches that march down a picture, which all convolutions of pictures share.

use crate::backend::{DeviceInfo, Handle, Shape, View};
use crate::element::{Element, Scalar, require_layout};
use crate::error::{Error, Result};
use crate::launch::Tuning;
use crate::unrolled::{Input, Output, narrow, outer, wide};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv2d::{Frame, Pixel as Kind, march, unrolled, width};
use kernels_gpu::filter::Sample;
use kernels_gpu::number::F16;

/// An element of a picture: `f32`, `f64`, `u8` or `half::f16`.
///
/// The last two have masks and sums of `f32`. Results are rounded to the nearest element, those halfway between two to
/// the even one; a `u8` has at least 0 and at most 255, and is 0 where the result is NaN.
pub trait Pixel: Scalar {
    /// Taps of masks.
    type Tap: Element + Sample;

    /// The type's name among the kernels.
    #[doc(hidden)]
    type Kind: Kind<Tap = Self::Tap>;

    /// The kernels that filter strips whose rows are unrolled, which not all masks of all types have.
    #[doc(hidden)]
    const UNROLLED: Unrolled<Self::Kind>;
}

/// Makes the call of the kernel for a frame's mask, if there is one.
type ByMask<P> = for<'a> fn(Input<'a, P>, &[<P as Kind>::Tap], Frame, Output<'a, P>) -> Option<Call<'a>>;

/// Makes the call of the kernel for a frame's column and row, if there is one.
type ByOuter<P> = for<'a> fn(Input<'a, P>, [&[<P as Kind>::Tap]; 2], Frame, Output<'a, P>) -> Option<Call<'a>>;

/// Kernels for strips whose rows are unrolled.
#[doc(hidden)]
pub struct Unrolled<P: Kind> {
    /// By a mask.
    pub(crate) whole: ByMask<P>,
    /// By the product of a column and a row.
    pub(crate) outer: ByOuter<P>,
}

macro_rules! pixels {
    ($($t:ty: $kind:ty, $tap:ty, $whole:expr, $outer:expr;)*) => { $(
        impl Pixel for $t {
            type Tap = $tap;
            type Kind = $kind;
            const UNROLLED: Unrolled<$kind> = Unrolled { whole: $whole, outer: $outer };
        }
    )* };
}
pixels! {
    f32: f32, f32, wide::<f32>, outer;
    f64: f64, f64, wide::<f64>, |_, _, _, _| None;
    u8: u8, f32, narrow::<u8>, |_, _, _, _| None;
    half::f16: F16, f32, narrow::<F16>, |_, _, _, _| None;
}

/// An element as the kernels take it.
pub(crate) type Bits<T> = <<T as Pixel>::Kind as Kind>::Bits;

/// A picture of `n` elements as the kernels take it.
pub(crate) fn bits<'a, T: Pixel, H: Handle>(picture: &View<'a, T, H>, n: usize) -> Slice<'a, Bits<T>> {
    const { require_layout::<T, Bits<T>>() };
    // SAFETY: the memory lives as long as the view; elements of 16 bits are taken as integers of the same layout.
    unsafe { Slice::new(picture.address(), n) }
}

/// The memory of a picture as the kernels write it.
pub(crate) fn bits_mut<'a, T: Pixel, H: Handle>(picture: &View<'a, T, H>) -> PtrMut<'a, Bits<T>> {
    const { require_layout::<T, Bits<T>>() };
    // SAFETY: the memory lives as long as the view; elements of 16 bits are taken as integers of the same layout.
    unsafe { PtrMut::new(picture.address()) }
}

/// Rows of the strips that a block marches down, and the launch's shape: about as many blocks as the tuning says, or as
/// run at the same time, and without a tuning more where strips would be longer than `longest`. A thread filters
/// `channels` of a pixel. A block more than run at the same time would run alone at the end. (H200, 4096 x 8192 f32 by
/// 5 x 5: 111 us with 672 blocks, of which 660 fit, 96 us with 528.)
///
/// Each strip begins with rows that others load too. Where there is a multiprocessor for every block that takes no more
/// time, and strips of a small image are as short as that allows; otherwise they have at least as many rows again.
/// (H200, us for strips of 16, 8, 4 and 2 rows: f32 by 3 x 3, 256 x 256 8.6, 6.4, 5.2, 4.3, 1024 x 1024 9.7, 7.9, 7.3,
/// 7.1; by 9 x 9 18.3, 13.4, 10.6, 9.8 and 19.4, 16.2, 17.2, 17.1; by 17 x 17 47.6, 36.2, 30.2, 27.2 and 48.4, 52.8,
/// 61.4, 61.3.)
pub(crate) fn strips<T: Pixel>(
    frame: Frame,
    channels: u32,
    tuning: Tuning,
    (info, blocks_per_sm, longest): (&DeviceInfo, u32, u32),
) -> Result<(u32, Shape)> {
    let across =
        (frame.columns * channels).div_ceil(march::BLOCK * width(size_of::<T>(), frame.mask_rows as usize) as u32);
    let deep = frame.channels / channels;
    let rows = |blocks: u32| frame.rows.div_ceil((blocks / across.saturating_mul(deep).max(1)).max(1));
    let strip = match tuning.blocks()? {
        Some(blocks) => rows(blocks),
        None => rows(info.multiprocessors * blocks_per_sm)
            .max(rows(info.multiprocessors).min(frame.mask_rows - 1))
            .min(longest),
    };
    // No more strips than a grid has blocks along its second axis.
    let strip = strip.max(march::MIN_STRIP).max(frame.rows.div_ceil(65_535));
    Ok((strip, shape([across, frame.rows.div_ceil(strip), deep], [march::BLOCK, 1], frame)?))
}

/// The launch's shape for strips of a constant number of rows whose rows are unrolled, if the picture suits them: its
/// rows start on vectors, and there are three blocks for two multiprocessors. A thread filters all channels of a pixel.
///
/// (H200, us without and with them: f32 of 1024 x 1024 by 5 x 5, 290 blocks, 8.8 and 8.0; of 512 x 512 by 9 x 9, 83
/// blocks, 11.1 and 11.4; u8 of 1024 x 1024 by 3 x 3, 169 blocks, 6.2 and 6.6.)
pub(crate) fn unrolled_strips<T: Pixel>(
    frame: Frame,
    strip: u32,
    tuning: Tuning,
    info: &DeviceInfo,
) -> Result<Option<Shape>> {
    let (pitch, mask) = (frame.columns * frame.channels, frame.mask_rows as usize);
    let width = width(size_of::<T>(), mask);
    let ends = unrolled::ends(mask, width, frame.channels as usize);
    let (_, inner) = unrolled::inner_strips(frame.rows, frame.mask_rows, strip);
    let [across, down] = unrolled::grid(frame, strip, width);
    let enough = 2 * u64::from(inner) * across >= 3 * u64::from(info.multiprocessors);
    if tuning.blocks()?.is_some() || !pitch.is_multiple_of(width as u32) || pitch < ends || !enough {
        return Ok(None);
    }
    Ok((down <= 65_535).then(|| Shape::new([across as u32, down as u32, 1], [march::BLOCK, 1, 1])))
}

/// Whether a picture and an output start on boundaries for vectors of all types.
pub(crate) fn start_on_vectors<T: Pixel, H: Handle>(picture: &View<'_, T, H>, output: &View<'_, T, H>) -> bool {
    picture.address().is_multiple_of(16) && output.address().is_multiple_of(16)
}

/// Checks that a tuning asks for no other blocks than those of [`march::BLOCK`] threads.
pub(crate) fn require_block(name: &str, tuning: Tuning, info: &DeviceInfo) -> Result<()> {
    let block = tuning.whole_warps(march::BLOCK, info)?;
    if block != march::BLOCK {
        return Err(Error::Argument(format!("{name} has blocks of {} threads, not {block}", march::BLOCK)));
    }
    Ok(())
}

/// Shape with this number of blocks along each axis.
pub(crate) fn shape(grid: [u32; 3], block: [u32; 2], frame: Frame) -> Result<Shape> {
    if grid[0] > i32::MAX as u32 || grid[1] > 65_535 || grid[2] > 65_535 {
        let Frame { rows, columns, channels, .. } = frame;
        return Err(Error::Argument(format!(
            "{rows}x{columns}x{channels} needs a grid of {}x{}x{} blocks, and the last two axes have at most 65535: \
             use a smaller image",
            grid[0], grid[1], grid[2]
        )));
    }
    Ok(Shape::new(grid, [block[0], block[1], 1]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::simulator;
    use kernels_gpu::filter::ZERO;

    #[test]
    fn strips_fill_the_device_and_are_no_longer_than_their_limit() {
        let info = DeviceInfo { multiprocessors: 132, ..simulator() };
        let of = |side: u32, tuning, longest| {
            let frame = Frame { rows: side, columns: side, channels: 1, mask_rows: 3, mask_columns: 3, border: ZERO };
            let (strip, shape) = strips::<f32>(frame, 1, tuning, (&info, 7, longest)).expect("a shape");
            (strip, shape.grid)
        };
        let automatic = Tuning::default();
        // 924 blocks of 512 columns would be 57 rows of 16.
        assert_eq!(of(8192, automatic, u32::MAX), (144, [16, 57, 1]));
        assert_eq!(of(8192, automatic, 6), (6, [16, 1366, 1]));
        assert_eq!(of(256, automatic, 6), (2, [1, 128, 1]));
        assert_eq!(of(8192, Tuning { block: None, grid: Some(160) }, 6), (820, [16, 10, 1]));
    }

    #[test]
    fn strips_are_unrolled_where_rows_start_on_vectors_and_blocks_suffice() {
        let info = DeviceInfo { multiprocessors: 132, ..simulator() };
        let of = |[rows, columns]: [u32; 2], grid| {
            let frame = Frame { rows, columns, channels: 1, mask_rows: 5, mask_columns: 5, border: ZERO };
            let tuning = Tuning { block: None, grid };
            unrolled_strips::<f32>(frame, 8, tuning, &info).expect("a tuning").map(|shape| shape.grid)
        };
        // 1022 strips between the first eight rows and the last eight, of 16 blocks each. Before them 2 * 8192 + 8 *
        // 1022 elements of the border, for 2048 threads a row of blocks.
        assert_eq!(of([8192, 8192], None), Some([16, 12 + 1022, 1]));
        assert_eq!(of([8192, 8190], None), None, "rows off vectors");
        assert_eq!(of([8192, 8192], Some(160)), None, "another grid");
        // 197 and 198 strips of one block.
        assert_eq!((of([1593, 64], None), of([1594, 64], None)), (None, Some([1, 14 + 198, 1])));
        assert_eq!(of([8192, 4], None), None, "a row without two ends");
        assert_eq!(of([524_288, 64], None), None, "more blocks than the second axis has");
    }
}
