//! The block loads its pixels, and those around them up to the reach of the blur, into shared memory; then each thread
//! computes its pixel from there.
//!
//! A blur loads (16 + 2 r)^2 pixels per block instead of 16^2 (2 r + 1)^2. The other operations share nothing, and the
//! copy and its barrier only add cost.

use super::{Around, Blur, Grey, Op, Picture, SIDE, Scale, inside};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "pixels and the blur's halo come through shared memory: each byte is loaded once per block";

/// Bytes of shared memory for a reach.
pub const fn shared_bytes(channels: u32, reach: u32) -> u32 {
    (SIDE + 2 * reach) * (SIDE + 2 * reach) * channels
}

/// Applies operation `O` to a picture, row-major, height x width x channels. The result is exact.
///
/// # Safety
/// `input` is the picture and `output` has room for the result and does not overlap it. Blocks of `SIDE` x `SIDE`
/// threads with [`shared_bytes`], along x and y a thread per column and row.
#[kernel(for O in [Scale, Grey, Blur])]
pub unsafe fn picture_tiled<O: Op>(input: &[u8], picture: Picture, output: *mut u8) {
    let tile = dynamic_shared_mem::<u8>();
    let (x, y) = (thread::thread_idx_x(), thread::thread_idx_y());
    let (first_row, first_column) = (thread::block_idx_y() * SIDE, thread::block_idx_x() * SIDE);
    let reach = O::reach(picture.amount);
    let (side, pitch) = (SIDE + 2 * reach, (SIDE + 2 * reach) * picture.channels);

    let mut r = y;
    while r < side {
        // Above the first row, the difference wraps to a number beyond the last.
        let row = (first_row + r).wrapping_sub(reach);
        let mut b = x;
        while b < pitch {
            let column = (first_column + b / picture.channels.max(1)).wrapping_sub(reach);
            if row < picture.rows && column < picture.columns {
                let at = picture.index(row, column) + (b % picture.channels.max(1)) as usize;
                // SAFETY: the element is inside the picture; a slot for each byte.
                unsafe { tile.add((r * pitch + b) as usize).write(*input.get_unchecked(at)) };
            }
            b += SIDE;
        }
        r += SIDE;
    }
    thread::sync_threads(); // the tile is complete before any thread reads what others loaded

    let (row, column) = (first_row + y, first_column + x);
    if row >= picture.rows || column >= picture.columns {
        return;
    }
    let around = Slot { tile, pitch, reach, picture, row, column };
    let channels = O::channels(picture.channels);
    let at = (row as usize * picture.columns as usize + column as usize) * channels as usize;
    let mut channel = 0;
    while channel < channels {
        // SAFETY: the element is inside the result, and no other thread has this pixel.
        unsafe { output.add(at + channel as usize).write(O::apply(&around, picture.amount, channel)) };
        channel += 1;
    }
}

/// A pixel in the tile.
struct Slot {
    tile: *const u8,
    pitch: u32,
    reach: u32,
    picture: Picture,
    row: u32,
    column: u32,
}

impl Around for Slot {
    #[inline(always)]
    fn channels(&self) -> u32 {
        self.picture.channels
    }
    #[inline(always)]
    fn byte(&self, down: i32, right: i32, channel: u32) -> u32 {
        let row = (self.row % SIDE + self.reach) as i32 + down;
        let column = (self.column % SIDE + self.reach) as i32 + right;
        let at = row as u32 * self.pitch + column as u32 * self.picture.channels + channel;
        // SAFETY: the byte is no further away than the reach, and was written, since it is inside the picture.
        u32::from(unsafe { self.tile.add(at as usize).read() })
    }
    #[inline(always)]
    fn inside(&self, reach: u32) -> [i32; 4] {
        let [above, below] = inside(self.row, self.picture.rows, reach);
        let [left, right] = inside(self.column, self.picture.columns, reach);
        [above, below, left, right]
    }
}
