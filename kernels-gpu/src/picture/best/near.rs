//! The blur with a small window, in registers.
//!
//! - A thread takes 16 neighbouring bytes and moves down a strip. It keeps the sums along the last `2 R + 1` rows and
//!   their total: the row that enters is added, the row that leaves is subtracted.
//! - Sums are of 16 bits, two to a word: those of the bytes 0 and 2 of a word, and those of 1 and 3. The pair
//!   at a distance is another of these pairs, or is made of halves of two.
//! - All rows of a round are loaded before the first is used; the bytes left and right of the thread's are loads of
//!   their own, from the cache. No thread waits for another.
//! - A division by the size of the window is a multiplication by `2^24 / size + 1`, of which the highest byte is taken:
//!   exact for all sums and all sizes up to 256.
//!
//! (H200, us for windows of 3 x 3: 16384 x 16384 163, by running sums through shared memory, as for larger windows,
//! 601, NPP 255; 8192 x 8192 x 3 125, 457 and 610.)

use crate::picture::{Picture, inside};
use crate::unroll::unroll;
use core::array::from_fn;
use cuda_std::{kernel, math::select_bytes, memory::Vector, thread};

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Largest radius of a window.
pub const MAX_RADIUS: u32 = 3;

/// Neighbouring bytes of a thread.
pub const EACH: u32 = 16;

/// Words of a thread's bytes.
const WORDS: usize = 4;

/// Most words on either side of them that a window reaches.
const MOST: usize = 3;

/// All of these words.
const ALL: usize = MOST + WORDS + MOST;

/// Rows, and columns, of a window of this radius.
const fn side(radius: usize) -> usize {
    2 * radius + 1
}

/// Rows of the largest window.
const MOST_ROWS: usize = side(MAX_RADIUS as usize);

/// Threads per multiprocessor that strips of a small picture are made for. (H200, blur of 1080 x 1920 x 3: 8.9 us, with
/// 1024 10.0.)
pub const THREADS_PER_SM: u32 = 512;

/// Rows of a strip in a large picture, before they are whole rounds; the rows read above and below are then a small
/// part.
const LONGEST: u32 = 32;

/// Whether the kernel is one for this picture: its window is small, and its rows are whole vectors (of less than 2^32
/// bytes).
pub fn suits(picture: Picture) -> bool {
    let whole = (picture.columns * picture.channels).is_multiple_of(EACH);
    (1..=MAX_RADIUS).contains(&picture.amount) && whole && matches!(picture.channels, 1 | 3)
}

/// Rows of a strip on a device that `threads` threads fill: few enough to fill it, and whole rounds.
pub fn strip(picture: Picture, threads: u32) -> u32 {
    let across = picture.columns * picture.channels / EACH;
    let down = (threads / across.max(1)).max(1);
    picture.rows.div_ceil(down).clamp(1, LONGEST).next_multiple_of(side(picture.amount as usize) as u32)
}

/// Threads that the picture needs, with strips of this many rows.
pub fn threads(picture: Picture, strip: u32) -> u32 {
    picture.columns * picture.channels / EACH * picture.rows.div_ceil(strip)
}

const _: () = assert!(MOST_ROWS.pow(2) <= 256 && 3 * MAX_RADIUS as usize <= 4 * MOST);

/// Blurs a picture of `C` channels by a window of radius `R`. The result is exact.
///
/// # Safety
/// `input` is the picture, which has a pixel, whose radius and channels these are and which this kernel
/// [suits](suits()), and `output` is as long; both start on a boundary of 16 bytes, and they do not overlap. The grid
/// has at least [`threads()`] for a `strip` that is a multiple of `2 R + 1`, not 0.
#[kernel(for R in [1, 2, 3], for C in [1, 3])]
pub unsafe fn picture_best_blur_near<const R: usize, const C: usize>(
    input: &[u8],
    picture: Picture,
    strip: u32,
    output: *mut u8,
) {
    let across = picture.columns * C as u32 / EACH;
    let me = thread::global_index() as u32;
    let (at, first_row) = (me % across.max(1), me / across.max(1) * strip);
    let place = Place { input, picture, at, across };
    let end = picture.rows.min(first_row + strip);

    // Sums along the rows of the window, and their total; the window of the row before the first has left its last row.
    let mut of_rows = [[0; 2 * WORDS]; MOST_ROWS];
    let mut total = [0_u32; 2 * WORDS];
    unroll!(k < 2 * R => {
        let row = (first_row + k as u32).wrapping_sub(R as u32);
        // SAFETY: the caller upholds this function's contract.
        let words = unsafe { place.load::<R, C>(row) };
        if row < picture.rows {
            of_rows[k] = along::<R, C>(&words);
        }
        total = from_fn(|i| total[i] + of_rows[k][i]);
    });
    let mut row = first_row;
    while row < end {
        let mut round = [[0; ALL]; MOST_ROWS];
        // SAFETY: the caller upholds this function's contract.
        unroll!(k < side(R) => { round[k] = unsafe { place.load::<R, C>(row + (k + R) as u32) } });
        unroll!(k < side(R) => {
            let last = (k + 2 * R) % side(R);
            of_rows[last] = match row + ((k + R) as u32) < picture.rows {
                true => along::<R, C>(&round[k]),
                false => [0; 2 * WORDS],
            };
            total = from_fn(|i| total[i] + of_rows[last][i]);
            if row + (k as u32) < end {
                let bytes = place.averages::<R, C>(row + k as u32, &total);
                // SAFETY: the vector is inside the picture, on a boundary, and no other thread has it.
                unsafe { Vector(bytes).store(output.cast::<Vector<u32, WORDS>>().add(place.index(row + k as u32))) };
            }
            total = from_fn(|i| total[i] - of_rows[k][i]);
        });
        row += side(R) as u32;
    }
}

