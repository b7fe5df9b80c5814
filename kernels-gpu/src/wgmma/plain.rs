//! The product without tensor cores, element by element: right for PTX that has no warpgroups, and slow.

use crate::tensor::mixed::{Precision, Sum};
use cuda_std::prelude::*;

/// Multiplies two matrices, of which the first is stored transposed if `A`, and the second is not if `B`.
///
/// # Safety
/// `a` has `m * k` elements, `b` `k * n`, and `c` room for `m * n`, which nothing else accesses; all threads of the
/// grid call it.
#[inline(always)]
pub unsafe fn plain<P: Precision, const A: bool, const B: bool>(
    [a, b]: [*const u16; 2],
    c: *mut u16,
    [m, n, k]: [u32; 3],
) {
    let (m, n, depth) = (m as usize, n as usize, k as usize);
    // Without `max` the compiler would keep a panic for a division by 0.
    let columns = n.max(1);
    let (a, b) = (a.cast::<P::Bits>(), b.cast::<P::Bits>());
    let mut i = thread::global_index();
    while i < m * n {
        let (row, column) = (i / columns, i % columns);
        let (mut sum, mut at) = (P::Sum::ZERO, 0);
        while at < depth {
            let of_a = if A { at * m + row } else { row * depth + at };
            let of_b = if B { at * n + column } else { column * depth + at };
            // SAFETY: both elements are inside their matrices.
            sum = unsafe { P::multiply_add(*a.add(of_a), *b.add(of_b), sum) };
            at += 1;
        }
        // SAFETY: the element is inside the product, and this thread's.
        unsafe { c.add(i).write(P::pack(sum.float(), 0.0) as u16) };
        i += thread::grid_stride();
    }
}
