//! One tile of the product, or a part of its depth, by one block: a ring of stages in shared memory, and a grid of sums
//! in each thread's registers.

use super::{
    engine::Engine,
    feed::Feed,
    finish::{Division, join},
    layout::{SINCE_SM_90, kept, least, pitch, raster, room},
    matrices::Matrices,
    store::{Share, Target, parts as parts_of_tile},
};
use crate::epilogue::Epilogue;
use crate::matmul::factor::Factor;
use crate::unroll::unroll;
use cuda_std::{
    memory::{SharedAddress, copy_async_commit, copy_async_wait},
    shared::dynamic_shared_mem,
    thread,
};

/// Parts in which a tile's copies start, spread over the steps of the tile before: if all started at once, they would
/// delay the main loop's loads; before single copies ptxas inserts three dummy instructions each (sm_90).
const fn parts(steps: usize) -> usize {
    match steps {
        0..=2 => 1,
        3..=4 => 2,
        _ => 4,
    }
}

/// Computes a tile of `BM` by `BN` elements of a product, `BK` of the depth at a time, each thread `TM` by `TN` of
/// them. `SLICES` groups of threads share the depth, and add their sums at the end. Factors whose layout differs from
/// that of their tiles are turned. The others are copied in runs of `W` elements where these are aligned; elsewhere one
/// by one if the kernel supports `ANY` factors, else without a pipeline.
///
/// # Safety
/// `THREADS` threads, a grid along x only, a block for each tile or each of its parts, as [`Division::parts`] counts
/// them, and [`room`] for elements of shared memory; `a` and `b` have the matrices, `c` has room for them, and the
/// epilogue its vectors and matrix; the contract of that function.
#[inline(always)]
pub unsafe fn product<
    T: Factor,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TM: usize,
    const TN: usize,
    const STAGES: usize,
    const SLICES: usize,
    const THREADS: usize,
    const W: usize,
    const ANY: bool,
    const TURN_A: bool,
    const TURN_B: bool,
