//! The launches of one scan: shapes, scratch memory, and the longest chain of additions. They are planned once and run
//! many times.

use super::table::{Scheme, Sections};
use crate::error::{Error, Result};
use crate::kernels::plan::Plan;
use crate::kernels::spelling::BLOCK_SIZE;
use cuda_std::launch::{Call, Slice, SliceMut};
use rustwarp::MAX_GRID;
use rustwarp::backend::{Backend, Buffer, Shape};
use rustwarp::element::Element;

/// The shapes of the launches, without memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Blueprint {
    /// Threads per block.
    pub block: u32,
    /// Lengths of the scanned arrays: the input; the totals of its sections; the totals of theirs; and so on. Each
    /// except the last has several sections. Empty if there is nothing to scan.
    pub levels: Vec<u64>,
    /// Number of blocks of each level's scan.
    pub grids: Vec<u32>,
    /// Number of words of state.
    pub words: u64,
    /// Distances of the elements to combine, for a scan in steps.
    pub steps: Vec<u64>,
    /// Largest number of additions in a chain from an element to a result.
    pub depth: u64,
    /// Bytes of an element.
    bytes: u64,
}

impl Blueprint {
    /// Plans the launches for `n` elements.
    ///
    /// # Errors
    /// [`Error::Usage`] for more elements than a grid can take.
    pub fn new<T: Element>(scheme: &Scheme<T>, n: u64, block: u32) -> Result<Self> {
        let bytes = size_of::<T>();
        let mut plan = Self {
            block,
            levels: vec![n],
            grids: Vec::new(),
            words: 0,
            steps: Vec::new(),
            depth: 0,
            bytes: bytes as u64,
        };
        if n == 0 {
            plan.levels.clear();
            return Ok(plan);
        }
        match scheme {
            Scheme::Steps(_) => {
                plan.steps = (0..63).map(|power| 1 << power).take_while(|&step| step == 1 || step < n).collect();
                plan.depth = plan.steps.len() as u64;
                plan.grids.push(grid(n, block.into(), block)?);
            }
            Scheme::ScanThenAdd { sections, .. } | Scheme::ReduceThenScan { sections, .. } => {
                plan.sections(sections, n)?;
            }
            Scheme::OnePass { state_words, len, depth, .. } => {
                let tiles = grid(n, len(block).into(), block)?;
                plan.grids.push(tiles);
                plan.words = state_words(tiles.into(), bytes);
                plan.depth = depth(tiles.into());
            }
        }
        Ok(plan)
    }

    fn sections(&mut self, sections: &Sections, n: u64) -> Result<()> {
        let len = u64::from((sections.len)(self.block));
        let per_block = len * u64::from((sections.per_block)(self.block));
        self.grids.push(grid(n, per_block, self.block)?);
        let mut left = n.div_ceil(len);
        while left > 1 {
            self.levels.push(left);
            self.grids.push(grid(left, per_block, self.block)?);
            left = left.div_ceil(len);
        }
        // A thread of the kernel that adds has one element.
        grid(n, self.block.into(), self.block)?;
        self.depth = self.levels.len() as u64 * ((sections.depth)(self.block) + 1);
        Ok(())
    }

    /// Number of blocks of the first launch.
    pub fn grid(&self) -> u32 {
        self.grids.first().copied().unwrap_or(0)
    }

    /// Number of bytes that [`Scratch::new`] allocates besides the output.
    pub fn scratch_bytes(&self) -> u64 {
        let elements = self.between() + 2 * self.levels.iter().skip(1).sum::<u64>() + 1;
        elements.saturating_mul(self.bytes).saturating_add(8 * self.words)
    }

    /// Number of elements of the buffer that steps alternate with.
    fn between(&self) -> u64 {
        if self.steps.len() > 1 { self.levels.iter().sum() } else { 0 }
    }
}

/// Number of blocks that cover `n` elements.
fn grid(n: u64, per_block: u64, block: u32) -> Result<u32> {
    let blocks = n.div_ceil(per_block);
    if blocks > MAX_GRID {
        return Err(Error::Usage(format!("{n} elements need {blocks} blocks of {block}: use a larger {BLOCK_SIZE}")));
    }
    Ok(blocks as u32)
}

