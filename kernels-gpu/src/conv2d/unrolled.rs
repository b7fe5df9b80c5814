//! Strips of a constant number of rows, whose rows are unrolled: which sums a row is added to is known then, so that
//! none moves, and every row is loaded a constant number of rows before it is used.
//!
//! The windows of most threads are inside the image, and those threads test nothing. The rest, the first and the last
//! rows and the ends of all others, is the border: each of its elements has a thread, which marches down and is slow.
//! The blocks of these threads come first, so that others end after them. (H200, f32 of 8192 x 8192 by 5 x 5: 139 us;
//! 144 if warps at the ends of rows march; 142 to 382, depending on registers, with a branch at each row for the halo
//! outside the image. By 9 x 9: 215, 270 and 335 to 702. Without any border 134 and 212.)

use super::march::{self, BLOCK};
use super::place::{Place, VECTORS, values};
use super::taps::{Taps, reach};
use super::{Frame, Pixel, width};
use crate::filter::Sample;
use crate::number::Number;
use crate::unroll::unroll;
use cuda_std::thread;

/// Largest number of rows of a strip.
const MAX_ROWS: usize = 16;

/// Largest number of rows that a thread loads before it uses the first.
const MAX_AHEAD: usize = 6;

/// The strips that masks are applied in.
pub trait Strip<T: Sample, const K: usize, const W: usize, const C: usize>: Taps<T, K, W, C> {
    /// Rows of a strip, at most 16.
    const HEIGHT: usize;

    /// Rows that a thread loads before it uses the first, at most six.
    const AHEAD: usize;
}

/// Rows above the inner strips, and the number of these strips of `strip` rows, whose masks have no row outside the
/// image.
pub const fn inner_strips(rows: u32, mask: u32, strip: u32) -> (u32, u32) {
    let top = (mask / 2).next_multiple_of(strip);
    (top, rows.saturating_sub(top + mask / 2) / strip)
}

/// Elements at the two ends of each row of a strip that belong to the border: those of vectors whose windows, in whole
/// vectors, are not inside the image.
pub const fn ends(mask: usize, width: usize, channels: usize) -> u32 {
    2 * reach(mask, width, channels) as u32
}

/// Blocks along a row, and along the other axis: those of the border, and one for each inner strip. Vectors have
/// `width` elements, and a thread filters all channels of a pixel.
pub fn grid(frame: Frame, strip: u32, width: usize) -> [u64; 2] {
    let (pitch, mask) = (frame.columns * frame.channels, frame.mask_rows);
    let across = pitch.div_ceil(BLOCK * width as u32).into();
    let inner: u64 = inner_strips(frame.rows, mask, strip).1.into();
    let ends: u64 = ends(mask as usize, width, frame.channels as usize).into();
    let border = 2 * u64::from(pitch) + ends * inner;
    [across, border.div_ceil(u64::from(BLOCK) * across) + inner]
}

/// Filters an image by vectors of [`width`] elements; a thread filters all `C` channels of a pixel.
///
/// # Safety
/// `input` and `output` are images of the frame, whose rows all start on boundaries for vectors, and do not overlap;
/// its mask is K x K, and its pixels have `C` channels. Below the rows above its inner strips there are `K / 2` more,
/// and a row has [`ends`] elements or more. Blocks of [`BLOCK`] threads in this [`grid`].
#[inline(always)]
pub unsafe fn strips<P: Pixel, M, const K: usize, const C: usize>(
    input: &[P::Bits],
    mask: &M,
    frame: Frame,
    output: *mut P::Bits,
) where
    M: Taps<P::Tap, K, 1, C> + Strip<P::Tap, K, 2, C> + Strip<P::Tap, K, 4, C> + Strip<P::Tap, K, 8, C>,
{
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match width(size_of::<P::Bits>(), K) {
            2 => by_vectors::<P, M, K, 2, C>(input, mask, frame, output),
            4 => by_vectors::<P, M, K, 4, C>(input, mask, frame, output),
            _ => by_vectors::<P, M, K, 8, C>(input, mask, frame, output),
        }
    }
}

/// The strips for vectors of `W` elements.
///
/// # Safety
/// The requirements are those of [`strips`].
#[inline(always)]
unsafe fn by_vectors<P: Pixel, M, const K: usize, const W: usize, const C: usize>(
    input: &[P::Bits],
    mask: &M,
    frame: Frame,
    output: *mut P::Bits,
) where
    M: Taps<P::Tap, K, 1, C> + Strip<P::Tap, K, W, C>,
{
    let (pitch, strip) = (frame.columns * C as u32, M::HEIGHT as u32);
    let (top, inner) = inner_strips(frame.rows, K as u32, strip);
    let (thread, y) = (thread::block_idx_x() * BLOCK + thread::thread_idx_x(), thread::block_idx_y());
    // The border comes first, since its threads take longer.
    let border = thread::grid_dim_y() - inner;
    if y >= border {
        let (at, first) = (thread * W as u32, top + (y - border) * strip);
        let reach = reach(K, W, C) as u32;
        if at >= reach && at + W as u32 + reach <= pitch {
            let (pitch, at) = (pitch as usize, at as usize);
            // SAFETY: all elements under the masks are inside the image; this thread's part of these rows.
            unsafe {
                let input = input.as_ptr().add((first as usize - K / 2) * pitch + at);
                inside::<P, M, K, W, C>(input, mask, pitch, output.add(first as usize * pitch + at));
            }
        }
        return;
    }
    let number = y * thread::grid_dim_x() * BLOCK + thread;
    let below = top + inner * strip;
    let (at, rows) = if number < pitch {
        (number, [0, top])
    } else if number < 2 * pitch {
        (number - pitch, [below, frame.rows])
    } else {
        let ends = const { ends(K, W, C) };
        let (of, end) = ((number - 2 * pitch) / ends, (number - 2 * pitch) % ends);
        if of >= inner {
            return;
        }
        let first = top + of * strip;
        (if end < ends / 2 { end } else { pitch - ends + end }, [first, first + strip])
    };
    let place = Place::<C>::at_border(frame, at);
    // SAFETY: this thread's elements of these rows.
    unsafe { march::down::<P, M, K, 1, C>(input, mask, (&place, false), rows, output) }
}

