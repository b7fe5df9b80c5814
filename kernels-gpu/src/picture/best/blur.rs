//! Running sums: the sum of a window's column follows from that of the row above by adding the byte that enters and
//! subtracting the one that leaves; the sum of the window follows from that of the pixel to the left in the same way,
//! with columns instead of bytes.
//!
//! - A block moves down a strip. Each thread keeps the column sums of four neighbouring bytes, and writes them to
//!   shared memory for the block: the work per byte does not depend on the radius.
//! - Then a thread takes four neighbouring pixels of one channel: a whole window for the first, two loads for each
//!   other.
//! - Results go through shared memory too, so that stores are words of neighbouring bytes. All three arrays exist
//!   twice, which leaves one barrier per row.
//! - A division by the size of the window is a multiplication by `2^32 / size + 1`, of which the upper half is taken:
//!   exact for sums below `2^32 / size`, and they are at most `256 * size`.

use crate::picture::{MAX_RADIUS, Picture, average, inside};
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Neighbouring bytes, and neighbouring pixels, of a thread.
const EACH: u32 = 4;

/// Bytes of a row that a block reads.
const VIEW: u32 = BLOCK * EACH;

/// Maximum number of rows of a strip; in longer strips the rows read above and below are a negligible part.
const LONGEST: u32 = 64;

/// Rows of a strip, for `across` strips side by side on a device that `blocks` blocks fill: few enough to fill it, and
/// no fewer than a strip reads above and below.
pub fn strip(picture: Picture, across: u32, blocks: u32) -> u32 {
    let down = (blocks / across.max(1)).max(1);
    picture.rows.div_ceil(down).clamp((2 * picture.amount).clamp(8, LONGEST), LONGEST)
}

const _: () = assert!(256 * (2 * MAX_RADIUS as u64 + 1).pow(4) < 1 << 32);

/// Column sums of two rows.
#[address_space(shared)]
static mut SUMS: [MaybeUninit<u64>; 2 * BLOCK as usize] = [MaybeUninit::uninit(); 2 * BLOCK as usize];

/// Results of two rows.
#[address_space(shared)]
static mut RESULTS: [MaybeUninit<u32>; 2 * BLOCK as usize] = [MaybeUninit::uninit(); 2 * BLOCK as usize];

/// Bytes that a block reads on either side of its results: whole words.
const fn halo(channels: u32, radius: u32) -> u32 {
    (channels * radius).next_multiple_of(EACH)
}

/// Columns of pixels that a block computes: whole words for any number of channels.
pub const fn width(channels: u32, radius: u32) -> u32 {
    (VIEW - 2 * halo(channels, radius)) / channels / EACH * EACH
}

/// Blurs a picture.
///
/// # Safety
/// `input` is the picture, which has a pixel, and `output` as long, and they do not overlap. Blocks of `BLOCK` threads:
/// along x one per [`width`] columns, along y one per `strip` rows, which are not 0.
#[kernel]
pub unsafe fn picture_best_blur(input: &[u8], picture: Picture, strip: u32, output: *mut u8) {
    let tid = thread::thread_idx_x();
    let channels = picture.channels.max(1);
    let (radius, halo) = (picture.amount, halo(channels, picture.amount));
    let width = width(channels, radius);
    let first_column = thread::block_idx_x() * width;
    let first_row = thread::block_idx_y() * strip;
    let end = picture.rows.min(first_row + strip);
    let view = View::new(input, picture, (first_column * channels + tid * EACH).wrapping_sub(halo));
    let sums = (&raw mut SUMS).cast::<u16>();
    let results = (&raw mut RESULTS).cast::<u8>();

    // The thread's part of the work along the rows: four pixels of a channel.
    let (channel, pixel) = (tid % channels, tid / channels * EACH);
    let works = pixel < width && first_column + pixel < picture.columns;
    let side = 2 * radius + 1;
    let reciprocal = u32::MAX / (side * side).max(1) + 1;

    // The window of the row before the first.
    let mut columns = Columns::default();
    let mut row = first_row.saturating_sub(radius + 1);
    while row < first_row + radius && row < picture.rows {
        // SAFETY: the row is inside the picture.
        columns.add(unsafe { view.word(row) });
        row += 1;
    }
    let mut row = first_row;
    while row < end {
        if row + radius < picture.rows {
            // SAFETY: the row is inside the picture.
            columns.add(unsafe { view.word(row + radius) });
        }
        if row > radius {
            // SAFETY: the row is inside the picture and was added before.
            columns.subtract(unsafe { view.word(row - radius - 1) });
        }
        let half = (row - first_row) % 2;
        // SAFETY: only this thread writes these slots, and this half was last read before the barrier before the last.
        unsafe { (&raw mut SUMS).cast::<u64>().add((half * BLOCK + tid) as usize).write(columns.packed()) };
        // This row's sums are complete, and so are the results of the row above, before other threads read them.
        thread::sync_threads();
        if row > first_row {
            // SAFETY: the other half has the results of the row above.
            unsafe { store(output, picture, row - 1, first_column, width, results.add(((1 - half) * VIEW) as usize)) };
        }
        if works {
            let [above, below] = inside(row, picture.rows, radius);
            let task = Task { channels, channel, pixel, radius, height: (above + below + 1) as u32, reciprocal };
            // SAFETY: sums and slots of this half; the results there were stored before the last barrier.
            unsafe {
                let first = sums.add((half * VIEW + halo) as usize);
                task.run(first, results.add((half * VIEW) as usize), first_column, picture.columns);
            }
        }
        row += 1;
    }
    thread::sync_threads(); // separates the writes of the last row's results from their reads
    if end > first_row {
        let half = (end - 1 - first_row) % 2;
        // SAFETY: the results of the last row.
        unsafe { store(output, picture, end - 1, first_column, width, results.add((half * VIEW) as usize)) };
    }
}

