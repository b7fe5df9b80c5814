//! Bank conflicts: the sum of every 32 neighbouring words, written to each of the 32. The words of a group are stored
//! in shared memory `stride` words apart, and each lane of a warp reads all of them. The rungs differ in which lane
//! reads which word in which step.
//!
//! Shared memory has 32 banks of 4 bytes; neighbouring words are in neighbouring banks, and word 32 in the bank of word
//! 0. In one pass (wavefront) each bank delivers one word, to any number of lanes. Lanes that read different words of
//! one bank are served one after the other: a bank conflict. (GPUs of compute capability 1 had 16 banks for 32 lanes;
//! those of 3 could switch to banks of 8 bytes.)
//!
//! | rung | wavefronts per load, of 4-byte words at stride s |
//! |---|---|
//! | [`strided`] | gcd(s, 32): 1 for odd strides, 32 for 32 |
//! | [`multicast`] | gcd(8 s, 32) / 8, at least 1: 4 for a stride of 32, else 1 or 2 |
//! | [`padded`] | 1 for every power of two up to 32 |
//! | [`broadcast`] | 1, whatever the stride |
//!
//! The one store of a group, with a word per lane, has the conflicts of `strided` (in `padded`, its own) in every rung.
//!
//! Words of 8 bytes are served by half warps and words of 16 bytes by quarters, so that without conflicts a load takes
//! 2 and 4 wavefronts, and conflicts are counted within the half or quarter: 2 gcd(s, 16) and 4 gcd(s, 8) for
//! `strided`. Loads whose neighbouring lanes read the same word (multicast, broadcast) serve twice as many lanes at
//! once. Padding does not suit every stride: 33, without padding free of conflicts, gets some.
//!
//! Sources: Threehearts 2021 (`docs/sources.md`), on bank conflicts, broadcast and multicast; NVIDIA's CUDA C++
//! Programming Guide, "Shared Memory"; for 8 and 16 bytes, readings of an H200 (`crates/ptx_sim/src/count/banks.rs`).

use core::mem::MaybeUninit;
use cuda_std::{address_space, thread};

pub mod broadcast;
pub mod multicast;
pub mod padded;
pub mod strided;
mod word;

pub use word::{Bytes4, Bytes8, Bytes16, Word};

/// Number of lanes of a warp, of words of a group, and of banks.
pub const WARP: u32 = thread::warp_size();

/// Threads per block: one warp, since every group has its own part of shared memory, which is large for a large stride.
pub const BLOCK: u32 = WARP;

/// Largest distance between the words of a group.
pub const MAX_STRIDE: u32 = 33;

/// Number of slots of a group with the largest stride and the most padding.
const SLOTS: u32 = padded::slot(WARP - 1, MAX_STRIDE, WARP / Bytes16::LEN as u32) + 1;
const _: () = assert!(strided::slot(WARP - 1, MAX_STRIDE) < SLOTS);

/// Shared memory for one group of the largest words.
#[address_space(shared)]
static mut GROUP: [MaybeUninit<Bytes16>; SLOTS as usize] = [const { MaybeUninit::uninit() }; SLOTS as usize];

/// Sums the block's group: word `j` is in `slot(j)`, and in step `k` lane `l` reads word `pick(l, k)`.
///
/// # Safety
/// The launch has one block of `BLOCK` threads per group of `WARP` words; `output` is as long as `input`, and they do
/// not overlap. `slot` returns 32 different numbers below `SLOTS`; `pick` returns each number below 32 once as `k` runs
/// over them.
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

    // SAFETY: no other lane writes this slot.
    unsafe { group.add(slot(lane) as usize).write(W::load(input, first)) };
    thread::sync_threads(); // every word is written before any lane reads another's

    let mut sum = W::ZERO;
    let mut k = 0;
    while k < WARP {
        // SAFETY: the slot was written before the barrier.
        sum = sum.add(unsafe { group.add(slot(pick(lane, k)) as usize).read() });
        k += 1;
    }
    // SAFETY: `output` is as long as `input`, and no other thread writes the elements from `first` on.
    unsafe { sum.store(output, first, input.len()) };
}
