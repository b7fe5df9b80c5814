//! Accesses to shared memory without the barriers they need.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;

const BLOCK: usize = 256;

#[address_space(shared)]
static mut CACHE: [MaybeUninit<f32>; BLOCK] = [const { MaybeUninit::uninit() }; BLOCK];

/// A tree sum whose steps are not separated: a thread reads a value that its neighbour may not have written yet.
#[kernel]
pub unsafe fn race_tree(input: &[f32], out: *mut f32) {
    let cache = (&raw mut CACHE).cast::<f32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: this code is wrong on purpose: a barrier is missing. One block of `BLOCK` threads, as many values.
    unsafe {
        *cache.add(t) = input[t];
        thread::sync_threads(); // the cache is full before the tree starts
        let mut half = BLOCK / 2;
        while half > 0 {
            if t < half {
                *cache.add(t) += *cache.add(t + half); // FINDING race_tree
            }
            half /= 2; // a barrier is missing here
        }
        if t == 0 {
            *out = *cache;
        }
    }
}

/// An inclusive scan in place (Kogge-Stone) that reads and writes the same array within one step.
#[kernel]
pub unsafe fn race_scan(input: &[f32], out: *mut f32) {
    let cache = (&raw mut CACHE).cast::<f32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: this code is wrong on purpose: a barrier is missing. One block of `BLOCK` threads, as many values.
    unsafe {
        *cache.add(t) = input[t];
        let mut distance = 1;
        while distance < BLOCK {
            thread::sync_threads(); // the previous step is complete, but this step's reads and writes are not separated
            if t >= distance {
                *cache.add(t) += *cache.add(t - distance); // FINDING race_scan
            }
            distance *= 2;
        }
        *out.add(t) = *cache.add(t);
    }
}
