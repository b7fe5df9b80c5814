//! Prepares a factor: every f32 becomes two f16, scaled by pieces, in the order in which the product reads them.
//!
//! A *line* is a row of A or a column of B. The slices are tiles of `lines` by 32 of the depth, one after the other
//! along the depth, the lines and the matrices of a batch. A row of a tile is 128 bytes: 32 high parts, then 32 low
//! parts, their runs of 16 bytes exchanged as tensor cores want it ([`cuda_std::warpgroup::Tile`]): one bulk copy.
//!
//! A warp prepares 128 elements of a line at a time, four in each lane, and half of it a piece. Where neighbours in
//! memory belong to different lines, the block turns 32 lines in shared memory first.

use super::{PIECE, ROW};
use core::mem::MaybeUninit;
use cuda_std::math::{pack_f16, unpack_f16};
use cuda_std::memory::F32x4;
use cuda_std::prelude::*;

/// Threads of a block.
pub const BLOCK: u32 = 256;

/// Lines that a block prepares.
pub const LINES: u32 = 32;

/// Elements of the depth that a block prepares.
pub const SPAN: u32 = 128;

const WARPS: u32 = BLOCK / 32;
const PITCH: usize = SPAN as usize + 4;

/// Elements from a turned line to the next: 16-byte reads stay aligned.
#[address_space(shared)]
static mut TURNED: [MaybeUninit<f32>; LINES as usize * PITCH] =
    [const { MaybeUninit::uninit() }; LINES as usize * PITCH];

/// Writes slices and scales of the factors of a batch, `count` matrices with `lines` lines of `depth` elements, which
/// start every `step` elements. `ACROSS`: neighbours in memory belong to different lines, `x[k * pitch + line]`; else
/// to one, `x[line * pitch + k]`.
///
/// `padded` is the number of lines of a matrix with those that fill the last tile, which are 0, and `tile` that of a
/// tile. The scale of piece `p` of a line is f32 number `(p * count + matrix) * padded + line` of `scales`; it is NaN
/// if the piece has elements from 2^105 on, infinities or NaN, which are not in the slices.
///
/// # Safety
/// `BLOCK` threads, and a block for every 32 lines of `count * padded` and 128 of the depth, those along the lines
/// first; `x` has the matrices' elements, `slices` room for `count * padded` times the whole pieces of the depth times
/// 4 bytes, `scales` for `count * padded` times the number of pieces. `tile` and `padded` are multiples of 32, and
/// `tile` divides `padded`.
#[kernel(for ACROSS in [false, true], launch_bounds(BLOCK))]
pub unsafe fn tensor_slices<const ACROSS: bool>(
    x: &[f32],
    slices: *mut u128,
    scales: *mut u128,
    lines: u32,
    depth: u32,
    pitch: u32,
    padded: u32,
    tile: u32,
    count: u32,
    step: u64,
) {
    let (slices, scales) = (slices.cast::<u64>(), scales.cast::<f32>());
    let all = padded * count;
    let blocks = (all / LINES).max(1);
    let block = thread::block_idx_x();
    // The block's first line among those of all matrices, and in its own one.
    let (first, first_k) = (block % blocks * LINES, block / blocks * SPAN);
    let matrix = first / padded.max(1);
    let first_line = first - matrix * padded;
    let x = x.as_ptr().wrapping_add(matrix as usize * step as usize);
    let (warp, lane) = (thread::thread_idx_x() / 32, thread::thread_idx_x() % 32);
    let k = first_k + lane * 4;
    if ACROSS {
        let mut row = warp;
        while row < SPAN {
            let (from, line) = (first_k + row, first_line + lane);
            let at = from as usize * pitch as usize + line as usize;
            // SAFETY: the element is inside `x`; row and lane are within the array, where each place has one thread.
            unsafe {
                let value = if from < depth && line < lines { *x.add(at) } else { 0.0 };
                (&raw mut TURNED).cast::<f32>().add(lane as usize * PITCH + row as usize).write(value);
            }
            row += WARPS;
        }
        thread::sync_threads();
    }
    let mut i = warp;
    while i < LINES {
        let values = if ACROSS {
            // SAFETY: the place is within the array, aligned to 16, and was written before the barrier.
            unsafe { F32x4::load((&raw const TURNED).cast::<f32>().add(i as usize * PITCH + lane as usize * 4).cast()) }
                .0
        } else {
            // SAFETY: the caller upholds this function's contract.
            unsafe { of_line(x, first_line + i, k, [lines, depth], pitch) }
        };
        // SAFETY: the lanes are together, and the caller upholds the rest.
        unsafe { write(values, slices, scales, [first + i, k], [depth, all, tile]) };
        i += WARPS;
    }
}

