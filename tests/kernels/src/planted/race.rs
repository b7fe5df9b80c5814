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

/// Minimum, maximum, sum and number of values, which are four words in memory.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct Summary {
    min: f32,
    max: f32,
    sum: f32,
    count: u32,
}

impl Summary {
    fn of(x: f32) -> Self {
        Self { min: x, max: x, sum: x, count: 1 }
    }

    fn join(self, other: Self) -> Self {
        Self {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            sum: self.sum + other.sum,
            count: self.count + other.count,
        }
    }
}

#[address_space(shared)]
static mut SUMMARIES: [MaybeUninit<Summary>; BLOCK] = [const { MaybeUninit::uninit() }; BLOCK];

/// The same tree over a struct: each of its fields races in every step.
#[kernel]
pub unsafe fn race_struct(input: &[f32], out: *mut Summary) {
    let cache = (&raw mut SUMMARIES).cast::<Summary>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: this code is wrong on purpose: a barrier is missing. One block of `BLOCK` threads, as many values.
    unsafe {
        *cache.add(t) = Summary::of(input[t]);
        thread::sync_threads(); // the cache is full before the tree starts
        let mut half = BLOCK / 2;
        while half > 0 {
            if t < half {
                *cache.add(t) = (*cache.add(t)).join(*cache.add(t + half)); // FINDING race_struct
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
