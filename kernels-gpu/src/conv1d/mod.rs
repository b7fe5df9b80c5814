//! One-dimensional convolution: `out[i] = sum over j of in[i + j - K/2] * mask[j]`, for a mask of K taps.
//!
//! The mask is not reversed (the operation is also called cross-correlation), and the result is as long as the signal.
//! Signals are samples, or samples x channels, row-major: the channels of a sample side by side, as in stereo sound or
//! the leads of an electrocardiogram; every channel is filtered separately. [`crate::filter`] defines the values beyond
//! the border.
//!
//! The rungs: [`basic`] and [`constant`] read the signal from device memory; [`tiled`] and [`cached`] use shared
//! memory; [`channels`] shares work between the channels of a sample; [`best`].
//!
//! With `m` taps, a float result is within `m * epsilon * sum(|in * mask|)` of the exact one. Every rung adds in a
//! fixed order by fused multiply-adds, so its result is the same in every run.
//!
//! Source: D. Kirk, W. Hwu, I. El Hajj, "Programming Massively Parallel Processors", chapter on convolution (`basic` to
//! `cached`).

use crate::filter::{Sample, ZERO, source};
use cuda_std::{launch::Scalar, thread};

pub mod basic;
pub mod best;
pub mod cached;
pub mod channels;
pub mod constant;
pub mod tiled;

mod signal;

/// Default number of threads per block.
pub const BLOCK: u32 = 256;

/// Maximum number of taps: a halo and the same number of outputs fit into a block of [`tiled`]. For longer masks a
/// Fourier transform takes less work.
pub const MAX_MASK: u32 = 512;

/// Maximum number of channels: the largest number of blocks of a grid along y.
pub const MAX_CHANNELS: u32 = 65_535;

/// The parameters of the convolution, which are the same for every thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Frame {
    /// Length of the signal.
    pub samples: u32,
    /// Elements of a sample.
    pub channels: u32,
    /// Length of the mask.
    pub taps: u32,
    /// [`ZERO`], [`CLAMP`](crate::filter::CLAMP) or [`MIRROR`](crate::filter::MIRROR).
    pub border: u32,
}

// SAFETY: four numbers of one size, without padding, laid out as written.
unsafe impl Scalar for Frame {}

impl Frame {
    /// The element of a channel at a sample that may be outside the signal.
    ///
    /// # Safety
    /// `input` is a signal of this frame with at least one element, and `channel` one of its channels.
    #[inline(always)]
    unsafe fn element<T: Sample>(&self, input: &[T], sample: i32, channel: u32) -> T {
        match source(sample, self.samples, self.border) {
            // SAFETY: `source` gives samples of the signal.
            Some(at) => unsafe { *input.get_unchecked((at * self.channels + channel) as usize) },
            None => T::ZERO,
        }
    }

    /// Index of the source of the element at this place; `None` for an element that counts as 0. Inside the signal,
    /// taps are `channels` places apart, for any channel; outside, each channel is continued separately. Further out
    /// than the mask reaches, the source is some place of the signal.
    #[inline(always)]
    fn source_at(&self, place: i32) -> Option<u32> {
        if (place as u32) < self.samples * self.channels {
            return Some(place as u32);
        }
        if self.border == ZERO {
            return None;
        }
        // The place is moved by `reach` samples, so that the division rounds down also before the signal.
        let (channels, reach) = (self.channels.max(1), self.taps / 2);
        let later = (place + (reach * channels) as i32) as u32;
        let sample = source((later / channels) as i32 - reach as i32, self.samples, self.border)?;
        Some(sample * channels + later % channels)
    }

    /// The first place under the mask of the output at a place.
    #[inline(always)]
    fn start_at(&self, output: u32) -> i32 {
        output as i32 - (self.taps / 2 * self.channels) as i32
    }

    /// The first sample under the mask of an output.
    #[inline(always)]
    fn start(&self, output: u32) -> i32 {
        output as i32 - (self.taps / 2) as i32
    }
}

/// The thread's index in a grid of one thread per output or per sample.
#[inline(always)]
fn place() -> u32 {
    thread::block_idx_x() * thread::block_dim_x() + thread::thread_idx_x()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::filter::{CLAMP, MIRROR};

    #[test]
    fn places_beyond_the_border_belong_to_their_channel() {
        for border in [ZERO, CLAMP, MIRROR] {
            for (samples, channels, taps) in [(1, 1, 5), (3, 2, 3), (2, 3, 9), (7, 5, 4)] {
                let frame = Frame { samples, channels, taps, border };
                let reach = (taps / 2) as i32;
                for sample in -reach..samples as i32 + reach {
                    for channel in 0..channels {
                        let found = frame.source_at(sample * channels as i32 + channel as i32);
                        let wanted = source(sample, samples, border).map(|at| at * channels + channel);
                        assert_eq!(found, wanted, "{frame:?} {sample} {channel}");
                    }
                }
            }
        }
    }
}