/// Sums of four columns, two to a word of 16 bits each: a column of the largest window sums to 63 * 255.
#[derive(Clone, Copy, Default)]
struct Columns {
    even: u32,
    odd: u32,
}

impl Columns {
    #[inline(always)]
    fn add(&mut self, word: u32) {
        self.even += word & 0x00ff_00ff;
        self.odd += (word >> 8) & 0x00ff_00ff;
    }
    #[inline(always)]
    fn subtract(&mut self, word: u32) {
        self.even -= word & 0x00ff_00ff;
        self.odd -= (word >> 8) & 0x00ff_00ff;
    }
    /// Packs the sums in the order of the bytes, the first one lowest.
    #[inline(always)]
    fn packed(self) -> u64 {
        let low = (self.even & 0xffff) | (self.odd << 16);
        let high = (self.even >> 16) | (self.odd & 0xffff_0000);
        (u64::from(high) << 32) | u64::from(low)
    }
}

/// The four bytes of each row that a thread reads.
struct View<'a> {
    input: &'a [u8],
    /// Bytes from row to row.
    pitch: u32,
    /// Offset of the first byte in a row; before the row it wraps around.
    start: u32,
    /// Whether the bytes are inside the picture and form an aligned word.
    is_word: bool,
}

impl<'a> View<'a> {
    #[inline(always)]
    fn new(input: &'a [u8], picture: Picture, start: u32) -> Self {
        let pitch = picture.columns * picture.channels;
        let is_word = input.as_ptr().addr().is_multiple_of(4) && pitch.is_multiple_of(4) && start < pitch;
        Self { input, pitch, start, is_word }
    }

    /// The bytes of a row as one word, the first one lowest; 0 for those beyond the picture.
    ///
    /// # Safety
    /// The picture has the row.
    #[inline(always)]
    unsafe fn word(&self, row: u32) -> u32 {
        let row = row as usize * self.pitch as usize;
        if self.is_word {
            // SAFETY: the element is inside the row: it and the start are whole words, and so is where the row begins.
            return unsafe { self.input.as_ptr().add(row + self.start as usize).cast::<u32>().read() };
        }
        let mut word = 0;
        let mut k = 0;
        while k < EACH {
            let at = self.start.wrapping_add(k);
            if at < self.pitch {
                // SAFETY: the element is inside the row.
                word |= u32::from(unsafe { *self.input.get_unchecked(row + at as usize) }) << (8 * k);
            }
            k += 1;
        }
        word
    }
}

/// Four pixels of a channel.
struct Task {
    channels: u32,
    channel: u32,
    pixel: u32,
    radius: u32,
    /// Rows of the window.
    height: u32,
    /// The reciprocal for a whole window.
    reciprocal: u32,
}

impl Task {
    /// Computes the results of a row from column sums, of which `sums` points to that of the block's first byte.
    ///
    /// # Safety
    /// The sums reach a halo beyond the block's bytes on both sides; `results` has room for them.
    #[inline(always)]
    unsafe fn run(&self, sums: *const u16, results: *mut u8, first_column: u32, columns: u32) {
        let Self { channels, radius, .. } = *self;
        let place = (self.pixel * channels + self.channel) as i32;
        let reach = (radius * channels) as i32;
        // SAFETY: between the halos' ends, since the place is one of the block's.
        let sum_at = |at: i32| u32::from(unsafe { sums.offset((place + at) as isize).read() });
        let mut sum = 0;
        let mut at = -reach;
        while at <= reach {
            sum += sum_at(at);
            at += channels as i32;
        }
        let side = 2 * radius + 1;
        let mut k = 0;
        while k < EACH {
            let column = first_column + self.pixel + k;
            if column >= columns {
                return;
            }
            let [left, right] = inside(column, columns, radius);
            let across = (left + right + 1) as u32;
            let byte = if self.height == side && across == side && radius > 0 {
                ((u64::from(sum + side * side / 2) * u64::from(self.reciprocal)) >> 32) as u8
            } else {
                average(sum, self.height * across)
            };
            let step = (k * channels) as i32;
            // SAFETY: the slot is that of one of the block's bytes.
            unsafe { results.offset((place + step) as isize).write(byte) };
            if k + 1 < EACH {
                sum = sum + sum_at(step + channels as i32 + reach) - sum_at(step - reach);
            }
            k += 1;
        }
    }
}

/// Writes the results of a row: words where rows are made of words.
///
/// # Safety
/// The results were computed, and no other block writes these columns.
#[inline(always)]
unsafe fn store(output: *mut u8, picture: Picture, row: u32, first_column: u32, width: u32, results: *const u8) {
    let pitch = picture.columns * picture.channels;
    let first = first_column * picture.channels;
    let len = (width * picture.channels).min(pitch - first);
    let tid = thread::thread_idx_x();
    // SAFETY: the row's part of the block begins inside the picture.
    let line = unsafe { output.add(row as usize * pitch as usize + first as usize) };
    if output.addr().is_multiple_of(4) && pitch.is_multiple_of(4) {
        if tid * EACH < len {
            // SAFETY: the index is that of a word of results: `len` is a multiple of words, as are rows and blocks.
            unsafe { line.cast::<u32>().add(tid as usize).write(results.cast::<u32>().add(tid as usize).read()) };
        }
        return;
    }
    let mut i = tid;
    while i < len {
        // SAFETY: the index is that of a result.
        unsafe { line.add(i as usize).write(results.add(i as usize).read()) };
        i += BLOCK;
    }
}
