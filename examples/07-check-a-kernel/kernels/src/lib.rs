//! Sums of blocks through shared memory: a correct kernel, and one that lacks a barrier.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use core::mem::MaybeUninit;

use cuda_std::prelude::*;

/// Threads of a block.
pub const BLOCK: usize = 256;

// ANCHOR: sum
#[address_space(shared)]
static mut CACHE: [MaybeUninit<u32>; BLOCK] = [const { MaybeUninit::uninit() }; BLOCK];

/// Adds the values of each block in a tree, in shared memory.
///
/// # Safety
/// Blocks have `BLOCK` threads, and `sums` has an element per block.
#[kernel]
pub unsafe fn sum_blocks(values: &[u32], sums: *mut u32) {
    let cache = (&raw mut CACHE).cast::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: a thread writes its own element only, and each barrier separates reads of others from writes.
    unsafe {
        *cache.add(t) = values.get(thread::global_index()).copied().unwrap_or(0);
        thread::sync_threads(); // all values are written before any is read
        let mut half = BLOCK / 2;
        while half > 0 {
            if t < half {
                *cache.add(t) += *cache.add(t + half);
            }
            thread::sync_threads(); // this round's sums are written before the next round reads them
            half /= 2;
        }
        if t == 0 {
            *sums.add(thread::block_idx_x() as usize) = *cache;
        }
    }
}
// ANCHOR_END: sum

/// The same without the barrier of the rounds: it is right wherever warps happen to run one after the other.
///
/// # Safety
/// It has none: the rounds race.
#[kernel]
pub unsafe fn sum_blocks_racing(values: &[u32], sums: *mut u32) {
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
            *sums.add(thread::block_idx_x() as usize) = *cache;
        }
    }
}
