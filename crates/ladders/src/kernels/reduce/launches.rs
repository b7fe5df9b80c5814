//! The launches of one reduction: shapes, scratch memory, and the longest chain of additions. They are planned once and
//! run many times.

use super::scheme::{Kernel, PARTIAL, Scheme};
use crate::error::{Error, Result};
use crate::kernels::plan::Plan;
use crate::kernels::spelling::{BLOCK_SIZE, GRID_SIZE};
use cuda_std::launch::{Call, Slice};
use kernels_gpu::reduce::{Op, best, gather, sorted};
use rustwarp::MAX_GRID;
use rustwarp::backend::{Backend, Buffer, DeviceInfo, Shape};
use rustwarp::element::Element;

/// Number of threads that fill a multiprocessor.
const THREADS_PER_SM: u32 = 2048;

/// The shapes of the launches, without memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blueprint {
    /// Threads per block.
    pub block: u32,
    /// Blocks of each launch.
    pub grids: Vec<u32>,
    /// Number of values that each launch writes for the next: one per block or per pair.
    pub results: Vec<usize>,
    /// Largest number of additions in a chain from an element to the result.
    pub depth: u64,
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Words of [`gather`], or 0.
    pub words: usize,
}

impl Blueprint {
    /// Plans the launches for `n` elements, which is not 0.
    ///
    /// # Errors
    /// [`Error::Usage`] for more blocks than a grid can have, and for a `--grid` that the
    /// scheme refuses.
    pub fn new<T: Element>(
        name: &str,
        kernel: &Kernel<T>,
        info: &DeviceInfo,
        n: u64,
        block: u32,
        grid: Option<u32>,
    ) -> Result<Self> {
        let log_block = u64::from(block.next_power_of_two().ilog2());
        let full = (THREADS_PER_SM / block).max(1);
        let fill = |per_thread: u32| match grid {
            Some(0) => Err(Error::Usage(format!("{GRID_SIZE} 0 launches nothing: use 1 or more"))),
            Some(grid) => Ok(grid),
            None => Ok(tiles(n, block, per_thread).min(u64::from(info.multiprocessors * full)) as u32),
        };
        // The number of additions of one thread, if the grid takes `per_thread` elements per thread in each round.
        let chain = |n: u64, grid: u32, per_thread: u32| {
            n.div_ceil(u64::from(grid) * u64::from(block) * u64::from(per_thread)) * u64::from(per_thread)
        };
        let shared = kernel.cache * block * size_of::<T>() as u32;
        match kernel.scheme {
            Scheme::Tree { per_thread, .. } => {
                if grid.is_some() {
                    return Err(Error::Usage(format!(
                        "`{}` has one block for each {per_thread} * block elements: leave {GRID_SIZE} out",
                        name
                    )));
                }
                let mut grids = Vec::new();
                let mut left = n;
                while grids.is_empty() || left > 1 {
                    left = tiles(left, block, per_thread);
                    if left > MAX_GRID {
                        return Err(Error::Usage(format!(
                            "{n} elements need {left} blocks of {block}: use a larger {BLOCK_SIZE}"
                        )));
                    }
                    grids.push(left as u32);
                }
                let depth = grids.len() as u64 * (u64::from(per_thread) + log_block);
                Ok(Self::per_block(block, grids, depth, shared))
            }
            Scheme::Pairs(_) => {
                if grid.is_some() {
                    return Err(Error::Usage(format!("`{name}` has a thread for each pair: leave {GRID_SIZE} out")));
                }
                let (mut grids, mut results, mut left) = (Vec::new(), Vec::new(), n);
                while grids.is_empty() || left > 1 {
                    left = left.div_ceil(2);
                    let blocks = tiles(left, block, 1);
                    if blocks > MAX_GRID {
                        let text = format!("{n} elements need {blocks} blocks of {block}: use a larger {BLOCK_SIZE}");
                        return Err(Error::Usage(text));
                    }
                    grids.push(blocks as u32);
                    results.push(left as usize);
                }
                let depth = grids.len() as u64;
                Ok(Self { block, grids, results, depth, shared, words: 0 })
            }
            Scheme::GridStride { per_thread, .. } => {
                let grid = fill(per_thread)?;
                let mut depth = chain(n, grid, per_thread) + log_block;
                let mut grids = vec![grid];
                if grid > 1 {
                    depth += chain(u64::from(grid), 1, per_thread) + log_block;
                    grids.push(1);
                }
                Ok(Self::per_block(block, grids, depth, shared))
            }
            Scheme::LastBlock { blocks_per_sm, .. } => {
                let per_thread = best::per_thread(size_of::<T>());
                let most = u64::from(info.multiprocessors * blocks_per_sm);
                let grid = match grid {
                    None => tiles(n, block, per_thread).min(most) as u32,
                    Some(_) => fill(1)?,
                };
                // A thread may read one element before the aligned part and one after it.
                let share = chain(n, grid, per_thread) + 2;
                let depth = share + 2 * log_block + u64::from(grid.div_ceil(block));
                Ok(Self { words: gather::words(grid, PARTIAL), ..Self::per_block(block, vec![grid], depth, shared) })
            }
            Scheme::Atomic(_) => {
                let grid = fill(1)?;
                Ok(Self::per_block(block, vec![grid], chain(n, grid, 1) + log_block + u64::from(grid), shared))
            }
            Scheme::OneBlock(_) => {
                if grid.is_some_and(|grid| grid != 1) {
                    return Err(Error::Usage(format!("`{name}` has one block: leave {GRID_SIZE} out")));
                }
                let shared = sorted::shared(n as usize, size_of::<T>()) as u32;
                // One thread adds all.
                Ok(Self::per_block(block, vec![1], n - 1, shared))
            }
            Scheme::ByPlan(_) | Scheme::Missing => {
                Err(Error::Usage(format!("`{name}` has no launches of this operation and type")))
            }
        }
    }

