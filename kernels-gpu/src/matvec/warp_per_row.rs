//! A row for each warp: its lanes read neighbours, so that the sectors of a row-major matrix are used whole, and add
//! their sums by shuffles. A lane has one small load of the matrix in flight, which the memory's latency limits.

use super::{Bf16, Entry, F16, steps};
use crate::number::Number;
use crate::reduce::{Sum, collective::warp_reduce};
use cuda_std::math::Float;
use cuda_std::{kernel, thread, warp};

/// The idea in one line.
pub const IDEA: &str = "a warp per row: lanes read neighbours and add their sums by shuffles";

/// Default number of threads per block; a multiple of 32.
pub const BLOCK: u32 = 256;

/// Writes the product of the matrix `a` of `rows` by `columns` and the vector `x`; `stored` says whether `a` is stored
/// transposed.
///
/// # Safety
/// `a` has `rows * columns` elements, `x` `columns`, `y` room for `rows` and overlaps neither; blocks of whole warps.
#[kernel(for T in [f32, f64, F16, Bf16])]
pub unsafe fn matvec_warp_per_row<T: Entry<Sum: Float>>(
    a: &[<T as Entry>::Bits],
    x: &[<T as Entry>::Bits],
    y: *mut <T as Entry>::Sum,
    rows: u32,
    columns: u32,
    stored: u32,
) {
    let row = thread::global_index() / 32;
    // The same for all lanes of the warp.
    if row >= rows as usize {
        return;
    }
    let [down, across] = steps(rows, columns, stored);
    let mut sum = T::Sum::ZERO;
    let mut k = warp::lane_id() as usize;
    while k < columns as usize {
        // SAFETY: the row and the column are inside the matrix, the column is inside the vector.
        let (a, x) = unsafe { (*a.get_unchecked(row * down + k * across), *x.get_unchecked(k)) };
        sum = T::widen(a).mul_add(T::widen(x), sum);
        k += 32;
    }
    // SAFETY: all lanes of the warp have the same row and are here.
    let sum = unsafe { warp_reduce::<Sum, T::Sum>(sum) };
    if warp::lane_id() == 0 {
        // SAFETY: the row is inside the result, and no other warp has it.
        unsafe { y.add(row).write(sum) };
    }
}