/// The place of a thread in a picture.
struct Place<'a> {
    input: &'a [u8],
    picture: Picture,
    /// Its vector in a row.
    at: u32,
    /// Vectors of a row.
    across: u32,
}

impl Place<'_> {
    /// Index of the thread's vector in this row.
    #[inline(always)]
    fn index(&self, row: u32) -> usize {
        row as usize * self.across as usize + self.at as usize
    }

    /// The thread's bytes of a row, and those around them, of which the ones outside the picture are 0; any bytes of a
    /// row outside the picture.
    ///
    /// # Safety
    /// The picture has a row, whose vectors are on boundaries.
    #[inline(always)]
    unsafe fn load<const R: usize, const C: usize>(&self, row: u32) -> [u32; ALL] {
        let mut words = [0; ALL];
        let first = self.input.as_ptr().cast::<u32>();
        // SAFETY: the nearest row of the picture is loaded, and the words are inside it.
        unsafe {
            let first = first.add(WORDS * self.index(row.min(self.picture.rows - 1)));
            let Vector(own) = Vector::<u32, WORDS>::load(first.cast());
            unroll!(k < WORDS => { words[MOST + k] = own[k] });
            unroll!(k < (R * C).div_ceil(4) => {
                if self.at > 0 {
                    words[MOST - 1 - k] = first.sub(1 + k).read();
                }
                if self.at + 1 < self.across {
                    words[MOST + WORDS + k] = first.add(WORDS + k).read();
                }
            });
        }
        words
    }

    /// The averages in a row from the sums of the windows.
    #[inline(always)]
    fn averages<const R: usize, const C: usize>(&self, row: u32, sums: &[u32; 2 * WORDS]) -> [u32; WORDS] {
        let [above, below] = inside(row, self.picture.rows, R as u32);
        let (height, side) = ((above + below + 1) as u32, side(R) as u32);
        let mut averages = [0; 4 * WORDS];
        let sum = |i: usize| (sums[i / 4 * 2 + i % 2] >> (i / 2 % 2 * 16)) & 0xffff;
        // The usual window is a constant.
        let window = if height == side { Window::new(side * side) } else { Window::new(height * side) };
        unroll!(i < 4 * WORDS => { averages[i] = window.average(sum(i)) });
        unroll!(i < R * C => {
            // Windows over an edge.
            let window = Window::new(height * (R + 1 + i / C) as u32);
            if self.at == 0 {
                averages[i] = window.average(sum(i));
            }
            if self.at + 1 == self.across {
                averages[4 * WORDS - 1 - i] = window.average(sum(4 * WORDS - 1 - i));
            }
        });
        from_fn(|k| {
            let low = select_bytes::<0x73>(averages[4 * k], averages[4 * k + 1]);
            select_bytes::<0x5410>(low, select_bytes::<0x73>(averages[4 * k + 2], averages[4 * k + 3]))
        })
    }
}

/// The size of a window, to divide by.
#[derive(Clone, Copy)]
struct Window {
    half: u32,
    reciprocal: u32,
}

impl Window {
    #[inline(always)]
    fn new(size: u32) -> Self {
        Self { half: size / 2, reciprocal: (1 << 24) / size.max(1) + 1 }
    }

    /// The average, rounded, in the highest byte.
    #[inline(always)]
    fn average(self, sum: u32) -> u32 {
        (sum + self.half) * self.reciprocal
    }
}

/// The sums along a row around each of the thread's bytes: of each word the pair of the bytes 0 and 2, and that of 1
/// and 3.
#[inline(always)]
fn along<const R: usize, const C: usize>(words: &[u32; ALL]) -> [u32; 2 * WORDS] {
    let even = words.map(|word| select_bytes::<0x4240>(word, 0));
    let odd = words.map(|word| select_bytes::<0x4341>(word, 0));
    let mut sums = [0; 2 * WORDS];
    unroll!(i < 2 * WORDS => { sums[i] = around::<R, C>(&even, &odd, 4 * MOST + i / 2 * 4 + i % 2) });
    sums
}

/// The sums around the byte of this number and around the one after the next.
#[inline(always)]
fn around<const R: usize, const C: usize>(even: &[u32; ALL], odd: &[u32; ALL], byte: usize) -> u32 {
    let mut sum = 0;
    unroll!(k < side(R) => {
        let first = byte + k * C - R * C;
        let pairs = if first.is_multiple_of(2) { even } else { odd };
        sum += match first / 2 % 2 {
            0 => pairs[first / 4],
            _ => select_bytes::<0x5432>(pairs[first / 4], pairs[first / 4 + 1]),
        };
    });
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn averages_are_exact() {
        for size in 1..=256 {
            let window = Window::new(size);
            for sum in 0..=255 * size {
                assert_eq!(window.average(sum) >> 24, (sum + size / 2) / size, "{sum} of {size}");
            }
        }
    }
}
