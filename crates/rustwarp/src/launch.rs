//! Launches whose contract is checked when they are created, and the overrides of their configuration.

use crate::backend::{Backend, DeviceInfo, Module, Shape, Use};
use crate::error::{Error, Result};
use cuda_std::launch::Call;
use kernels_gpu::reduce::gather;

/// Most blocks that a grid can have along its first axis.
pub const MAX_GRID: u64 = (1 << 31) - 1;

/// Overrides of the launch configuration that a plan chooses; the default overrides nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tuning {
    /// Threads per block.
    pub block: Option<u32>,
    /// Number of blocks.
    pub grid: Option<u32>,
}

impl Tuning {
    /// Threads per block: the override, or `default`.
    ///
    /// # Errors
    /// [`Error::Argument`] for a size that is not a multiple of 32, or beyond the device's largest.
    pub(crate) fn whole_warps(self, default: u32, info: &DeviceInfo) -> Result<u32> {
        let block = self.block.unwrap_or(default);
        if block > 0 && block.is_multiple_of(32) && block <= info.max_block {
            return Ok(block);
        }
        Err(Error::Argument(format!("a block has a multiple of 32 threads up to {}, not {block}", info.max_block)))
    }

    /// The number of blocks, if it is overridden.
    ///
    /// # Errors
    /// [`Error::Argument`] for 0, and for more blocks than a grid can have.
    pub(crate) fn blocks(self) -> Result<Option<u32>> {
        match self.grid {
            Some(grid) if grid == 0 || u64::from(grid) > MAX_GRID => {
                Err(Error::Argument(format!("a grid has 1 to {MAX_GRID} blocks, not {grid}")))
            }
            grid => Ok(grid),
        }
    }
}

/// Configuration of a launch of whole warps that fills the device, of which the block that starts or ends last combines
/// the results of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LastBlock {
    /// Threads per block.
    pub block: u32,
    /// Number of blocks; 0 without elements.
    pub grid: u32,
    /// Largest number of additions in a chain from an element to the result.
    pub depth: u64,
}

impl LastBlock {
    /// Chooses the configuration for `n` elements, of which a thread reads `per_thread` in one round: `blocks_per_sm`
    /// blocks of `block` threads per multiprocessor, and at most one for each round of a block; a single one for few
    /// elements (see [`Tuned::alone`]).
    ///
    /// # Errors
    /// Those of [`Tuning`].
    pub fn new(info: &DeviceInfo, n: u64, per_thread: u32, tuned: Tuned, tuning: Tuning) -> Result<Self> {
        let each = tuned.alone / u64::from(tuned.block);
        let block = tuning.whole_warps(tuned.block, info)?;
        let (round, fill) = (u64::from(block * per_thread), u64::from(info.multiprocessors * tuned.blocks_per_sm));
        let blocks = if n <= each * u64::from(block) { n.min(1) } else { n.div_ceil(round).min(fill) };
        let grid = tuning.blocks()?.unwrap_or(blocks as u32);
        if n == 0 {
            return Ok(Self { block, grid: 0, depth: 0 });
        }
        let tree = u64::from(block.next_power_of_two().ilog2());
        // A thread may read one element before the aligned part and one after it.
        let share = n.div_ceil(u64::from(grid) * round) * u64::from(per_thread) + 2;
        Ok(Self { block, grid, depth: share + tree + u64::from(grid.div_ceil(block)) + tree })
    }

    /// The shape of the launch.
    pub fn shape(self) -> Shape {
        Shape::linear(self.grid, self.block)
    }

    /// Words of 8 bytes by which the blocks combine results of type `V`.
    pub fn words<V>(self) -> usize {
        gather::words(self.grid, size_of::<V>())
    }

    /// Bytes of these words.
    pub fn scratch_bytes<V>(self) -> u64 {
        (self.words::<V>() * size_of::<u64>()) as u64
    }
}

/// The tuned configuration of a [`LastBlock`].
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tuned {
    /// Threads per block.
    pub block: u32,
    /// Blocks per multiprocessor.
    pub blocks_per_sm: u32,
    /// Elements that a block of `block` threads reads sooner than several could wait for each other, or 0.
    pub alone: u64,
}

/// Checks that `blocks` fits a grid; `what` names the work in the error.
///
/// # Errors
/// [`Error::Argument`] with the advice, for more blocks than a grid can have.
pub fn require_grid(blocks: u64, what: &str, advice: &str) -> Result<u32> {
    if blocks > MAX_GRID {
        return Err(Error::Argument(format!(
            "{what} needs {blocks} blocks, and a grid has at most {MAX_GRID}: {advice}"
        )));
    }
    Ok(blocks as u32)
}

