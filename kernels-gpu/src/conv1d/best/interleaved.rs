//! The kernel for signals of three channels or more: each thread computes neighbouring outputs of one channel from a
//! tile in shared memory, in which the channels are interleaved as in device memory.
//!
//! - Neighbouring threads load and store neighbouring elements of device memory, whatever their channels: the outputs
//!   also pass through the tile, where a thread's own are a sample apart.
//! - Neighbouring threads of a channel are V samples apart, which would be in few banks. A gap after every V samples
//!   moves the lanes of a warp to neighbouring banks: see `pitch`. Loads and stores that cross a gap have a conflict.
//! - If there are many channels, a block has a part of them, at most 64 bytes of a sample, since the halo of a long
//!   mask takes memory for each channel.

use super::add_tap;
use crate::conv1d::{BLOCK, Frame};
use crate::filter::Sample;
use crate::unroll::unroll;
use cuda_std::{kernel, launch::Scalar, shared::dynamic_shared_mem, thread};

/// The division of the work, which is the same for every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Split {
    /// Channels of a block; the last block along y may have fewer.
    pub channels: u32,
    /// Threads of a channel, each with neighbouring outputs.
    pub groups: u32,
    /// Distance in the tile, in elements, between the outputs of neighbouring threads of a channel.
    pub pitch: u32,
}

// SAFETY: three numbers of one size, without padding, laid out as written.
unsafe impl Scalar for Split {}

/// Outputs per thread, two vectors of elements of `bytes` bytes.
const fn outputs_per_thread(bytes: usize) -> u32 {
    32 / bytes as u32
}

impl Split {
    /// Computes the division for a signal of this number of channels (one at least), of elements of this size.
    pub const fn new(channels: u32, bytes: usize) -> Self {
        let blocks = channels.div_ceil(64 / bytes as u32);
        let channels = channels.div_ceil(blocks);
        Self { channels, groups: BLOCK / channels, pitch: pitch(channels, bytes) }
    }

    /// Output samples per block, for elements of `bytes` bytes.
    pub const fn samples(&self, bytes: usize) -> u32 {
        self.groups * outputs_per_thread(bytes)
    }

    /// Bytes of shared memory for a mask of this number of taps, of elements of this size.
    pub const fn shared_bytes(&self, mask: u32, bytes: usize) -> u32 {
        let outputs = outputs_per_thread(bytes);
        let groups_of_taps = mask.div_ceil(outputs);
        (groups_of_taps * outputs + (self.groups + groups_of_taps) * self.pitch) * bytes as u32
    }
}

/// Distance in elements from one group of threads to the next: the outputs of a thread and of its neighbours in the
/// other channels, and a gap such that the next group starts as many banks further as there are channels.
const fn pitch(channels: u32, bytes: usize) -> u32 {
    let (outputs, banks) = (outputs_per_thread(bytes), 128 / bytes as u32);
    outputs * channels + (banks - (outputs - 1) * channels % banks) % banks
}

/// Convolves a signal of `frame.samples` x `frame.channels` elements, row-major. The order of additions is fixed, so
/// the result is the same in every run; [`conv1d`](crate::conv1d) states the error bound.
///
/// # Safety
/// `input` and `output` are signals of the frame, which has an element, and do not overlap; `mask` is the frame's mask,
/// and `split` made for its channels. Blocks have `BLOCK` threads and the split's shared memory; the grid has one per
/// [`Split::samples`] along x and one per [`Split::channels`] along y.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_best_interleaved<T: Sample>(input: &[T], mask: &[T], frame: Frame, split: Split, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => filter::<T, 8>(input, mask, frame, split, output),
            _ => filter::<T, 4>(input, mask, frame, split, output),
        }
    }
}

/// Implements the kernel for `V` outputs per thread.
///
/// # Safety
/// The requirements are those of [`conv1d_best_interleaved()`].
#[inline(always)]
unsafe fn filter<T: Sample, const V: usize>(input: &[T], mask: &[T], frame: Frame, split: Split, output: *mut T) {
    let place = Place::<V>::new(frame, split);
    let groups_of_taps = frame.taps.div_ceil(V as u32);
    let taps = dynamic_shared_mem::<T>();
    // SAFETY: the launch gave room for the mask and the tile.
    let tile = unsafe { taps.add((groups_of_taps * V as u32) as usize) };

    let mut j = thread::thread_idx_x();
    while j < groups_of_taps * V as u32 {
        // SAFETY: both indices are inside the mask.
        unsafe {
            taps.add(j as usize).write(if j < frame.taps { *mask.get_unchecked(j as usize) } else { T::ZERO });
        }
        j += BLOCK;
    }
    if place.takes_part {
        // SAFETY: the caller upholds this function's contract, and the tile has room for these rows.
        unsafe { place.load(input, tile, (split.groups + groups_of_taps) * V as u32) };
    }
    thread::sync_threads(); // mask and tile are complete before any thread reads what others loaded
    let mut sums = [T::ZERO; V];
    if place.takes_part {
        // SAFETY: mask and tile were written before the barrier.
        sums = unsafe { place.sums(taps, tile) };
    }
    thread::sync_threads(); // separates the reads of the inputs from the writes of the outputs to the tile
    if place.takes_part {
        // SAFETY: the slots are those of this thread's outputs, which no other thread accesses before the next barrier.
        unroll!(v < V => { unsafe { tile.add(place.mine + v * split.channels as usize).write(sums[v]) } });
    }
    thread::sync_threads(); // separates the writes of the outputs to the tile from their reads
    if place.takes_part {
        // SAFETY: the caller upholds this function's contract; the outputs are in the tile.
        unsafe { place.store(tile, output) };
    }
}

