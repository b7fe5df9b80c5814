//! The grid-stride loop over vectors of 16 bytes: a thread loads and stores four neighbouring elements (two of 8 bytes)
//! with one instruction each, so a quarter (half) of the instructions moves the same bytes.
//!
//! A vector must start on a 16-byte boundary. Allocations do, but slices of them may not: unless all three arrays start
//! on a boundary, no vectors are used. A second loop adds the elements outside the vectors singly.

use crate::number::Number;
use cuda_std::{kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str = "the grid-stride loop, 16 bytes per lane: a quarter of the loads and stores (f32)";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Adds two vectors of equal length; integers wrap.
///
/// # Safety
/// `b` is as long as `a`, and `out` has room for as many elements and overlaps neither.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn vecadd_vectorised<T: Number>(a: &[T], b: &[T], out: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => add::<T, 4>(a, b, out),
            _ => add::<T, 2>(a, b, out),
        }
    }
}

/// Implements the kernel for elements of which `W` fill 16 bytes.
///
/// # Safety
/// As for [`vecadd_vectorised()`].
#[inline(always)]
unsafe fn add<T: Number, const W: usize>(a: &[T], b: &[T], out: *mut T) {
    let n = a.len().min(b.len());
    let (first, threads) = (thread::global_index(), thread::grid_stride());
    let aligned = (a.as_ptr().addr() | b.as_ptr().addr() | out.addr()).is_multiple_of(16);
    let vectors = if aligned { n / W } else { 0 };

    let (a_vectors, b_vectors) = (a.as_ptr().cast::<Vector<T, W>>(), b.as_ptr().cast::<Vector<T, W>>());
    let out_vectors = out.cast::<Vector<T, W>>();
    let mut i = first;
    while i < vectors {
        // SAFETY: `i` is below the number of whole vectors of each array, all three start on a boundary, and no other
        // thread of the grid visits this `i`.
        unsafe {
            let (Vector(x), Vector(y)) = (Vector::load(a_vectors.add(i)), Vector::load(b_vectors.add(i)));
            Vector(core::array::from_fn(|j| x[j].add(y[j]))).store(out_vectors.add(i));
        }
        i += threads;
    }

    let mut i = vectors * W + first;
    while i < n {
        // SAFETY: `i` is below the length of each array, and no other thread of the grid visits it.
        unsafe { out.add(i).write(a.get_unchecked(i).add(*b.get_unchecked(i))) };
        i += threads;
    }
}
