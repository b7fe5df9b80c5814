//! One thread per element of the product, which reads a row of A and a column of B.
//!
//! Two operations take two accesses to device memory: the CGMA ratio is 1, so without caches each operation needs 4
//! bytes (f32) of bandwidth. A warp reads 16 neighbours of a row of B at a time (coalesced) and two elements of A
//! (broadcast). With B transposed, neighbouring threads read elements a row apart; with A transposed, two elements of A
//! are still all that a warp accesses.

use super::{Factor, side::Side, tile_of_block};
use cuda_std::{kernel, thread};

/// Rows and columns of a block's part of the product, one thread for each element.
pub const TILE: u32 = 16;

/// The idea in one line.
pub const IDEA: &str = "one thread per element, all operands from device memory: CGMA ratio 1";

/// Threads per block.
pub const BLOCK: u32 = TILE * TILE;

/// Computes the `m` x `n` product `c` of `a`, `m` x `k`, and `b`, `k` x `n`, all row-major; `stored` selects transposed
/// operands. The order of additions is fixed, so the result is the same in every run; [`matmul`](crate::matmul) states
/// the error bound.
///
/// # Safety
/// `a` has `m * k` elements, `b` `k * n`, `c` room for `m * n` and overlaps neither; `BLOCK` threads, one block per
/// tile.
#[kernel(for T in [f32, f64])]
pub unsafe fn matmul_naive<T: Factor>(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32, stored: u32) {
    let (a, b) = (Side::left(a, m, k, stored), Side::right(b, n, k, stored));
    let [down, across] = tile_of_block(n, TILE);
    let (tid, tile) = (thread::thread_idx_x() as usize, TILE as usize);
    let (row, column) = (down * tile + tid / tile, across * tile + tid % tile);
    if row < a.x && column < b.x {
        let mut sum = T::ZERO;
        let mut at = 0;
        while at < a.k {
            // SAFETY: the element is inside both factors.
            sum = unsafe { a.get(row, at).mul_add(b.get(column, at), sum) };
            at += 1;
        }
        // SAFETY: the element is inside the product, and no other thread has this row and column.
        unsafe { c.add(row * b.x + column).write(sum) };
    }
}
