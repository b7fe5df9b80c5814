//! One-dimensional convolution: `out[i] = sum over j of in[i + j - K/2] * mask[j]`, for a mask of K taps.
//!
//! The mask is not turned round (what others call cross-correlation), and the result is as long as the signal. What lies beyond the
//! border is a matter of choice: see [`crate::filter`].
//!
//! | rung | idea |
//! |---|---|
//! | [`basic`] | a thread per output; signal and mask come from device memory, tap by tap |
//! | [`constant`] | the mask is passed by value: it lies in constant memory; its loads disappear, and for some sizes the loop |
//! | [`tiled`] | a block loads its tile and the halo once into shared memory, a thread per element; halo threads then idle |
//! | [`cached`] | a tile without its halo, a thread per output: the halo comes from the L1 and L2 caches |
//! | [`best`] | eight neighbouring outputs per thread: what one of them loads from the tile, seven others use |
//!
//! Of `m` taps, a result in floats is within `m * epsilon * sum(|in * mask|)` of the exact one: every rung adds in a fixed order by
//! fused multiply-adds, so that its result is the same on every run.
//!
//! Source: D. Kirk, W. Hwu, I. El Hajj, "Programming Massively Parallel Processors", chapter on convolution (`basic` to `cached`).

use crate::filter::{Sample, source};
use cuda_std::thread;

pub mod basic;
pub mod best;
pub mod cached;
pub mod constant;
pub mod tiled;

/// Threads per block unless the caller asks otherwise.
pub const BLOCK: u32 = 256;

/// Most taps of a mask: so that a halo and as many outputs fit into a block of [`tiled`]. Beyond it a Fourier transform does less
/// work anyway.
pub const MAX_MASK: u32 = 512;

/// The element at a position that may be beyond the border.
#[inline(always)]
fn element<T: Sample>(input: &[T], position: i32, border: u32) -> T {
    match source(position, input.len() as u32, border) {
        // SAFETY: `source` gives positions in the signal.
        Some(at) => unsafe { *input.get_unchecked(at as usize) },
        None => T::ZERO,
    }
}

/// The thread's output in a grid of a thread per output.
#[inline(always)]
fn place() -> u32 {
    thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()
}

/// The first position under the mask of an output.
#[inline(always)]
fn start(output: u32, mask: usize) -> i32 {
    output as i32 - (mask / 2) as i32
}
