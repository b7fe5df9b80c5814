//! The rung to use: 16 bytes per lane in each instruction, and all loads of a thread in flight before its first
//! addition.
//!
//! - A block adds tiles of `EACH` vectors per thread. Loads and stores of a warp are 512 neighbouring bytes.
//! - Elements before the first 16-byte boundary of `out` and after the last one are added singly, so `out` may start at
//!   any element. If `a` or `b` is aligned differently from `out`, no boundary suits all three, and all elements are
//!   added singly, with coalesced accesses.
//! - Full tiles load without a bounds check; a load after a branch would have to wait for it.
//! - The library gives vectors so short that a thread for every 16 bytes runs at once to the kernel of
//!   [`vectorised`](super::vectorised), whose threads fill the device where tiles leave it partly empty.

use crate::number::Number;
use cuda_std::{kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str = "16 bytes per lane, and all loads of a thread in flight before its first addition";

/// Default number of threads per block; a multiple of 32.
pub const BLOCK: u32 = 256;

/// Vectors of 16 bytes that a thread adds at once; twice as many loads are in flight.
// tune: 1 2 4 8
pub const EACH: usize = 4;

/// Adds two vectors of equal length; integers wrap.
///
/// # Safety
/// `b` is as long as `a`; `out` has room for as many elements and overlaps neither; the block is a multiple of 32.
#[kernel(for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn vecadd_best<T: Number>(a: &[T], b: &[T], out: *mut T) {
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
/// As for [`vecadd_best()`].
#[inline(always)]
unsafe fn add<T: Number, const W: usize>(a: &[T], b: &[T], out: *mut T) {
    let n = a.len().min(b.len());
    let alike = |address: usize| (address ^ out.addr()).is_multiple_of(16);
    let (head, vectors) = match alike(a.as_ptr().addr()) && alike(b.as_ptr().addr()) {
        true => Vector::<T, W>::parts(out, n),
        false => (n, 0),
    };
    // SAFETY: `head + vectors * W <= n`, and after `head` elements all three are on a 16-byte boundary (or there is no
    // vector).
    unsafe {
        let at = |base: *const T| base.add(head).cast::<Vector<T, W>>();
        add_vectors(at(a.as_ptr()), at(b.as_ptr()), out.add(head).cast(), vectors);
        add_singly(a, b, out, 0, head);
        add_singly(a, b, out, head + vectors * W, n);
    }
}

/// Adds `count` vectors, in tiles of `EACH` per thread.
///
/// # Safety
/// Each of the three pointers is aligned to 16 bytes and points to `count` vectors.
#[inline(always)]
unsafe fn add_vectors<T: Number, const W: usize>(
    a: *const Vector<T, W>,
    b: *const Vector<T, W>,
    out: *mut Vector<T, W>,
    count: usize,
) {
    let block = thread::block_dim_x() as usize;
    let tile = EACH * block;
    let mut first = thread::block_idx_x() as usize * tile;
    while first < count {
        let i = first + thread::thread_idx_x() as usize;
        if first + tile <= count {
            // SAFETY: `i + k * block < first + tile <= count` for every `k < EACH`; each vector has one thread.
            unsafe {
                let x: [_; EACH] = core::array::from_fn(|k| Vector::load(a.add(i + k * block)));
                let y: [_; EACH] = core::array::from_fn(|k| Vector::load(b.add(i + k * block)));
                let mut k = 0;
                while k < EACH {
                    sum(x[k], y[k]).store(out.add(i + k * block));
                    k += 1;
                }
            }
        } else {
            let mut i = i;
            while i < count {
                // SAFETY: `i` is below the count, and no other thread has this vector.
                unsafe { sum(Vector::load(a.add(i)), Vector::load(b.add(i))).store(out.add(i)) };
                i += block;
            }
        }
        first += tile * thread::grid_dim_x() as usize;
    }
}

/// Adds elements `from..until`, one by one over the threads of the grid.
///
/// # Safety
/// All three arrays have `until` elements.
#[inline(always)]
unsafe fn add_singly<T: Number>(a: &[T], b: &[T], out: *mut T, from: usize, until: usize) {
    let mut i = from + thread::global_index();
    while i < until {
        // SAFETY: `i` is below the length of each, and no other thread of the grid visits it.
        unsafe { out.add(i).write(a.get_unchecked(i).add(*b.get_unchecked(i))) };
        i += thread::grid_stride();
    }
}

/// Adds two vectors element by element.
#[inline(always)]
fn sum<T: Number, const W: usize>(Vector(a): Vector<T, W>, Vector(b): Vector<T, W>) -> Vector<T, W> {
    Vector(core::array::from_fn(|j| a[j].add(b[j])))
}