/// Filters the rows of a strip of an image whose rows are `pitch` elements apart.
///
/// # Safety
/// `input` is the first of this thread's `W` elements in the first row under the masks of its outputs, `output` that of
/// the first output. All elements under the masks are inside the image, and the rows of both start on boundaries for
/// vectors.
#[inline(always)]
unsafe fn inside<P: Pixel, M: Strip<P::Tap, K, W, C>, const K: usize, const W: usize, const C: usize>(
    input: *const P::Bits,
    mask: &M,
    pitch: usize,
    output: *mut P::Bits,
) {
    const { assert!(M::HEIGHT <= MAX_ROWS && M::AHEAD <= MAX_AHEAD) };
    let (mut rows, mut sums) = ([[P::zeros::<W>(); VECTORS]; MAX_AHEAD], [[P::Tap::ZERO; W]; MAX_ROWS]);
    unroll!(r < M::AHEAD => {
        // SAFETY: the caller upholds this function's contract.
        unsafe { fetch::<P, M, K, W, C>(&mut rows, input, pitch, r) };
    });
    unroll!(r < const { M::HEIGHT + K - 1 } => {
        let row = rows[r % const { M::AHEAD }];
        // SAFETY: the caller upholds this function's contract.
        unsafe { fetch::<P, M, K, W, C>(&mut rows, input, pitch, r + M::AHEAD) };
        add::<P, M, K, W, C>(mask, &row, &mut sums, r);
        if r >= K - 1 {
            // SAFETY: this thread's part of a row of the image, which no other thread writes.
            unsafe { P::store::<W>(&sums[r - (K - 1)], output.add((r - (K - 1)) * pitch)) };
        }
    });
}

/// Loads row `r` of those under the masks of a strip, if it has as many.
///
/// # Safety
/// The requirements are those of [`inside`].
#[inline(always)]
unsafe fn fetch<P: Pixel, M: Strip<P::Tap, K, W, C>, const K: usize, const W: usize, const C: usize>(
    rows: &mut [[P::Loaded<W>; VECTORS]; MAX_AHEAD],
    input: *const P::Bits,
    pitch: usize,
    r: usize,
) {
    if r < M::HEIGHT + K - 1 {
        // SAFETY: the row is under the masks.
        rows[r % M::AHEAD] = unsafe { load::<P, K, W, C>(input.add(r * pitch)) };
    }
}

/// Adds row `r` of those under the masks of a strip to the sums of the outputs that it is for.
#[inline(always)]
fn add<P: Pixel, M: Strip<P::Tap, K, W, C>, const K: usize, const W: usize, const C: usize>(
    mask: &M,
    row: &[P::Loaded<W>; VECTORS],
    sums: &mut [[P::Tap; W]; MAX_ROWS],
    r: usize,
) {
    let row = mask.row(values::<P, K, W, C>(row));
    unroll!(i < K => {
        if i <= r && r - i < M::HEIGHT {
            mask.add(&row, i, &mut sums[r - i]);
        }
    });
}

/// The window of a row, of the row's elements that start here.
///
/// # Safety
/// The window is inside the image, and the elements start on a boundary for vectors.
#[inline(always)]
unsafe fn load<P: Pixel, const K: usize, const W: usize, const C: usize>(
    own: *const P::Bits,
) -> [P::Loaded<W>; VECTORS] {
    let (reach, half) = (reach(K, W, C), K / 2 * C);
    let mut window = [P::zeros::<W>(); VECTORS];
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        window[reach / W] = P::load::<W>(own);
        if const { has_short_halos::<P>(K / 2 * C) } {
            let each = 8 / size_of::<P::Bits>();
            let (left, right) = (own.sub(each).cast::<u64>().read(), own.add(W).cast::<u64>().read());
            unroll!(k < K / 2 * C => {
                P::set::<W>(&mut window[0], W - half + k, element::<P>(left, each - half + k));
                P::set::<W>(&mut window[1 + reach / W], k, element::<P>(right, k));
            });
        } else {
            let mut k = 0;
            while k < reach / W {
                window[k] = P::load::<W>(own.sub(reach - k * W));
                window[reach / W + 1 + k] = P::load::<W>(own.add(W + k * W));
                k += 1;
            }
        }
    }
    window
}

/// Whether halos of this many elements are loaded by 8 bytes: in vectors they would take twice the registers.
const fn has_short_halos<P: Pixel>(elements: usize) -> bool {
    let bytes = size_of::<P::Bits>();
    bytes >= 4 && elements * bytes <= 8
}

/// Element `at` of 8 bytes of them.
#[inline(always)]
fn element<P: Pixel>(bytes: u64, at: usize) -> P::Bits {
    match size_of::<P::Bits>() {
        4 => bytemuck::cast::<u64, [P::Bits; 2]>(bytes)[at],
        _ => bytemuck::cast::<u64, P::Bits>(bytes),
    }
}
