//! Failing examples: kernels with one mistake each, which `host check failing` diagnoses. Not among [`super::FAMILIES`]: nothing runs,
//! tests or times them unless it asks for them by name.

use super::{BlockRule, Case, Entry, Family, Job, Oracle, Row, Trial, VariantInfo, Work};
use crate::backend::{Buffer, Shape};
use crate::compare::Verdict;
use crate::element::{Array, Dtype};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::failing::*;

/// The examples, as a family without operands whose results are not judged: what a broken kernel leaves behind says nothing.
pub const FAMILY: Family = Family {
    name: "failing",
    idea: "kernels with one mistake each, and what the checkers say of them",
    operands: &[],
    ops: &[],
    dtypes: &[Dtype::U32],
    settings: &[],
    variants,
    cases: || vec![Case::new(&[u64::from(BLOCK)])],
    sizes: Vec::new,
    generate: |_| Ok(Vec::new()),
    oracle: |_| Ok(Oracle::new(|_, _| Verdict { verified: true, error: 0.0 })),
    run,
    specials: false,
    peer: None,
};

/// A kernel with one mistake.
pub struct Example {
    /// As on the command line, and its file in `kernels-gpu/src/failing`.
    pub name: &'static str,
    /// What is wrong.
    pub mistake: &'static str,
    /// Code of the finding, or of the fault.
    pub finding: &'static str,
    /// Family and rung that do it right.
    pub right: (&'static str, &'static str),
    /// Blocks.
    grid: u32,
    /// Elements of the input, which are 1, 2, 3, ….
    len: usize,
    /// Elements of the output, which start as 0.
    results: usize,
    kernel: for<'a> fn(Slice<'a, u32>, PtrMut<'a, u32>) -> Call<'a>,
}

const THREADS: usize = BLOCK as usize;

