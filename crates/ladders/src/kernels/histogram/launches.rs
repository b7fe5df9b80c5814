//! The launches of one histogram: shapes, memory besides the input, and the kernel and memory that count each bin.

use super::question::Question;
use crate::kernels::Entry;
use crate::kernels::ladder::{Chosen, Run};
use crate::kernels::plan::Plan;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::histogram::best::{LANE_BINS, lanes, windows};
use kernels_gpu::histogram::{SHARED_BINS, Sample};
use rustwarp::backend::{Buffer, DeviceInfo, Shape};
use rustwarp::element::Scalar;
use rustwarp::error::{Error, Result};

/// Number of threads that fill a multiprocessor.
const THREADS_PER_SM: u32 = 2048;

/// A launcher that takes input, bins, range, the arguments of the scheme, and the counts.
type Global<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], PtrMut<'a, u64>) -> Call<'a>;
type First<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], u32, PtrMut<'a, u64>) -> Call<'a>;
type Launch<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], u32, u32, PtrMut<'a, u64>) -> Call<'a>;
type Lanes<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], PtrMut<'a, u64>, PtrMut<'a, u32>, PtrMut<'a, u64>) -> Call<'a>;

/// The memory in which bins are counted, with the kernels.
pub(super) enum Scheme<T: 'static> {
    /// All bins are counted in the result itself.
    Global(Global<T>),
    /// All bins are counted in shared memory, with one launch for as many bins as fit.
    Launches(Launch<T>),
    /// The first bins are counted in shared memory, the others in the result.
    First(First<T>),
    /// Few bins are counted by each lane separately, many in windows by a group of blocks.
    Best {
        /// The kernel for few bins.
        lanes: Lanes<T>,
        /// The kernel for many bins.
        windows: First<T>,
    },
}

impl<T: Sample> Scheme<T> {
    /// The entries of the kernels.
    pub fn entries(&self) -> Vec<Entry> {
        match self {
            Self::Global(kernel) => vec![Entry::of(kernel)],
            Self::Launches(kernel) => vec![Entry::of(kernel)],
            Self::First(kernel) => vec![Entry::of(kernel)],
            Self::Best { lanes, windows } => vec![Entry::of(lanes), Entry::of(windows)],
        }
    }

    /// The block size for these bins; `None` for the rung's own.
    pub fn block(&self, question: &Question, info: &DeviceInfo) -> Option<u32> {
        let windows = matches!(self, Self::Best { .. }) && question.bins > LANE_BINS;
        windows.then_some(windows::BLOCK.min(info.max_block))
    }
}

/// The shape of the launch, without memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blueprint {
    /// Threads per block.
    pub block: u32,
    /// Number of blocks; 0 for an empty input.
    pub grid: u32,
    /// Number of bins that a block counts in shared memory at the same time.
    pub window: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Whether each lane has its own counters.
    pub by_lane: bool,
}