/// Device memory besides the input.
pub(super) struct Scratch<'d, T> {
    /// The result of each level: the output, then the prefixes of the sections of the level above.
    scanned: Vec<Buffer<'d, T>>,
    /// The totals of each level's sections; for the last level a single one, which is not read.
    totals: Vec<Buffer<'d, T>>,
    /// The second buffer of a scan in steps.
    between: Buffer<'d, T>,
    /// Tickets and records.
    state: Buffer<'d, u64>,
}

impl<'d, T: Element> Scratch<'d, T> {
    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn new(device: &'d dyn Backend, plan: &Blueprint) -> Result<Self> {
        let buffer = |len: u64, name| -> Result<_> { Ok(Buffer::uninit(device, length(len)?, name)?) };
        let mut scanned = vec![buffer(plan.levels.first().copied().unwrap_or(0), "output")?];
        let mut totals = Vec::new();
        for &len in plan.levels.iter().skip(1) {
            totals.push(buffer(len, "totals of sections")?);
            scanned.push(buffer(len, "offsets")?);
        }
        totals.push(buffer(1, "total of the last section")?);
        let between = buffer(plan.between(), "between steps")?;
        let state = Buffer::from_slice(device, &vec![0; length(plan.words)?], "state")?;
        Ok(Self { scanned, totals, between, state })
    }

    /// The plan of a run.
    pub fn plan<'s>(
        &'s self,
        blueprint: &Blueprint,
        scheme: &Scheme<T>,
        input: Slice<'s, T>,
        exclusive: bool,
    ) -> Plan<'s> {
        let grid = blueprint.grid();
        let mut plan = Plan::new(blueprint.block, grid, &self.scanned[0], &[input.len()]).with_depth(blueprint.depth);
        if let Scheme::OnePass { .. } = scheme {
            plan = plan.clear(&self.state);
        }
        for (call, shape) in self.calls(blueprint, scheme, input, exclusive) {
            // SAFETY: the kernel's own launcher made the call, with a block size that its rule allows; the buffers are
            // borrowed, and the blueprint gives each as many elements as the kernel reads or writes there.
            plan = unsafe { plan.launch(call, shape) };
        }
        plan
    }

    /// The launches, in order.
    fn calls<'s>(
        &'s self,
        plan: &Blueprint,
        scheme: &Scheme<T>,
        input: Slice<'s, T>,
        exclusive: bool,
    ) -> Vec<(Call<'s>, Shape)> {
        // A grid of 0 blocks is not valid, so an empty input launches nothing.
        if plan.levels.is_empty() {
            return Vec::new();
        }
        let mut calls = Vec::new();
        let block = plan.block;
        let first = Shape::linear(plan.grid(), block);
        let inputs: Vec<_> = plan
            .levels
            .iter()
            .enumerate()
            .map(|(level, &len)| match level {
                0 => input,
                _ => self.totals[level - 1].slice(len as usize),
            })
            .collect();
        // The totals of sections are always scanned exclusively, which gives the prefix of each section.
        let flag = |level: usize| u32::from(exclusive || level > 0);
        match scheme {
            Scheme::Steps(step) => {
                let mut from = input;
                for (number, &distance) in plan.steps.iter().enumerate() {
                    // The last one writes to the output.
                    let last = (plan.steps.len() - 1 - number).is_multiple_of(2);
                    let to = if last { &self.scanned[0] } else { &self.between };
                    let shift = usize::from(exclusive && number == 0);
                    let len = plan.levels[0] as usize;
                    // SAFETY: the calls borrow both buffers. A step writes one and reads the other, which the step
                    // before has written.
                    let output = unsafe { SliceMut::new(to.address(), len) };
                    calls.push((step(from, shift, distance as usize, output), first));
                    from = to.slice(len);
                }
            }
            Scheme::ScanThenAdd { sections, scan, add, .. } => {
                let shared = (sections.cache)(block, size_of::<T>()) * size_of::<T>() as u32;
                for (level, from) in inputs.iter().enumerate() {
                    let (output, totals) = (self.scanned[level].ptr(), self.totals[level].ptr());
                    let shape = Shape::linear(plan.grids[level], block).with_shared(shared);
                    calls.push((scan(*from, flag(level), output, totals), shape));
                }
                let log_section = (sections.len)(block).ilog2();
                for level in (1..plan.levels.len()).rev() {
                    let offsets = self.scanned[level].slice(plan.levels[level] as usize);
                    let len = plan.levels[level - 1];
                    let shape = Shape::linear(len.div_ceil(block.into()) as u32, block);
                    calls.push((add(offsets, log_section, len as usize, self.scanned[level - 1].ptr()), shape));
                }
            }
            Scheme::ReduceThenScan { total, scan, .. } => {
                for (level, from) in inputs.iter().enumerate().take(plan.levels.len() - 1) {
                    let shape = Shape::linear(plan.grids[level], block);
                    calls.push((total(*from, self.totals[level].ptr()), shape));
                }
                for (level, from) in inputs.iter().enumerate().rev() {
                    let offsets = match plan.levels.get(level + 1) {
                        Some(&len) => self.scanned[level + 1].slice(len as usize),
                        None => self.totals[level].slice(0),
                    };
                    let shape = Shape::linear(plan.grids[level], block);
                    calls.push((scan(*from, flag(level), offsets, self.scanned[level].ptr()), shape));
                }
            }
            Scheme::OnePass { scan, .. } => {
                calls.push((scan(input, flag(0), self.state.ptr(), self.scanned[0].ptr()), first));
            }
        }
        calls
    }
}

