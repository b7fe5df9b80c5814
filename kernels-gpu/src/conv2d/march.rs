//! The march of a thread down an image, which [`best`](super::best) and the separable masks have in common: it holds
//! everything in registers, and differs in what it adds for each row.

use super::{Frame, Pixel};
use crate::filter::{Sample, near_source};
use crate::number::Number;
use crate::unroll::unroll;
use cuda_std::thread;

/// Threads per block: neighbours in a row.
pub const BLOCK: u32 = 128;

/// Minimum number of rows of a strip.
pub const MIN_STRIP: u32 = 16;

/// Rows of sums: the incomplete ones, and those that become complete while the rows in flight are added.
pub const GROUPS: usize = 18;

/// Maximum number of elements of a row that the outputs of a thread need, rounded up to whole vectors on both sides.
pub const WINDOW: usize = 28;

/// The taps of a K x K mask, for `W` elements of a row in which pixels have `C` channels.
pub trait Taps<T: Sample, const K: usize, const W: usize, const C: usize> {
    /// Rows that a thread loads before it uses the first, at most four.
    const ROWS: usize;

    /// Adds a row of the image, the `u`-th in flight, to the sums of all outputs whose masks it is under: to
    /// `sums[u + K - 1 - i]` the products with row `i` of the mask.
    fn add(&self, window: &[T; WINDOW], sums: &mut [[T; W]; GROUPS], u: usize);
}

