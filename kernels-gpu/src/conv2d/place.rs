//! The places of a thread that marches down an image: how it loads the part of a row under its masks, and stores its
//! own.

use super::taps::{Taps, WINDOW, reach};
use super::{Frame, Pixel};
use crate::filter::{CLAMP, ZERO, near_source};
use crate::number::Number;
use crate::unroll::unroll;
use cuda_std::misc::opaque;
use cuda_std::thread;

/// Maximum number of vectors of a window, or of single elements.
pub const VECTORS: usize = WINDOW;

/// Whether the vectors of all rows in flight are loaded without a branch at each row. It takes registers, so that it
/// pays where there are enough, or where values are converted, which would otherwise wait for each row's load. (H200,
/// 8192 x 8192: u8 by 3 x 3, 80 us instead of 113, f32 by 7 x 7, 236 instead of 258, by 9 x 9, 342 instead of 311; 4096
/// x 4096 x 3 f32 by 3 x 3, 132 instead of 174.)
const fn together(mask: usize, channels: usize, bytes: usize) -> bool {
    matches!((bytes, mask, channels), (1 | 2, ..) | (4, 7, 1) | (_, 3, 2 | 3))
}

/// Whether threads at the left and the right edge load vectors, too, which takes a halo of one vector. (For four
/// channels of four bytes, single elements are not slower.)
const fn has_edges(mask: usize, vector: usize, channels: usize) -> bool {
    reach(mask, vector, channels) == vector && (channels < 4 || vector == 8)
}

/// The places that a thread loads from and stores to: elements of one channel, or of `C` channels side by side.
pub struct Place<const C: usize> {
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
    /// The same, but for the halo on the left, which is a vector.
    Left,
    /// The same, but for the halo on the right, which is a vector.
    Right,
    /// The window is inside the image.
    Elements,
    /// A part of the window may be outside the image.
    Border,
}

impl<const C: usize> Place<C> {
    #[inline(always)]
    pub fn new<P: Pixel, const K: usize, const W: usize>(input: &[P::Bits], frame: Frame, first: u32) -> Self {
        let (first_at, len) = (first as i32, (frame.columns * C as u32) as i32);
        let inside = |reach: usize| first_at - reach as i32 >= 0 && first_at + (W + reach) as i32 <= len;
        let channel = if C == 1 { thread::block_idx_z() } else { 0 };
        let mut place = Self { frame, first, channel, loads: Loads::Border };
        let vectors = place.is_aligned(input.as_ptr(), W);
        // Without them, the blocks at the edges would take the time of the launch, since all blocks run at once.
        let edges = vectors && has_edges(K, W, C) && len >= 2 * W as i32;
        place.loads = match vectors && inside(reach(K, W, C)) {
            true => Loads::Vectors,
            false if edges && first == 0 => Loads::Left,
            false if edges && first_at + W as i32 == len => Loads::Right,
            false if inside(K / 2 * C) => Loads::Elements,
            false => Loads::Border,
        };
        place
    }

