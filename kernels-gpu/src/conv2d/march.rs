//! The march of a thread down an image, which [`best`](super::best) and the separable masks have in common: it holds
//! everything in registers, and differs in what it adds for each row.

use super::place::Place;
use super::taps::{GROUPS, Taps, WINDOW, add_row, reach};
use super::{Frame, Pixel, width};
use crate::number::Number;
use crate::unroll::unroll;
use cuda_std::thread;

/// Threads per block: neighbours in a row.
pub const BLOCK: u32 = 128;

/// Minimum number of rows of a strip: each begins with rows that the one above loads, too.
pub const MIN_STRIP: u32 = 2;

/// Filters an image by vectors of [`width`] elements, of pixels of which `C` channels are filtered together: 1, or all.
///
/// # Safety
/// `input` and `output` are images of the frame, which are at least K x K, and do not overlap; its mask is K x K.
/// Blocks of [`BLOCK`] threads: along x a thread per vector of a row, along y a block per `strip` rows, along z one per
/// `C` channels.
#[inline(always)]
pub unsafe fn march<P: Pixel, M, const K: usize, const C: usize>(
    input: &[P::Bits],
    mask: &M,
    frame: Frame,
    strip: u32,
    output: *mut P::Bits,
) where
    M: Taps<P::Tap, K, 2, C> + Taps<P::Tap, K, 4, C> + Taps<P::Tap, K, 8, C>,
{
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match width(size_of::<P::Bits>(), K) {
            2 => by_vectors::<P, M, K, 2, C>(input, mask, frame, strip, output),
            4 => by_vectors::<P, M, K, 4, C>(input, mask, frame, strip, output),
            _ => by_vectors::<P, M, K, 8, C>(input, mask, frame, strip, output),
        }
    }
}

/// The march for vectors of `W` elements.
///
/// # Safety
/// The requirements are those of [`march()`].
#[inline(always)]
unsafe fn by_vectors<P: Pixel, M: Taps<P::Tap, K, W, C>, const K: usize, const W: usize, const C: usize>(
    input: &[P::Bits],
    mask: &M,
    frame: Frame,
    strip: u32,
    output: *mut P::Bits,
) {
    let place = (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) * W as u32;
    if place >= frame.columns * C as u32 {
        return;
    }
    let first = thread::block_idx_y() * strip;
    let end = frame.rows.min(first + strip);
    let place = Place::<C>::new::<P, K, W>(input, frame, place);
    let whole = place.stores_vectors::<P, W>(output);
    // SAFETY: the caller upholds this function's contract.
    unsafe { down::<P, M, K, W, C>(input, mask, (&place, whole), [first, end], output) }
}

/// Filters the rows from the first to the end, by a thread with this place, which stores its part whole or by elements.
///
/// # Safety
/// The image is at least K x K, with the place and the rows inside it; no other thread has this part of these rows.
#[inline(always)]
pub unsafe fn down<P: Pixel, M: Taps<P::Tap, K, W, C>, const K: usize, const W: usize, const C: usize>(
    input: &[P::Bits],
    mask: &M,
    (place, whole): (&Place<C>, bool),
    [first, end]: [u32; 2],
    output: *mut P::Bits,
) {
    const {
        // The other widths are compiled, too, and never reached.
        let used = W == 1 || W == width(size_of::<P::Bits>(), K);
        assert!(!used || M::ROWS <= 4 && K - 1 + M::ROWS <= GROUPS && 2 * reach(K, W, C) + W <= WINDOW);
    }
    let (first, end, half) = (first as i32, end as i32, (K / 2) as i32);
    let mut sums = [[P::Tap::ZERO; W]; GROUPS];
    let mut row = first - half;
    while row < end + half {
        // SAFETY: the caller upholds this function's contract.
        let (windows, outside) = unsafe { place.load::<P, M, K, W>(input, row) };
        unroll!(u < M::ROWS => {
            let row = mask.row(place.values::<P, K, W>(&windows[u], outside[u]));
            add_row(mask, &row, &mut sums, u);
        });
        unroll!(u < M::ROWS => {
            let done = row + u as i32 - half;
            if done >= first && done < end {
                // SAFETY: this thread's part of a row of the image, which no other thread writes.
                unsafe { place.store::<P, W>(output, done as u32, &sums[u], whole) };
            }
        });
        // The incomplete groups replace those that were written.
        unroll!(g < K - 1 => { sums[g] = sums[g + M::ROWS] });
        unroll!(u < M::ROWS => { sums[K - 1 + u] = [P::Tap::ZERO; W] });
        row += M::ROWS as i32;
    }
}

/// Registers of a thread that leave room for this number of blocks on a multiprocessor of 65536.
pub const fn registers(blocks: u32) -> u32 {
    65_536 / (blocks * BLOCK) / 8 * 8
}