>(
    a: &[T],
    b: &[T],
    c: *mut T,
    matrices: Matrices,
    division: Division<T>,
    how: u32,
    epilogue: Epilogue<T>,
) {
    const {
        assert!(BM / TM * (BN / TN) * SLICES == THREADS, "every thread has a part of the tile");
        assert!(
            BM.is_multiple_of(Engine::<T>::LANES[0] * TM) && BN.is_multiple_of(Engine::<T>::LANES[1] * TN),
            "the tile is made of warps' tiles"
        );
        assert!(
            BK.is_multiple_of(SLICES * Engine::<T>::DEPTH) && BK / SLICES / Engine::<T>::DEPTH >= 2,
            "two steps or more"
        );
        assert!(SLICES.is_power_of_two(), "half of the slices give their sums to the other half");
        assert!(
            STAGES * BK * (BM + BN) >= SLICES / 2 * BM * BN,
            "the ring has room for the sums of half of the slices"
        );
        let rows = BM / parts_of_tile([BM, BN], room::<T>([BM, BN], BK, STAGES));
        assert!(rows.is_multiple_of(Engine::<T>::LANES[0] * TM), "a warp's rows are in one part");
    };
    let [m, n, k] = matrices.sizes;
    let (across, down) = (n.div_ceil(BN as u32), m.div_ceil(BM as u32));
    // There is no block if there is no tile; without `max` the compiler would keep a panic for a division by 0.
    let tiles = across.wrapping_mul(down).max(1);
    // SAFETY: the caller upholds the contract of the division.
    let parts = unsafe { division.parts(k, thread::block_idx_x(), BM * BN) };
    let number = (parts.tile / tiles) as usize;
    // SAFETY: there is a block for each tile of each product, so this product exists, and these are its factors.
    let [a, b] = unsafe { matrices.factors([a, b], number, [TURN_A, TURN_B]) };
    let depth = parts.depth as usize;
    let first = parts.sharing.piece as usize * depth;
    let (a, b) = (a.part(first, depth), b.part(first, depth));
    let tid = thread::thread_idx_x() as usize;
    let [down, across] = raster((parts.tile % tiles) as usize, down as usize, across as usize);
    let own = [down * BM, across * BN];
    // A tile that would extend beyond the product is moved inside, where no bounds tests are needed; elements that two
    // tiles compute are written by one of them.
    let inside = |[row, column]: [usize; 2]| {
        [row.min((m as usize).saturating_sub(BM)), column.min((n as usize).saturating_sub(BN))]
    };
    let first = inside(own);

    let (slice, tid_in_slice) = (tid / (THREADS / SLICES), tid % (THREADS / SLICES));
    let (warp, engine) = (tid_in_slice / 32, Engine::<T>::new(tid % 32));
    let warps_across = BN / (Engine::<T>::LANES[1] * TN);
    let (row, column) =
        (warp / warps_across * Engine::<T>::LANES[0] * TM, warp % warps_across * Engine::<T>::LANES[1] * TN);

    let shared = dynamic_shared_mem::<T>();
    let least = const { least([BM as u32, BN as u32], THREADS) };
    let pipelined = a.x >= least[TURN_A as usize][0] as usize && b.x >= least[TURN_B as usize][1] as usize && a.k > 0;
    let wide = (TURN_A || a.is_wide()) && (TURN_B || b.is_wide());
    let mut sums = [[T::ZERO; TN]; TM];
    // SAFETY: the thread's part is inside the tile; the tiles are inside the factors where `pipelined` says so, and
    // runs of `W` elements on boundaries where `wide` says so; what is stored is inside the product. All of this is the
    // same for the whole block, which reaches `kept`.
    unsafe {
        let tile_b = shared.add(BK * pitch(BM));
        let read_a = slice * (BK / SLICES) * pitch(BM) + row + engine.first_of_a(pitch(BM));
        let read_b = slice * (BK / SLICES) * pitch(BN) + column + engine.first_of_b(pitch(BN));
        let (read_a, read_b) = (shared.add(kept(read_a as u32) as usize), tile_b.add(kept(read_b as u32) as usize));
        let (to_a, to_b) = (SharedAddress::of(shared), SharedAddress::of(tile_b));
        if pipelined && wide {
            let feed_a = Feed::<T, BM, BK, W, THREADS, TURN_A>::new(&a, first[0], tid, to_a);
            let feed_b = Feed::<T, BN, BK, W, THREADS, TURN_B>::new(&b, first[1], tid, to_b);
            pipeline::<T, BM, BN, BK, TM, TN, STAGES, SLICES, THREADS, W, TURN_A, TURN_B>(
                feed_a, feed_b, a.k, read_a, read_b, &mut sums,
            );
        } else if pipelined && (wide || ANY) {
            let feed_a = Feed::<T, BM, BK, 1, THREADS, TURN_A>::new(&a, first[0], tid, to_a);
            let feed_b = Feed::<T, BN, BK, 1, THREADS, TURN_B>::new(&b, first[1], tid, to_b);
            pipeline::<T, BM, BN, BK, TM, TN, STAGES, SLICES, THREADS, 1, TURN_A, TURN_B>(
                feed_a, feed_b, a.k, read_a, read_b, &mut sums,
            );
        } else {
            let mut phase = 0;
            while phase < a.k {
                a.copy_tile::<BM, BK>([first[0], phase], shared, pitch(BM), tid, THREADS);
                b.copy_tile::<BN, BK>([first[1], phase], tile_b, pitch(BN), tid, THREADS);
                thread::sync_threads(); // the tiles are complete before any thread reads what others wrote
                let mut step = 0;
                while step < BK / SLICES {
                    let of_a = Engine::<T>::load_a::<TM>(read_a.add(step * pitch(BM)));
                    let of_b = Engine::<T>::load_b::<TN>(read_b.add(step * pitch(BN)));
                    // All threads of the block reach this call.
                    Engine::<T>::multiply_add(&mut sums, &of_a, &of_b);
                    step += Engine::<T>::DEPTH;
                }
                thread::sync_threads(); // every thread has read the tiles before the next phase overwrites them
                phase += BK;
            }
        }
        if SLICES > 1 {
            join::<T, TM, TN, SLICES, THREADS>(shared, slice, tid_in_slice, &mut sums);
        }
        // Not for tensor cores, which read pairs of registers, nor for the tile of two slices if both factors are
        // turned, which has too few registers: ptxas would load just before it multiplies.
        let has_other_registers = SINCE_SM_90 && !T::TENSOR && !(SLICES == 2 && TURN_A && TURN_B);
        // 0 in a grid along x.
        let nothing = if has_other_registers { thread::block_idx_y() } else { 0 };
        let (c, epilogue) = (matrices.product(c, number), matrices.epilogue(epilogue, number));
        // From two registers that last, instead of four.
        let own = own.map(|at| kept(at as u32));
        let first = inside(own.map(|at| at as usize)).map(|at| at as u32);
        let target = Target { c, pitch: matrices.pitches[2], first, own, end: [m, n], how, epilogue };
        let (at, neighbours) = (engine.first_sum([row, column]), [Engine::<T>::ROWS, T::WIDTH]);
        let share = Share { at, neighbours, has_sums: slice == 0 };
        // Here, so that the sums of parts are other values than those of the main loop: where both meet, ptxas gives
        // the main loop registers of the same banks, and it takes 7 % longer (f32, 128x64). Tensor cores read pairs of
        // registers, and are 3 % faster without.
        if !T::TENSOR && parts.sharing.pieces == 1 && target.takes_runs(share) {
            return target.store_runs(share, nothing, &sums);
        }
        if parts.sharing.pieces > 1 {
            let all = parts.add_up::<TM, TN, SLICES, THREADS>(shared, slice, tid_in_slice, &sums);
            let Some(all) = all else { return };
            sums = all;
        }
        let of_tile = const { parts_of_tile([BM, BN], room::<T>([BM, BN], BK, STAGES)) };
        target.store::<BM, BN, TM, TN, THREADS>(shared, of_tile, share, nothing, &sums);
    }
}

