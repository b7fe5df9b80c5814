//! Signals of several channels: neighbouring outputs of one channel per thread, over a tile in shared memory that holds
//! the channels side by side, as device memory does.
//!
//! - Neighbouring threads load and store neighbouring elements of device memory, whatever their channels: the outputs
//!   go through the tile too, where a thread's own are a sample apart.
//! - From one thread of a channel to the next it is V samples, which would meet in few banks. A gap after every V
//!   samples brings the lanes of a warp to neighbouring banks: see `pitch`. Loads and stores that cross a gap pay with
//!   a conflict.
//! - Of many channels, a block has some, 64 bytes of a sample at most: the halo of a long mask needs as much memory for
//!   each.

use super::{BLOCK, add_tap, groups, outputs_per_thread};
use crate::conv1d::Frame;
use crate::filter::Sample;
use crate::unroll::unroll;
use cuda_std::{kernel, launch::Scalar, shared::dynamic_shared_mem, thread};

/// The division of the work, which is the same for every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Split {
    /// Channels of a block; the last one along y may have less.
    pub channels: u32,
    /// Threads of a channel, each with neighbouring outputs.
    pub groups: u32,
    /// Elements from one thread's outputs to the next one's of the same channel in the tile.
    pub pitch: u32,
}

// SAFETY: three numbers of one size, without padding, laid out as written.
unsafe impl Scalar for Split {}

impl Split {
    /// Computes the division for a signal of this number of channels (one at least), of elements of this size.
    pub const fn new(channels: u32, bytes: usize) -> Self {
        let blocks = channels.div_ceil(64 / bytes as u32);
        let channels = channels.div_ceil(blocks);
        Self { channels, groups: BLOCK / channels, pitch: pitch(channels, bytes) }
    }

    /// Samples of outputs of a block, of elements of this size.
    pub const fn samples(&self, bytes: usize) -> u32 {
        self.groups * outputs_per_thread(bytes)
    }

    /// Bytes of shared memory for a mask of this number of taps, of elements of this size.
    pub const fn shared_bytes(&self, mask: u32, bytes: usize) -> u32 {
        let outputs = outputs_per_thread(bytes);
        let groups_of_taps = groups(mask as usize, outputs as usize) as u32;
        (groups_of_taps * outputs + (self.groups + groups_of_taps) * self.pitch) * bytes as u32
    }
}

/// Room for the outputs of a thread and its neighbours in the other channels, and a gap: so much that the next thread's
/// start as many banks on as there are channels.
const fn pitch(channels: u32, bytes: usize) -> u32 {
    let (outputs, banks) = (outputs_per_thread(bytes), 128 / bytes as u32);
    outputs * channels + (banks - (outputs - 1) * channels % banks) % banks
}

/// Filters a signal.
///
/// # Safety
/// `input` and `output` are signals of the frame, which has an element, and do not overlap; `mask` is the frame's mask,
/// and `split` made for its channels. Blocks of `BLOCK` threads with the split's shared memory: along x one per
/// [`Split::samples`], along y one per [`Split::channels`].
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
/// As for [`conv1d_best_interleaved()`].
#[inline(always)]
unsafe fn filter<T: Sample, const V: usize>(input: &[T], mask: &[T], frame: Frame, split: Split, output: *mut T) {
    let place = Place::<V>::new(frame, split);
    let groups_of_taps = frame.taps.div_ceil(V as u32);
    let taps = dynamic_shared_mem::<T>();
    // SAFETY: the launch gave room for the mask and the tile.
    let tile = unsafe { taps.add((groups_of_taps * V as u32) as usize) };

    let mut j = thread::thread_idx_x();
    while j < groups_of_taps * V as u32 {
        // SAFETY: a slot of the mask, and a tap of it.
        unsafe {
            taps.add(j as usize).write(if j < frame.taps { *mask.get_unchecked(j as usize) } else { T::ZERO });
        }
        j += BLOCK;
    }
    if place.takes_part {
        // SAFETY: the caller upholds this function's contract, and room for these rows.
        unsafe { place.load(input, tile, (split.groups + groups_of_taps) * V as u32) };
    }
    thread::sync_threads(); // mask and tile are complete before anyone reads what others loaded
    let mut sums = [T::ZERO; V];
    if place.takes_part {
        // SAFETY: both were written.
        sums = unsafe { place.sums(taps, tile) };
    }
    thread::sync_threads(); // all have read what lay under their outputs before the tile takes these
    if place.takes_part {
        // SAFETY: the places of this thread's first elements, which are its own again.
        unroll!(v < V => { unsafe { tile.add(place.mine + v * split.channels as usize).write(sums[v]) } });
    }
    thread::sync_threads(); // the outputs are complete before anyone writes those of others
    if place.takes_part {
        // SAFETY: the caller upholds this function's contract; the outputs are in the tile.
        unsafe { place.store(tile, output) };
    }
}

