//! The launches of one histogram: shapes, memory besides the input, and the kernel and memory that count each bin.

use super::question::Question;
use crate::error::{Error, Result};
use crate::kernels::Entry;
use crate::kernels::ladder::{Chosen, Planned, Run};
use crate::kernels::plan::Plan;
use crate::kernels::spelling::GRID_SIZE;
use cuda_std::atomic::AtomicU64;
use cuda_std::launch::{Call, PtrMut, Slice, SliceMut};
use kernels_gpu::histogram::{SHARED_BINS, Sample, best};
use rustwarp::backend::{Buffer, Shape};
use rustwarp::histogram::{self as library, Counted};

/// Number of threads that fill a multiprocessor.
const THREADS_PER_SM: u32 = 2048;

/// A launcher that takes input, bins, range, the arguments of the scheme, and the counts.
type Global<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], Slice<'a, AtomicU64>) -> Call<'a>;
type First<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], u32, PtrMut<'a, u64>) -> Call<'a>;
type Launch<T> = for<'a> fn(Slice<'a, T>, u32, [f64; 3], u32, u32, PtrMut<'a, u64>) -> Call<'a>;

/// The memory in which bins are counted, with the kernels.
pub(super) enum Scheme<T: 'static> {
    /// All bins are counted in the result itself.
    Global(Global<T>),
    /// All bins are counted in shared memory, with one launch for as many bins as fit.
    Launches(Launch<T>),
    /// The first bins are counted in shared memory, the others in the result.
    First(First<T>),
}

impl<T: Sample> Scheme<T> {
    /// The entries of the kernels.
    pub fn entries(&self) -> Vec<Entry> {
        match self {
            Self::Global(kernel) => vec![Entry::of(kernel)],
            Self::Launches(kernel) => vec![Entry::of(kernel)],
            Self::First(kernel) => vec![Entry::of(kernel)],
        }
    }
}

/// The shape of the launch, without memory.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Blueprint {
    /// Number of blocks; 0 for an empty input.
    grid: u32,
    /// Number of bins that a block counts in shared memory at the same time.
    window: u32,
    /// Bytes of dynamic shared memory.
    shared: u32,
}

impl Blueprint {
    /// Plans the count of `n` elements.
    ///
    /// # Errors
    /// [`Error::Usage`] for more elements than a block's 32-bit counters can count.
    fn new<K, T: Sample>(rung: &Chosen<'_, K>, scheme: &Scheme<T>, bins: u32, n: u64) -> Result<Self> {
        let (info, block) = (rung.device.info(), rung.block);
        let four = |bins: u32| bins * size_of::<u32>() as u32;
        let (window, shared, fill) = match scheme {
            Scheme::Global(_) => (0, 0, THREADS_PER_SM / block),
            Scheme::Launches(_) | Scheme::First(_) => {
                let window = bins.min(SHARED_BINS);
                (window, four(window), (THREADS_PER_SM / block).min(info.max_shared / four(window)))
            }
        };
        let most = u64::from(info.multiprocessors * fill.max(1));
        let groups = rung.grid.map_or(n.div_ceil(u64::from(block)).clamp(1, most), u64::from);
        // A block's share is n / groups plus at most one round of its threads.
        let round = u64::from(block) * 16 / size_of::<T>() as u64 * best::windows::UNROLL as u64;
        if window > 0 && n.div_ceil(groups) + round > u64::from(u32::MAX) {
            return Err(Error::Usage(format!(
                "{n} elements in {groups} blocks are more than a block's 32-bit counters can count: use a \
                 larger {GRID_SIZE}"
            )));
        }
        Ok(Self { grid: if n == 0 { 0 } else { groups as u32 }, window, shared })
    }
}

/// Makes the plan for all elements of a buffer, and runs it.
pub(super) fn prepare<S: Counted>(
    rung: &Chosen<'_, Planned<Scheme<S>>>,
    question: &Question,
    input: &Buffer<'_, S::Element>,
    run: Run<'_>,
) -> Result<()> {
    let Question { bins, range, .. } = *question;
    let (shape_of_counts, output) = (question.shape(), rung.uninit::<u64>(question.counts(), "counts")?);
    let Planned::Here(scheme) = rung.kernel else {
        // SAFETY: the question was read from this ladder's problem, whose rule is `S`.
        let of_rule = unsafe { question.bins::<S>() };
        let plan = library::Plan::new(&rung.device, input.len(), of_rule, rung.tuning())?;
        let launch = plan.prepare(input, &output)?;
        let (block, grid) = (rung.block, launch.shape().grid[0]);
        let mut steps = Plan::new(block, grid, &output, &shape_of_counts);
        if plan.adds() {
            steps = steps.clear(&output);
        }
        return run(steps.then(launch));
    };
    let Blueprint { grid, window, shared } = Blueprint::new(rung, scheme, bins, input.len() as u64)?;
    // SAFETY: the memory lives as long as the buffer, which is borrowed, and `S` has the representation of its
    // elements.
    let input = unsafe { Slice::<S>::new(input.address(), input.len()) };
    let counts = output.ptr();
    let calls = match scheme {
        Scheme::Global(kernel) => {
            // SAFETY: the plan borrows `output`, and reads it after the launch.
            let counts = unsafe { SliceMut::new(output.address(), output.len()) };
            vec![kernel(input, bins, range, counts.atomic())]
        }
        Scheme::Launches(kernel) => (0..bins)
            .step_by(window as usize)
            .map(|first| kernel(input, bins, range, first, window.min(bins - first), counts))
            .collect(),
        Scheme::First(kernel) => vec![kernel(input, bins, range, window, counts)],
    };
    // The kernels add to the counts.
    let mut plan = Plan::new(rung.block, grid, &output, &shape_of_counts).clear(&output);
    let shape = Shape::linear(grid, rung.block).with_shared(shared);
    for call in calls {
        // SAFETY: the kernel's own launcher made the call, with a block size that its rule allows; the blueprint gives
        // the shared memory for its window, and no block more elements than 32 bits can count.
        plan = unsafe { plan.launch(call, shape) };
    }
    run(plan)
}
