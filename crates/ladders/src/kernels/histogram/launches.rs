//! The launches of one histogram: shapes, memory besides the input, and in which kernel and where each bin is counted.

use super::Variant;
use super::question::Question;
use crate::kernels::{Entry, Job};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::histogram::best::{LANE_BINS, lanes, windows};
use kernels_gpu::histogram::{SHARED_BINS, Sample};
use rustwarp::backend::{Backend, Buffer, Module, Shape};
use rustwarp::error::{Error, Result};

/// Threads that fill a multiprocessor.
const THREADS_PER_SM: u32 = 2048;

/// What a kernel takes, as its launcher takes it: input, bins, range, then what the scheme adds, then the counts.
type Global<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], PtrMut<'a, u64>) -> Call<'a>;
type First<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], u32, PtrMut<'a, u64>) -> Call<'a>;
type Launch<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], u32, u32, PtrMut<'a, u64>) -> Call<'a>;
type Lanes<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], PtrMut<'a, u64>, PtrMut<'a, u32>, PtrMut<'a, u64>) -> Call<'a>;

/// Which kernels count where.
pub(super) enum Scheme<T: 'static> {
    /// In the result itself.
    Global(Global<T>),
    /// In shared memory: one launch for as many bins as fit there.
    Launches(Launch<T>),
    /// The first bins in shared memory, the others in the result.
    First(First<T>),
    /// Few bins in counters of each lane, many in windows of a group of blocks.
    Best {
        /// Few.
        lanes: Lanes<T>,
        /// Many.
        windows: First<T>,
    },
}

impl<T: Sample> Scheme<T> {
    /// The kernels.
    pub fn entries(&self) -> Vec<Entry> {
        // SAFETY: nothing is launched; only the names and the parameters are of interest.
        let (input, counts, ticket) = unsafe { (Slice::new(0, 0), PtrMut::new(0), PtrMut::new(0)) };
        let range = [0.0; 3];
        match self {
            Self::Global(kernel) => vec![kernel(input, 0, range, counts).into()],
            Self::Launches(kernel) => vec![kernel(input, 0, range, 0, 0, counts).into()],
            Self::First(kernel) => vec![kernel(input, 0, range, 0, counts).into()],
            Self::Best { lanes, windows } => {
                vec![lanes(input, 0, range, counts, ticket, counts).into(), windows(input, 0, range, 0, counts).into()]
            }
        }
    }
}

/// What is launched, without memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    /// Threads per block.
    pub block: u32,
    /// Blocks; 0 when there is nothing to count.
    pub grid: u32,
    /// Bins that a block counts in shared memory at once.
    pub window: u32,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// In counters of each lane.
    pub by_lane: bool,
}

impl Plan {
    /// For `n` elements.
    pub fn new<T: Sample>(variant: &Variant<T>, job: &Job<'_>, question: &Question, n: u64) -> Result<Self> {
        let (info, bins) = (job.device.info(), question.bins);
        let best = matches!(variant.scheme, Scheme::Best { .. });
        let by_lane = best && bins <= LANE_BINS;
        let asked = job.block.or((best && !by_lane).then_some(windows::BLOCK.min(info.max_block)));
        let block = variant.block.choose(asked, variant.name, info.max_block)?;

        let four = |bins: u32| bins * size_of::<u32>() as u32;
        // Blocks that count the same elements, each for its own bins.
        let mut blocks_per_group = 1;
        let (window, shared, fill) = match variant.scheme {
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
                    // Smaller windows where that leaves fewer multiprocessors without a block.
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
        let groups = match job.grid {
            Some(grid) => u64::from(grid / blocks_per_group).max(1),
            None => enough.clamp(1, most),
        };
        // A group's share is n / groups, and at most one more round of its threads.
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

/// Device memory besides the input.
pub(super) struct Place<'d> {
    device: &'d dyn Backend,
    counts: Buffer<'d, u64>,
    /// 0 between launches, where the plan counts by lane.
    totals: Buffer<'d, u64>,
    /// 0 between launches.
    ticket: Buffer<'d, u32>,
}

impl<'d> Place<'d> {
    /// As much as the plan needs.
    pub fn new(device: &'d dyn Backend, plan: &Plan, question: &Question) -> Result<Self> {
        let bins = question.bins as usize;
        Ok(Self {
            device,
            counts: Buffer::uninit(device, bins, "counts")?,
            totals: Buffer::from_slice(device, &vec![0; if plan.by_lane { bins } else { 0 }], "totals")?,
            ticket: Buffer::from_slice(device, &[0], "ticket")?,
        })
    }

    /// The launches, in order, for the first `n` elements of a buffer whose elements are an `S` or nothing but one.
    pub fn launches<'s, S: Sample, T>(
        &'s self,
        scheme: &Scheme<S>,
        plan: &Plan,
        question: &Question,
        input: &'s Buffer<'_, T>,
        n: usize,
    ) -> Launches<'s> {
        assert!(
            size_of::<S>() == size_of::<T>() && (n * size_of::<T>()) as u64 <= input.bytes(),
            "elements of the input"
        );
        // SAFETY: the memory lives as long as the buffer, which the launches borrow, and has as many elements of this
        // size.
        let input = unsafe { Slice::<S>::new(input.address(), n) };
        let (bins, range, window, counts) = (question.bins, question.range, plan.window, self.counts.ptr());
        let calls = match scheme {
            _ if plan.grid == 0 => Vec::new(),
            Scheme::Global(kernel) => vec![kernel(input, bins, range, counts)],
            Scheme::Launches(kernel) => (0..bins)
                .step_by(window as usize)
                .map(|first| kernel(input, bins, range, first, window.min(bins - first), counts))
                .collect(),
            Scheme::First(kernel) => vec![kernel(input, bins, range, window, counts)],
            Scheme::Best { lanes, .. } if plan.by_lane => {
                vec![lanes(input, bins, range, self.totals.ptr(), self.ticket.ptr(), counts)]
            }
            Scheme::Best { windows, .. } => vec![windows(input, bins, range, window, counts)],
        };
        let clear = !(plan.by_lane && plan.grid > 0);
        Launches { place: self, clear, calls, shape: Shape::linear(plan.grid, plan.block).with_shared(plan.shared) }
    }
}

/// One run, ready to go.
pub(super) struct Launches<'s> {
    place: &'s Place<'s>,
    /// The kernels add to the counts.
    clear: bool,
    calls: Vec<Call<'s>>,
    shape: Shape,
}

impl Launches<'_> {
    /// Starts everything; does not wait.
    pub fn run(&self, module: Module) -> Result<()> {
        let Place { device, counts, .. } = self.place;
        if self.clear {
            device.fill(counts.address(), 0, counts.bytes())?;
        }
        self.calls.iter().try_for_each(|call| {
            // SAFETY: the call is the kernel's own launcher's, with a block size that its rule allows; the plan gives
            // the shared memory for its window, a grid of whole groups, and no block more elements than 32 bits can
            // count; totals and ticket are 0 before the first launch, and the kernel leaves them so.
            unsafe { device.launch(module, call, self.shape) }
        })
    }

    /// Where the counts are, once everything has run.
    pub fn counts(&self) -> &Buffer<'_, u64> {
        &self.place.counts
    }
}
