//! Threads: the formulas of the PMPP slides (`docs/sources.md`) for local and global ids, compared with the registers
//! of every thread of a launch.

use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Oracle, Problem, Resolved, Work};
use crate::compare::Verdict;
use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut};
use kernels_gpu::threads::*;
use rustwarp::backend::{Shape, require_memory};
use rustwarp::element::{Dtype, Scalar};

/// The family.
pub const FAMILY: Family = Family {
    name: "threads",
    idea: "local and global ids of every thread, in one to three dimensions",
    operands: &[],
    ops: &[],
    dtypes: &[Dtype::U32],
    only: &[],
    settings: &[
        SIZES_OF_BLOCK[0].listed(),
        SIZES_OF_BLOCK[1].listed(),
        SIZES_OF_BLOCK[2].listed(),
        SIZES_OF_GRID[0].listed(),
        SIZES_OF_GRID[1].listed(),
        SIZES_OF_GRID[2].listed(),
    ],
    variants: || Resolved::of::<Threads>().variants(),
    cases,
    sizes,
    of_vectors: false,
    generate: |_| Ok(Vec::new()),
    resolve: |_| Ok(Resolved::of::<Threads>()),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &[],
};

const SIZES_OF_BLOCK: [Setting<Number>; 3] = [
    size("block-x", "threads of a block along x", 4, 1024),
    size("block-y", "threads of a block along y", 2, 1024),
    size("block-z", "threads of a block along z", 2, 64),
];
const SIZES_OF_GRID: [Setting<Number>; 3] = [
    size("grid-x", "blocks along x", 3, (1 << 31) - 1),
    size("grid-y", "blocks along y", 2, 65535),
    size("grid-z", "blocks along z", 2, 65535),
];

const fn size(name: &'static str, help: &'static str, default: u64, max: u64) -> Setting<Number> {
    Setting { name, help, generated: false, kind: Number { default, min: 1, max } }
}

/// The family.
struct Threads;

/// The kernel of a rung.
struct Kernel {
    /// Number of dimensions of its launches.
    dimensions: usize,
    launcher: for<'a> fn(u32, PtrMut<'a, u32>) -> Call<'a>,
}

/// The three-dimensional example of the PMPP slides has 4x2x2 threads in a block.
const BLOCK: BlockRule = BlockRule::Any { default: 16 };

/// The shape of a launch: threads of a block and blocks of the grid along each axis.
struct Extent {
    block: [u32; 3],
    grid: [u32; 3],
    /// Number of threads of the whole launch.
    threads: u32,
}

impl Ladder for Threads {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel;
    type Operands<'j> = Extent;

    fn rungs() -> Vec<Rung<Kernel>> {
        let rung = |name, idea, dimensions, launcher| Rung {
            name,
            idea,
            block: BLOCK,
            kernel: Kernel { dimensions, launcher },
        };
        vec![
            rung("one_d", one_d::IDEA, 1, one_d::threads_one_d),
            rung("two_d", two_d::IDEA, 2, two_d::threads_two_d),
            rung("three_d", three_d::IDEA, 3, three_d::threads_three_d),
        ]
    }

    fn entries(rung: &Rung<Kernel>) -> Vec<Entry> {
        vec![Entry::of(rung.kernel.launcher)]
    }

