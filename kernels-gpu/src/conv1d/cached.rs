//! One thread per output: the tile in shared memory has no halo, and a thread reads elements beyond the tile from
//! device memory. Those are part of another block's tile, so they are usually found in the L2 or the L1 cache.
//!
//! No thread is idle, and the loads into the tile are aligned; but every tap needs a test for which of the two applies.

use super::{Frame, place, signal::Signal};
use crate::filter::Sample;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a tile without its halo: no thread idles, and the halo comes from L1 and L2";

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound.
///
/// # Safety
/// `input` and `output` are signals of the frame and do not overlap; `mask` is the frame's mask. Dynamic shared memory
/// holds one element per thread; there is one thread per element.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_cached<T: Sample>(input: &[T], mask: &[T], frame: Frame, output: *mut T) {
    let Some(signal) = Signal::new(input, frame) else { return };
    let tile = dynamic_shared_mem::<T>();
    let (tid, i) = (thread::thread_idx_x(), place());
    let inside = (i as usize) < input.len();
    if inside {
        // SAFETY: the element is inside the signal, and each thread has a slot.
        unsafe { tile.add(tid as usize).write(*input.get_unchecked(i as usize)) };
    }
    thread::sync_threads(); // the tile is complete before any thread reads what others loaded
    if !inside {
        return;
    }
    let first = i - tid;
    // The tile's part of the signal.
    let width = thread::block_dim_x().min(input.len() as u32 - first);
    let mut under = frame.start_at(i);
    let mut sum = T::ZERO;
    let mut j = 0;
    while j < mask.len() {
        let slot = (under - first as i32) as u32;
        let x = match slot < width {
            // SAFETY: the slot was written, because it is inside the tile and the signal.
            true => unsafe { tile.add(slot as usize).read() },
            false => signal.at(under),
        };
        sum = x.mul_add(mask[j], sum);
        under += frame.channels as i32;
        j += 1;
    }
    // SAFETY: the index is that of an output, and no other thread has it.
    unsafe { output.add(i as usize).write(sum) };
}
