//! The kernels of the chapter "From CUDA C++ to Rust" (`docs/guide/from-cuda.md`), which quotes them between anchors.

use core::mem::MaybeUninit;

use cuda_std::atomic::{AtomicF32, BlockAtomicU32, Ordering};
use cuda_std::prelude::*;

const BLOCK: usize = 128;

// ANCHOR: index
/// Computes `y = a * x + y`, an element per thread.
#[kernel]
pub fn guide_saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    let i = thread::unique_index();
    if let (Some(x), Some(y)) = (x.get(i.get()), y.get_mut(i)) {
        *y += a * x;
    }
}
// ANCHOR_END: index

// ANCHOR: sum
#[address_space(shared)]
static mut PARTS: [MaybeUninit<f32>; BLOCK / 32] = [const { MaybeUninit::uninit() }; BLOCK / 32];

fn warp_sum(mut value: f32) -> f32 {
    for distance in [16, 8, 4, 2, 1] {
        // SAFETY: all lanes of the warp reach this line together.
        value += unsafe { warp::shuffle_down(warp::ALL, value, distance) };
    }
    value
}

/// Adds all elements of `x` to `sum`.
///
/// # Safety
/// Blocks have `BLOCK` threads; `sum` is one initialised value.
#[kernel]
pub unsafe fn guide_sum(x: &[f32], sum: *mut f32) {
    let parts = (&raw mut PARTS).cast::<f32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    let of_warp = warp_sum(x.get(i).copied().unwrap_or(0.0));
    // SAFETY: each warp has its element of `parts`, and other threads read it after the barrier only.
    unsafe {
        if t % 32 == 0 {
            *parts.add(t / 32) = of_warp;
        }
        thread::sync_threads(); // all warps have written before the first thread reads
        if t == 0 {
            let of_block = (0..BLOCK / 32).map(|warp| *parts.add(warp)).sum();
            AtomicF32::from_ptr(sum).fetch_add(of_block, Ordering::Relaxed);
        }
    }
}
// ANCHOR_END: sum

// ANCHOR: histogram
/// Counts how often each key occurs, first within each block.
///
/// # Safety
/// The launch has `4 * bins` bytes of dynamic shared memory and at least `bins` threads in a block, each element of
/// `keys` is less than `bins`, and `counts` has `bins` initialised elements.
#[kernel]
pub unsafe fn guide_histogram(keys: &[u32], bins: u32, counts: *mut u32) {
    let local = shared::dynamic_shared_mem::<u32>();
    let t = thread::thread_idx_x() as usize;
    // SAFETY: by the contract; the barriers separate writing the initial values, counting, and reading.
    unsafe {
        if t < bins as usize {
            *local.add(t) = 0;
        }
        thread::sync_threads(); // every counter is 0 before any thread counts
        if let Some(&key) = keys.get(thread::global_index()) {
            BlockAtomicU32::from_ptr(local.add(key as usize)).fetch_add(1, Ordering::Relaxed);
        }
        thread::sync_threads(); // all keys of the block are counted before a counter is read
        if t < bins as usize {
            cuda_std::atomic::AtomicU32::from_ptr(counts.add(t)).fetch_add(*local.add(t), Ordering::Relaxed);
        }
    }
}
// ANCHOR_END: histogram

// ANCHOR: constant
#[address_space(constant)]
static WEIGHTS: [f32; 3] = [0.25, 0.5, 0.25];

/// A weighted mean of each element and its neighbours.
///
/// # Safety
/// `out` is as long as `x` and does not overlap it.
#[kernel]
pub unsafe fn guide_smooth(x: &[f32], out: *mut f32) {
    let i = thread::global_index();
    if i >= x.len() {
        return;
    }
    let mut sum = 0.0;
    for (k, weight) in WEIGHTS.iter().enumerate() {
        // A neighbour beyond the ends counts as 0.
        sum += weight * (i + k).checked_sub(1).and_then(|j| x.get(j)).copied().unwrap_or(0.0);
    }
    // SAFETY: `out` has an element `i`, which no other thread accesses.
    unsafe { *out.add(i) = sum };
}
// ANCHOR_END: constant

