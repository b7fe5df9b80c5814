//! Sums of blocks through shared memory: a correct kernel, and one that lacks a barrier.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use core::mem::MaybeUninit;

use cuda_std::atomic::{AtomicU32, Ordering};
use cuda_std::prelude::*;

/// Threads of a block.
pub const BLOCK: usize = 256;

// ANCHOR: sum
/// Adds the values of each block in a tree, in shared memory. Blocks have `BLOCK` threads; `sums` has an element per
/// block, which any thread may store to, because it is atomic.
#[kernel(block(BLOCK as u32))]
pub fn sum_blocks(values: &[u32], sums: &[AtomicU32], tile: SharedTile<u32, BLOCK>) {
    let t = thread::thread_idx_x() as usize;
    let mut sum = values.get(thread::global_index()).copied().unwrap_or(0);
    let mut half = BLOCK / 2;
    let mut tile = tile.put(sum); // waits until all values are written
    while half > 0 {
        if let (true, Some(other)) = (t < half, tile.get(t + half)) {
            sum += other;
        }
        tile = tile.release().put(sum); // this round's reads end before its sums are written
        half /= 2;
    }
    if t == 0 {
        sums[thread::block_idx_x() as usize].store(sum, Ordering::Relaxed);
    }
}
// ANCHOR_END: sum

#[address_space(shared)]
static mut CACHE: [MaybeUninit<u32>; BLOCK] = [const { MaybeUninit::uninit() }; BLOCK];

/// The same on a raw pointer, without the barriers of the rounds: it is right wherever warps happen to run one after
/// the other. A `SharedTile` does not have this mistake, since only `release` gives it back for the next round.
///
/// # Safety
/// It has none: the rounds race.
#[kernel]
pub unsafe fn sum_blocks_racing(values: &[u32], sums: &[AtomicU32]) {
    let cache = (&raw mut CACHE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: there is no proof; the test expects the simulator to find that.
    unsafe {
        *cache.add(t) = values.get(thread::global_index()).copied().unwrap_or(0);
        thread::sync_threads();
        let mut half = BLOCK / 2;
        while half > 0 {
            if t < half {
                *cache.add(t) += *cache.add(t + half); // the missing barrier is noticed here
            }
            half /= 2;
        }
        if t == 0 {
            sums[thread::block_idx_x() as usize].store(*cache, Ordering::Relaxed);
        }
    }
}