/// Converts a number of elements to this machine's size type.
fn length(len: u64) -> Result<usize> {
    len.try_into().map_err(|_| Error::Usage(format!("{len} elements are more than this machine can address")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::ladder::Planned;
    use crate::kernels::scan::table;
    use kernels_gpu::reduce::Sum;

    fn plan(name: &str, n: u64, block: u32) -> Result<Blueprint> {
        let rung = table::rungs::<Sum, f32>().into_iter().find(|rung| rung.name == name).expect("a rung");
        let Planned::Here(scheme) = &rung.kernel else { panic!("{name} is planned by the library") };
        Blueprint::new(scheme, n, block)
    }

    #[test]
    fn sections_are_summed_until_one_is_left() {
        let levels = |name, n, block| plan(name, n, block).expect("a plan").levels;
        assert_eq!(levels("kogge_stone", 0, 256), [0; 0]);
        assert_eq!(levels("kogge_stone", 256, 256), [256]);
        assert_eq!(levels("kogge_stone", 257, 256), [257, 2]);
        assert_eq!(levels("brent_kung", 1 << 20, 256), [1 << 20, 1 << 11, 4]);
        assert_eq!(levels("kogge_stone", 5, 2), [5, 3, 2]);
        let runs = plan("serial_per_thread", 1 << 20, 256).expect("a plan");
        assert_eq!(
            (runs.levels.as_slice(), runs.grids.as_slice()),
            (&[1 << 20, 1 << 15, 1 << 10, 32][..], &[128, 4, 1, 1][..])
        );
    }

    #[test]
    fn steps_double() {
        let steps = |n| plan("naive", n, 256).expect("a plan").steps;
        assert_eq!(steps(1), [1], "a copy");
        assert_eq!(steps(2), [1]);
        assert_eq!(steps(3), [1, 2]);
        assert_eq!(steps(1 << 20).len(), 20);
    }

    #[test]
    fn scratch_is_counted_in_full() {
        // Two buffers for the totals of each level, the last total, a second array for steps, and the state.
        let bytes = |name, n, block| plan(name, n, block).expect("a plan").scratch_bytes();
        assert_eq!(bytes("kogge_stone", 1 << 16, 256), (2 * 256 + 1) * 4);
        assert_eq!(bytes("naive", 1000, 256), 1001 * 4);
        let tiles = (1_u64 << 22).div_ceil(kernels_gpu::scan::look_back::section(256).into());
        let words = kernels_gpu::scan::look_back::state_words(tiles, 4);
        assert_eq!(bytes("look_back", 1 << 22, 256), 4 + 8 * words);
        // A record per tile and per group of 32 tiles, and the ticket.
        let tiles = (1_u64 << 22).div_ceil(kernels_gpu::scan::best::tile(kernels_gpu::scan::best::ROWS, 4).into());
        let best = rustwarp::scan::scratch_bytes::<f32>(1 << 22).expect("a plan");
        assert_eq!(best, 8 * (1 + tiles + tiles.div_ceil(32)));
    }

    #[test]
    fn sizes_beyond_32_bits() {
        assert_eq!(plan("three_phase", 1 << 33, 1024).expect("a plan").levels, [1 << 33, 1 << 21, 1 << 9]);
        assert!(plan("naive", 1 << 40, 256).is_err(), "too many blocks for a grid");
        assert!(plan("quadratic", 1 << 33, 2).is_err(), "too many blocks for a grid");
    }
}