    /// A launch is right if each column of the table is: see [`Thread::is_right`].
    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        if !problem.inputs.is_empty() {
            return Err(Error::Usage("threads takes no input: the launch defines the problem".to_owned()));
        }
        Ok(Oracle::new(|result, _| {
            let (&[FIELDS, threads], Some(table)) = (result.shape(), u32::view(result.data())) else {
                return Verdict { verified: false, error: f64::NAN };
            };
            let wrong = (0..threads).filter(|&g| !Thread::column(table, threads, g).is_right(g, threads)).count();
            Verdict { verified: wrong == 0, error: wrong as f64 }
        }))
    }

    /// The block size of the settings or of `--block`; [`Threads::upload`] refuses blocks that are too large.
    fn block(job: &Job<'_>, _: &Rung<Kernel>) -> Result<u32> {
        Ok(u32::try_from(product(launch_sizes(job).0)).unwrap_or(u32::MAX))
    }

    fn upload(job: &Job<'_>, _: &[Chosen<'_, Kernel>]) -> Result<Extent> {
        let (block, grid) = launch_sizes(job);
        let max_block = job.device.info().max_block;
        let text = |sizes: [u32; 3]| sizes.map(|size| size.to_string()).join("x");
        if product(block) > u64::from(max_block) {
            let (text, threads) = (text(block), product(block));
            return Err(Error::Usage(format!(
                "a block of {text} has {threads} threads, and at most {max_block} are allowed"
            )));
        }
        let threads = product(grid).checked_mul(product(block)).and_then(|threads| u32::try_from(threads).ok());
        let threads = threads.ok_or_else(|| {
            let (grid, block) = (text(grid), text(block));
            Error::Usage(format!("{grid} blocks of {block} have more threads than a global id can number"))
        })?;
        let bytes = 4 * FIELDS as u64 * u64::from(threads);
        require_memory(job.device, Some(bytes), "the table of all threads", "use a smaller launch")?;
        Ok(Extent { block, grid, threads })
    }

    fn work(extent: &Extent) -> Work {
        Work::bytes(4 * FIELDS as u64 * u64::from(extent.threads))
    }

    fn prepare(extent: &Extent, rung: &Chosen<'_, Kernel>, run: Run<'_>) -> Result<()> {
        let Kernel { dimensions, launcher } = *rung.kernel;
        let folded = fold(extent.block, dimensions).zip(fold(extent.grid, dimensions));
        let Some((block, grid)) = folded.filter(|(_, [x, y, z])| *x < 1 << 31 && *y < 1 << 16 && *z < 1 << 16) else {
            let name = rung.name;
            return Err(Error::Usage(format!("{name}: a grid has at most 2147483647x65535x65535 blocks")));
        };
        let threads = extent.threads as usize;
        let output = rung.uninit::<u32>(FIELDS * threads, "output")?;
        let call = launcher(extent.threads, output.ptr());
        let shape = Shape::new(grid, block);
        // SAFETY: the kernel's own launcher made the call, with a table for all threads of the launch, which extends
        // along as many axes as the kernel supports.
        run(unsafe { Plan::of(call, shape, &output, &[FIELDS, threads]) })
    }
}

/// Product of the numbers of threads or blocks along all axes.
fn product(sizes: [u32; 3]) -> u64 {
    sizes.iter().map(|&size| u64::from(size)).product()
}

