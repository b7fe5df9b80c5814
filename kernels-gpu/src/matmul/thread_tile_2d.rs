//! Each thread computes 8x8 elements: it loads eight of a column of A and eight of a row of B and multiplies each with
//! each.
//!
//! 64 multiplications take 16 loads from shared memory, and with tiles of 128x128 each element from device memory is
//! used 128 times. Half a warp reads elements of B that are 8 columns apart, and so only every eighth bank, which the
//! next rung avoids.

use super::{
    Factor,
    outer::{multiply_add, neighbours},
    side::Side,
    tile_of_block,
};
use crate::unroll::unroll;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// Rows and columns of a block's part of the product.
pub const TILE: u32 = 128;

/// Rows and columns of a thread's part of it.
pub const EACH: u32 = 8;

/// The idea in one line.
pub const IDEA: &str = "8x8 per thread, an outer product in registers: 16 elements serve 64 products, CGMA 128";

/// Threads per block.
pub const BLOCK: u32 = TILE * TILE / (EACH * EACH);

/// Products per element and phase.
const DEPTH: usize = 8;

const SIDE: usize = TILE as usize;
const PART: usize = EACH as usize;
const SLOTS: usize = 2 * SIDE * DEPTH;

/// A tile of each factor, of elements of up to 8 bytes.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; SLOTS] = [MaybeUninit::uninit(); SLOTS];

/// Computes the `m` x `n` product `c` of `a`, `m` x `k`, and `b`, `k` x `n`, all row-major; `stored` selects transposed
/// operands. The order of additions is fixed, so the result is the same in every run; [`matmul`](crate::matmul) states
/// the error bound.
///
/// # Safety
/// `a` has `m * k` elements, `b` `k * n`, `c` room for `m * n` and overlaps neither; `BLOCK` threads, one block per
/// tile.
#[kernel(for T in [f32, f64])]
pub unsafe fn matmul_thread_tile_2d<T: Factor>(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32, stored: u32) {
    const { assert!(size_of::<T>() <= 8) };
    let (a, b) = (Side::left(a, m, k, stored), Side::right(b, n, k, stored));
    let [down, across] = tile_of_block(n, TILE);
    let (first_row, first_column) = (down * SIDE, across * SIDE);
    let tid = thread::thread_idx_x() as usize;
    let (row, column) = (tid / (SIDE / PART) * PART, tid % (SIDE / PART) * PART);
    let tile_a = (&raw mut ELEMENTS).cast::<T>();
    let tile_b = tile_a.wrapping_add(SIDE * DEPTH);

    let mut sums = [[T::ZERO; PART]; PART];
    let mut phase = 0;
    while phase < a.k {
        // SAFETY: both tiles have room, and the whole block reaches this call.
        unsafe {
            a.copy_tile::<SIDE, DEPTH>([first_row, phase], tile_a, SIDE, tid, BLOCK as usize);
            b.copy_tile::<SIDE, DEPTH>([first_column, phase], tile_b, SIDE, tid, BLOCK as usize);
        }
        thread::sync_threads(); // the tiles are complete before any thread reads what others wrote
        let mut step = 0;
        while step < DEPTH {
            // SAFETY: the element is inside the tiles, which are written.
            let (of_a, of_b) =
                unsafe { (neighbours(tile_a.add(step * SIDE + row)), neighbours(tile_b.add(step * SIDE + column))) };
            multiply_add(&mut sums, &of_a, &of_b);
            step += 1;
        }
        thread::sync_threads(); // every thread has read the tiles before the next phase overwrites them
        phase += DEPTH;
    }
    unroll!(i < PART => {
        let row = first_row + row + i;
        if row < a.x {
            // SAFETY: the row is inside the product, and no other thread has these columns of it.
            unsafe { write_row(c.add(row * b.x), first_column + column, b.x, &sums[i]) };
        }
    });
}

/// Writes neighbouring columns of a row, up to its end.
///
/// # Safety
/// The row has `end` elements, and no other thread writes these.
#[inline(always)]
unsafe fn write_row<T: Factor>(row: *mut T, column: usize, end: usize, sums: &[T; PART]) {
    unroll!(j < PART => {
        if column + j < end {
            // SAFETY: the element is inside the row.
            unsafe { row.add(column + j).write(sums[j]) };
        }
    });
}
