//! Products by blocks of few warps, many of which share a multiprocessor: the copies of some overlap the
//! multiplications of others, so a block needs only two stages, and waits for what it loads.
//!
//! Half of the instructions of a small product are no multiplications. So nothing is turned, copies take 16 bytes, and
//! tiles need not be whole.

use super::{
    as_stored::{AsStored, DEPTH},
    engine::Engine,
    finish::write,
    product::matrix,
};
use crate::matmul::{A_TRANSPOSED, B_TRANSPOSED, factor::Factor, outer::multiply_add, side::Side};
use crate::unroll::unroll;
use cuda_std::{
    memory::{copy_async_commit, copy_async_wait},
    shared::dynamic_shared_mem,
    thread,
};

/// Stages of a block: one is multiplied while the other is copied.
pub const STAGES: usize = 2;

/// Computes a tile of `BM` by `BN` elements of a product, `BK` of the depth at a time, each thread `TM` by `TN` of
/// them. `ALONG_A` and `ALONG_B` say whether A and B are stored along `k`.
///
/// # Safety
/// `THREADS` threads, one block per tile of each product, and the shared memory of [`STAGES`] stages; the operands of
/// product `i` start at elements `i * steps` of `a`, `b` and `c`.
#[inline(always)]
pub unsafe fn few<
    T: Factor,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TM: usize,
    const TN: usize,
    const THREADS: usize,
    const ALONG_A: bool,
    const ALONG_B: bool,
>(
    a: &[T],
    b: &[T],
    c: *mut T,
    [m, n, k]: [u32; 3],
    steps: [usize; 3],
) {
    const {
        assert!(BM / TM * (BN / TN) == THREADS, "every thread has a part of the tile");
        assert!(BN == Engine::<T>::LANES[1] * TN, "warps lie below each other");
        assert!(BK.is_multiple_of(DEPTH), "a stage is made of runs");
    };
    let stored = if ALONG_A { 0 } else { A_TRANSPOSED } | if ALONG_B { B_TRANSPOSED } else { 0 };
    let (across, down) = (n.div_ceil(BN as u32), m.div_ceil(BM as u32));
    // There is no block if there is no tile; without `max` the compiler would keep a panic for a division by 0.
    let (tiles, index) = (across.wrapping_mul(down).max(1), thread::block_idx_x());
    let (number, tile) = ((index / tiles) as usize, index % tiles);
    let own = [(tile / across.max(1)) as usize * BM, (tile % across.max(1)) as usize * BN];
    // SAFETY: there is a block for each tile of each product, so this product exists, and these are its factors.
    let (a, b) = unsafe { (matrix(a, number * steps[0], [m, k]), matrix(b, number * steps[1], [k, n])) };
    let (a, b) = (Side::left(a, m, k, stored), Side::right(b, n, k, stored));
    let c = c.wrapping_add(number * steps[2]);

    let tid = thread::thread_idx_x() as usize;
    let [row, column] = Engine::<T>::new(tid % 32).place();
    let [rows, columns] = Engine::<T>::LANES;
    let feed_a = AsStored::<T, BM, BK, THREADS, ALONG_A>::new(a, own[0], tid);
    let feed_b = AsStored::<T, BN, BK, THREADS, ALONG_B>::new(b, own[1], tid);
    let (side_a, side_b) = (neighbours(ALONG_A), neighbours(ALONG_B));
    let (row, column) = (tid / 32 * rows * TM + row * side_a, column * side_b);

    let mut sums = [[T::ZERO; TN]; TM];
    let (shared, stage) = (dynamic_shared_mem::<T>(), elements(BM, BK, ALONG_A) + elements(BN, BK, ALONG_B));
    // SAFETY: there is room for the stages; a stage is copied to when all threads have read it, and read when all
    // copies to it are complete. All conditions are the same for the whole block.
    unsafe {
        let tile_b = shared.add(elements(BM, BK, ALONG_A));
        unroll!(ahead < STAGES => {
            if ahead * BK < a.k {
                feed_a.copy(ahead * BK, shared.add(ahead * stage));
                feed_b.copy(ahead * BK, tile_b.add(ahead * stage));
            }
            copy_async_commit();
        });
        let (mut first, mut reading) = (0, 0);
        while first < a.k {
            copy_async_wait::<{ STAGES as u32 - 1 }>();
            thread::sync_threads(); // every thread's copies of this stage are complete
            let mut step = 0;
            while step < BK && first + step < a.k {
                let of_a = AsStored::<T, BM, BK, THREADS, ALONG_A>::load::<TM>(shared.add(reading), step, row, rows);
                let of_b =
                    AsStored::<T, BN, BK, THREADS, ALONG_B>::load::<TN>(tile_b.add(reading), step, column, columns);
                unroll!(j < DEPTH => {
                    multiply_add(&mut sums, &of_a[j], &of_b[j]);
                });
                step += DEPTH;
            }
            thread::sync_threads(); // every thread has read the stage before it is copied to
            if first + STAGES * BK < a.k {
                feed_a.copy(first + STAGES * BK, shared.add(reading));
                feed_b.copy(first + STAGES * BK, tile_b.add(reading));
            }
            copy_async_commit();
            first += BK;
            reading = if reading == 0 { stage } else { 0 };
        }
        write::<T, TM, TN>(c, [a.x, b.x], [own[0] + row, own[1] + column], [side_a, side_b], own, &sums);
    }
}

/// Bytes of shared memory of a block: those of the stages, however the factors are stored.
pub const fn shared<T>(rows: usize, columns: usize, depth: usize) -> u32 {
    let (mut bytes, mut stored) = (0, 0);
    while stored < 4 {
        let stage = elements(rows, depth, stored & 1 != 0) + elements(columns, depth, stored & 2 != 0);
        let all = STAGES * stage * size_of::<T>();
        bytes = if all > bytes { all } else { bytes };
        stored += 1;
    }
    bytes as u32
}

/// Elements of a tile in shared memory.
const fn elements(x: usize, k: usize, along_k: bool) -> usize {
    if along_k { x * super::pitch(k) } else { k * super::pitch(x) }
}

/// Neighbouring rows or columns of a thread.
const fn neighbours(along_k: bool) -> usize {
    if along_k { 1 } else { DEPTH }
}
