//! A product is scaled and added to a matrix in a launch of its own: with this code after the main loop of
//! [`best`](super::best), products of f32 took 3 % longer on an H200.

use super::Factor;
use crate::output::Output;
use cuda_std::{kernel, thread, warp};

/// Threads per block: whole warps, each of which has a row at a time.
pub const BLOCK: u32 = 256;

/// Writes `alpha * product + beta * c` to `count` matrices `c` of `m` by `n`, which lie `step` elements apart, and
/// their rows `pitch`. The products follow each other without gaps. With a `beta` of 0, `c` is not read.
///
/// # Safety
/// `product` has the products, and `c` the matrices, which overlap neither each other nor the products; whole warps,
/// any number of them.
#[kernel(for T in [f32, f64], launch_bounds(BLOCK))]
pub unsafe fn matmul_scaled<T: Factor>(
    product: &[T],
    c: *mut T,
    count: u32,
    m: u32,
    n: u32,
    step: u64,
    pitch: u32,
    alpha: T,
    beta: T,
) {
    // Without `max` the compiler would keep a panic for a division by 0.
    let (rows, columns) = ((m as usize).max(1), n as usize);
    let mut row = thread::global_index() / 32;
    while row < count as usize * m as usize {
        let to = c.wrapping_add(row / rows * step as usize + row % rows * pitch as usize);
        let output = Output { to, alpha, beta };
        let mut column = warp::lane_id() as usize;
        while column < columns {
            // SAFETY: both elements are there, and this thread's.
            unsafe { output.write(column, *product.get_unchecked(row * columns + column)) };
            column += 32;
        }
        row += thread::grid_stride() / 32;
    }
}
