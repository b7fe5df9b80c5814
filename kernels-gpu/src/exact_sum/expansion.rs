//! Sums of `f64` in registers: a number and its rounding errors, both exact.
//!
//! Of `s = a + b` the error is a number of the same type, which six additions compute (Knuth). A sum keeps the errors
//! in a second number, whose own errors are 0 as long as the elements, their sum and the errors extend over less than
//! 106 bits. An overflow leaves a NaN there, so that one test finds all that did not fit.

use super::digits::{Column, USED, add_columns, is_last, report, seen};
use super::finish::{Finish, finish_total};
use crate::operator::{chunk::Chunk, slots};
use crate::reduce::WARP;
use crate::unroll::unroll;
use cuda_std::{thread, warp};

/// 16-byte loads in flight per thread.
// tune: 4 8
const UNROLL: usize = 8;

/// Elements of 16 bytes, and running sums.
const W: usize = 2;

/// A number, and a smaller one, whose exact sum counts.
#[derive(Clone, Copy)]
struct Expansion {
    high: f64,
    low: f64,
}

const ZERO: Expansion = Expansion { high: 0.0, low: 0.0 };

/// The rounded sum, and its error.
#[inline(always)]
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let from_b = sum - a;
    (sum, (a - (sum - from_b)) + (b - from_b))
}

impl Expansion {
    /// Adds a number, and returns what does not fit: not 0 if the expansion is not exact any more.
    #[inline(always)]
    fn add(&mut self, x: f64) -> f64 {
        let (high, error) = two_sum(self.high, x);
        let (low, left) = two_sum(self.low, error);
        *self = Self { high, low };
        left
    }
}

/// A lane's sum: what its expansion holds, and its column of digits.
struct Lane {
    value: Expansion,
    column: Column,
    /// Whether the column is in use; it is uninitialised before.
    spilled: bool,
    /// Bits of special values.
    special: u32,
}

impl Lane {
    /// Adds a number to the digits.
    ///
    /// # Safety
    /// Only this lane accesses its column until the next barrier.
    #[inline(always)]
    unsafe fn spill(&mut self, x: f64) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            if !self.spilled {
                self.column.clear::<f64>();
                self.spilled = true;
            }
            self.special |= self.column.add(x);
        }
    }

    /// Adds an exact sum to the expansion if it fits, else to the digits.
    ///
    /// # Safety
    /// As for [`Lane::spill`].
    #[inline(always)]
    unsafe fn absorb(&mut self, other: Expansion) {
        let mut value = self.value;
        let left = [value.add(other.high), value.add(other.low)];
        if left == [0.0; 2] {
            self.value = value;
        } else {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                self.spill(other.high);
                self.spill(other.low);
            }
        }
    }
}

/// The finished sum, in one thread of the grid.
///
/// # Safety
/// The requirements are those of [`exact_sum_best()`](super::best::exact_sum_best()).
#[inline(always)]
pub unsafe fn exact_sum<F: Finish<f64>>(
    input: &[f64],
    total: *mut i64,
    words: *mut u32,
    partials: *mut [f64; 2],
    finish: F,
) -> Option<F::Result> {
    let tid = thread::thread_idx_x();
    // SAFETY: the block has the shared memory, in which each lane has a column until the next barrier; all threads
    // of the block reach these calls, in whole warps.
    unsafe {
        let sum = block_sum(|lane| share(input, lane), total, words);
        if tid == 0 {
            partials.add(thread::block_idx_x() as usize).write([sum.high, sum.low]);
        }
        if !is_last(words) {
            return None;
        }
        let absorb_blocks = |lane: &mut Lane| {
            let mut i = tid;
            while i < thread::grid_dim_x() {
                let [high, low] = partials.add(i as usize).read();
                lane.absorb(Expansion { high, low });
                i += thread::block_dim_x();
            }
        };
        let sum = block_sum(absorb_blocks, total, words);
        thread::sync_threads(); // separates the block's last additions and reports from their use
        let digits = tid == 0 && (F::DIGITS || seen(words) != 0);
        if thread::sync_threads_or(digits.into()) != 0 {
            return finish_total([sum.high, sum.low], total, words, finish);
        }
        if tid == 0 { finish.of_pair(sum.high, sum.low) } else { None }
    }
}