/// The case of this block and this grid.
fn case(block: [u64; 3], grid: [u64; 3]) -> Case {
    let threads: u64 = block.iter().chain(&grid).product();
    let names = FAMILY.settings.iter().map(|setting| setting.name);
    let with = |case: Case, (name, size): (&'static str, &u64)| case.with(name, &size.to_string());
    names.zip(block.iter().chain(&grid)).fold(Case::new(&[threads]), with)
}

fn cases() -> Vec<Case> {
    vec![
        // The examples of the PMPP slides.
        case([4, 1, 1], [3, 1, 1]),
        case([4, 2, 1], [3, 2, 1]),
        case([4, 2, 2], [3, 2, 2]),
        case([16, 16, 1], [5, 4, 1]),
        // Warps that are not full, and a single thread.
        case([1, 1, 1], [1, 1, 1]),
        case([48, 1, 1], [2, 1, 1]),
        case([5, 7, 3], [2, 3, 2]),
        // The grid has more dimensions than its blocks, and the blocks more than the grid.
        case([33, 1, 1], [2, 3, 2]),
        case([8, 4, 2], [3, 1, 1]),
        // Shapes that the PMPP slides list as allowed.
        case([512, 1, 1], [1, 1, 1]),
        case([8, 16, 4], [1, 2, 1]),
        case([32, 16, 2], [1, 1, 1]),
    ]
}

fn sizes() -> Vec<Case> {
    vec![case([256, 1, 1], [1 << 14, 1, 1]), case([16, 16, 1], [128, 128, 1]), case([8, 8, 4], [32, 32, 16])]
}

/// Block and grid of a job: those of the settings, or the values of `--block` and `--grid` along x.
fn launch_sizes(job: &Job<'_>) -> ([u32; 3], [u32; 3]) {
    let settings = job.problem.settings;
    let along = |sizes: &[Setting<Number>; 3]| sizes.each_ref().map(|size| settings.number(size) as u32);
    let line = |length: u32| [length, 1, 1];
    (job.block.map_or_else(|| along(&SIZES_OF_BLOCK), line), job.grid.map_or_else(|| along(&SIZES_OF_GRID), line))
}

/// The same number of threads or blocks in fewer dimensions: the last one absorbs the others.
fn fold(sizes: [u32; 3], dimensions: usize) -> Option<[u32; 3]> {
    let [x, y, z] = sizes;
    match dimensions {
        1 => Some([x.checked_mul(y)?.checked_mul(z)?, 1, 1]),
        2 => Some([x, y.checked_mul(z)?, 1]),
        _ => Some(sizes),
    }
}

/// The record that one thread wrote.
struct Thread {
    thread: [u64; 3],
    block: [u64; 3],
    block_dim: [u64; 3],
    grid_dim: [u64; 3],
    local: u64,
    global: u64,
    lane: u64,
}

impl Thread {
    /// Column `g` of the table.
    fn column(table: &[u32], threads: usize, g: usize) -> Self {
        let field = |field: usize| u64::from(table[field * threads + g]);
        let triple = |first: usize| [field(first), field(first + 1), field(first + 2)];
        Self {
            thread: triple(0),
            block: triple(3),
            block_dim: triple(6),
            grid_dim: triple(9),
            local: field(12),
            global: field(13),
            lane: field(14),
        }
    }

    /// Whether its registers are those of a thread of the launch, its ids follow from them by the formulas of
    /// the PMPP slides, and its record is at its global id. The formulas give each thread a different number
    /// below `threads`, so if every record is right, every thread wrote once.
    fn is_right(&self, place: usize, threads: usize) -> bool {
        let [[tx, ty, tz], [bx, by, bz]] = [self.thread, self.block];
        let [[dx, dy, dz], [gx, gy, gz]] = [self.block_dim, self.grid_dim];
        let inside = tx < dx && ty < dy && tz < dz && bx < gx && by < gy && bz < gz;
        let local = tz * dy * dx + ty * dx + tx;
        let global = (bz * gy * gx + by * gx + bx) * (dz * dy * dx) + tz * dy * dx + ty * dx + tx;
        inside
            && dx * dy * dz * gx * gy * gz == threads as u64
            && (self.local, self.global, self.lane) == (local, global, local % 32)
            && global == place as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example(thread: [u64; 3], block: [u64; 3], block_dim: [u64; 3], grid_dim: [u64; 3], global: u64) -> Thread {
        let [x, y, z] = thread;
        let local = (z * block_dim[1] + y) * block_dim[0] + x;
        Thread { thread, block, block_dim, grid_dim, local, global, lane: local % 32 }
    }

    #[test]
    fn the_examples_of_the_pmpp_slides() {
        assert!(example([3, 0, 0], [2, 0, 0], [4, 1, 1], [3, 1, 1], 11).is_right(11, 12));
        assert!(example([3, 1, 0], [2, 1, 0], [4, 2, 1], [3, 2, 1], 47).is_right(47, 48));
        // The PMPP slides multiply 11 by 16 and write 112; their formula gives 176 + 15.
        assert!(example([3, 1, 1], [2, 1, 1], [4, 2, 2], [3, 2, 2], 191).is_right(191, 192));
        assert!(!example([3, 1, 1], [2, 1, 1], [4, 2, 2], [3, 2, 2], 127).is_right(127, 192));
    }

    #[test]
    fn a_wrong_id_lane_place_or_register_is_noticed() {
        let right = || example([3, 1, 0], [2, 1, 0], [4, 2, 1], [3, 2, 1], 47);
        assert!(!right().is_right(46, 48) && !right().is_right(47, 96));
        assert!(!Thread { lane: 8, ..right() }.is_right(47, 48));
        assert!(!Thread { local: 3, ..right() }.is_right(47, 48));
        assert!(!Thread { thread: [4, 1, 0], ..right() }.is_right(47, 48));
        assert!(!Thread { block: [2, 2, 0], ..right() }.is_right(47, 48));
    }

    #[test]
    fn fewer_dimensions_hold_as_many() {
        assert_eq!(fold([4, 2, 2], 1), Some([16, 1, 1]));
        assert_eq!(fold([4, 2, 2], 2), Some([4, 4, 1]));
        assert_eq!(fold([4, 2, 2], 3), Some([4, 2, 2]));
        assert_eq!(fold([1 << 16, 1 << 16, 1], 1), None);
    }
}