    /// A place whose elements are loaded one by one, any of which may be outside the image.
    #[inline(always)]
    pub fn at_border(frame: Frame, first: u32) -> Self {
        Self { frame, first, channel: 0, loads: Loads::Border }
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

    /// The parts of rows under the masks of this thread's outputs, and whether a row counts as 0. Rows may be outside
    /// the image, by less than the image is high; elements further away are not used.
    ///
    /// # Safety
    /// `input` is the image that this place was made for.
    #[inline(always)]
    pub unsafe fn load<P: Pixel, M: Taps<P::Tap, K, W, C>, const K: usize, const W: usize>(
        &self,
        input: &[P::Bits],
        row: i32,
    ) -> ([[P::Loaded<W>; VECTORS]; 4], [bool; 4]) {
        let (mut windows, mut outside) = ([[P::zeros::<W>(); VECTORS]; 4], [false; 4]);
        let source = |u: usize| near_source(row + u as i32, self.frame.rows, self.frame.border);
        if const { !together(K, C, size_of::<P::Bits>()) } {
            unroll!(u < M::ROWS => {
                if let Some(row) = source(u) {
                    // SAFETY: the row is inside the image.
                    windows[u] = unsafe { self.window::<P, K, W>(input, self.index(row, 0)) };
                }
            });
            return (windows, outside);
        }
        let mut starts = [0; 4];
        unroll!(u < M::ROWS => {
            starts[u] = self.index(source(u).unwrap_or(0), 0);
            outside[u] = source(u).is_none();
        });
        if matches!(self.loads, Loads::Vectors | Loads::Left | Loads::Right) {
            // SAFETY: the rows are inside the image.
            unroll!(u < M::ROWS => { windows[u] = unsafe { self.vectors::<P, K, W>(input, starts[u]) } });
        } else {
            unroll!(u < M::ROWS => {
                if !outside[u] {
                    // SAFETY: the row is inside the image.
                    windows[u] = unsafe { self.window::<P, K, W>(input, starts[u]) };
                }
            });
        }
        (windows, outside)
    }

    /// The window of a row that starts at this index.
    ///
    /// # Safety
    /// `input` is the image that this place was made for.
    #[inline(always)]
    unsafe fn window<P: Pixel, const K: usize, const W: usize>(
        &self,
        input: &[P::Bits],
        start: usize,
    ) -> [P::Loaded<W>; VECTORS] {
        // SAFETY: the elements of the row are where `loads` says.
        unsafe {
            match self.loads {
                Loads::Vectors | Loads::Left | Loads::Right => self.vectors::<P, K, W>(input, start),
                Loads::Elements => self.elements::<P, K, W>(input, start),
                Loads::Border => self.border::<P, K, W>(input, start),
            }
        }
    }

    /// The window of a row that starts at this index, by vectors.
    ///
    /// # Safety
    /// The vectors are inside the image, on a boundary, but for those on the left or the right edge.
    #[inline(always)]
    unsafe fn vectors<P: Pixel, const K: usize, const W: usize>(
        &self,
        input: &[P::Bits],
        start: usize,
    ) -> [P::Loaded<W>; VECTORS] {
        let (first, reach) = (self.first as usize, reach(K, W, C));
        let last = (self.frame.columns * C as u32) as usize - W;
        let mut window = [P::zeros::<W>(); VECTORS];
        let mut k = 0;
        while k < WINDOW / W {
            if k * W < 2 * reach + W {
                // In place of a vector outside the image, which `values` replaces: that at the other end of the row.
                let at = match self.loads {
                    Loads::Left if k * W < reach => last,
                    Loads::Right if k * W > reach => 0,
                    _ => first + k * W - reach,
                };
                // SAFETY: the elements are inside the image, on a boundary.
                window[k] = unsafe { P::load::<W>(input.as_ptr().add(start + at)) };
            }
            k += 1;
        }
        window
    }

    /// The window of a row that starts at this index, by elements.
    ///
    /// # Safety
    /// The elements under the masks are inside the image.
    #[inline(always)]
    unsafe fn elements<P: Pixel, const K: usize, const W: usize>(
        &self,
        input: &[P::Bits],
        start: usize,
    ) -> [P::Loaded<W>; VECTORS] {
        let (reach, half) = (reach(K, W, C), K / 2 * C);
        let start = start + (self.first as usize - half) * self.step();
        let mut window = [P::zeros::<W>(); VECTORS];
        unroll!(j < (K - 1) * C + W => {
            // SAFETY: the element is inside the image.
            let element = unsafe { *input.get_unchecked(start + j * self.step()) };
            P::set::<W>(&mut window[(reach - half + j) / W], (reach - half + j) % W, element);
        });
        window
    }

    /// The window of a row that starts at this index, in which any element may be outside the image.
    ///
    /// # Safety
    /// The row is inside the image.
    #[inline(always)]
    unsafe fn border<P: Pixel, const K: usize, const W: usize>(
        &self,
        input: &[P::Bits],
        start: usize,
    ) -> [P::Loaded<W>; VECTORS] {
        let (frame, reach, half) = (self.frame, reach(K, W, C), K / 2 * C);
        let mut window = [P::zeros::<W>(); VECTORS];
        // For single elements 0, which LLVM doesn't know: it would compute all columns before the first row, and keep
        // them in registers.
        let unknown = if W == 1 { (opaque(start as u64) - start as u64) as u32 } else { 0 };
        unroll!(j < (K - 1) * C + W => {
            // Counted from the first pixel under a mask, which may be outside the image.
            let at = self.first + unknown + j as u32;
            let (column, channel) = ((at / C as u32) as i32 - (K / 2) as i32, at % C as u32);
            if let Some(column) = near_source(column, frame.columns, frame.border) {
                let at = start + (column * C as u32 + channel) as usize * self.step();
                // SAFETY: the element is inside the image.
                let element = unsafe { *input.get_unchecked(at) };
                P::set::<W>(&mut window[(reach - half + j) / W], (reach - half + j) % W, element);
            }
        });
        window
    }

    /// The values of the window of a row, which counts as 0 outside the image.
    #[inline(always)]
    pub fn values<P: Pixel, const K: usize, const W: usize>(
        &self,
        window: &[P::Loaded<W>; VECTORS],
        outside: bool,
    ) -> [P::Tap; WINDOW] {
        if outside {
            return [P::Tap::ZERO; WINDOW];
        }
        let mut values = values::<P, K, W, C>(window);
        if const { has_edges(K, W, C) } && matches!(self.loads, Loads::Left | Loads::Right) {
            self.continue_row::<P, K, W>(&mut values);
        }
        values
    }

    /// Sets the halo that is outside the image.
    #[inline(always)]
    fn continue_row<P: Pixel, const K: usize, const W: usize>(&self, values: &mut [P::Tap; WINDOW]) {
        let (left, right) = (W, 2 * W);
        let outside = |clamped: P::Tap, mirrored: P::Tap| match self.frame.border {
            ZERO => P::Tap::ZERO,
            CLAMP => clamped,
            _ => mirrored,
        };
        unroll!(j < K / 2 * C => {
            // Pixels, counted from the edge, and an element of them.
            let (pixel, element) = (j / C + 1, j % C);
            if self.loads == Loads::Left {
                let inside = (values[left + element], values[left + pixel * C + element]);
                values[left - pixel * C + element] = outside(inside.0, inside.1);
            } else {
                let inside = (values[right - C + element], values[right - (pixel + 1) * C + element]);
                values[right + (pixel - 1) * C + element] = outside(inside.0, inside.1);
            }
        });
    }

    /// Whether every row of the output can be stored in whole vectors.
    #[inline(always)]
    pub fn stores_vectors<P: Pixel, const W: usize>(&self, output: *mut P::Bits) -> bool {
        self.is_aligned(output, W) && self.first + W as u32 <= self.frame.columns * C as u32
    }

    /// Writes this thread's part of a row.
    ///
    /// # Safety
    /// `output` is an image of this frame; no other thread writes these elements of this row.
    #[inline(always)]
    pub unsafe fn store<P: Pixel, const W: usize>(
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

/// The values of a window.
#[inline(always)]
pub fn values<P: Pixel, const K: usize, const W: usize, const C: usize>(
    window: &[P::Loaded<W>; VECTORS],
) -> [P::Tap; WINDOW] {
    let mut values = [P::Tap::ZERO; WINDOW];
    let mut k = 0;
    while k < WINDOW / W {
        if k * W < 2 * reach(K, W, C) + W {
            let vector = P::values::<W>(window[k]);
            let mut w = 0;
            while w < W {
                values[k * W + w] = vector[w];
                w += 1;
            }
        }
        k += 1;
    }
    values
}