/// The sum of what all lanes of the block add, in thread 0; what does not fit there is added to the total.
///
/// # Safety
/// All threads of the block call it, in whole warps, and a barrier separates two calls; the block has the shared memory
/// of its columns; total and words are those of the launch.
#[inline(always)]
unsafe fn block_sum(fill: impl Fn(&mut Lane), total: *mut i64, words: *mut u32) -> Expansion {
    let (tid, slots) = (thread::thread_idx_x(), slots::of_warps::<Expansion>());
    // SAFETY: the caller upholds this function's contract: lanes have columns and warps have slots of their own.
    unsafe {
        let mut lane = Lane { value: ZERO, column: Column::of_lane::<f64>(), spilled: false, special: 0 };
        fill(&mut lane);
        warp_sum(&mut lane);
        if tid % WARP == 0 {
            slots.add((tid / WARP) as usize).write(lane.value);
        }
        thread::sync_threads(); // every warp's sum is in its slot
        if tid < WARP {
            lane.value = if tid < thread::block_dim_x() / WARP { slots.add(tid as usize).read() } else { ZERO };
            warp_sum(&mut lane);
        }
        report(words, lane.special);
        if thread::sync_threads_or(lane.spilled.into()) != 0 {
            if !lane.spilled {
                lane.column.clear::<f64>();
            }
            thread::sync_threads(); // separates the additions to the columns from their sum
            add_columns::<f64>(total);
            if tid == 0 {
                report(words, USED);
            }
        }
        lane.value
    }
}

/// Adds the sums of the lanes above to that of lane 0.
///
/// # Safety
/// All lanes of the warp call it; the columns are theirs.
#[inline(always)]
unsafe fn warp_sum(lane: &mut Lane) {
    let mut delta = WARP / 2;
    while delta > 0 {
        // SAFETY: all lanes of the warp reach these calls.
        let other = unsafe {
            Expansion {
                high: warp::shuffle_down(warp::ALL, lane.value.high, delta),
                low: warp::shuffle_down(warp::ALL, lane.value.low, delta),
            }
        };
        if warp::lane_id() < delta {
            // SAFETY: the caller upholds this function's contract.
            unsafe { lane.absorb(other) };
        }
        delta /= 2;
    }
}

/// Adds the thread's share of the elements.
#[inline(always)]
fn share(input: &[f64], lane: &mut Lane) {
    // SAFETY: a chunk is an array of f64, and any bits are one.
    let (head, chunks, tail) = unsafe { input.align_to::<Chunk<f64, W>>() };
    let (me, threads) = (thread::global_index(), thread::grid_stride());
    let mut sums = [ZERO; W];
    let mut i = me;
    while i < chunks.len() {
        let last = chunks.len() - 1;
        // Past the end the last chunk is loaded, and not used: a load that no branch guards can start at once.
        // SAFETY: `last` is an index.
        let mut round: [Chunk<f64, W>; UNROLL] =
            core::array::from_fn(|k| unsafe { Chunk::load(chunks.as_ptr().add(last.min(i + k * threads))) });
        if i + (UNROLL - 1) * threads > last {
            unroll!(k < UNROLL => {
                if i + k * threads > last {
                    round[k] = Chunk([0.0; W]);
                }
            });
        }
        let before = sums;
        if !add_round(&mut sums, round) {
            sums = [ZERO; W];
            // SAFETY: the column is the lane's.
            unsafe { spill_round(lane, before, chunks, i, threads) };
        }
        i += UNROLL * threads;
    }
    // SAFETY: the column is the lane's.
    unsafe {
        lane.absorb(sums[0]);
        lane.absorb(sums[1]);
        // At most one element on either side.
        if me < head.len() {
            lane.absorb(Expansion { high: head[me], low: 0.0 });
        }
        if me < tail.len() {
            lane.absorb(Expansion { high: tail[me], low: 0.0 });
        }
    }
}

/// Adds a round of chunks, and returns whether all of it fits.
#[inline(always)]
fn add_round(sums: &mut [Expansion; W], round: [Chunk<f64, W>; UNROLL]) -> bool {
    let mut left = 0;
    unroll!(k < const { UNROLL * W } => {
        left |= sums[k % W].add(round[k / W].0[k % W]).to_bits();
    });
    left << 1 == 0 // without the sign of a zero
}

/// Adds the sums before a round, and the round's elements, to the digits: the elements are loaded again, one by one.
///
/// # Safety
/// The column is the lane's.
#[inline(always)]
unsafe fn spill_round(lane: &mut Lane, sums: [Expansion; W], chunks: &[Chunk<f64, W>], first: usize, threads: usize) {
    let [one, two] = sums;
    let elements = chunks.as_ptr().cast::<f64>();
    let mut k = 0;
    while k < 2 * W + UNROLL * W {
        // One addition for all of them: its code is long.
        let x = match k {
            0 => one.high,
            1 => one.low,
            2 => two.high,
            3 => two.low,
            _ => {
                let (row, column) = ((k - 2 * W) / W, k % W);
                let i = first + row * threads;
                if i >= chunks.len() {
                    return;
                }
                // SAFETY: there is a chunk `i`.
                unsafe { elements.add(i * W + column).read() }
            }
        };
        // SAFETY: the caller upholds this function's contract.
        unsafe { lane.spill(x) };
        k += 1;
    }
}