impl Blueprint {
    /// Plans the count of `n` elements.
    ///
    /// # Errors
    /// [`Error::Usage`] for more elements than a block's 32-bit counters can count.
    pub fn new<T: Sample>(rung: &Chosen<'_, Scheme<T>>, question: &Question, n: u64) -> Result<Self> {
        let (info, bins, block) = (rung.device.info(), question.bins, rung.block);
        let best = matches!(rung.kernel, Scheme::Best { .. });
        let by_lane = best && bins <= LANE_BINS;

        let four = |bins: u32| bins * size_of::<u32>() as u32;
        // A group is the blocks that count the same elements, each for its own bins.
        let mut blocks_per_group = 1;
        let (window, shared, fill) = match rung.kernel {
            Scheme::Global(_) => (0, 0, THREADS_PER_SM / block),
            Scheme::Launches(_) | Scheme::First(_) => {
                let window = bins.min(SHARED_BINS);
                (window, four(window), (THREADS_PER_SM / block).min(info.max_shared / four(window)))
            }
            Scheme::Best { .. } if by_lane => {
                let shared = lanes::shared_bytes::<T>(bins);
                (bins, shared, (lanes::THREADS_PER_SM / block).min(info.max_shared / shared))
            }
            Scheme::Best { .. } => {
                let fit = info.max_shared / four(1);
                blocks_per_group = bins.div_ceil(fit.max(1));
                if blocks_per_group > 1 {
                    // Smaller windows are used if they leave fewer multiprocessors without a block.
                    blocks_per_group = info.multiprocessors / (info.multiprocessors / blocks_per_group).max(1);
                    blocks_per_group = blocks_per_group.max(bins.div_ceil(fit.max(1)));
                }
                let window = bins.div_ceil(blocks_per_group);
                (window, four(window), (windows::THREADS_PER_SM / block).min(info.max_shared / four(window)))
            }
        };
        // The last windows may be empty.
        let blocks_per_group = if blocks_per_group > 1 { bins.div_ceil(window) } else { 1 };
        let most = u64::from(info.multiprocessors * fill.max(1) / blocks_per_group).max(1);
        let vector = 16 / size_of::<T>() as u64;
        let enough = match (best, by_lane) {
            (false, _) => n.div_ceil(u64::from(block)),
            (true, true) => n / (vector * u64::from(block) * lanes::UNROLL as u64),
            (true, false) => n / (u64::from(window) * windows::ELEMENTS_PER_BIN).max(vector * u64::from(block)),
        };
        let groups = match rung.grid {
            Some(grid) => u64::from(grid / blocks_per_group).max(1),
            None => enough.clamp(1, most),
        };
        // A group's share is n / groups plus at most one round of its threads.
        let round = u64::from(block) * vector * windows::UNROLL as u64;
        if window > 0 && n.div_ceil(groups) + round > u64::from(u32::MAX) {
            return Err(Error::Usage(format!(
                "{n} elements in {groups} blocks are more than a block's 32-bit counters can count: use a larger --grid"
            )));
        }
        let grid = if n == 0 { 0 } else { groups as u32 * blocks_per_group };
        Ok(Self { block, grid, window, shared, by_lane })
    }
}

/// Makes the plan for all elements of a buffer, which have the representation of `S`, and runs it.
pub(super) fn prepare<S: Sample, T: Scalar>(
    rung: &Chosen<'_, Scheme<S>>,
    blueprint: &Blueprint,
    question: &Question,
    input: &Buffer<'_, T>,
    run: Run<'_>,
) -> Result<()> {
    const { assert!(size_of::<S>() == size_of::<T>()) };
    let Blueprint { block, grid, window, shared, by_lane } = *blueprint;
    let Question { bins, range, .. } = *question;
    let output = rung.uninit::<u64>(bins as usize, "counts")?;
    // The totals of the counters by lane and the ticket are 0 between launches.
    let totals = Buffer::from_slice(rung.device, &vec![0_u64; if by_lane { bins as usize } else { 0 }], "totals")?;
    let ticket = Buffer::from_slice(rung.device, &[0_u32], "ticket")?;
    // SAFETY: the memory lives as long as the buffer, which is borrowed, and has as many elements of this size.
    let input = unsafe { Slice::<S>::new(input.address(), input.len()) };
    let counts = output.ptr();
    let calls = match rung.kernel {
        _ if grid == 0 => Vec::new(),
        Scheme::Global(kernel) => vec![kernel(input, bins, range, counts)],
        Scheme::Launches(kernel) => (0..bins)
            .step_by(window as usize)
            .map(|first| kernel(input, bins, range, first, window.min(bins - first), counts))
            .collect(),
        Scheme::First(kernel) => vec![kernel(input, bins, range, window, counts)],
        Scheme::Best { lanes, .. } if by_lane => {
            vec![lanes(input, bins, range, totals.ptr(), ticket.ptr(), counts)]
        }
        Scheme::Best { windows, .. } => vec![windows(input, bins, range, window, counts)],
    };
    let mut plan = Plan::new(block, grid, &output, &[bins as usize]);
    if !by_lane || grid == 0 {
        // The kernels add to the counts.
        plan = plan.clear(&output);
    }
    let shape = Shape::linear(grid, block).with_shared(shared);
    for call in calls {
        // SAFETY: the kernel's own launcher made the call, with a block size that its rule allows; the blueprint gives
        // the shared memory for its window, a grid of whole groups, and no block more elements than 32 bits can count;
        // totals and ticket are 0 before the first launch, and the kernel leaves them so.
        plan = unsafe { plan.launch(call, shape) };
    }
    run(plan)
}