/// A thread's part of the work.
struct Place<const V: usize> {
    frame: Frame,
    split: Split,
    /// The thread's number among those of its channel.
    group: u32,
    /// The thread's channel, counted in the block and in the signal.
    own: u32,
    channel: u32,
    /// The block's first sample of outputs.
    first: u32,
    /// Slot of the first element under the thread's first output.
    mine: usize,
    /// Whether the thread's channel and group exist.
    takes_part: bool,
}

impl<const V: usize> Place<V> {
    #[inline(always)]
    fn new(frame: Frame, split: Split) -> Self {
        let tid = thread::thread_idx_x();
        let (group, own) = (tid / split.channels.max(1), tid % split.channels.max(1));
        let channel = thread::block_idx_y() * split.channels + own;
        Self {
            frame,
            split,
            group,
            own,
            channel,
            first: thread::block_idx_x() * split.groups * V as u32,
            mine: (group * split.pitch + own) as usize,
            takes_part: group < split.groups && channel < frame.channels,
        }
    }

    /// The slot of the thread's channel in a row of the tile; a row is a sample.
    #[inline(always)]
    fn slot(&self, row: u32) -> usize {
        (row / V as u32 * self.split.pitch + row % V as u32 * self.split.channels + self.own) as usize
    }

    /// Loads the thread's part of the tile: every `groups`-th row of its channel, from its own on.
    ///
    /// # Safety
    /// `input` is a signal of the frame. The tile has room for this number of rows, and no thread reads it.
    #[inline(always)]
    unsafe fn load<T: Sample>(&self, input: &[T], tile: *mut T, rows: u32) {
        let Self { frame, split, channel, .. } = *self;
        let (from, mut row) = (frame.start(self.first), self.group);
        if from >= 0 && from as u32 + split.groups * V as u32 <= frame.samples {
            // One element per output, with all loads in flight before the first value is used.
            let mut values = [T::ZERO; V];
            unroll!(k < V => {
                let sample = from as u32 + row + k as u32 * split.groups;
                // SAFETY: the element is inside the signal.
                values[k] = unsafe { *input.get_unchecked((sample * frame.channels + channel) as usize) };
            });
            unroll!(k < V => {
                // SAFETY: each element of the tile has a slot.
                unsafe { tile.add(self.slot(row + k as u32 * split.groups)).write(values[k]) };
            });
            row += V as u32 * split.groups;
        }
        // The halo; near the border, all rows.
        while row < rows {
            // SAFETY: each element of the tile has a slot; the caller upholds the rest of the contract.
            unsafe { tile.add(self.slot(row)).write(frame.element(input, from + row as i32, channel)) };
            row += split.groups;
        }
    }

    /// Computes the thread's outputs.
    ///
    /// # Safety
    /// Mask and tile were written.
    #[inline(always)]
    unsafe fn sums<T: Sample>(&self, taps: *const T, tile: *const T) -> [T; V] {
        let Self { split, mine, .. } = *self;
        let elements = |g: usize| {
            let mut values = [T::ZERO; V];
            unroll!(v < V => {
                // SAFETY: the elements are inside the tile.
                values[v] = unsafe { tile.add(mine + g * split.pitch as usize + v * split.channels as usize).read() };
            });
            values
        };
        // SAFETY: the index is inside the mask.
        let tap = |j: usize| unsafe { taps.add(j).read() };
        let mut sums = [T::ZERO; V];
        let mut near = elements(0);
        let (mut g, mut left) = (0, self.frame.taps);
        // Whole groups are processed in pairs, so that no values have to be moved between registers.
        while left >= 2 * V as u32 {
            let far = elements(g + 1);
            unroll!(j < V => { add_tap(&mut sums, &near, &far, j, tap(g * V + j)) });
            near = elements(g + 2);
            unroll!(j < V => { add_tap(&mut sums, &far, &near, j, tap((g + 1) * V + j)) });
            (g, left) = (g + 2, left - 2 * V as u32);
        }
        // The remaining one or two groups, of which the last may have fewer taps.
        while left > 0 {
            let far = elements(g + 1);
            unroll!(j < V => {
                if (j as u32) < left {
                    add_tap(&mut sums, &near, &far, j, tap(g * V + j));
                }
            });
            near = far;
            (g, left) = (g + 1, left.saturating_sub(V as u32));
        }
        sums
    }

    /// Writes the outputs of the rows that the thread loaded, which other threads computed.
    ///
    /// # Safety
    /// `output` is a signal of the frame; the tile has this block's outputs, which no other block writes.
    #[inline(always)]
    unsafe fn store<T: Sample>(&self, tile: *const T, output: *mut T) {
        unroll!(k < V => {
            let row = self.group + k as u32 * self.split.groups;
            if self.first + row < self.frame.samples {
                // SAFETY: the index is that of one of this block's outputs, and no other thread visits it.
                unsafe {
                    let at = ((self.first + row) * self.frame.channels + self.channel) as usize;
                    output.add(at).write(tile.add(self.slot(row)).read());
                }
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conv1d::{MAX_CHANNELS, MAX_MASK};

    #[test]
    fn lanes_take_neighbouring_banks_and_a_block_fits() {
        for bytes in [4, 8] {
            for channels in (1..200).chain([MAX_CHANNELS]) {
                let split = Split::new(channels, bytes);
                assert!(split.groups > 0 && split.channels * split.groups <= BLOCK, "{split:?}");
                assert_eq!((split.pitch - split.channels) % (128 / bytes as u32), 0, "{split:?}");
                // The oldest architecture's limit for a block.
                assert!(split.shared_bytes(MAX_MASK, bytes) <= 64 << 10, "{split:?}");
            }
        }
    }
}
