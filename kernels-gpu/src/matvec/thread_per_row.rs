//! A row for each thread, which needs no cooperation. Neighbouring threads read elements a row apart: each load of a
//! warp touches 32 sectors, and uses one element of each. A matrix that is stored transposed is read well.

use super::{Bf16, Entry, F16, steps};
use crate::number::Number;
use cuda_std::math::Float;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "a thread per row: right for a transposed matrix, scattered sectors for a row-major one";

/// Default number of threads per block.
pub const BLOCK: u32 = 256;

/// Writes the product of the matrix `a` of `rows` by `columns` and the vector `x`; `stored` says whether `a` is stored
/// transposed.
///
/// # Safety
/// `a` has `rows * columns` elements, `x` `columns`, `y` room for `rows` and overlaps neither.
#[kernel(for T in [f32, f64, F16, Bf16])]
pub unsafe fn matvec_thread_per_row<T: Entry<Sum: Float>>(
    a: &[<T as Entry>::Bits],
    x: &[<T as Entry>::Bits],
    y: *mut <T as Entry>::Sum,
    rows: u32,
    columns: u32,
    stored: u32,
) {
    let row = thread::global_index();
    if row >= rows as usize {
        return;
    }
    let [down, across] = steps(rows, columns, stored);
    let mut sum = T::Sum::ZERO;
    let mut k = 0;
    while k < columns as usize {
        // SAFETY: the row and the column are inside the matrix, the column is inside the vector.
        let (a, x) = unsafe { (*a.get_unchecked(row * down + k * across), *x.get_unchecked(k)) };
        sum = T::widen(a).mul_add(T::widen(x), sum);
        k += 1;
    }
    // SAFETY: the row is inside the result, and no other thread has it.
    unsafe { y.add(row).write(sum) };
}
