//! Sums of `f64` in registers: a number and its rounding errors, both exact.
//!
//! Of `s = a + b` the error is a number of the same type, which six additions compute (Knuth). A sum keeps the errors
//! in a second number, whose own errors are 0 as long as the elements, their sum and the errors extend over less than
//! 106 bits. An overflow leaves a NaN there, so that one test finds all that did not fit.

use super::digits::{USED, is_last, report, seen, special_bit};
use super::finish::{Finish, finish_total};
use super::scaled::{ADDITIONS, Scaled, add_columns};
use crate::operator::{chunk::Chunk, slots};
use crate::reduce::WARP;
use crate::unroll::unroll;
use cuda_std::{thread, warp};

/// 16-byte loads in flight per thread.
// tune: 4 8
const UNROLL: usize = 8;

/// Elements of 16 bytes, and running sums.
const W: usize = 2;

/// Rounds that a warp adds to its columns after one that did not fit, before it tries the next in registers.
// tune: 4 16
const DIRECT: usize = 16;

const _: () = assert!(2 * W + DIRECT * UNROLL * W <= ADDITIONS as usize);

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

/// A lane's sum: what its expansion holds, and its column.
struct Lane {
    value: Expansion,
    column: Scaled,
    /// Whether the column is in use; it is uninitialised before.
    spilled: bool,
    /// Additions to the column before it has to carry.
    room: u32,
    /// Bits of special values.
    special: u32,
}

impl Lane {
    /// Prepares the column for this number of additions.
    ///
    /// # Safety
    /// Only this lane accesses its column until the next barrier.
    #[inline(always)]
    unsafe fn make_room(&mut self, additions: u32) {
        if self.room < additions {
            // SAFETY: the caller upholds this function's contract.
            unsafe { self.settle() };
            self.spilled = true;
            self.room = ADDITIONS;
        }
        self.room -= additions;
    }

    /// Lets the column carry, or sets it to 0 before its first use.
    ///
    /// # Safety
    /// As for [`Lane::make_room`].
    #[inline(always)]
    unsafe fn settle(&self) {
        // SAFETY: the caller upholds this function's contract.
        unsafe { if self.spilled { self.column.carry() } else { self.column.clear() } }
    }

    /// Adds both numbers of an exact sum to the column, which has room for them.
    ///
    /// # Safety
    /// As for [`Lane::make_room`], after it.
    #[inline(always)]
    unsafe fn spill(&mut self, sum: Expansion) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            self.column.add(sum.high);
            self.column.add(sum.low);
        }
        self.special |= special_bits([sum.high, sum.low]);
    }

    /// Adds an exact sum to the expansion if it fits, else to the column.
    ///
    /// # Safety
    /// As for [`Lane::make_room`].
    #[inline(always)]
    unsafe fn absorb(&mut self, other: Expansion) {
        let mut value = self.value;
        let left = [value.add(other.high), value.add(other.low)];
        if left == [0.0; 2] {
            self.value = value;
        } else {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                self.make_room(2);
                self.spill(other);
            }
        }
    }
}

/// The bits of special values among numbers.
#[inline(always)]
fn special_bits<const N: usize>(numbers: [f64; N]) -> u32 {
    let mut bits = 0;
    unroll!(k < N => {
        if !numbers[k].is_finite() {
            bits |= special_bit(numbers[k]);
        }
    });
    bits
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
        let mut lane = Lane { value: ZERO, column: Scaled::of_lane(), spilled: false, room: 0, special: 0 };
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
            lane.settle();
            thread::sync_threads(); // separates the additions to the columns from their sum
            add_columns(total);
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
    let mut direct = 0;
    // All lanes of a warp have as many rounds, since they decide together.
    let mut i = me - warp::lane_id() as usize;
    while i < chunks.len() {
        let round = load(chunks, i + warp::lane_id() as usize, threads);
        i += UNROLL * threads;
        if direct == 0 {
            let before = sums;
            // SAFETY: all lanes of the warp are in the same round.
            if unsafe { warp::all(warp::ALL, add_round(&mut sums, &round)) } {
                continue;
            }
            sums = [ZERO; W];
            direct = DIRECT;
            // SAFETY: the column is the lane's.
            unsafe {
                lane.make_room((2 * W + DIRECT * UNROLL * W) as u32);
                lane.spill(before[0]);
                lane.spill(before[1]);
            }
        }
        direct -= 1;
        // SAFETY: the column is the lane's.
        unsafe { spill_round(lane, &round) };
    }
    // At most one element on either side.
    let of = |end: &[f64]| Expansion { high: if me < end.len() { end[me] } else { 0.0 }, low: 0.0 };
    let count = if head.len() + tail.len() == 0 { 2 } else { 4 };
    let mut k = 0;
    while k < count {
        let sum = match k {
            0 => sums[0],
            1 => sums[1],
            2 => of(head),
            _ => of(tail),
        };
        // SAFETY: the column is the lane's.
        unsafe { lane.absorb(sum) };
        k += 1;
    }
}

/// Loads a round of chunks from `first` on. Past the end the last chunk is loaded, and not used: a load that no branch
/// guards can start at once.
#[inline(always)]
fn load(chunks: &[Chunk<f64, W>], first: usize, threads: usize) -> [Chunk<f64, W>; UNROLL] {
    let last = chunks.len() - 1;
    // SAFETY: `last` is an index.
    let mut round: [Chunk<f64, W>; UNROLL] =
        core::array::from_fn(|k| unsafe { Chunk::load(chunks.as_ptr().add(last.min(first + k * threads))) });
    if first + (UNROLL - 1) * threads > last {
        unroll!(k < UNROLL => {
            if first + k * threads > last {
                round[k] = Chunk([0.0; W]);
            }
        });
    }
    round
}

/// Adds a round of chunks, and returns whether all of it fits.
#[inline(always)]
fn add_round(sums: &mut [Expansion; W], round: &[Chunk<f64, W>; UNROLL]) -> bool {
    let mut left = 0;
    unroll!(k < const { UNROLL * W } => {
        left |= sums[k % W].add(round[k / W].0[k % W]).to_bits();
    });
    left << 1 == 0 // without the sign of a zero
}

/// Adds a round's elements to the column, which has room for them.
///
/// # Safety
/// As for [`Lane::spill`].
#[inline(always)]
unsafe fn spill_round(lane: &mut Lane, round: &[Chunk<f64, W>; UNROLL]) {
    // Stays 0 without a special value, and becomes NaN with one.
    let mut zero = 0.0;
    unroll!(k < const { UNROLL * W } => {
        let x = round[k / W].0[k % W];
        zero += x * 0.0;
        // SAFETY: the caller upholds this function's contract.
        unsafe { lane.column.add(x) };
    });
    if zero != 0.0 {
        unroll!(k < UNROLL => {
            lane.special |= special_bits(round[k].0);
        });
    }
}