    /// The plan for launches that write a value per block.
    fn per_block(block: u32, grids: Vec<u32>, depth: u64, shared: u32) -> Self {
        let results = grids.iter().map(|&grid| grid as usize).collect();
        Self { block, grids, results, depth, shared, words: 0 }
    }
}

/// Number of blocks that cover `n` elements.
fn tiles(n: u64, block: u32, per_thread: u32) -> u64 {
    n.div_ceil(u64::from(block) * u64::from(per_thread))
}

/// Device memory besides the input.
pub(super) struct Scratch<'d, T> {
    /// Partial results of odd and of even launches.
    partials: [Buffer<'d, T>; 2],
    /// The words of [`gather`], which are 0 between launches.
    words: Buffer<'d, u64>,
    /// The output: one element.
    output: Buffer<'d, T>,
    /// The operation's identity.
    identity: Buffer<'d, T>,
}

impl<'d, T: Element> Scratch<'d, T> {
    /// Bytes that [`Scratch::new`] allocates.
    pub fn bytes(plan: &Blueprint) -> u64 {
        let partials = Self::partials(plan, 0) + Self::partials(plan, 1);
        ((partials + 2) * size_of::<T>() + plan.words * size_of::<u64>()) as u64
    }

    /// Partial results that a launch writes.
    fn partials(plan: &Blueprint, launch: usize) -> usize {
        plan.results.get(launch).copied().unwrap_or(1)
    }

    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn new<O: Op<T>>(device: &'d dyn Backend, plan: &Blueprint) -> Result<Self> {
        Ok(Self {
            partials: [
                Buffer::uninit(device, Self::partials(plan, 0), "partial results")?,
                Buffer::uninit(device, Self::partials(plan, 1), "partial results")?,
            ],
            words: Buffer::from_slice(device, &vec![0; plan.words], "records")?,
            output: Buffer::uninit(device, 1, "output")?,
            identity: Buffer::from_slice(device, &[O::identity()], "identity")?,
        })
    }

    /// The launches, in order.
    pub fn launches<'s>(&'s self, plan: &Blueprint, kernel: &Kernel<T>, input: Slice<'s, T>) -> Launches<'s, T> {
        let block = plan.block;
        let reset = matches!(kernel.scheme, Scheme::Atomic(_));
        let again = !matches!(kernel.scheme, Scheme::Atomic(_) | Scheme::LastBlock { .. });
        let mut launches = Vec::new();
        let mut from = input;
        let mut result = &self.output;
        for (number, &grid) in plan.grids.iter().enumerate() {
            let to = &self.partials[number % 2];
            let call = kernel.scheme.call(block, from, to.ptr(), self.words.ptr(), self.output.ptr());
            launches.extend(call.map(|call| (call, Shape::linear(grid, block).with_shared(plan.shared))));
            if again {
                result = to;
                from = to.slice(plan.results[number]);
            }
        }
        Launches { scratch: self, reset, launches, result }
    }
}

/// The launches of one run.
pub(super) struct Launches<'s, T> {
    scratch: &'s Scratch<'s, T>,
    /// Whether the output is set to the identity first.
    reset: bool,
    launches: Vec<(Call<'s>, Shape)>,
    result: &'s Buffer<'s, T>,
}