/// The part of the work that a thread has.
struct Place<const V: usize> {
    frame: Frame,
    split: Split,
    /// Its number among the threads of its channel.
    group: u32,
    /// Its channel of the block's, and of the signal's.
    own: u32,
    channel: u32,
    /// The block's first sample of outputs.
    first: u32,
    /// Slot of the first element under its first output.
    mine: usize,
    /// There is such a channel and such a group.
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

    /// The slot of its channel in a row of the tile, which is a sample.
    #[inline(always)]
    fn slot(&self, row: u32) -> usize {
        (row / V as u32 * self.split.pitch + row % V as u32 * self.split.channels + self.own) as usize
    }

    /// Loads its part of the tile: of its channel, every row that is a multiple of the groups after its own.
    ///
    /// # Safety
    /// `input` is a signal of the frame. The tile has room for this number of rows, and nobody reads it.
    #[inline(always)]
    unsafe fn load<T: Sample>(&self, input: &[T], tile: *mut T, rows: u32) {
        let Self { frame, split, channel, .. } = *self;
        let (from, mut row) = (frame.start(self.first), self.group);
        if from >= 0 && from as u32 + split.groups * V as u32 <= frame.samples {
            // As many as outputs, all of them under way before the first is waited for.
            let mut values = [T::ZERO; V];
            unroll!(k < V => {
                let sample = from as u32 + row + k as u32 * split.groups;
                // SAFETY: in the signal.
                values[k] = unsafe { *input.get_unchecked((sample * frame.channels + channel) as usize) };
            });
            unroll!(k < V => {
                // SAFETY: a slot for each element of the tile.
                unsafe { tile.add(self.slot(row + k as u32 * split.groups)).write(values[k]) };
            });
            row += V as u32 * split.groups;
        }
        // The halo, and near the border everything.
        while row < rows {
            // SAFETY: a slot for each element of the tile; required of the caller.
            unsafe { tile.add(self.slot(row)).write(frame.element(input, from + row as i32, channel)) };
            row += split.groups;
        }
    }

    /// Its outputs.
    ///
    /// # Safety
    /// Mask and tile were written.
    #[inline(always)]
    unsafe fn sums<T: Sample>(&self, taps: *const T, tile: *const T) -> [T; V] {
        let Self { split, mine, .. } = *self;
        let elements = |g: usize| {
            let mut values = [T::ZERO; V];
            unroll!(v < V => {
                // SAFETY: elements of the tile.
                values[v] = unsafe { tile.add(mine + g * split.pitch as usize + v * split.channels as usize).read() };
            });
            values
        };
        // SAFETY: a slot of the mask.
        let tap = |j: usize| unsafe { taps.add(j).read() };
        let mut sums = [T::ZERO; V];
        let mut near = elements(0);
        let (mut g, mut left) = (0, self.frame.taps);
        // Whole groups, two at a time, so that none has to be moved in registers.
        while left >= 2 * V as u32 {
            let far = elements(g + 1);
            unroll!(j < V => { add_tap(&mut sums, &near, &far, j, tap(g * V + j)) });
            near = elements(g + 2);
            unroll!(j < V => { add_tap(&mut sums, &far, &near, j, tap((g + 1) * V + j)) });
            (g, left) = (g + 2, left - 2 * V as u32);
        }
        // The one or two that are left; the last may have fewer taps.
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

    /// Writes outputs in the rows that it loaded, which are not its own.
    ///
    /// # Safety
    /// `output` is a signal of the frame; the tile has this block's outputs, which no other block writes.
    #[inline(always)]
    unsafe fn store<T: Sample>(&self, tile: *const T, output: *mut T) {
        unroll!(k < V => {
            let row = self.group + k as u32 * self.split.groups;
            if self.first + row < self.frame.samples {
                // SAFETY: one of this block's outputs, and no other thread visits it.
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
                // What blocks of the oldest architecture can have.
                assert!(split.shared_bytes(MAX_MASK, bytes) <= 64 << 10, "{split:?}");
            }
        }
    }
}