/// Four neighbours of a line; 0 outside.
///
/// # Safety
/// `x` has lines of this number and depth.
#[inline(always)]
unsafe fn of_line(x: *const f32, line: u32, k: u32, [lines, depth]: [u32; 2], pitch: u32) -> [f32; 4] {
    let at = line as usize * pitch as usize + k as usize;
    if line < lines && k + 3 < depth && pitch.is_multiple_of(4) && x.addr().is_multiple_of(16) {
        // SAFETY: the four are within `x`, aligned to 16 bytes.
        return unsafe { F32x4::load(x.add(at).cast()) }.0;
    }
    let mut values = [0.0; 4];
    crate::unroll::unroll!(j < 4 => {
        if line < lines && k + (j as u32) < depth {
            // SAFETY: the element is inside `x`.
            values[j] = unsafe { *x.add(at + j) };
        }
    });
    values
}

/// Scales, slices and writes four neighbours of a line, whose number counts those of all matrices, `padded` of them.
///
/// # Safety
/// The lanes of a warp are together, lane `l` with the elements from `4 l` on; the rest as for [`tensor_slices`].
#[inline(always)]
unsafe fn write(
    values: [f32; 4],
    slices: *mut u64,
    scales: *mut f32,
    [line, k]: [u32; 2],
    [depth, padded, tile]: [u32; 3],
) {
    let mut largest = 0_u32;
    crate::unroll::unroll!(j < 4 => { largest = largest.max(values[j].to_bits() & 0x7fff_ffff); });
    crate::unroll::unroll!(step < 4 => {
        // SAFETY: all lanes are together. Sixteen of them have a piece.
        largest = largest.max(unsafe { warp::shuffle_xor(warp::ALL, largest, 8 >> step) });
    });
    let pieces = depth.div_ceil(PIECE);
    if k >= pieces * PIECE {
        return;
    }
    // Biased. Below 15 the scale would not be finite; such elements are below 2^-111.
    let exponent = (largest >> 23).max(15);
    let finite = exponent < 127 + 105;
    // 2^15 / 2^(e + 1), so that the largest element is below 2^15, and its inverse.
    let scale = if finite { f32::from_bits((268 - exponent) << 23) } else { 0.0 };
    let inverse = if finite { f32::from_bits((exponent - 14) << 23) } else { f32::NAN };
    if k.is_multiple_of(PIECE) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { *scales.add((k / PIECE) as usize * padded as usize + line as usize) = inverse };
    }
    let scaled = values.map(|value| if finite { value * scale } else { 0.0 });
    let high = [pack_f16(scaled[0], scaled[1]), pack_f16(scaled[2], scaled[3])];
    let [a, b] = unpack_f16(high[0]);
    let [c, d] = unpack_f16(high[1]);
    let low = [pack_f16(scaled[0] - a, scaled[1] - b), pack_f16(scaled[2] - c, scaled[3] - d)];
    // Never 0; without `max` the compiler would keep a panic for a division by 0.
    let tile = tile.max(1);
    let tiles_along = pieces * (PIECE / super::DEPTH);
    let tile_number = (line / tile) as usize * tiles_along as usize + (k / super::DEPTH) as usize;
    let row = tile_number * tile as usize + (line % tile) as usize;
    // Run of 16 bytes, and half of it.
    let (run, half) = (k % super::DEPTH / 8, k / 4 % 2);
    let place = |run: u32| row * (ROW / 8) as usize + ((run ^ (line % tile % 8)) * 2 + half) as usize;
    let word = |pair: [u32; 2]| u64::from(pair[0]) | u64::from(pair[1]) << 32;
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        *slices.add(place(run)) = word(high);
        *slices.add(place(run + 4)) = word(low);
    }
}
