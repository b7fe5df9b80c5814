//! Every lane reads its registers' elements from device memory, or from the caches: an element is read by each warp
//! that needs it. A register of 16-bit elements takes two loads, and one of bytes four.

use super::block::{BLOCK as THREADS, WARP, WarpTile, place, store};
use super::{Bf16, F16, Factor, S8, Tf32, factor::rights, lines::Lines};
use crate::unroll::unroll;
use cuda_std::mma::Left;
use cuda_std::prelude::*;

/// The idea in one line.
pub const IDEA: &str = "tensor cores by warps of 32x32 elements; each lane reads its registers from device memory";

/// Threads per block.
pub const BLOCK: u32 = THREADS;

pub use super::block::TILE;

/// Multiplies two matrices of `P`, `m` by `k` and `k` by `n`, all row-major; `stored` selects transposed operands. The
/// product has the type of the factors, but i32 for bytes. The order of additions is fixed.
///
/// # Safety
/// `a` has `m * k` elements, `b` `k * n`, `c` room for `m * n` and overlaps neither; [`BLOCK`] threads, one block per
/// tile of [`TILE`] by [`TILE`].
#[kernel(for P in [F16, Bf16, Tf32, S8], launch_bounds(BLOCK, 1))]
pub unsafe fn mma_naive<P: Factor>(a: *const u8, b: *const u8, c: *mut u8, m: u32, n: u32, k: u32, stored: u32) {
    let [a, b] = Lines::<P>::of([a, b], [m, n, k], stored);
    let ([row, column], [down, across]) = place(n);
    let (row, column) = (row + down, column + across);
    let mut sums = WarpTile::<P>::zero();
    let mut at = 0;
    while at < k {
        // SAFETY: the factors have their elements, and the whole warp is here.
        unsafe { sums.add(&registers(a, row, at).map(Left::from_registers), &registers(b, column, at).map(rights)) };
        at += P::STEP;
    }
    // SAFETY: by contract there is room for the product.
    unsafe { store(&sums, c, [m, n], [row, column]) };
}

/// The lane's registers of 32 lines, from element `k` of the depth on.
///
/// # Safety
/// The factor has its elements.
#[inline(always)]
unsafe fn registers<P: Factor>(factor: Lines<P>, line: u32, k: u32) -> [[u32; 4]; WARP] {
    let (line, k) = (line + warp::lane_id() / 4, k + warp::lane_id() % 4 * (4 / P::SIZE));
    let mut out = [[0; 4]; WARP];
    unroll!(i < WARP => {
        let line = line + i as u32 * 16;
        // SAFETY: the caller upholds this function's contract.
        let word = |down, bytes| unsafe { factor.word(line + down, k + bytes / P::SIZE) };
        out[i] = [word(0, 0), word(8, 0), word(0, 16), word(8, 16)];
    });
    out
}
