//! Failing examples: kernels with one mistake each, which `host check failing` diagnoses. They are not among
//! [`super::FAMILIES`], so that they are run, tested or timed only by name.
//!
//! A checker reports violations of the machine's rules. Where only the answer is wrong, an oracle judges it, as in
//! every other family, and the row has the first wrong element with its expected value.

use super::job::WRONG_RESULT;
use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::{BlockRule, Case, Entry, Family, Job, Limits, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::{Error, Result};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::failing::*;
use rustwarp::backend::{Buffer, Shape};
use rustwarp::diagnostic::Diagnostic;
use rustwarp::element::{Dtype, Scalar};
use rustwarp::tensor::Tensor;

/// The examples, as a family without operands. An example with a wrong result judges it itself; the result of an
/// example that violates the machine's rules is not judged.
pub const FAMILY: Family = Family {
    name: "failing",
    idea: "kernels with one mistake each, and what the checkers and the oracles report",
    operands: &[],
    ops: &[],
    dtypes: &[Dtype::U32],
    only: &[],
    settings: &[],
    variants: || Resolved::of::<Examples>().variants(),
    cases: || vec![Case::new(&[u64::from(BLOCK)])],
    sizes: Vec::new,
    of_vectors: false,
    generate: |_| Ok(Vec::new()),
    resolve: |_| Ok(Resolved::of::<Examples>()),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &[],
};

/// A kernel with one mistake.
pub struct Example {
    /// Name on the command line, and of the file in `kernels-gpu/src/failing`.
    pub name: &'static str,
    /// Description of the mistake.
    pub mistake: &'static str,
    /// Code of the finding or of the fault; `wrong-result` for a mistake that no checker detects.
    pub finding: &'static str,
    /// Title of the finding for a wrong result: the wrong element, and its expected value.
    pub wrong: Option<&'static str>,
    /// Family and rung with the correct code.
    pub right: (&'static str, &'static str),
    /// Number of blocks.
    grid: u32,
    /// Number of elements of the input.
    len: usize,
    /// Number of elements of the output, which are initially 0.
    results: usize,
    launch: &'static dyn Launch,
}

/// An example's kernel, whose element types are its own.
trait Launch: Sync {
    /// The entry in the PTX.
    fn entry(&self) -> Entry;
    /// Runs the kernel with the input that shows the mistake, and judges the result if the mistake is a wrong result.
    fn prepare(&self, example: &Example, rung: &Chosen<'_, &'static Example>, run: Run<'_>) -> Result<()>;
}

/// A launcher that takes input and output.
type Kernel<I, O> = for<'a> fn(Slice<'a, I>, PtrMut<'a, O>) -> Call<'a>;

/// A kernel with a mistake that a checker reports; its input is 1, 2, 3, ….
struct Broken(Kernel<u32, u32>);

/// A kernel whose result is wrong.
struct Wrong<I: 'static, O: 'static> {
    kernel: Kernel<I, O>,
    /// Computes element `i` of the input.
    input: fn(usize) -> I,
    /// Computes the right result.
    right: fn(&[I]) -> Vec<O>,
}

const THREADS: usize = BLOCK as usize;

/// The table: barriers, races, bounds, values that were never written, wrong results.
pub const EXAMPLES: &[Example] = &[
    Example {
        name: "barrier_in_if",
        mistake: barrier_in_if::IDEA,
        finding: "barrier-divergence",
        wrong: None,
        right: ("reduce", "sequential"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        launch: &Broken(barrier_in_if::failing_barrier_in_if),
    },
    Example {
        name: "barrier_in_one_branch",
        mistake: barrier_in_one_branch::IDEA,
        finding: "barrier-divergence",
        wrong: None,
        right: ("transpose", "tiled"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        launch: &Broken(barrier_in_one_branch::failing_barrier_in_one_branch),
    },
    Example {
        name: "barrier_in_both_branches",
        mistake: barrier_in_both_branches::IDEA,
        finding: "barrier-divergence",
        wrong: None,
        right: ("transpose", "tiled"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        launch: &Broken(barrier_in_both_branches::failing_barrier_in_both_branches),
    },
    Example {
        name: "barrier_in_loop",
        mistake: barrier_in_loop::IDEA,
        finding: "barrier-divergence",
        wrong: None,
        right: ("scan", "kogge_stone"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        launch: &Broken(barrier_in_loop::failing_barrier_in_loop),
    },
    Example {
        name: "barrier_skipped_by_warps",
        mistake: barrier_skipped_by_warps::IDEA,
        finding: "race-raw",
        wrong: None,
        right: ("transpose", "tiled"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        launch: &Broken(barrier_skipped_by_warps::failing_barrier_skipped_by_warps),
    },
    Example {
        name: "missing_barrier",
        mistake: missing_barrier::IDEA,
        finding: "race-war",
        wrong: None,
        right: ("reduce", "sequential"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        launch: &Broken(missing_barrier::failing_missing_barrier),
    },
    Example {
        name: "tile_overwritten",
        mistake: tile_overwritten::IDEA,
        finding: "race-war",
        wrong: None,
        right: ("matmul", "tiled_16"),
        grid: 1,
        len: tile_overwritten::TILES * THREADS,
        results: THREADS,
        launch: &Broken(tile_overwritten::failing_tile_overwritten),
    },
    Example {
        name: "tile_not_awaited",
        mistake: tile_not_awaited::IDEA,
        finding: "race-raw",
        wrong: None,
        right: ("matmul", "tiled_16"),
        grid: (tile_not_awaited::TILES * tile_not_awaited::TILES) as u32,
        len: tile_not_awaited::WIDTH * tile_not_awaited::WIDTH,
        results: tile_not_awaited::WIDTH * tile_not_awaited::WIDTH,
        launch: &Broken(tile_not_awaited::failing_tile_not_awaited),
    },
    Example {
        name: "kogge_stone_in_place",
        mistake: kogge_stone_in_place::IDEA,
        finding: "race-war",
        wrong: None,
        right: ("scan", "kogge_stone"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * THREADS,
        launch: &Broken(kogge_stone_in_place::failing_kogge_stone_in_place),
    },
    Example {
        name: "lock_step",
        mistake: lock_step::IDEA,
        finding: "race-warp-raw",
        wrong: None,
        right: ("reduce", "unroll_last_warp"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        launch: &Broken(lock_step::failing_lock_step),
    },
    Example {
        name: "counter_without_atomics",
        mistake: counter_without_atomics::IDEA,
        finding: "race-waw",
        wrong: None,
        right: ("atomics", "global"),
        grid: 2,
        len: 2 * THREADS,
        results: 1,
        launch: &Broken(counter_without_atomics::failing_counter_without_atomics),
    },
    Example {
        name: "plus_for_times",
        mistake: plus_for_times::IDEA,
        finding: "race-waw",
        wrong: None,
        right: ("vecadd", "grid_stride"),
        grid: 4,
        len: 4 * THREADS,
        results: 4 * THREADS,
        launch: &Broken(plus_for_times::failing_plus_for_times),
    },
    Example {
        name: "no_bounds_test",
        mistake: no_bounds_test::IDEA,
        finding: "out-of-bounds",
        wrong: None,
        right: ("vecadd", "grid_stride"),
        grid: 4,
        len: 1000,
        results: 1000,
        launch: &Broken(no_bounds_test::failing_no_bounds_test),
    },
    Example {
        name: "stride_too_far",
        mistake: stride_too_far::IDEA,
        finding: "out-of-bounds",
        wrong: None,
        right: ("reduce", "sequential"),
        grid: 2,
        len: 2 * THREADS,
        results: 2,
        launch: &Broken(stride_too_far::failing_stride_too_far),
    },
    Example {
        name: "halo_not_filled",
        mistake: halo_not_filled::IDEA,
        finding: "uninit-store",
        wrong: None,
        right: ("conv1d", "tiled"),
        grid: 3,
        len: 600,
        results: 600,
        launch: &Broken(halo_not_filled::failing_halo_not_filled),
    },
    Example {
        name: "counters_not_zeroed",
        mistake: counters_not_zeroed::IDEA,
        finding: "uninit-atomic",
        wrong: None,
        right: ("histogram", "shared"),
        grid: 2,
        len: 2 * THREADS,
        results: 2 * counters_not_zeroed::BINS,
        launch: &Broken(counters_not_zeroed::failing_counters_not_zeroed),
    },
    Example {
        name: "maximum_from_zero",
        mistake: maximum_from_zero::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 0 of the result is 0, not -1; 1 of 1 is wrong"),
        right: ("reduce", "grid_stride"),
        grid: 1,
        len: 4 * THREADS,
        results: 1,
        launch: &Wrong {
            kernel: maximum_from_zero::failing_maximum_from_zero,
            input: |i| -1.0 - i as f32,
            right: |input| vec![input.iter().copied().fold(f32::NEG_INFINITY, f32::max)],
        },
    },
    Example {
        name: "last_step_missing",
        mistake: last_step_missing::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 0 of the result is 32896, not 131328; 2 of 2 are wrong"),
        right: ("reduce", "interleaved"),
        grid: 2,
        len: 4 * THREADS,
        results: 2,
        launch: &Wrong { kernel: last_step_missing::failing_last_step_missing, input: counted, right: sums_of_pairs },
    },
    Example {
        name: "stride_one_missing",
        mistake: stride_one_missing::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 0 of the result is 65536, not 131328; 2 of 2 are wrong"),
        right: ("reduce", "first_add"),
        grid: 2,
        len: 4 * THREADS,
        results: 2,
        launch: &Wrong { kernel: stride_one_missing::failing_stride_one_missing, input: counted, right: sums_of_pairs },
    },
    Example {
        name: "partial_tile_lost",
        mistake: partial_tile_lost::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 0 of the result is 32776, not 110700; 576 of 576 are wrong"),
        right: ("matmul", "tiled_16"),
        grid: (partial_tile_lost::TILES * partial_tile_lost::TILES) as u32,
        len: partial_tile_lost::WIDTH * partial_tile_lost::WIDTH,
        results: partial_tile_lost::WIDTH * partial_tile_lost::WIDTH,
        launch: &Wrong {
            kernel: partial_tile_lost::failing_partial_tile_lost,
            input: counted,
            right: |matrix| {
                const WIDTH: usize = partial_tile_lost::WIDTH;
                let element =
                    |row, column| (0..WIDTH).map(|k| matrix[row * WIDTH + k] * matrix[k * WIDTH + column]).sum();
                (0..WIDTH * WIDTH).map(|i| element(i / WIDTH, i % WIDTH)).collect()
            },
        },
    },
    Example {
        name: "letter_after_z",
        mistake: letter_after_z::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 6 of the result is 105, not 70; 1 of 7 is wrong"),
        right: ("histogram", "shared"),
        grid: 2,
        len: 4 * THREADS,
        results: letter_after_z::BINS,
        launch: &Wrong {
            kernel: letter_after_z::failing_letter_after_z,
            // a to z, and three that come after.
            input: |i| b'a' + (i % 29) as u8,
            right: |text| {
                let group = |first: u8| (0..4).map(move |k| first + k).filter(u8::is_ascii_lowercase);
                let count = |letter: u8| text.iter().filter(|have| **have == letter).count() as u32;
                (b'a'..=b'z').step_by(4).map(|first| group(first).map(count).sum()).collect()
            },
        },
    },
    Example {
        name: "bytes_overflow",
        mistake: bytes_overflow::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 86 of the result is 2, not 255; 683 of 1024 are wrong"),
        right: ("picture", "pixel"),
        grid: 4,
        len: 4 * THREADS,
        results: 4 * THREADS,
        launch: &Wrong {
            kernel: bytes_overflow::failing_bytes_overflow,
            input: |i| i as u8,
            right: |input| {
                let at = |i: usize| input.get(i).map_or(0, |&byte| u32::from(byte));
                let sum = |i: usize| at(i.wrapping_sub(1)) + at(i) + at(i + 1);
                (0..input.len()).map(|i| sum(i).min(255) as u8).collect()
            },
        },
    },
    Example {
        name: "grid_rounded_down",
        mistake: grid_rounded_down::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 768 of the result is 0, not 1538; 232 of 1000 are wrong"),
        right: ("vecadd", "one_per_thread"),
        grid: grid_rounded_down::blocks(1000),
        len: 1000,
        results: 1000,
        launch: &Wrong {
            kernel: grid_rounded_down::failing_grid_rounded_down,
            input: counted,
            right: |input| input.iter().map(|x| 2 * x).collect(),
        },
    },
    Example {
        name: "start_by_grid",
        mistake: start_by_grid::IDEA,
        finding: WRONG_RESULT,
        wrong: Some("element 0 of the result is 1838080, not 2098176; 1 of 1 is wrong"),
        right: ("vecadd", "grid_stride"),
        grid: 2,
        len: 8 * THREADS,
        results: 1,
        launch: &Wrong {
            kernel: start_by_grid::failing_start_by_grid,
            input: counted,
            right: |input| vec![input.iter().sum()],
        },
    },
];

/// Element `i` of the input 1, 2, 3, ….
fn counted(i: usize) -> u32 {
    i as u32 + 1
}

/// The sum of each block's elements, two for each thread.
fn sums_of_pairs(input: &[u32]) -> Vec<u32> {
    input.chunks(2 * THREADS).map(|elements| elements.iter().sum()).collect()
}

/// The examples, each a rung.
struct Examples;

impl Ladder for Examples {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = &'static Example;
    type Operands<'j> = ();

    fn rungs() -> Vec<Rung<&'static Example>> {
        let block = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };
        EXAMPLES.iter().map(|kernel| Rung { name: kernel.name, idea: kernel.mistake, block, kernel }).collect()
    }

    fn entries(rung: &Rung<&'static Example>) -> Vec<Entry> {
        vec![rung.kernel.launch.entry()]
    }

    fn oracle(_: Problem<'_>) -> Result<Oracle<'_>> {
        Ok(Oracle::none())
    }

    fn upload(job: &Job<'_>, _: &[Chosen<'_, &'static Example>]) -> Result<()> {
        if job.device.info().is_gpu() {
            return Err(Error::Usage("failing examples run on the simulator only: some of them hang a GPU".to_owned()));
        }
        Ok(())
    }

    fn work((): &()) -> Work {
        Work::default()
    }

    fn prepare((): &(), rung: &Chosen<'_, &'static Example>, run: Run<'_>) -> Result<()> {
        rung.kernel.launch.prepare(rung.kernel, rung, run)
    }
}

/// The entries of all examples, which belong to no family of [`super::FAMILIES`].
pub fn entries() -> Vec<Entry> {
    (FAMILY.variants)().into_iter().flat_map(|variant| variant.entries).collect()
}

impl Launch for Broken {
    fn entry(&self) -> Entry {
        Entry::of(self.0)
    }

    fn prepare(&self, example: &Example, rung: &Chosen<'_, &'static Example>, run: Run<'_>) -> Result<()> {
        let input: Vec<u32> = (0..example.len).map(counted).collect();
        plan(self.0, &input, example, rung, run)
    }
}

impl<I: Scalar, O: Scalar> Launch for Wrong<I, O> {
    fn entry(&self) -> Entry {
        Entry::of(self.kernel)
    }

    fn prepare(&self, example: &Example, rung: &Chosen<'_, &'static Example>, run: Run<'_>) -> Result<()> {
        let input: Vec<I> = (0..example.len).map(self.input).collect();
        let right = (self.right)(&input);
        plan(self.kernel, &input, example, rung, &mut |plan| {
            let mut oracle = Oracle::elements::<O>(vec![example.results], |i, _| Expected::exactly(right[i].value()));
            if let [only] = right[..] {
                oracle = oracle.with_value(only.value());
            }
            let findings = |result: &Tensor| O::view(result.data()).and_then(|result| wrong_result(result, &right));
            run(plan.with_oracle(oracle).with_findings(findings))
        })
    }
}

/// The finding for a wrong result; `None` for a right one.
fn wrong_result<O: Scalar>(result: &[O], right: &[O]) -> Option<Diagnostic> {
    let is_wrong =
        |(_, (have, right)): &(usize, (&O, &O))| !Expected::exactly(right.value()).judge(have.value()).verified;
    let mut wrong = result.iter().zip(right).enumerate().filter(is_wrong);
    let (index, (have, expected)) = wrong.next()?;
    let (count, all) = (1 + wrong.count(), right.len());
    let are = if count == 1 { "is" } else { "are" };
    let (have, expected) = (have.value(), expected.value());
    let title = format!("element {index} of the result is {have}, not {expected}; {count} of {all} {are} wrong");
    Some(Diagnostic::new("finding", WRONG_RESULT, title.clone(), title))
}

fn plan<I: Scalar, O: Scalar>(
    kernel: Kernel<I, O>,
    input: &[I],
    example: &Example,
    rung: &Chosen<'_, &'static Example>,
    run: Run<'_>,
) -> Result<()> {
    let input = Buffer::from_slice(rung.device, input, "input")?;
    let output = Buffer::from_slice(rung.device, &vec![O::zeroed(); example.results], "output")?;
    let call = kernel(input.slice(example.len), output.ptr());
    let shape = Shape::linear(example.grid, BLOCK);
    // SAFETY: the parameters are those of the entry. Some kernels violate their contracts on purpose: they run on the
    // simulator only, which ends a run at every access outside its memory.
    run(unsafe { Plan::of(call, shape, &output, &[example.results]) })
}
