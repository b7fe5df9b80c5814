//! Tiling, as in the PMPP slides (`docs/sources.md`): the threads of a block fetch a square tile of A and one of B
//! together, multiply them from shared memory, and continue with the next phase. There are `k / TILE` phases.
//!
//! Every element of a tile is fetched once and used `TILE` times, so traffic to device memory falls to `1 / TILE`: a
//! CGMA ratio of 16 or 32. Neighbouring threads fetch neighbours, so also a walk along columns becomes coalesced. The
//! remaining cost is shared memory: two loads for every multiplication.
//!
//! A factor that is stored transposed is turned as it is written to its tile, down columns, which have few banks: a
//! store takes 32 wavefronts (32x32 tiles) or eight (16x16) instead of one. The thread tiles, whose rows are `k`, have
//! these conflicts for an A that is not transposed; the padded rows from [`vectorised`](super::vectorised) on avoid
//! them.

use super::{Factor, side::Side, tile_of_block};
use core::mem::MaybeUninit;
use cuda_std::{address_space, kernel, thread};

/// The ideas in one line each, one per tile of [`TILES`].
pub const IDEAS: [&str; 2] = [
    "tiles of 16x16 in shared memory: each element fetched serves 16 products, CGMA 16",
    "tiles of 32x32, a full block of 1024 threads: CGMA 32",
];

/// Sides of the tiles for which there are kernels, with one thread for each element.
pub const TILES: [u32; 2] = [16, 32];

const SLOTS: usize = 2 * (TILES[1] * TILES[1]) as usize;

/// A tile of A and one of B, of elements of up to 8 bytes.
#[address_space(shared)]
static mut ELEMENTS: [MaybeUninit<u64>; SLOTS] = [MaybeUninit::uninit(); SLOTS];

/// Computes the `m` x `n` product `c` of `a`, `m` x `k`, and `b`, `k` x `n`, all row-major; `stored` selects transposed
/// operands. The order of additions is fixed, so the result is the same in every run; [`matmul`](crate::matmul) states
/// the error bound.
///
/// # Safety
/// `a` has `m * k` elements, `b` `k * n`, `c` room for `m * n` and overlaps neither; `TILE * TILE` threads, one block
/// per tile.
#[kernel(for T in [f32, f64], for TILE in [16, 32])]
pub unsafe fn matmul_tiled<T: Factor, const TILE: usize>(
    a: &[T],
    b: &[T],
    c: *mut T,
    m: u32,
    n: u32,
    k: u32,
    stored: u32,
) {
    const { assert!(2 * TILE * TILE <= SLOTS && size_of::<T>() <= 8) };
    let (a, b) = (Side::left(a, m, k, stored), Side::right(b, n, k, stored));
    let [down, across] = tile_of_block(n, TILE as u32);
    let tid = thread::thread_idx_x() as usize;
    let (y, x) = (tid / TILE, tid % TILE);
    let (row, column) = (down * TILE + y, across * TILE + x);
    let tile_a = (&raw mut ELEMENTS).cast::<T>();
    let tile_b = tile_a.wrapping_add(TILE * TILE);

    let mut sum = T::ZERO;
    let mut phase = 0;
    while phase < a.k {
        // SAFETY: each thread has its own slot in both tiles, in either order.
        unsafe {
            if a.turned() {
                tile_a.add(y * TILE + x).write(a.get_or_zero(row, phase + x));
            } else {
                tile_a.add(x * TILE + y).write(a.get_or_zero(down * TILE + x, phase + y));
            }
            if b.turned() {
                tile_b.add(x * TILE + y).write(b.get_or_zero(across * TILE + y, phase + x));
            } else {
                tile_b.add(y * TILE + x).write(b.get_or_zero(column, phase + y));
            }
        }
        thread::sync_threads(); // the tiles are complete before any thread reads what others wrote
        let mut i = 0;
        while i < TILE {
            // SAFETY: the element is inside the tiles, which are written.
            sum = unsafe { tile_a.add(y * TILE + i).read().mul_add(tile_b.add(i * TILE + x).read(), sum) };
            i += 1;
        }
        thread::sync_threads(); // every thread has read the tiles before the next phase overwrites them
        phase += TILE;
    }
    if row < a.x && column < b.x {
        // SAFETY: the element is inside the product, and no other thread has this row and column.
        unsafe { c.add(row * b.x + column).write(sum) };
    }
}
