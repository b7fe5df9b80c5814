//! 16 bytes per instruction: from device memory, into shared memory, from there to registers, and to the product.
//!
//! The same bytes take a quarter of the instructions (f32). A thread's eight columns are runs of 16 bytes that are
//! sixteen runs apart, so that neighbouring lanes read neighbouring runs, and the tiles' rows have one run of padding,
//! so that a factor that is turned on the way, element by element, also spreads over the banks without conflicts. Where
//! a row does not start on 16 bytes, or at the matrix's edge, elements are moved singly.

use super::{
    Factor,
    outer::{multiply_add, place, runs},
    side::Side,
    tile_of_block,
};
use crate::unroll::unroll;
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, memory::U64x2, thread};

/// Rows and columns of a block's part of the product.
pub const TILE: u32 = 128;

/// Rows and columns of a thread's part of it.
pub const EACH: u32 = 8;

/// The idea in one line.
pub const IDEA: &str = "16 bytes per load and store, to and from padded shared memory: no bank conflicts";

/// Threads per block.
pub const BLOCK: u32 = TILE * TILE / (EACH * EACH);

/// Products per element and phase.
pub(super) const DEPTH: usize = 8;

pub(super) const SIDE: usize = TILE as usize;
pub(super) const PART: usize = EACH as usize;
/// Distance between a thread's runs in a row or column, in runs.
pub(super) const LANES: usize = SIDE / PART;
/// Elements of a pair of tiles, of runs of up to four.
pub(super) const PAIR: usize = 2 * (SIDE + 4) * DEPTH;

/// Elements from one row of a tile to the next.
pub(super) const fn pitch<T: Factor>() -> usize {
    SIDE + T::WIDTH
}

/// Elements of a tile.
pub(super) const fn tile<T: Factor>() -> usize {
    pitch::<T>() * DEPTH
}

/// A tile of each factor, of elements of up to 8 bytes, on a 16-byte boundary.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<U64x2>; PAIR / 2] = [MaybeUninit::uninit(); PAIR / 2];

/// Computes the `m` x `n` product `c` of `a`, `m` x `k`, and `b`, `k` x `n`, all row-major; `stored` selects transposed
/// operands. The order of additions is fixed, so the result is the same in every run; [`matmul`](crate::matmul) states
/// the error bound.
///
/// # Safety
/// `a` has `m * k` elements, `b` `k * n`, `c` room for `m * n` and overlaps neither; `BLOCK` threads, one block per
/// tile.
#[kernel(for T in [f32, f64])]
pub unsafe fn matmul_vectorised<T: Factor>(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32, stored: u32) {
    const { assert!(size_of::<T>() <= 8 && 2 * tile::<T>() <= PAIR) };
    let (a, b) = (Side::left(a, m, k, stored), Side::right(b, n, k, stored));
    let [down, across] = tile_of_block(n, TILE);
    let first = [down * SIDE, across * SIDE];
    let tid = thread::thread_idx_x() as usize;
    let tiles = (&raw mut ELEMENTS).cast::<T>();

    let mut sums = [[T::ZERO; PART]; PART];
    let mut phase = 0;
    while phase < a.k {
        let mut i = tid;
        while i < SIDE * DEPTH / T::WIDTH {
            let (in_a, in_b) = (a.run_place::<SIDE, DEPTH>(i), b.run_place::<SIDE, DEPTH>(i));
            let of_a = a.run([first[0] + in_a[0], phase + in_a[1]]);
            let of_b = b.run([first[1] + in_b[0], phase + in_b[1]]);
            // SAFETY: different `i` have different slots of the tiles.
            unsafe {
                a.put_run(&of_a, in_a, tiles, pitch::<T>());
                b.put_run(&of_b, in_b, tiles.add(tile::<T>()), pitch::<T>());
            }
            i += BLOCK as usize;
        }
        thread::sync_threads(); // the tiles are complete before any thread reads what others wrote
        // SAFETY: both tiles are written.
        unsafe { multiply(tiles, tid, &mut sums) };
        thread::sync_threads(); // every thread has read the tiles before the next phase overwrites them
        phase += DEPTH;
    }
    // SAFETY: no two threads write the same element.
    unsafe { write(c, first, [a.x, b.x], tid, &sums) };
}

/// Row and column in the tile of the thread's first element.
#[inline(always)]
fn first_of<T: Factor>(tid: usize) -> [usize; 2] {
    [tid / LANES * T::WIDTH, tid % LANES * T::WIDTH]
}

/// Adds the products of a pair of tiles.
///
/// # Safety
/// The tiles lie one after the other, on a 16-byte boundary, and they are not written meanwhile.
#[inline(always)]
pub(super) unsafe fn multiply<T: Factor>(tiles: *const T, tid: usize, sums: &mut [[T; PART]; PART]) {
    let [row, column] = first_of::<T>(tid);
    let mut step = 0;
    while step < DEPTH {
        // SAFETY: the element is inside the tiles.
        let (of_a, of_b) = unsafe {
            let (tile_b, step) = (tiles.add(tile::<T>()), step * pitch::<T>());
            (runs(tiles.add(step + row), LANES), runs(tile_b.add(step + column), LANES))
        };
        multiply_add(sums, &of_a, &of_b);
        step += 1;
    }
}

/// Writes the thread's sums, as far as they are inside the product.
///
/// # Safety
/// The product has this number of rows and columns, and no other thread writes this thread's elements.
#[inline(always)]
pub(super) unsafe fn write<T: Factor>(
    c: *mut T,
    first: [usize; 2],
    [rows, columns]: [usize; 2],
    tid: usize,
    sums: &[[T; PART]; PART],
) {
    let [row, column] = first_of::<T>(tid);
    let wide = columns.is_multiple_of(T::WIDTH) && c.addr().is_multiple_of(16);
    unroll!(i < PART => {
        let row = first[0] + place(row, LANES, T::WIDTH, i);
        if row < rows {
            // SAFETY: the row is inside the product, and starts on a boundary if `wide` is set.
            unsafe { write_row(c.add(row * columns), first[1] + column, columns, wide, &sums[i]) };
        }
    });
}

/// Writes the thread's elements of a row.
///
/// # Safety
/// The row has `end` elements, and where it is `wide` it starts on a 16-byte boundary; no other thread writes these
/// elements.
#[inline(always)]
unsafe fn write_row<T: Factor>(row: *mut T, first: usize, end: usize, wide: bool, sums: &[T; PART]) {
    if wide {
        unroll!(run < PART / T::WIDTH => {
            let column = place(first, LANES, T::WIDTH, run * T::WIDTH);
            if column < end {
                // SAFETY: the run is inside, since the end is a multiple of its width.
                unsafe { T::store_wide(row.add(column), sums, run * T::WIDTH) };
            }
        });
    } else {
        unroll!(j < PART => {
            let column = place(first, LANES, T::WIDTH, j);
            if column < end {
                // SAFETY: the element is inside the row.
                unsafe { row.add(column).write(sums[j]) };
            }
        });
    }
}
