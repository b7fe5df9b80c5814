//! Two pairs of tiles: while one is multiplied, the next is loaded from device memory into registers, and then written
//! to the other pair.
//!
//! The loads' latency is hidden behind the multiplications instead of following them, and one barrier per phase is
//! enough: no thread writes the tiles that are being read.

use super::{
    Factor,
    side::Side,
    tile_of_block,
    vectorised::{DEPTH, PAIR, PART, SIDE, multiply, pitch, tile, write},
};
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, memory::U64x2, thread};

/// Rows and columns of a block's part of the product.
pub const TILE: u32 = super::vectorised::TILE;

/// The idea in one line.
pub const IDEA: &str = "the next tile is loaded while this one is multiplied: one barrier per tile";

/// Threads per block.
pub const BLOCK: u32 = super::vectorised::BLOCK;

const THREADS: usize = BLOCK as usize;

/// Two pairs of tiles of elements of up to 8 bytes, on a 16-byte boundary.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<U64x2>; PAIR] = [MaybeUninit::uninit(); PAIR];

/// A thread's runs of a pair of tiles: one or two of each tile.
#[derive(Clone, Copy)]
struct Loaded<T>([[[T; 4]; 2]; 2]);

/// Computes the `m` x `n` product `c` of `a`, `m` x `k`, and `b`, `k` x `n`, all row-major; `stored` selects transposed
/// operands. The order of additions is fixed, so the result is the same in every run; [`matmul`](crate::matmul) states
/// the error bound.
///
/// # Safety
/// `a` has `m * k` elements, `b` `k * n`, `c` room for `m * n` and overlaps neither; `BLOCK` threads, one block per
/// tile.
#[kernel(for T in [f32, f64])]
pub unsafe fn matmul_double_buffered<T: Factor>(a: &[T], b: &[T], c: *mut T, m: u32, n: u32, k: u32, stored: u32) {
    const { assert!(size_of::<T>() <= 8 && SIDE * DEPTH / T::WIDTH <= 2 * THREADS) };
    let (a, b) = (Side::left(a, m, k, stored), Side::right(b, n, k, stored));
    let [down, across] = tile_of_block(n, TILE);
    let first = [down * SIDE, across * SIDE];
    let tid = thread::thread_idx_x() as usize;
    let tiles = (&raw mut ELEMENTS).cast::<T>();

    let mut sums = [[T::ZERO; PART]; PART];
    let (mut reading, mut writing) = (0, PAIR);
    // SAFETY: the tiles must not be in use yet.
    unsafe { put(&a, &b, &load(&a, &b, first, 0, tid), tiles, tid) };
    thread::sync_threads(); // the first tiles are complete before any thread reads what others wrote
    let mut phase = 0;
    while phase < a.k {
        // Past the end the runs are zeros, which are not read.
        let next = load(&a, &b, first, phase + DEPTH, tid);
        // SAFETY: the tiles were complete at the last barrier, and every thread has read the others before it.
        unsafe {
            multiply(tiles.add(reading), tid, &mut sums);
            put(&a, &b, &next, tiles.add(writing), tid);
        }
        // The next tiles are complete before any thread reads them, and every thread has read these before they are
        // overwritten.
        thread::sync_threads();
        (reading, writing) = (writing, reading);
        phase += DEPTH;
    }
    // SAFETY: no two threads write the same element.
    unsafe { write(c, first, [a.x, b.x], tid, &sums) };
}

/// A thread's second run of each tile, where there is one.
const fn has_second<T: Factor>() -> bool {
    SIDE * DEPTH / T::WIDTH > THREADS
}

/// The thread's runs of the tiles that start at `phase`.
#[inline(always)]
fn load<T: Factor>(a: &Side<'_, T>, b: &Side<'_, T>, first: [usize; 2], phase: usize, tid: usize) -> Loaded<T> {
    let pair = |run: usize| {
        let (in_a, in_b) = (a.run_place::<SIDE, DEPTH>(run), b.run_place::<SIDE, DEPTH>(run));
        [a.run([first[0] + in_a[0], phase + in_a[1]]), b.run([first[1] + in_b[0], phase + in_b[1]])]
    };
    Loaded([pair(tid), if has_second::<T>() { pair(tid + THREADS) } else { [[T::ZERO; 4]; 2] }])
}

/// Writes the thread's runs to a pair of tiles.
///
/// # Safety
/// No other thread uses these tiles.
#[inline(always)]
unsafe fn put<T: Factor>(a: &Side<'_, T>, b: &Side<'_, T>, loaded: &Loaded<T>, tiles: *mut T, tid: usize) {
    let pair = |run: usize, [of_a, of_b]: &[[T; 4]; 2]| {
        // SAFETY: different runs have different slots of the tiles.
        unsafe {
            a.put_run(of_a, a.run_place::<SIDE, DEPTH>(run), tiles, pitch::<T>());
            b.put_run(of_b, b.run_place::<SIDE, DEPTH>(run), tiles.add(tile::<T>()), pitch::<T>());
        }
    };
    pair(tid, &loaded.0[0]);
    if has_second::<T>() {
        pair(tid + THREADS, &loaded.0[1]);
    }
}
