//! Products by blocks of one warp, many of which share a multiprocessor: the copies of some overlap the
//! multiplications of others, so a block needs only two stages, and waits for what it loads.
//!
//! Half of the instructions of a small product are no multiplications. So nothing is turned, copies take 16 bytes, and
//! tiles need not be whole.

use super::{
    as_stored::{AsStored, K, THREADS, TOGETHER, X},
    engine::Engine,
    layout::pitch,
    matrices::Matrices,
    store::{Share, Target},
};
use crate::epilogue::Epilogue;
use crate::matmul::{factor::Factor, outer::multiply_add};
use crate::unroll::unroll;
use cuda_std::{
    memory::{copy_async_commit, copy_async_wait},
    shared::dynamic_shared_mem,
    thread,
};

/// Rows and columns of a tile that a thread computes.
const OF_THREAD: [usize; 2] = [8, 4];
/// Stages of a block: one is multiplied while the other is copied.
const STAGES: usize = 2;

/// Bytes of shared memory of a block: those of its stages, which are largest if neither factor is stored along `x`.
pub const fn shared<T: Factor>() -> u32 {
    const { assert!(AsStored::<T, true>::ELEMENTS >= AsStored::<T, false>::ELEMENTS) };
    (STAGES * 2 * AsStored::<T, true>::ELEMENTS * size_of::<T>()) as u32
}

/// Computes a tile of a product. `ALONG_A` and `ALONG_B` say whether A and B are stored along `k`.
///
/// # Safety
/// [`THREADS`] threads, one block per tile of each product, and [`shared`] bytes of shared memory; `a` and `b` have the
/// matrices, `c` has room for them, and the epilogue its vectors and matrices.
#[inline(always)]
pub unsafe fn few<T: Factor, const ALONG_A: bool, const ALONG_B: bool>(
    a: &[T],
    b: &[T],
    c: *mut T,
    matrices: Matrices,
    how: u32,
    epilogue: Epilogue<T>,
) {
    const {
        let [rows, columns] = Engine::<T>::LANES;
        assert!(OF_THREAD[0] * rows == X && OF_THREAD[1] * columns == X, "the warp has the whole tile");
        assert!(THREADS == 32 && K.is_multiple_of(TOGETHER), "a stage is made of runs");
        assert!(
            STAGES * 2 * AsStored::<T, false>::ELEMENTS >= X * pitch(X),
            "the stages have room for the tile's sums"
        );
    };
    let [m, n, _] = matrices.sizes;
    let (across, down) = (n.div_ceil(X as u32), m.div_ceil(X as u32));
    // There is no block if there is no tile; without `max` the compiler would keep a panic for a division by 0.
    let (tiles, index) = (across.wrapping_mul(down).max(1), thread::block_idx_x());
    let (number, tile) = ((index / tiles) as usize, index % tiles);
    let own = [(tile / across.max(1)) as usize * X, (tile % across.max(1)) as usize * X];
    // SAFETY: there is a block for each tile of each product, so this product exists, and these are its factors.
    let [a, b] = unsafe { matrices.factors([a, b], number, [ALONG_A, ALONG_B]) };
    let (c, epilogue) = (matrices.product(c, number), matrices.epilogue(epilogue, number));

    let tid = thread::thread_idx_x() as usize;
    let [row, column] = Engine::<T>::new(tid).place();
    let [rows, columns] = Engine::<T>::LANES;
    let feed_a = AsStored::<T, ALONG_A>::new(a, own[0], tid);
    let feed_b = AsStored::<T, ALONG_B>::new(b, own[1], tid);
    let neighbours = [AsStored::<T, ALONG_A>::NEIGHBOURS, AsStored::<T, ALONG_B>::NEIGHBOURS];
    let (row, column) = (row * neighbours[0], column * neighbours[1]);

    let mut sums = [[T::ZERO; OF_THREAD[1]]; OF_THREAD[0]];
    let of_a = AsStored::<T, ALONG_A>::ELEMENTS;
    let (shared, stage) = (dynamic_shared_mem::<T>(), of_a + AsStored::<T, ALONG_B>::ELEMENTS);
    // SAFETY: there is room for the stages; a stage is copied to when all threads have read it, and read when all
    // copies to it are complete. All conditions are the same for the whole block.
    unsafe {
        let tile_b = shared.add(of_a);
        unroll!(ahead < STAGES => {
            if ahead * K < a.k {
                feed_a.copy(ahead * K, shared.add(ahead * stage));
                feed_b.copy(ahead * K, tile_b.add(ahead * stage));
            }
            copy_async_commit();
        });
        let (mut first, mut reading) = (0, 0);
        while first < a.k {
            copy_async_wait::<{ STAGES as u32 - 1 }>();
            thread::sync_threads(); // every thread's copies of this stage are complete
            let mut step = 0;
            while step < K && first + step < a.k {
                let of_a = AsStored::<T, ALONG_A>::load(shared.add(reading), step, row, rows);
                let of_b = AsStored::<T, ALONG_B>::load(tile_b.add(reading), step, column, columns);
                unroll!(j < TOGETHER => {
                    multiply_add(&mut sums, &of_a[j], &of_b[j]);
                });
                step += TOGETHER;
            }
            thread::sync_threads(); // every thread has read the stage before it is copied to
            if first + STAGES * K < a.k {
                feed_a.copy(first + STAGES * K, shared.add(reading));
                feed_b.copy(first + STAGES * K, tile_b.add(reading));
            }
            copy_async_commit();
            first += K;
            reading = if reading == 0 { stage } else { 0 };
        }
        let own = own.map(|first| first as u32);
        let target = Target { c, pitch: matrices.pitches[2], first: own, own, end: [m, n], how, epilogue };
        let share = Share { at: [row, column], neighbours, has_sums: true };
        target.store::<X, X, { OF_THREAD[0] }, { OF_THREAD[1] }, THREADS>(shared, 1, share, 0, &sums);
    }
}
