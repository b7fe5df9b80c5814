//! Divergence: every element goes through two chains of steps, a short one and a long one, and the results are added.
//! Each chain is a thread's work, so there are two tasks per element. What differs is which lane gets which task.
//!
//! A warp has one instruction for its 32 lanes. Where lanes of one warp take different sides of a branch, the sides run
//! one after the other while the other lanes wait: the warp pays for both. Where whole warps take different sides,
//! nobody waits.
//!
//! | rung | a warp pays, for chains of s and l steps | divergent branches |
//! |---|---|---|
//! | [`by_lane`] | s + l | one per warp |
//! | [`by_data`] | s + l; one of both where the data agrees | one per warp with mixed data |
//! | [`unequal_loops`] | max(s, l): short lanes wait for long ones | one per warp |
//! | [`by_warp`] | its own chain | none |
//!
//! It is not the `if` that costs, but lanes that disagree: `by_warp` has the code of `by_lane`. The test `if i < n`
//! diverges in one warp of a whole launch at most: with much data it costs nothing. `if tid > 2` diverges in the first
//! warp of each block only.
//!
//! Sources: the course's slides, "Warps And Thread Execution"; the review's chapter 5.

use core::mem::MaybeUninit;
use cuda_std::{address_space, thread};

pub mod by_data;
pub mod by_lane;
pub mod by_warp;
pub mod unequal_loops;

/// Threads per block.
pub const BLOCK: u32 = 2 * ELEMENTS;

/// Elements per block.
pub const ELEMENTS: u32 = 128;

/// Lanes of a warp.
pub const WARP: u32 = thread::warp_size();

/// A chain's step is `x -> factor * (x ^ x >> 16) + term`, modulo 2^32. (Without the shift the optimiser makes one step
/// of several.)
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// Odd, so that no step loses information.
    pub factor: u32,
    /// Odd too.
    pub term: u32,
}

/// The short chain: the numbers of Numerical Recipes' generator.
pub const SHORT: Chain = Chain { factor: 1_664_525, term: 1_013_904_223 };

/// The long chain: those of Borland's.
pub const LONG: Chain = Chain { factor: 22_695_477, term: 1 };

impl Chain {
    /// `x` after so many steps.
    #[inline(always)]
    fn run(self, mut x: u32, steps: u32) -> u32 {
        let mut step = 0;
        while step < steps {
            x = (x ^ x >> 16).wrapping_mul(self.factor).wrapping_add(self.term);
            step += 1;
        }
        x
    }
}

/// A thread's work.
#[derive(Clone, Copy)]
struct Task {
    /// Of the block.
    element: u32,
    /// Which chain.
    long: bool,
}

/// Results of the block's tasks: those of the short chains, then those of the long ones.
#[address_space(shared)]
static mut RESULTS: [MaybeUninit<u32>; BLOCK as usize] = [MaybeUninit::uninit(); BLOCK as usize];

/// The block's element, or 0 behind the end.
#[inline(always)]
fn value(input: &[u32], element: u32) -> u32 {
    let i = thread::block_idx_x() as usize * ELEMENTS as usize + element as usize;
    if i < input.len() { input[i] } else { 0 }
}

/// Brings the two results of each element together.
///
/// # Safety
/// `BLOCK` threads, all of them here, which have all tasks of the block among them; `output` has `len` elements.
#[inline(always)]
unsafe fn add_results(task: Task, result: u32, len: usize, output: *mut u32) {
    let results = (&raw mut RESULTS).cast::<u32>();
    // SAFETY: one slot per task, and nobody else has this task.
    unsafe { results.add((task.element + if task.long { ELEMENTS } else { 0 }) as usize).write(result) };
    thread::sync_threads(); // both results of every element are there before anyone adds them

    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * ELEMENTS as usize + tid as usize;
    if tid < ELEMENTS && i < len {
        // SAFETY: both slots were written before the barrier, and one thread has this element.
        unsafe {
            let (short, long) = (results.add(tid as usize).read(), results.add((tid + ELEMENTS) as usize).read());
            output.add(i).write(short.wrapping_add(long));
        }
    }
}

/// One side of an `if` for each chain.
#[inline(always)]
fn either(task: Task, x: u32, short: u32, long: u32) -> u32 {
    if task.long { LONG.run(x, long) } else { SHORT.run(x, short) }
}