/// Adds up `k` products per element: while a tile of the factors is multiplied, the next `STAGES - 1` are being copied.
///
/// # Safety
/// All threads of the block call it; every tile of the two feeds is inside its factor, but for what [`Feed::new`] moves
/// inside, and there is at least one.
#[inline(always)]
unsafe fn pipeline<
    T: Factor,
    const BM: usize,
    const BN: usize,
    const BK: usize,
    const TM: usize,
    const TN: usize,
    const STAGES: usize,
    const SLICES: usize,
    const THREADS: usize,
    const W: usize,
    const TURN_A: bool,
    const TURN_B: bool,
>(
    mut feed_a: Feed<T, BM, BK, W, THREADS, TURN_A>,
    mut feed_b: Feed<T, BN, BK, W, THREADS, TURN_B>,
    k: usize,
    read_a: *const T,
    read_b: *const T,
    sums: &mut [[T; TN]; TM],
) {
    let stage = (BK * (pitch(BM) + pitch(BN)) * size_of::<T>()) as u32;
    let steps = BK / SLICES / Engine::<T>::DEPTH;
    let tiles = k.div_ceil(BK) as u32;
    // The partial tile comes first, so that the others need no bounds tests.
    let odd = k - (tiles as usize - 1) * BK;

    // SAFETY: the stages are free and distinct, and no tile is copied that does not exist.
    unsafe {
        feed_a.copy_first(odd);
        feed_b.copy_first(odd);
        copy_async_commit();
        feed_a.advance_first(odd);
        feed_b.advance_first(odd);
        let mut ahead = 1;
        while ahead < STAGES as u32 - 1 {
            feed_a.copy(0, 1, ahead * stage, ahead < tiles);
            feed_b.copy(0, 1, ahead * stage, ahead < tiles);
            copy_async_commit();
            feed_a.advance();
            feed_b.advance();
            ahead += 1;
        }
    }
    // Bytes to the stage that is read, and to the one that is written: the one that was read before.
    let (mut reading, mut writing) = (0, (STAGES as u32 - 1) * stage);
    wait_for_one::<STAGES>();
    thread::sync_threads(); // every thread's copies of the first tile are complete
    // SAFETY: the first tile, which has a first step, is complete.
    let (mut a, mut b) = unsafe { (Engine::<T>::load_a::<TM>(read_a), Engine::<T>::load_b::<TN>(read_b)) };

    let mut left = tiles;
    while left != 0 {
        let more = left >= STAGES as u32;
        unroll!(step < BK / SLICES / Engine::<T>::DEPTH => {
            if step + 1 == steps {
                writing = reading;
                reading = if reading == (STAGES as u32 - 1) * stage { 0 } else { reading + stage };
                wait_for_one::<STAGES>();
                // Every thread's copies of the next tile are complete, and every thread has read the last of this one,
                // whose stage is copied to next.
                thread::sync_threads();
            }
            // SAFETY: the tile of the next step is complete. (After the last tile it is one that is not used: of an
            // earlier round, or of none.)
            let next = unsafe {
                let at = (step + 1) % steps * Engine::<T>::DEPTH;
                (
                    Engine::<T>::load_a::<TM>(read_a.byte_add(reading as usize).add(at * pitch(BM))),
                    Engine::<T>::load_b::<TN>(read_b.byte_add(reading as usize).add(at * pitch(BN))),
                )
            };
            if (step * parts(steps)).is_multiple_of(steps) {
                // SAFETY: there is a tile if there is `more`, and the stage's readers have passed the last barrier.
                unsafe {
                    feed_a.copy(step * parts(steps) / steps, parts(steps), writing, more);
                    feed_b.copy(step * parts(steps) / steps, parts(steps), writing, more);
                }
            }
            if step + 2 == steps {
                copy_async_commit();
                feed_a.advance();
                feed_b.advance();
            }
            // SAFETY: the whole block reaches this call.
            unsafe { Engine::<T>::multiply_add(sums, &a, &b) };
            (a, b) = next;
        });
        left -= 1;
    }
    copy_async_wait::<0>();
    thread::sync_threads(); // no copy is pending and all reads are done, so the shared memory can be reused
}

/// Waits for all copies of this thread except those of the `STAGES - 2` newest tiles.
#[inline(always)]
fn wait_for_one<const STAGES: usize>() {
    match STAGES {
        3 => copy_async_wait::<1>(),
        4 => copy_async_wait::<2>(),
        5 => copy_async_wait::<3>(),
        _ => copy_async_wait::<0>(),
    }
}
