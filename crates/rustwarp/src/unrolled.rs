//! The kernels that filter pictures in strips whose rows are unrolled: which masks of which types have one.

use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::conv2d::{Frame, Pixel, best};
use kernels_gpu::separable::best as separable;

/// A picture of these elements as kernels take it.
pub(crate) type Input<'a, P> = Slice<'a, <P as Pixel>::Bits>;

/// The memory of one as they write it.
pub(crate) type Output<'a, P> = PtrMut<'a, <P as Pixel>::Bits>;

/// The kernel for a frame's mask, if there is one, and for elements that are filtered as they are.
pub(crate) fn wide<'a, P: Pixel>(
    input: Input<'a, P>,
    taps: &[P::Tap],
    frame: Frame,
    output: Output<'a, P>,
) -> Option<Call<'a>> {
    use best::{conv2d_best_strips, conv2d_best_strips_channels};
    Some(match (frame.mask_rows, frame.channels) {
        (3, 1) => conv2d_best_strips::<P, 3>(input, square(taps), frame, output),
        (3, 2) => conv2d_best_strips_channels::<P, 3, 2>(input, square(taps), frame, output),
        (3, 3) => conv2d_best_strips_channels::<P, 3, 3>(input, square(taps), frame, output),
        (3, 4) => conv2d_best_strips_channels::<P, 3, 4>(input, square(taps), frame, output),
        (5, 1) => conv2d_best_strips::<P, 5>(input, square(taps), frame, output),
        (5, 2) => conv2d_best_strips_channels::<P, 5, 2>(input, square(taps), frame, output),
        (5, 3) => conv2d_best_strips_channels::<P, 5, 3>(input, square(taps), frame, output),
        (5, 4) => conv2d_best_strips_channels::<P, 5, 4>(input, square(taps), frame, output),
        (7, 1) => conv2d_best_strips::<P, 7>(input, square(taps), frame, output),
        (9, 1) => conv2d_best_strips::<P, 9>(input, square(taps), frame, output),
        (13, 1) => conv2d_best_strips::<P, 13>(input, square(taps), frame, output),
        (17, 1) => conv2d_best_strips::<P, 17>(input, square(taps), frame, output),
        _ => return None,
    })
}

/// The kernel for a frame's mask, if there is one, and for narrow elements.
pub(crate) fn narrow<'a, P: Pixel>(
    input: Input<'a, P>,
    taps: &[P::Tap],
    frame: Frame,
    output: Output<'a, P>,
) -> Option<Call<'a>> {
    use best::{conv2d_best_strips_narrow, conv2d_best_strips_narrow_channels};
    Some(match (frame.mask_rows, frame.channels) {
        (3, 1) => conv2d_best_strips_narrow::<P, 3>(input, square(taps), frame, output),
        (5, 1) => conv2d_best_strips_narrow::<P, 5>(input, square(taps), frame, output),
        (7, 1) => conv2d_best_strips_narrow::<P, 7>(input, square(taps), frame, output),
        (3, 3) => conv2d_best_strips_narrow_channels::<P, 3, 3>(input, square(taps), frame, output),
        _ => return None,
    })
}

/// The kernel for a frame's column and row, if there is one.
pub(crate) fn outer<'a>(
    input: Input<'a, f32>,
    taps: [&[f32]; 2],
    frame: Frame,
    output: Output<'a, f32>,
) -> Option<Call<'a>> {
    use separable::{separable_best_strips, separable_best_strips_channels};
    Some(match (frame.mask_rows, frame.channels) {
        (3, 1) => separable_best_strips::<f32, 3>(input, pair(taps), frame, output),
        (3, 3) => separable_best_strips_channels::<f32, 3, 3>(input, pair(taps), frame, output),
        (3, 4) => separable_best_strips_channels::<f32, 3, 4>(input, pair(taps), frame, output),
        (5, 1) => separable_best_strips::<f32, 5>(input, pair(taps), frame, output),
        (5, 3) => separable_best_strips_channels::<f32, 5, 3>(input, pair(taps), frame, output),
        (5, 4) => separable_best_strips_channels::<f32, 5, 4>(input, pair(taps), frame, output),
        (7, 1) => separable_best_strips::<f32, 7>(input, pair(taps), frame, output),
        (7, 3) => separable_best_strips_channels::<f32, 7, 3>(input, pair(taps), frame, output),
        (7, 4) => separable_best_strips_channels::<f32, 7, 4>(input, pair(taps), frame, output),
        (9, 1) => separable_best_strips::<f32, 9>(input, pair(taps), frame, output),
        (13, 1) => separable_best_strips::<f32, 13>(input, pair(taps), frame, output),
        (17, 1) => separable_best_strips::<f32, 17>(input, pair(taps), frame, output),
        _ => return None,
    })
}

/// Converts a mask to the array that kernels take by value.
pub(crate) fn square<T: Copy, const K: usize>(taps: &[T]) -> [[T; K]; K] {
    core::array::from_fn(|i| core::array::from_fn(|j| taps[i * K + j]))
}

/// Converts column and row to the array that kernels take by value.
pub(crate) fn pair<T: Copy, const K: usize>(taps: [&[T]; 2]) -> [[T; K]; 2] {
    taps.map(|taps| core::array::from_fn(|i| taps[i]))
}