// ANCHOR: print
/// Prints a line for each thread beyond `limit`.
#[kernel]
pub unsafe fn guide_print(limit: u32) {
    let i = thread::global_index() as u32;
    if i >= limit {
        println!("thread {i} is beyond {limit}");
    }
}
// ANCHOR_END: print

// ANCHOR: generic
/// The square of each element.
///
/// # Safety
/// `out` is as long as `x` and does not overlap it.
#[kernel(for T in [f32, f64, i32])]
pub unsafe fn guide_square<T: Copy + core::ops::Mul<Output = T>>(x: &[T], out: *mut T) {
    let i = thread::global_index();
    if i < x.len() {
        // SAFETY: `out` has an element `i`, which no other thread accesses.
        unsafe { *out.add(i) = x[i] * x[i] };
    }
}
// ANCHOR_END: generic

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice, view};
    use std::vec::Vec;

    let n = 300;
    let x: Vec<f32> = (0..n).map(|i| (i % 8) as f32).collect();
    let doubles: Vec<f64> = x.iter().map(|&x| f64::from(x)).collect();
    let integers: Vec<i32> = (0..n as i32).map(|i| i - 150).collect();
    let ones = std::vec![1.0_f32; n];
    let saxpy: Vec<f32> = x.iter().map(|x| 1.0 + 2.0 * x).collect();
    let at = |i: usize| x.get(i).copied().unwrap_or(0.0);
    let smooth: Vec<f32> = (0..n).map(|i| 0.25 * at(i.wrapping_sub(1)) + 0.5 * at(i) + 0.25 * at(i + 1)).collect();
    let keys: Vec<u32> = (0..n as u32).map(|i| i * i % 10).collect();
    let counts: Vec<u32> = (0..10).map(|bin| keys.iter().filter(|key| **key == bin).count() as u32).collect();
    std::vec![
        Case::new("guide_saxpy", 3, 128).input(&x).updated(&ones, &saxpy).calls(move |b| guide_saxpy(
            2.0,
            slice(b[0], n),
            view(b[1], n)
        )),
        Case::new("guide_sum", 3, BLOCK as u32)
            .input(&x)
            .updated(&[0.0_f32], &[x.iter().sum::<f32>()])
            .calls(move |b| guide_sum(slice(b[0], n), out(b[1]))),
        Case::new("guide_histogram", 3, 128)
            .shared(4 * 10)
            .input(&keys)
            .updated(&[0_u32; 10], &counts)
            .calls(move |b| guide_histogram(slice(b[0], n), 10, out(b[1]))),
        Case::new("guide_smooth", 3, 128)
            .input(&x)
            .output(&smooth)
            .calls(move |b| guide_smooth(slice(b[0], n), out(b[1]))),
        Case::new("guide_print", 1, 3).prints("thread 2 is beyond 2").calls(|_| guide_print(2)),
        Case::new("guide_square", 3, 128)
            .input(&x)
            .output(&x.iter().map(|x| x * x).collect::<Vec<f32>>())
            .calls(move |b| guide_square::<f32>(slice(b[0], n), out(b[1]))),
        Case::new("guide_square", 3, 128)
            .input(&doubles)
            .output(&doubles.iter().map(|x| x * x).collect::<Vec<f64>>())
            .calls(move |b| guide_square::<f64>(slice(b[0], n), out(b[1]))),
        Case::new("guide_square", 3, 128)
            .input(&integers)
            .output(&integers.iter().map(|x| x * x).collect::<Vec<i32>>())
            .calls(move |b| guide_square::<i32>(slice(b[0], n), out(b[1]))),
    ]
}
