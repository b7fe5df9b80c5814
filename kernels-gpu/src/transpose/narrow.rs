//! Elements of 1 and 2 bytes: 4 bytes per lane on both sides, turned in registers.
//!
//! - The tile is one of words of 4 bytes, `W` elements each. Its rows are 128 bytes, a word per lane, which lanes copy
//!   asynchronously where rows of the matrix start on a word; elsewhere, and at the matrix's edge, they read elements.
//! - A thread reads the words of `W` rows, which are a square of `W` x `W` elements, turns it, and has a word for each
//!   of `W` rows of the result: a warp stores 128 bytes of each. Where rows of the result do not start on a word, lanes
//!   store neighbouring elements.

use super::BLOCK;
use crate::reduce::WARP;
use bytemuck::Pod;
use core::mem::MaybeUninit;
use cuda_std::{
    address_space, kernel,
    launch::{Instance, Scalar},
    memory::{SharedAddress, copy_async, copy_async_commit, copy_async_wait},
    thread,
};

/// Rows and columns of a tile of elements of this size: rows of a word per lane.
pub const fn side(bytes: usize) -> u32 {
    WARP * 4 / bytes as u32
}

/// Warps of a block, each of which moves rows or columns of words.
const WARPS: u32 = BLOCK / WARP;

/// Index of a word in the tile. Lanes that read words of rows `W` apart would use a bank together with those `W` lanes
/// before, 32 rows away: each 32 rows are shifted by a word.
#[inline(always)]
const fn slot(row: u32, word: u32) -> usize {
    (row * (WARP + 1) + word + row / 32) as usize
}

const SLOTS: usize = slot(side(1) - 1, WARP - 1) + 1;

/// The words of the larger tile, which is that of bytes.
#[address_space(shared)]
static mut WORDS: [MaybeUninit<u32>; SLOTS] = [MaybeUninit::uninit(); SLOTS];

/// Transposes a row-major matrix of `rows` x `columns` elements into a row-major one of `columns` x `rows`.
///
/// # Safety
/// `input` and `output` have `rows * columns` elements and do not overlap; `BLOCK` threads, one block per tile.
#[kernel(for T in [u8, u16])]
pub unsafe fn transpose_narrow<T: Pod + Scalar + Instance>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            1 => turn::<T, 4>(input, rows, columns, output),
            _ => turn::<T, 2>(input, rows, columns, output),
        }
    }
}

/// Moves one tile of words of `W` elements.
///
/// # Safety
/// The requirements are those of [`transpose_narrow()`].
#[inline(always)]
unsafe fn turn<T: Pod, const W: usize>(input: &[T], rows: u32, columns: u32, output: *mut T) {
    let side = const { WARP * W as u32 };
    let tile = (&raw mut WORDS).cast::<u32>();
    let (first_row, first_column) = super::best::origin(rows, columns, side);
    let (height, width) = ((rows - first_row).min(side), (columns - first_column).min(side));
    let tid = thread::thread_idx_x();
    let (lane, warp) = (tid % WARP, tid / WARP);
    let words = |address: usize, pitch: u32| address.is_multiple_of(4) && pitch.is_multiple_of(W as u32);

    let whole = words(input.as_ptr().addr(), columns);
    let column = lane * W as u32;
    let mut row = warp;
    while row < height {
        let at = (first_row + row) as usize * columns as usize + (first_column + column) as usize;
        if column < width {
            // SAFETY: the element is inside the matrix, and the word, if rows have whole ones; each word has one slot.
            unsafe {
                let (from, to) = (input.as_ptr().add(at), tile.add(slot(row, lane)));
                if whole {
                    copy_async(SharedAddress::of(to), from.cast::<u32>());
                } else {
                    let mut word = 0;
                    let mut j = 0;
                    while j < W {
                        // Past the edge the last element is read again and not used: a load that no branch guards can
                        // start at once.
                        word |= bits(from.add(j.min((width - column - 1) as usize)).read()) << (j * 32 / W);
                        j += 1;
                    }
                    to.write(word);
                }
            }
        }
        row += WARPS;
    }
    copy_async_commit();
    copy_async_wait::<0>();
    thread::sync_threads(); // the tile is complete before any thread reads what others wrote

    if words(output.addr(), rows) {
        let row = lane * W as u32;
        let mut word = warp;
        while word * (W as u32) < width && row < height {
            // SAFETY: rows of whole words have all `W` rows of the tile, whose words were written.
            let square: [u32; W] = core::array::from_fn(|i| unsafe { tile.add(slot(row + i as u32, word)).read() });
            let mut j = 0;
            while j < W {
                let column = word * W as u32 + j as u32;
                if column < width {
                    let mut turned = 0;
                    let mut i = 0;
                    while i < W {
                        let element = square[i] >> (j * 32 / W) & (u32::MAX >> (32 - 32 / W));
                        turned |= element << (i * 32 / W);
                        i += 1;
                    }
                    let at = (first_column + column) as usize * rows as usize + (first_row + row) as usize;
                    // SAFETY: the word is inside a row of the result, on a boundary, and no other thread writes it.
                    unsafe { output.add(at).cast::<u32>().write(turned) };
                }
                j += 1;
            }
            word += WARPS;
        }
        return;
    }
    let mut column = warp;
    while column < width {
        let mut row = lane;
        while row < height {
            let at = (first_column + column) as usize * rows as usize + (first_row + row) as usize;
            // SAFETY: the element is inside the result and the tile, whose word was written.
            unsafe {
                let word = tile.add(slot(row, column / W as u32));
                output.add(at).write(word.cast::<T>().add(column as usize % W).read());
            }
            row += WARP;
        }
        column += WARPS;
    }
}

/// The bits of an element of 1 or 2 bytes.
#[inline(always)]
fn bits<T: Pod>(element: T) -> u32 {
    let mut bits = 0_u32;
    // SAFETY: an element has at most 4 bytes, all initialised.
    unsafe { (&raw mut bits).cast::<T>().write(element) };
    bits
}
