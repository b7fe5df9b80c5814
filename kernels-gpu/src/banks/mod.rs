//! Banks: the sum of every 32 neighbouring words, given to each of the 32. The words of a group go to shared memory,
//! `stride` words apart, and each lane of a warp reads all of them from there. What differs is which lane reads which
//! word when.
//!
//! Shared memory has 32 banks of 4 bytes; neighbouring words lie in neighbouring banks, and word 32 in the bank of
//! word 0. In one pass (wavefront) each bank gives one word, to as many lanes as want it. Lanes that want different
//! words of one bank take turns: a bank conflict. (GPUs of compute capability 1 had 16 banks for 32 lanes, those of 3
//! could switch to 8 bytes.)
//!
//! | rung | wavefronts per load, of 4-byte words at stride s |
//! |---|---|
//! | [`strided`] | gcd(s, 32): 1 for odd strides, 32 for 32 |
//! | [`multicast`] | gcd(8 s, 32) / 8, at least 1: 4 for a stride of 32, else 1 or 2 |
//! | [`padded`] | 1 for every power of two up to 32 |
//! | [`broadcast`] | 1, whatever the stride |
//!
//! The one store of a group, each lane its own word, has the conflicts of `strided` (of `padded` there) in every rung.
//!
//! Words of 8 bytes are served by half warps and words of 16 bytes by quarters, so that without conflicts a load takes
//! 2 and 4 wavefronts, and conflicts are counted within the half or quarter: 2 gcd(s, 16) and 4 gcd(s, 8) for
//! `strided`. Loads whose neighbouring lanes want the same word (multicast, broadcast) serve twice as many lanes at
//! once. Padding is no cure for every stride: it makes 33 conflict, which was free of them.
//!
//! Sources: the review's chapter "bank conflict" (broadcast, multicast); NVIDIA's CUDA C++ Programming Guide, "Shared
//! Memory"; for 8 and 16 bytes, readings of an H200 (`crates/ptx_sim/src/count/banks.rs`).

use core::mem::MaybeUninit;
use cuda_std::{address_space, thread};

pub mod broadcast;
pub mod multicast;
pub mod padded;
pub mod strided;
mod word;

pub use word::{Bytes4, Bytes8, Bytes16, Word};

/// Lanes of a warp, words of a group, and banks.
pub const WARP: u32 = thread::warp_size();

/// Threads per block: one warp, since every group has its own piece of shared memory, and that of a large stride is
/// large.
pub const BLOCK: u32 = WARP;

/// Words from one to the next of a group, at most.
pub const MAX_STRIDE: u32 = 33;

/// Slots of a group with the largest stride, padded most: the last one's number and one more.
const SLOTS: u32 = padded::slot(WARP - 1, MAX_STRIDE, WARP / Bytes16::LEN as u32) + 1;
const _: () = assert!(strided::slot(WARP - 1, MAX_STRIDE) < SLOTS);

/// One group of the largest words.
#[address_space(shared)]
static mut GROUP: [MaybeUninit<Bytes16>; SLOTS as usize] = [const { MaybeUninit::uninit() }; SLOTS as usize];

/// Sums the block's group: word `j` of it lies in `slot(j)`, and in step `k` lane `l` reads word `pick(l, k)`.
///
/// # Safety
/// One block of `BLOCK` threads per group of `WARP` words; `output` is as long as `input`, and they don't overlap.
/// `slot` gives 32 different numbers below `SLOTS`; `pick` gives each number below 32 once while `k` goes through them.
#[inline(always)]
unsafe fn sum_group<W: Word>(
    input: &[u32],
    output: *mut u32,
    slot: impl Fn(u32) -> u32,
    pick: impl Fn(u32, u32) -> u32,
) {
    let group = (&raw mut GROUP).cast::<W>();
    let lane = thread::thread_idx_x();
    let first = (thread::block_idx_x() as usize * WARP as usize + lane as usize) * W::LEN;

    // SAFETY: a slot of this lane's own.
    unsafe { group.add(slot(lane) as usize).write(W::load(input, first)) };
    thread::sync_threads(); // every word is there before anyone reads what others wrote

    let mut sum = W::ZERO;
    let mut k = 0;
    while k < WARP {
        // SAFETY: one of the slots that were written before the barrier.
        sum = sum.add(unsafe { group.add(slot(pick(lane, k)) as usize).read() });
        k += 1;
    }
    // SAFETY: `output` is as long as `input`, and the elements from `first` on are this thread's own.
    unsafe { sum.store(output, first, input.len()) };
}