/// A kernel with its arguments and its shape, which together satisfy the kernel's contract. It can be run any number of
/// times in succession.
#[derive(Clone, Debug)]
pub struct Launch<'a> {
    call: Call<'a>,
    shape: Shape,
    uses: Vec<Use<'a>>,
}

impl<'a> Launch<'a> {
    /// Creates a launch of `call` with this shape.
    ///
    /// # Safety
    /// The kernel's contract holds for these arguments and this shape, and for successive runs.
    pub unsafe fn new(call: Call<'a>, shape: Shape) -> Self {
        Self { call, shape, uses: Vec::new() }
    }

    /// Names the memory that the kernel accesses, by which streams are ordered.
    pub(crate) fn using<const N: usize>(mut self, uses: [Use<'a>; N]) -> Self {
        self.uses.extend(uses);
        self
    }

    /// The memory that the kernel accesses.
    pub(crate) fn uses(&self) -> &[Use<'a>] {
        &self.uses
    }

    /// Whether there are no blocks.
    pub(crate) fn is_empty(&self) -> bool {
        self.shape.grid.contains(&0)
    }

    /// The kernel and its arguments.
    pub fn call(&self) -> &Call<'a> {
        &self.call
    }

    /// Numbers of blocks and threads, and dynamic shared memory.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Starts the kernel in stream order, without waiting. A launch without blocks does nothing.
    ///
    /// # Errors
    /// [`Error::Argument`] if the module lacks the entry, [`Error::OtherModule`] if another device loaded it,
    /// [`Error::Fault`] if a kernel faults.
    ///
    /// # Safety
    /// The module's entry is the kernel of [`Launch::call`], for which `new` gave the proof, and `device` holds the
    /// memory of the arguments.
    pub unsafe fn run(&self, device: &dyn Backend, module: Module) -> Result<()> {
        if self.is_empty() {
            return Ok(());
        }
        // SAFETY: the contracts of `new` and of this function cover the kernel's; `self` borrows the memory.
        unsafe { device.launch(module, &self.call, self.shape) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::simulator;

    #[test]
    fn a_grid_has_31_bits() {
        let of = |blocks| require_grid(blocks, "print of 7 values", "use less").map_err(|error| error.to_string());
        assert_eq!((of(0), of(MAX_GRID)), (Ok(0), Ok(i32::MAX as u32)));
        let refusal = of(1 << 31).expect_err("one too many");
        assert_eq!(refusal, "print of 7 values needs 2147483648 blocks, and a grid has at most 2147483647: use less");
    }

    #[test]
    fn grids_are_bounded_by_work_and_device() {
        let info = DeviceInfo { multiprocessors: 132, max_block: 1024, ..simulator() };
        let tuned = Tuned { block: 512, blocks_per_sm: 2, alone: 0 };
        let config = |n, tuning| LastBlock::new(&info, n, 4, tuned, tuning).map_err(|error| error.to_string());
        let grid = |n, tuning| config(n, tuning).map(|config| config.grid);
        assert_eq!(grid(1 << 40, Tuning::default()), Ok(264));
        assert_eq!((grid(0, Tuning::default()), grid(1, Tuning::default())), (Ok(0), Ok(1)));
        assert_eq!(grid(2049, Tuning::default()), Ok(2));
        assert_eq!(grid(2049, Tuning { block: Some(64), grid: None }), Ok(9));
        assert_eq!(grid(5, Tuning { block: None, grid: Some(7) }), Ok(7));
        let alone = |n, tuning| {
            let LastBlock { block, grid, .. } =
                LastBlock::new(&info, n, 4, Tuned { alone: 1 << 14, ..tuned }, tuning).expect("a grid");
            [block, grid]
        };
        let alone_by_default = [0, 1, 1024, 1025, 1 << 14, (1 << 14) + 1].map(|n| alone(n, Tuning::default()));
        assert_eq!(alone_by_default, [[512, 0], [512, 1], [512, 1], [512, 1], [512, 1], [512, 9]]);
        let by_64 = [2048, 2049].map(|n| alone(n, Tuning { block: Some(64), grid: None }));
        assert_eq!(by_64, [[64, 1], [64, 9]]);
        for (block, blocks) in
            [(Some(0), None), (Some(33), None), (Some(2048), None), (None, Some(0)), (None, Some(1 << 31))]
        {
            let refusal = grid(5, Tuning { block, grid: blocks }).expect_err("refused");
            assert!(refusal.contains("multiple of 32") || refusal.contains("1 to 2147483647 blocks"), "{refusal}");
        }
        // One thread of the only warp adds four elements per round, and one on either side of the aligned part.
        let one_warp = config(1024, Tuning { block: Some(32), grid: Some(1) }).expect("a warp");
        assert_eq!(one_warp.depth, 32 + 2 + 5 + 1 + 5);
    }
}
