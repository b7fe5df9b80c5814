//! A thread per element of the input tile: the block loads its outputs' neighbourhood into shared memory, each element
//! once, and then the threads that are not part of the halo compute.
//!
//! A tap costs a load of shared memory instead of one through the caches: a tile of T outputs and a mask of K taps load
//! T + K - 1 elements instead of T * K. But the halo's threads have nothing more to do. A tile is of one channel, so of
//! several, a load takes the sectors of all.

use super::Frame;
use crate::filter::Sample;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "one thread per element loads tile and halo into shared memory; halo threads then idle";

/// Number of threads per block for a mask of this number of taps: enough that half of them compute.
pub const fn block(mask: u32) -> u32 {
    if mask <= super::BLOCK / 2 { super::BLOCK } else { 1024 }
}

const _: () = assert!(super::MAX_MASK <= 1024 / 2);

/// Filters a signal.
///
/// # Safety
/// `input` and `output` are signals of the frame, which has an element, and do not overlap; `mask` is the frame's mask.
/// The block has at least as many threads as the mask taps, and dynamic shared memory for an element per thread; along
/// x a block per `block - taps + 1` samples, along y one per channel.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_tiled<T: Sample>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let tile = dynamic_shared_mem::<T>();
    let tid = thread::thread_idx_x();
    let width = thread::block_dim_x() + 1 - mask.len() as u32;
    // The tile's thread 0 loads what lies under the mask's start for the tile's first output.
    let (sample, channel) = (thread::block_idx_x() * width + tid, thread::block_idx_y());
    // SAFETY: a slot per thread; required of the caller.
    unsafe { tile.add(tid as usize).write(frame.element(input, frame.start(sample), channel)) };
    thread::sync_threads(); // the tile is complete before anyone reads what others loaded

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
    // SAFETY: one of the outputs, and no other thread has it.
    unsafe { output.add((sample * frame.channels + channel) as usize).write(sum) };
}