impl<'s, T: Element> Launches<'s, T> {
    /// Adds the launches to a plan.
    pub fn add_to<'m>(self, mut plan: Plan<'m>) -> Plan<'m>
    where
        's: 'm,
    {
        if self.reset {
            plan = plan.copy(&self.scratch.output, &self.scratch.identity);
        }
        for (call, shape) in self.launches {
            // SAFETY: the kernel's own launcher made the call, with a block size that its rule allows; the buffers are
            // borrowed, and the blueprint gives each as many elements as the launch writes; the words are 0 after
            // every launch.
            plan = unsafe { plan.launch(call, shape) };
        }
        plan
    }

    /// The buffer that holds the value after all launches.
    pub fn output(&self) -> &'s Buffer<'s, T> {
        self.result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::ladder::Planned;
    use crate::kernels::reduce::table;
    use kernels_gpu::reduce::Sum;
    use rustwarp::backend::simulator;

    fn plan(name: &str, n: u64, block: u32, grid: Option<u32>) -> Result<Blueprint> {
        let rung = table::rungs::<Sum, f32>().into_iter().find(|rung| rung.name == name).expect("a rung");
        let mut info = simulator();
        (info.multiprocessors, info.max_block) = (132, 1024);
        let Planned::Here(kernel) = rung.kernel else { panic!("{name} is planned by the library") };
        Blueprint::new(name, &kernel, &info, n, block, grid)
    }

    #[test]
    fn trees_repeat_until_one_is_left() {
        assert_eq!(plan("sequential", 1, 128, None).expect("a plan").grids, [1]);
        assert_eq!(plan("sequential", 129, 128, None).expect("a plan").grids, [2, 1]);
        assert_eq!(plan("sequential", 1 << 22, 128, None).expect("a plan").grids, [32768, 256, 2, 1]);
        assert_eq!(plan("first_add", 1 << 22, 128, None).expect("a plan").grids, [16384, 64, 1]);
        assert_eq!(plan("interleaved", 5, 2, None).expect("a plan").grids, [3, 2, 1]);
        let pairs = plan("pairwise", 1000, 256, None).expect("a plan");
        assert_eq!(pairs.results, [500, 250, 125, 63, 32, 16, 8, 4, 2, 1]);
        assert_eq!((&pairs.grids[..3], pairs.depth), (&[2, 1, 1][..], 10));
        assert_eq!(plan("pairwise", 1, 256, None).expect("a plan").results, [1]);
    }

    #[test]
    fn scratch_is_as_large_as_the_first_grids() {
        let bytes = |name, n, block| Scratch::<f32>::bytes(&plan(name, n, block, None).expect("a plan"));
        // Two elements per block: half as much again as the input, and a quarter; then output and identity.
        assert_eq!(bytes("interleaved", 1 << 20, 2), ((1 << 19) + (1 << 18)) * 4 + 2 * 4);
        assert_eq!(bytes("atomic", 1, 128), 2 * 4 + 2 * 4);
    }

    #[test]
    fn the_last_block_has_a_ticket_and_a_record_of_each() {
        let full = plan("compensated", 1 << 22, 512, None).expect("a plan");
        assert_eq!((full.grids, full.words), (vec![132 * 3], 1 + 4 * 132 * 3));
        let small = plan("double_accumulator", 2049, 512, None).expect("a plan");
        assert_eq!((small.grids, small.words), (vec![2], 1 + 4 * 2));
        // One thread of the only warp adds four elements per round, and one on either side of the aligned part.
        assert_eq!(plan("compensated", 1024, 32, Some(1)).expect("a plan").depth, 32 + 2 + 5 + 1 + 5);
        assert!(plan("compensated", 3, 512, Some(0)).is_err());
    }

    #[test]
    fn sizes_beyond_32_bits() {
        assert_eq!(plan("sequential", 1 << 33, 128, None).expect("a plan").grids[0], 1 << 26);
        assert!(plan("interleaved", 1 << 40, 128, None).is_err(), "too many blocks for a grid");
    }

    #[test]
    fn grids_are_bounded_by_work_and_device() {
        assert_eq!(plan("grid_stride", 1 << 22, 256, None).expect("a plan").grids, [132 * 8, 1]);
        assert_eq!(plan("grid_stride", 300, 256, None).expect("a plan").grids, [2, 1]);
        assert_eq!(plan("grid_stride", 300, 256, Some(7)).expect("a plan").grids, [7, 1]);
        assert_eq!(plan("grid_stride", 3, 256, None).expect("a plan").grids, [1]);
        assert!(plan("grid_stride", 3, 256, Some(0)).is_err());
        assert!(plan("sequential", 300, 256, Some(7)).is_err());
    }

    #[test]
    fn the_depth_counts_every_addition_on_the_way() {
        // 128 = 2^7 per launch, two launches, one load each.
        assert_eq!(plan("sequential", 1000, 128, None).expect("a plan").depth, 2 * (1 + 7));
        // One thread adds everything.
        assert!(plan("grid_stride", 1000, 1, Some(1)).expect("a plan").depth >= 999);
    }
}