/// The table: barriers, races, bounds, values that nobody wrote.
pub const EXAMPLES: &[Example] = &[
    Example {
        name: "barrier_in_if",
        mistake: "the tree's barrier is inside `if t < half`: only the threads that add wait",
        finding: "barrier-divergence",
        right: ("reduce", "sequential"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        kernel: barrier_in_if::failing_barrier_in_if,
    },
    Example {
        name: "barrier_in_one_branch",
        mistake: "a barrier in one branch of `if t % 2 == 0`",
        finding: "barrier-divergence",
        right: ("banks", "strided"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        kernel: barrier_in_one_branch::failing_barrier_in_one_branch,
    },
    Example {
        name: "barrier_in_both_branches",
        mistake: "a barrier in each branch of `if t % 2 == 0`: two barriers, not one",
        finding: "barrier-divergence",
        right: ("banks", "strided"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        kernel: barrier_in_both_branches::failing_barrier_in_both_branches,
    },
    Example {
        name: "barrier_in_loop",
        mistake: "a barrier in a loop that runs longer for some threads than for others",
        finding: "barrier-divergence",
        right: ("reduce", "sequential"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        kernel: barrier_in_loop::failing_barrier_in_loop,
    },
    Example {
        name: "barrier_skipped_by_warps",
        mistake: "whole warps skip a barrier, and read what the others have not written yet",
        finding: "race-raw",
        right: ("transpose", "tiled"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        kernel: barrier_skipped_by_warps::failing_barrier_skipped_by_warps,
    },
    Example {
        name: "missing_barrier",
        mistake: "no barrier between the steps of the tree",
        finding: "race-war",
        right: ("reduce", "sequential"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        kernel: missing_barrier::failing_missing_barrier,
    },
    Example {
        name: "tile_overwritten",
        mistake: "the next tile is loaded while some still read the last one",
        finding: "race-war",
        right: ("reduce", "best"),
        grid: 1,
        len: tile_overwritten::TILES * THREADS,
        results: THREADS,
        kernel: tile_overwritten::failing_tile_overwritten,
    },
    Example {
        name: "kogge_stone_in_place",
        mistake: "a scan's step reads and writes one array without a barrier between",
        finding: "race-war",
        right: ("scan", "kogge_stone"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        kernel: kogge_stone_in_place::failing_kogge_stone_in_place,
    },
    Example {
        name: "lock_step",
        mistake: "the last warp's steps rely on lanes in lock-step, which they no longer are",
        finding: "race-warp-raw",
        right: ("reduce", "unroll_last_warp"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        kernel: lock_step::failing_lock_step,
    },
    Example {
        name: "counter_without_atomics",
        mistake: "all threads increment one counter by a load, an addition and a store",
        finding: "race-waw",
        right: ("atomics", "global"),
        grid: 2,
        len: 2 * THREADS,
        results: 1,
        kernel: counter_without_atomics::failing_counter_without_atomics,
    },
    Example {
        name: "plus_for_times",
        mistake: "`threadIdx + blockIdx + blockDim`: blocks work on the same elements",
        finding: "race-waw",
        right: ("vecadd", "grid_stride"),
        grid: 4,
        len: 4 * THREADS,
        results: 4 * THREADS,
        kernel: plus_for_times::failing_plus_for_times,
    },
    Example {
        name: "no_bounds_test",
        mistake: "`if i < n` is missing, and the last block has more threads than elements",
        finding: "out-of-bounds",
        right: ("vecadd", "grid_stride"),
        grid: 4,
        len: 1000,
        results: 1000,
        kernel: no_bounds_test::failing_no_bounds_test,
    },
    Example {
        name: "stride_too_far",
        mistake: "the tree's first stride is the whole block instead of half of it",
        finding: "out-of-bounds",
        right: ("reduce", "sequential"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        kernel: stride_too_far::failing_stride_too_far,
    },
    Example {
        name: "halo_not_filled",
        mistake: "a tile's halo is left alone where there is no input",
        finding: "uninit-store",
        right: ("conv1d", "tiled"),
        grid: 3,
        len: 600,
        results: 600,
        kernel: halo_not_filled::failing_halo_not_filled,
    },
    Example {
        name: "counters_not_zeroed",
        mistake: "a block's private counters are incremented before anyone set them to 0",
        finding: "uninit-atomic",
        right: ("atomics", "shared"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * counters_not_zeroed::BINS,
        kernel: counters_not_zeroed::failing_counters_not_zeroed,
    },
];

fn variants() -> Vec<VariantInfo> {
    let info = |example: &Example| {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out) = unsafe { (Slice::new(0, 0), PtrMut::new(0)) };
        let block = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };
        VariantInfo {
            name: example.name,
            idea: example.mistake,
            block,
            entries: vec![(example.kernel)(none, out).into()],
        }
    };
    EXAMPLES.iter().map(info).collect()
}

/// The entries that no family of [`super::FAMILIES`] has.
pub fn entries() -> Vec<Entry> {
    variants().into_iter().flat_map(|variant| variant.entries).collect()
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    if job.device.info().is_gpu() {
        return Err(Error::Usage("failing examples run on the simulator only: some of them hang a GPU".to_owned()));
    }
    let mut result = Tensor::from(Array::U32(Vec::new()));
    for name in job.variants {
        let Some(example) = EXAMPLES.iter().find(|example| example.name == *name) else {
            return Err(Error::Usage(format!("there is no failing example '{name}'")));
        };
        let input: Vec<u32> = (1..=example.len as u32).collect();
        let device_input = Buffer::from_slice(job.device, &input, "input")?;
        let output = Buffer::from_slice(job.device, &vec![0_u32; example.results], "output")?;
        let call = (example.kernel)(device_input.slice(example.len), output.ptr());
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (BLOCK, example.grid),
            output: &output,
            result: vec![example.results],
            depth: 0,
            work: Work::default(),
        };
        let shape = Shape::linear(example.grid, BLOCK);
        let row;
        // SAFETY: the parameters are those of the entry. That the kernel breaks its promises is the point, and why only the simulator,
        // which stops whatever leaves its memory, comes here.
        (result, row) = job.measure(&trial, &mut || unsafe { job.device.launch(job.module, &call, shape) })?;
        emit(row);
    }
    Ok(result)
}