/// Filters an image by vectors of `W` elements, [`width`](super::width) of the type, of pixels of which `C` channels
/// are filtered together: 1, or all.
///
/// # Safety
/// `input` and `output` are images of the frame, which are at least K x K, and do not overlap; its mask is K x K.
/// Blocks of [`BLOCK`] threads: along x a thread per `W` elements of a row, along y a block per `strip` rows, along z
/// one per `C` channels.
#[inline(always)]
pub unsafe fn march<P: Pixel, M: Taps<P::Tap, K, W, C>, const K: usize, const W: usize, const C: usize>(
    input: &[P::Bits],
    mask: &M,
    frame: Frame,
    strip: u32,
    output: *mut P::Bits,
) {
    const { assert!(M::ROWS <= 4 && K - 1 + M::ROWS <= GROUPS && 2 * reach(K, W, C) + W <= WINDOW) };
    let place = (thread::block_idx_x() * BLOCK + thread::thread_idx_x()) * W as u32;
    if place >= frame.columns * C as u32 {
        return;
    }
    let first = thread::block_idx_y() * strip;
    let end = frame.rows.min(first + strip) as i32;
    let first = first as i32;
    let place = Place::<C>::new::<P, K, W>(input, frame, place);
    let whole = place.stores_vectors::<P, W>(output);
    let half = (K / 2) as i32;

    let mut sums = [[P::Tap::ZERO; W]; GROUPS];
    let mut row = first - half;
    while row < end + half {
        let mut windows = [[P::Tap::ZERO; WINDOW]; 4];
        unroll!(u < M::ROWS => {
            // SAFETY: the caller upholds this function's contract.
            windows[u] = unsafe { place.load::<P, K, W>(input, row + u as i32) };
        });
        unroll!(u < M::ROWS => {
            mask.add(&windows[u], &mut sums, u);
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

/// Elements that a window has on either side of the thread's own: half a mask, rounded up to whole vectors.
pub const fn reach(mask: usize, vector: usize, channels: usize) -> usize {
    (mask / 2 * channels).div_ceil(vector) * vector
}

/// The places that a thread loads from and stores to: elements of one channel, or of `C` channels side by side.
struct Place<const C: usize> {
    frame: Frame,
    /// The first of the thread's elements in a row.
    first: u32,
    /// The channel, if it is only one.
    channel: u32,
    loads: Loads,
}

/// The way in which the window of a row can be loaded, which is the same for every row.
#[derive(Clone, Copy, PartialEq)]
enum Loads {
    /// The window is inside the image, whose rows all start on a vector.
    Vectors,
    /// The window is inside the image.
    Elements,
    /// A part of the window may be outside the image.
    Border,
}

impl<const C: usize> Place<C> {
    #[inline(always)]
    fn new<P: Pixel, const K: usize, const W: usize>(input: &[P::Bits], frame: Frame, first: u32) -> Self {
        let (first_at, len) = (first as i32, (frame.columns * C as u32) as i32);
        let inside = |reach: usize| first_at - reach as i32 >= 0 && first_at + (W + reach) as i32 <= len;
        let channel = if C == 1 { thread::block_idx_z() } else { 0 };
        let mut place = Self { frame, first, channel, loads: Loads::Border };
        place.loads = match place.is_aligned(input.as_ptr(), W) && inside(reach(K, W, C)) {
            true => Loads::Vectors,
            false if inside(K / 2 * C) => Loads::Elements,
            false => Loads::Border,
        };
        place
    }

    /// Elements from one to the next of the thread's.
    #[inline(always)]
    fn step(&self) -> usize {
        if C == 1 { self.frame.channels as usize } else { 1 }
    }

    /// Index of one of the thread's elements in memory, given its place in the row.
    #[inline(always)]
    fn index(&self, row: u32, at: u32) -> usize {
        (row as usize * (self.frame.columns as usize * C) + at as usize) * self.step() + self.channel as usize
    }

    /// Whether every row of an image at this address starts on a boundary for vectors of `width` neighbouring elements.
    #[inline(always)]
    fn is_aligned<T>(&self, address: *const T, width: usize) -> bool {
        let whole = (self.frame.columns * C as u32).is_multiple_of(width as u32);
        address.addr().is_multiple_of(width * size_of::<T>()) && whole && self.step() == 1
    }

    /// The part of a row under the masks of this thread's outputs. The row may be outside the image, by less than the
    /// image is high; elements further away are not used.
    ///
    /// # Safety
    /// `input` is the image that this place was made for.
    #[inline(always)]
    unsafe fn load<P: Pixel, const K: usize, const W: usize>(&self, input: &[P::Bits], row: i32) -> [P::Tap; WINDOW] {
        let (frame, reach, half) = (self.frame, reach(K, W, C), K / 2 * C);
        let mut window = [P::Tap::ZERO; WINDOW];
        let Some(row) = near_source(row, frame.rows, frame.border) else { return window };
        let start = self.index(row, self.first);
        match self.loads {
            Loads::Vectors => {
                let mut k = 0;
                while k < WINDOW / W {
                    if k * W < 2 * reach + W {
                        // SAFETY: the elements are inside the image, on a boundary.
                        let values = unsafe { P::load::<W>(input.as_ptr().add(start + k * W - reach)) };
                        let mut w = 0;
                        while w < W {
                            window[k * W + w] = values[w];
                            w += 1;
                        }
                    }
                    k += 1;
                }
            }
            Loads::Elements => {
                let start = start - half * self.step();
                unroll!(j < (K - 1) * C + W => {
                    // SAFETY: the element is inside the image.
                    window[reach - half + j] = P::widen(unsafe { *input.get_unchecked(start + j * self.step()) });
                });
            }
            Loads::Border => {
                unroll!(j < (K - 1) * C + W => {
                    // Counted from the first pixel under a mask, which may be outside the image.
                    let at = self.first + j as u32;
                    let (column, channel) = ((at / C as u32) as i32 - (K / 2) as i32, at % C as u32);
                    if let Some(column) = near_source(column, frame.columns, frame.border) {
                        // SAFETY: the element is inside the image.
                        let bits = unsafe { *input.get_unchecked(self.index(row, column * C as u32 + channel)) };
                        window[reach - half + j] = P::widen(bits);
                    }
                });
            }
        }
        window
    }

    /// Whether every row of the output can be stored in whole vectors.
    #[inline(always)]
    fn stores_vectors<P: Pixel, const W: usize>(&self, output: *mut P::Bits) -> bool {
        self.is_aligned(output, W) && self.first + W as u32 <= self.frame.columns * C as u32
    }

    /// Writes this thread's part of a row.
    ///
    /// # Safety
    /// `output` is an image of this frame; no other thread writes these elements of this row.
    #[inline(always)]
    unsafe fn store<P: Pixel, const W: usize>(
        &self,
        output: *mut P::Bits,
        row: u32,
        values: &[P::Tap; W],
        whole: bool,
    ) {
        let at = self.index(row, self.first);
        if whole {
            // SAFETY: the elements are inside the image, on a boundary.
            unsafe { P::store(values, output.add(at)) };
            return;
        }
        let mut w = 0;
        while w < W {
            if self.first + (w as u32) < self.frame.columns * C as u32 {
                // SAFETY: the element is inside the image.
                unsafe { output.add(at + w * self.step()).write(P::narrow(values[w])) };
            }
            w += 1;
        }
    }
}
