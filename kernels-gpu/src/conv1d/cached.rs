//! A thread per output: the tile in shared memory has no halo, and what a thread needs beyond it, it takes from device memory. That is
//! some other block's tile, so it comes from the L2 cache, or from L1.
//!
//! No thread idles, and the loads into the tile are aligned; but every tap has to ask which of the two it is.

use super::{element, place, start};
use crate::filter::Sample;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// Filters a signal.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; dynamic shared memory for an element per thread; a thread per output.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_cached<T: Sample>(input: &[T], mask: &[T], border: u32, output: *mut T) {
    let tile = dynamic_shared_mem::<T>();
    let (tid, i) = (thread::thread_idx_x(), place());
    let inside = (i as usize) < input.len();
    if inside {
        // SAFETY: an element of the signal; a slot per thread.
        unsafe { tile.add(tid as usize).write(*input.get_unchecked(i as usize)) };
    }
    thread::sync_threads(); // the tile is complete before anyone reads what others loaded
    if !inside {
        return;
    }
    let (first, start) = (i - tid, start(i, mask.len()));
    // The tile's part of the signal.
    let width = thread::block_dim_x().min(input.len() as u32 - first);
    let mut sum = T::ZERO;
    let mut j = 0;
    while j < mask.len() {
        let position = start + j as i32;
        let slot = (position - first as i32) as u32;
        let x = match slot < width {
            // SAFETY: a slot that was written, because it is inside the tile and the signal.
            true => unsafe { tile.add(slot as usize).read() },
            false => element(input, position, border),
        };
        sum = x.mul_add(mask[j], sum);
        j += 1;
    }
    // SAFETY: one of the outputs, and no other thread has it.
    unsafe { output.add(i as usize).write(sum) };
}
