//! One thread per element of the input tile: the block loads the neighbourhood of its outputs into shared memory, each
//! element once; then the threads outside the halo compute.
//!
//! A tap costs a load of shared memory instead of one through the caches: a tile of T outputs and a mask of K taps load
//! T + K - 1 elements instead of T * K. But the halo's threads are idle after the load. A tile belongs to one channel,
//! so with several channels a load touches the sectors of all of them.

use super::Frame;
use crate::filter::Sample;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per element loads tile and halo into shared memory; halo threads then idle";

/// Number of threads per block for a mask of this number of taps; at least half of them compute.
pub const fn block(mask: u32) -> u32 {
    if mask <= super::BLOCK / 2 { super::BLOCK } else { 1024 }
}

const _: () = assert!(super::MAX_MASK <= 1024 / 2);

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound.
///
/// # Safety
/// `input` and `output` are signals of the frame, which has an element, and do not overlap; `mask` is the frame's mask.
/// The block has at least as many threads as the mask has taps, and dynamic shared memory for one element per thread.
/// The grid has a block per `block - taps + 1` samples along x and one per channel along y.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_tiled<T: Sample>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let tile = dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let width = thread::block_dim_x() + 1 - mask.len() as u32;
    // Thread 0 of the tile loads the element under the mask's first tap for the tile's first output.
    let (sample, channel) = (thread::block_idx_x() * width + tid, thread::block_idx_y());
    // SAFETY: each thread has a slot; the caller upholds the rest of the contract.
    unsafe { tile.add(tid as usize).write(frame.element(input, frame.start(sample), channel)) };
    thread::sync_threads(); // the tile is complete before any thread reads what others loaded

    if tid >= width || sample >= frame.samples {
        return;
    }
    let mut sum = T::ZERO;
    let mut j = 0;
    while j < mask.len() {
        // SAFETY: `tid + j < width + taps - 1`, which is the block.
        sum = unsafe { tile.add(tid as usize + j).read() }.mul_add(mask[j], sum);
        j += 1;
    }
    // SAFETY: the index is that of an output, and no other thread has it.
    unsafe { output.add((sample * frame.channels + channel) as usize).write(sum) };
}
