//! Each thread computes eight elements of a column: an element of B that it has loaded from shared memory serves eight
//! sums, which lie in registers.
//!
//! Eight multiplications take nine loads from shared memory, where the tiled rung needs sixteen; and with 64x64 tiles
//! each element from device memory is used 64 times: a CGMA ratio of 64.

use super::{Factor, outer::neighbours, side::Side, tile_of_block};
use crate::unroll::unroll;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// Rows and columns of a block's part of the product.
pub const TILE: u32 = 64;

/// Rows that a thread computes.
pub const ROWS: u32 = 8;

/// The idea in one line.
pub const IDEA: &str = "eight rows per thread: one element of B from shared memory serves eight sums, CGMA 64";

/// Threads per block.
pub const BLOCK: u32 = TILE * TILE / ROWS;

/// Products per element and phase.
const DEPTH: usize = 8;

const SIDE: usize = TILE as usize;
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
pub unsafe fn matmul_thread_tile_1d<T: Factor>(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32, stored: u32) {
    const { assert!(size_of::<T>() <= 8) };
    let (a, b) = (Side::left(a, m, k, stored), Side::right(b, n, k, stored));
    let [down, across] = tile_of_block(n, TILE);
    let (first_row, first_column) = (down * SIDE, across * SIDE);
    let tid = thread::thread_idx_x() as usize;
    let (row, column) = (tid / SIDE * ROWS as usize, tid % SIDE);
    let tile_a = (&raw mut ELEMENTS).cast::<T>();
    let tile_b = tile_a.wrapping_add(SIDE * DEPTH);

    let mut sums = [T::ZERO; ROWS as usize];
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
            // SAFETY: the elements are inside the tiles, which are written.
            let (of_a, of_b) = unsafe {
                let of_a: [T; ROWS as usize] = neighbours(tile_a.add(step * SIDE + row));
                (of_a, tile_b.add(step * SIDE + column).read())
            };
            unroll!(i < ROWS as usize => {
                sums[i] = of_a[i].mul_add(of_b, sums[i]);
            });
            step += 1;
        }
        thread::sync_threads(); // every thread has read the tiles before the next phase overwrites them
        phase += DEPTH;
    }
    unroll!(i < ROWS as usize => {
        let (row, column) = (first_row + row + i, first_column + column);
        if row < a.x && column < b.x {
            // SAFETY: the element is inside the product, and no other thread has this row and column.
            unsafe { c.add(row * b.x + column).write(sums[i]) };
        }
    });
}
