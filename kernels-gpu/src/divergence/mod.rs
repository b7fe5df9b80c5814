//! Divergence: every element goes through two chains of steps, a short one and a long one, and the results are added.
//! Each chain is a thread's task, so there are two tasks per element. The rungs differ in which lane gets which task.
//!
//! A warp has one instruction for its 32 lanes. Where lanes of one warp take different sides of a branch, the sides are
//! executed one after the other while the other lanes wait: the warp pays for both. Where whole warps take different
//! sides, no lane waits.
//!
//! | rung | a warp pays, for chains of s and l steps | divergent branches |
//! |---|---|---|
//! | [`by_lane`] | s + l | one per warp |
//! | [`by_data`] | s + l; one of both where the data agrees | one per warp with mixed data |
//! | [`unequal_loops`] | max(s, l): short lanes wait for long ones | one per warp |
//! | [`by_warp`] | its own chain | none |
//!
//! The `if` itself costs little; lanes that take different sides do: `by_warp` has the code of `by_lane`. The test
//! `if i < n` diverges in at most one warp of a launch, and costs nothing for large inputs. `if tid > 2` diverges in
//! the first warp of each block only.
//!
//! Sources: the PMPP slides (`docs/sources.md`), "Warps And Thread Execution"; Threehearts 2021, chapter 5.

use core::mem::MaybeUninit;
use cuda_std::{address_space, thread};

pub mod by_data;
pub mod by_lane;
pub mod by_warp;
pub mod unequal_loops;

/// Threads per block.
pub const BLOCK: u32 = 2 * ELEMENTS;

/// Number of elements per block.
pub const ELEMENTS: u32 = 128;

/// Number of lanes of a warp.
pub const WARP: u32 = thread::warp_size();

/// A chain, whose step is `x -> factor * (x ^ x >> 16) + term`, modulo 2^32. (Without the shift the optimiser would
/// merge several steps.)
#[derive(Clone, Copy, Debug)]
pub struct Chain {
    /// The factor, which is odd, so that no step loses information.
    pub factor: u32,
    /// The term, which is odd.
    pub term: u32,
}

/// The short chain, with the constants of the generator in "Numerical Recipes".
pub const SHORT: Chain = Chain { factor: 1_664_525, term: 1_013_904_223 };

/// The long chain, with the constants of Borland C's generator.
pub const LONG: Chain = Chain { factor: 22_695_477, term: 1 };

impl Chain {
    /// The value of `x` after this number of steps.
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

/// A thread's task.
#[derive(Clone, Copy)]
struct Task {
    /// Index of the element in the block.
    element: u32,
    /// Whether the chain is the long one.
    long: bool,
}

/// Results of the block's tasks: those of the short chains, then those of the long ones.
#[address_space(shared)]
static mut RESULTS: [MaybeUninit<u32>; BLOCK as usize] = [MaybeUninit::uninit(); BLOCK as usize];

/// The block's element `i`, or 0 past the end.
#[inline(always)]
fn value(input: &[u32], element: u32) -> u32 {
    let i = thread::block_idx_x() as usize * ELEMENTS as usize + element as usize;
    if i < input.len() { input[i] } else { 0 }
}

/// Adds the two results of each element.
///
/// # Safety
/// All `BLOCK` threads reach this call, and all tasks of the block are among theirs; `output` has `len` elements.
#[inline(always)]
unsafe fn add_results(task: Task, result: u32, len: usize, output: *mut u32) {
    let results = (&raw mut RESULTS).cast::<u32>();
    // SAFETY: each task has a slot, and no other thread has this task.
    unsafe { results.add((task.element + if task.long { ELEMENTS } else { 0 }) as usize).write(result) };
    thread::sync_threads(); // separates the writes of both results from their addition

    let tid = thread::thread_idx_x();
    let i = thread::block_idx_x() as usize * ELEMENTS as usize + tid as usize;
    if tid < ELEMENTS && i < len {
        // SAFETY: both slots were written before the barrier, and only one thread has this element.
        unsafe {
            let (short, long) = (results.add(tid as usize).read(), results.add((tid + ELEMENTS) as usize).read());
            output.add(i).write(short.wrapping_add(long));
        }
    }
}

/// Executes one side of an `if` for each chain.
#[inline(always)]
fn either(task: Task, x: u32, short: u32, long: u32) -> u32 {
    if task.long { LONG.run(x, long) } else { SHORT.run(x, short) }
}
