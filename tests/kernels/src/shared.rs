//! Static and dynamic shared memory, constant memory, global statics.

use core::mem::MaybeUninit;

use cuda_std::memory::{dynamic_smem_size, total_smem_size};
use cuda_std::prelude::*;

const BLOCK: usize = 128;

#[address_space(shared)]
static mut TILE: [MaybeUninit<u32>; BLOCK] = [const { MaybeUninit::uninit() }; BLOCK];

#[address_space(shared)]
static mut PAIR: [[MaybeUninit<f64>; 2]; BLOCK] = [const { [const { MaybeUninit::uninit() }; 2] }; BLOCK];

#[address_space(constant)]
static WEIGHTS: [u32; 8] = [3, 1, 4, 1, 5, 9, 2, 6];

#[address_space(global)]
static mut COUNTER: u32 = 40;

/// Reverses each block of 128 through a static shared array.
#[kernel]
pub unsafe fn shared_static(input: &[u32], out: *mut u32) {
    let tile = (&raw mut TILE).cast::<u32>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    // SAFETY: the launch has blocks of `BLOCK` threads, and an array of one value per thread.
    unsafe {
        *tile.add(t) = input[i];
        thread::sync_threads(); // the tile is full before it is read
        *out.add(i) = *tile.add(BLOCK - 1 - t);
    }
}

/// Passes pairs of `f64`, `(value, block)`, through a static shared array.
#[kernel]
pub unsafe fn shared_static_pairs(out: *mut f64) {
    let pairs = (&raw mut PAIR).cast::<[f64; 2]>();
    let (t, i) = (thread::thread_idx_x() as usize, thread::global_index());
    // SAFETY: the launch has blocks of `BLOCK` threads, and two values of `out` per thread.
    unsafe {
        *pairs.add(t) = [t as f64, thread::block_idx_x() as f64];
        thread::sync_threads(); // all pairs are written before any is read
        let [value, block] = *pairs.add((t + 1) % BLOCK);
        *out.add(2 * i) = value;
        *out.add(2 * i + 1) = block;
    }
}

/// Reverses each block through dynamic shared memory, and writes its size.
#[kernel(for T in [u8, u32, f64])]
pub unsafe fn shared_dynamic<T: Copy>(input: &[T], out: *mut T, sizes: *mut u32) {
    let cache = shared::dynamic_shared_mem::<T>();
    let (t, i, n) = (thread::thread_idx_x() as usize, thread::global_index(), thread::block_dim_x() as usize);
    // SAFETY: the launch has one `T` of shared memory and one value of each array per thread.
    unsafe {
        *cache.add(t) = input[i];
        thread::sync_threads(); // all values are written before any is read
        *out.add(i) = *cache.add(n - 1 - t);
        if thread::first() {
            *sizes = dynamic_smem_size();
            *sizes.add(1) = u32::from(total_smem_size() >= dynamic_smem_size());
        }
    }
}

/// Reads constant memory at an index that is known at launch only.
#[kernel]
pub unsafe fn shared_constant(out: *mut u32, step: u32) {
    let i = thread::global_index();
    // SAFETY: `out` has one value per thread.
    unsafe { *out.add(i) = WEIGHTS[(i * step as usize) % WEIGHTS.len()] };
}

/// One thread reads the initial value of a global static, writes it, and restores it for the next launch.
#[kernel]
pub unsafe fn shared_global_static(out: *mut u32) {
    let counter = &raw mut COUNTER;
    // SAFETY: the launch has one thread. The accesses are volatile, so that memory is really used.
    unsafe {
        *out = counter.read_volatile();
        counter.write_volatile(42);
        *out.add(1) = counter.read_volatile();
        counter.write_volatile(40);
    }
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice};
    use std::vec::Vec;

    let input: Vec<u32> = (0..3 * BLOCK as u32).map(|i| i * 7).collect();
    let reversed: Vec<u32> = input.chunks(BLOCK).flat_map(|c| c.iter().rev().copied()).collect();
    let pairs: Vec<f64> = (0..2 * BLOCK).flat_map(|i| [((i + 1) % BLOCK) as f64, (i / BLOCK) as f64]).collect();
    let constants: Vec<u32> = (0..64).map(|i| WEIGHTS[i * 3 % 8]).collect();
    let n = input.len();
    let mut cases = std::vec![
        Case::new("shared_static", 3, 128)
            .input(&input)
            .output(&reversed)
            .calls(move |b| shared_static(slice(b[0], n), out(b[1]))),
        Case::new("shared_static_pairs", 2, 128).output(&pairs).calls(|b| shared_static_pairs(out(b[0]))),
        Case::new("shared_constant", 2, 32).output(&constants).calls(|b| shared_constant(out(b[0]), 3)),
        Case::new("shared_global_static", 1, 1).output(&[40u32, 42]).calls(|b| shared_global_static(out(b[0]))),
    ];
    macro_rules! dynamic {
        ($($t:ident)*) => { $(
            let input: Vec<$t> = (0..100u8).map(|i| i as $t).collect();
            let reversed: Vec<$t> = input.chunks(50).flat_map(|c| c.iter().rev().copied()).collect();
            let bytes = 50 * size_of::<$t>() as u32;
            cases.push(
                Case::new(std::concat!("shared_dynamic of ", stringify!($t)), 2, 50)
                    .shared(bytes)
                    .input(&input)
                    .output(&reversed)
                    .output(&[bytes, 1])
                    .calls(|b| shared_dynamic::<$t>(slice(b[0], 100), out(b[1]), out(b[2]))),
            );
        )* };
    }
    dynamic!(u8 u32 f64);
    cases
}
