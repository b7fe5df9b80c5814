//! The choice of the kernel for a histogram, and of its launch configuration.

use super::bins::Bins;
use crate::backend::DeviceInfo;
use crate::error::{Error, Result};
use crate::launch::Tuning;
use kernels_gpu::histogram::Sample;
use kernels_gpu::histogram::best::{LANE_BINS, channels, lanes, windows};

/// Default number of threads per block for these bins.
pub fn default_block<S: Sample>(info: &DeviceInfo, bins: &Bins<S>) -> u32 {
    let block = match Kernel::of(info, bins) {
        Kernel::Lanes => lanes::BLOCK,
        Kernel::Windows => windows::BLOCK,
        Kernel::Channels { .. } => channels::BLOCK,
    };
    block.min(info.max_block)
}

/// Kernel and configuration of the launch of one histogram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Config {
    /// Threads per block: a multiple of 32.
    pub block: u32,
    /// Number of blocks; 0 for an empty input.
    pub grid: u32,
    /// Number of bins that a block counts in shared memory at the same time, of each channel.
    pub window: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    pub kernel: Kernel,
}

/// The kernel that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kernel {
    /// Each lane has counters of its own, and the kernel overwrites the counts.
    Lanes,
    /// Blocks count windows, and add to the counts.
    Windows,
    /// As [`Kernel::Lanes`], for each of several channels.
    Channels {
        /// Columns of counters; lanes share one if there are fewer than lanes.
        columns: u32,
    },
}

impl Kernel {
    fn of<S>(info: &DeviceInfo, bins: &Bins<S>) -> Self {
        match bins.channels.interleaved() {
            1 if bins.count <= LANE_BINS => Self::Lanes,
            1 => Self::Windows,
            _ if channels::shared_bytes(bins.channels.with_counters(), 32) <= info.max_shared => {
                Self::Channels { columns: 32 }
            }
            _ => Self::Channels { columns: 16 },
        }
    }
}

impl Config {
    /// Chooses kernel and configuration for `n` elements in these bins, of which there is at least one.
    pub fn new<S: Sample>(info: &DeviceInfo, bins: &Bins<S>, n: u64, tuning: Tuning) -> Result<Self> {
        let kernel = Kernel::of(info, bins);
        let block = tuning.whole_warps(default_block(info, bins), info)?;
        let (channels, bins) = (bins.channels, bins.count);
        let four = |bins: u32| bins * size_of::<u32>() as u32;
        // A group is the blocks that count the same elements, each for its own bins.
        let mut blocks_per_group = 1;
        let (window, shared, threads_per_sm) = match kernel {
            Kernel::Lanes => (bins, lanes::shared_bytes::<S>(bins), lanes::THREADS_PER_SM),
            Kernel::Channels { columns } => {
                let shared = channels::shared_bytes(channels.with_counters(), columns);
                if shared > info.max_shared {
                    return Err(Error::Argument(format!(
                        "a block that counts {channels} channels needs {shared} bytes of shared memory, and has at \
                         most {} on this device: copy each channel to memory of its own, and count it there",
                        info.max_shared,
                        channels = channels.counted()
                    )));
                }
                (bins, shared, channels::THREADS_PER_SM)
            }
            Kernel::Windows => {
                let fit = info.max_shared / four(1);
                blocks_per_group = bins.div_ceil(fit.max(1));
                if blocks_per_group > 1 {
                    // Smaller windows are used if they leave fewer multiprocessors without a block.
                    blocks_per_group = info.multiprocessors / (info.multiprocessors / blocks_per_group).max(1);
                    blocks_per_group = blocks_per_group.max(bins.div_ceil(fit.max(1)));
                }
                let window = bins.div_ceil(blocks_per_group);
                (window, four(window), windows::THREADS_PER_SM)
            }
        };
        let fill = (threads_per_sm / block).min(info.max_shared / shared);
        // The last windows may be empty.
        let blocks_per_group = if blocks_per_group > 1 { bins.div_ceil(window) } else { 1 };
        let most = u64::from(info.multiprocessors * fill.max(1) / blocks_per_group).max(1);
        let vector = 16 / size_of::<S>() as u64;
        let enough = match kernel {
            Kernel::Lanes => n / (vector * u64::from(block) * lanes::UNROLL as u64),
            Kernel::Channels { .. } => n / (vector * u64::from(block) * channels::UNROLL as u64),
            Kernel::Windows => n / (u64::from(window) * windows::ELEMENTS_PER_BIN).max(vector * u64::from(block)),
        };
        let groups = match tuning.blocks()? {
            Some(grid) => u64::from(grid / blocks_per_group).max(1),
            None => enough.clamp(1, most),
        };
        // A group's share is n / groups plus at most one round of its threads. Of a few warps, the kernel for channels
        // leaves up to half idle.
        let share = n.div_ceil(groups) * if matches!(kernel, Kernel::Channels { .. }) { 2 } else { 1 };
        let round = u64::from(block) * vector * windows::UNROLL as u64;
        if share + round > u64::from(u32::MAX) {
            return Err(Error::Argument(format!(
                "{n} elements in {groups} blocks are more than a block's 32-bit counters can count: count them in parts"
            )));
        }
        let grid = if n == 0 { 0 } else { groups as u32 * blocks_per_group };
        Ok(Self { block, grid, window, shared, kernel })
    }
}

#[cfg(test)]
mod tests {
    use super::super::channels::Channels;
    use super::*;
    use crate::backend::simulator;

    #[test]
    fn channels_have_a_column_for_each_lane_where_they_fit() {
        let mut info = simulator();
        info.multiprocessors = 100;
        let mut of = |kib: u32, channels: Channels, tuning: Tuning| {
            info.max_shared = kib << 10;
            Config::new(&info, &Bins::of_channels(channels, 256), 1 << 30, tuning)
        };
        let mut chosen = |kib, channels| {
            let Config { block, grid, shared, kernel, .. } = of(kib, channels, Tuning::default()).expect("a choice");
            let Kernel::Channels { columns } = kernel else { panic!("{kernel:?}") };
            (columns, block, grid, shared >> 10)
        };
        assert_eq!(chosen(227, Channels::RGB), (32, 1024, 100, 96));
        assert_eq!(chosen(227, Channels::RGBX), (32, 1024, 100, 96));
        assert_eq!(chosen(227, Channels::RGBA), (32, 1024, 100, 128));
        assert_eq!(chosen(99, Channels::RGB), (32, 1024, 100, 96));
        assert_eq!(chosen(99, Channels::RGBA), (16, 1024, 100, 64));
        assert_eq!(chosen(64, Channels::RGB), (16, 1024, 100, 48));
        let pair = Channels::new(2, 1).expect("channels");
        assert_eq!(chosen(227, pair), (32, 1024, 100, 64));
        let small = of(32, Channels::RGB, Tuning::default()).expect_err("too small").to_string();
        assert!(small.contains("49152 bytes") && small.contains("at most 32768"), "{small}");
        // Two warps, of which the second is not whole in threes: the first one gets more than half of the elements.
        assert!(of(227, Channels::RGB, Tuning { block: Some(32), grid: Some(1) }).is_ok());
        let many =
            Config::new(&info, &Bins::of_channels(Channels::RGB, 9), 1 << 32, Tuning { block: None, grid: Some(1) });
        assert!(many.is_err());
    }
}
