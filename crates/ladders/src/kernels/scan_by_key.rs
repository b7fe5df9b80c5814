//! Scan by key: each element becomes the sum, maximum or minimum of the elements of its run of equal keys up to it;
//! with `--exclusive`, of those before it, and the first one of a run becomes the identity.
//!
//! A run ends where a key differs from the one before. Keys are `u32`; the library takes others, too. What `scan` says
//! of wrapping, NaN and zeros is true of each run.

use super::entry::Nothing;
use super::generic::{Reduces, with_op};
use super::ladder::{Chosen, Ladder, Planned, Run, Rung};
use super::lengths::{self, LENGTH, MIX};
use super::plan::Plan;
use super::scan::{EXCLUSIVE, kind, oracle};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::error::{Error, Result};
use crate::kernels::spelling::N;
use cuda_std::launch::{PtrMut, Slice};
use kernels_gpu::reduce::Op;
use kernels_gpu::scan_by_key::{best, pairs, thread_per_run};
use pairs::Pair;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::require_grid;
use rustwarp::scan::{Kind, longest_chain};
use rustwarp::scan_by_key as library;
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;
use std::marker::PhantomData;

/// The family.
pub const FAMILY: Family = Family {
    name: "scan_by_key",
    idea: "prefix sums of each run of equal keys, in one pass over keys and values",
    operands: &[Operand::of_elements("values"), Operand::of("keys", Dtype::U32)],
    ops: &["sum", "max", "min"],
    dtypes: Dtype::NUMBERS,
    only: &[],
    settings: &[EXCLUSIVE.listed(), LENGTH.listed(), MIX.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: true,
    generate: |demand| {
        let mut operands = demand.vectors(1)?;
        let n = operands[0].len();
        operands.push(Tensor::from(u32::wrap(keys(n, &lengths::asked(demand, n)))));
        Ok(operands)
    },
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &["scan_by_key"],
};

/// The number of each element's run as its key, for runs of which each begins at an offset.
fn keys(n: usize, offsets: &[u64]) -> Vec<u32> {
    let mut keys = Vec::with_capacity(n);
    for (run, pair) in offsets.windows(2).enumerate() {
        keys.resize(pair[1] as usize, run as u32);
    }
    keys
}

fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    with_dtype!(
        dtype,
        T => with_op!(FAMILY, op, O => Resolved::of::<ScanByKey<O, T>>()),
        else => Err(FAMILY.no_kernel(dtype))
    )
}

/// The family for one operation and element type.
struct ScanByKey<O, T>(PhantomData<(O, T)>);

/// How a rung scans.
#[derive(Clone, Copy)]
enum Way {
    /// By a thread for each run.
    ThreadPerRun,
    /// By way of pairs in memory.
    Pairs,
}

/// Keys and values on a device.
struct Operands<'j, T> {
    keys: Buffer<'j, u32>,
    values: Buffer<'j, T>,
    kind: Kind,
    /// Length of the longest run.
    longest: u64,
}

impl<O: Op<T> + Reduces, T: Element> Ladder for ScanByKey<O, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Planned<Way>;
    type Operands<'j> = Operands<'j, T>;

    fn rungs() -> Vec<Rung<Self::Kernel>> {
        vec![
            Rung {
                name: "thread_per_run",
                idea: thread_per_run::IDEA,
                block: BlockRule::Any { default: thread_per_run::BLOCK },
                kernel: Planned::Here(Way::ThreadPerRun),
            },
            Rung {
                name: "pairs",
                idea: pairs::IDEA,
                block: BlockRule::Any { default: pairs::BLOCK },
                kernel: Planned::Here(Way::Pairs),
            },
            Rung {
                name: "best",
                idea: best::IDEA,
                block: BlockRule::OneOf { sizes: &[best::BLOCK], default: best::BLOCK },
                kernel: Planned::ByLibrary,
            },
        ]
    }

    fn entries(rung: &Rung<Self::Kernel>) -> Vec<Entry> {
        match rung.kernel {
            Planned::Here(Way::ThreadPerRun) => vec![Entry::of(thread_per_run::scan_by_key_thread_per_run::<O, T>)],
            Planned::Here(Way::Pairs) => vec![
                Entry::of(pairs::scan_by_key_make_pairs::<T>),
                Entry::of(pairs::scan_by_key_scan_pairs::<O, T>),
                Entry::of(pairs::scan_by_key_take_values::<O, T>),
            ],
            Planned::ByLibrary => {
                let (values, state, output) = (Slice::nothing(), PtrMut::nothing(), PtrMut::nothing());
                let kind = Kind::Inclusive;
                let of_words = library::calls::<O, u32, T>(Slice::nothing(), values, kind, state, output);
                let of_longs = library::calls::<O, u64, T>(Slice::nothing(), values, kind, state, output);
                of_words.into_iter().chain(of_longs).map(Entry::from).collect()
            }
        }
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let (keys, values) = operands::<T>(&problem)?;
        Ok(oracle::of_runs(O::REDUCTION, problem.settings.flag(&EXCLUSIVE), keys, values))
    }

    fn upload<'j>(job: &'j Job<'_>, rungs: &[Chosen<'_, Self::Kernel>]) -> Result<Operands<'j, T>> {
        let (keys, values) = operands::<T>(&job.problem)?;
        let mut scratch = 0;
        for rung in rungs {
            rung.require_no_grid()?;
            scratch = scratch.max(match rung.kernel {
                Planned::Here(Way::ThreadPerRun) => 0,
                Planned::Here(Way::Pairs) => Pairs::<T>::bytes(values.len())?,
                Planned::ByLibrary => library::scratch_bytes::<T>(values.len())?,
            });
        }
        let bytes = (size_of_val(keys) as u64 + 2 * size_of_val(values) as u64).checked_add(scratch);
        let advice = format!("use a smaller {N} or input");
        require_memory(job.device, bytes, "scan_by_key with its keys and its result", &advice)?;
        Ok(Operands {
            keys: Buffer::from_slice(job.device, keys, "keys")?,
            values: Buffer::from_slice(job.device, values, "values")?,
            kind: kind(job.problem.settings),
            longest: keys.chunk_by(|a, b| a == b).map(|run| run.len() as u64).max().unwrap_or(0),
        })
    }

    fn work(operands: &Operands<'_, T>) -> Work {
        Work::bytes(operands.keys.bytes() + 2 * operands.values.bytes())
    }

    fn prepare(operands: &Operands<'_, T>, rung: &Chosen<'_, Self::Kernel>, run: Run<'_>) -> Result<()> {
        let Operands { ref keys, ref values, kind, longest } = *operands;
        let n = values.len();
        let output = rung.uninit::<T>(n, "output")?;
        let exclusive = u32::from(kind == Kind::Exclusive);
        let (key, value) = (keys.slice(n), values.slice(n));
        let each = Shape::linear(blocks(n, rung.block.into())?, rung.block);
        match *rung.kernel {
            Planned::Here(Way::ThreadPerRun) => {
                let call = thread_per_run::scan_by_key_thread_per_run::<O, T>(key, value, exclusive, output.ptr());
                // SAFETY: every element has a thread and a key, and the output has as many elements.
                let plan = unsafe { Plan::of(call, each, &output, &[n]) };
                run(plan.with_depth(longest))
            }
            Planned::Here(Way::Pairs) => {
                let Pairs { made, scanned, state, tiles } = &Pairs::<T>::new(rung, n)?;
                let make = pairs::scan_by_key_make_pairs::<T>(key, value, made.ptr());
                let scan = pairs::scan_by_key_scan_pairs::<O, T>(made.slice(n), state.ptr(), scanned.ptr());
                let take = pairs::scan_by_key_take_values::<O, T>(key, scanned.slice(n), exclusive, output.ptr());
                // SAFETY: every element has a thread, a key and pairs; the scan has a block for each tile, and its
                // state is 0.
                let plan = unsafe {
                    Plan::new(rung.block, each.grid[0], &output, &[n])
                        .clear(state)
                        .launch(make, each)
                        .launch(scan, Shape::linear(*tiles, pairs::SCAN_BLOCK))
                        .launch(take, each)
                };
                let rows = pairs::any_rows(Pairs::<T>::PAIR);
                run(plan.with_depth(longest_chain(*tiles, rows, Pairs::<T>::PAIR)))
            }
            Planned::ByLibrary => {
                let plan = library::Plan::<O, u32, T, _>::new(&rung.device, n, kind)?;
                let launch = plan.prepare(keys, values, &output)?;
                run(Plan::of_library(launch, &output, &[n]).with_depth(plan.depth()))
            }
        }
    }
}

/// The memory of the rung `pairs`.
struct Pairs<'d, T> {
    made: Buffer<'d, Pair<T>>,
    scanned: Buffer<'d, Pair<T>>,
    /// Tickets and records.
    state: Buffer<'d, u64>,
    /// Blocks of the scan.
    tiles: u32,
}

impl<'d, T: Element> Pairs<'d, T> {
    const PAIR: usize = size_of::<Pair<T>>();

    /// Tiles of the scan, and words of its state.
    fn tiles(n: usize) -> Result<(u32, u64)> {
        let tiles = blocks(n, pairs::tile(pairs::any_rows(Self::PAIR), Self::PAIR).into())?;
        Ok((tiles, best::state_words(tiles.into(), Self::PAIR)))
    }

    fn bytes(n: usize) -> Result<u64> {
        Ok(2 * (n * Self::PAIR) as u64 + 8 * Self::tiles(n)?.1)
    }

    fn new<K>(rung: &'d Chosen<'_, K>, n: usize) -> Result<Self> {
        let (tiles, words) = Self::tiles(n)?;
        Ok(Self {
            made: rung.uninit(n, "pairs")?,
            scanned: rung.uninit(n, "scanned pairs")?,
            state: rung.uninit(words as usize, "state")?,
            tiles,
        })
    }
}

/// Number of blocks that cover `n` elements.
fn blocks(n: usize, per_block: u64) -> Result<u32> {
    Ok(require_grid((n as u64).div_ceil(per_block), &format!("{n} elements"), &format!("use a smaller {N}"))?)
}

/// A tile has 1024 or 5120 elements of 4 bytes, so that the largest cases have several tiles.
fn cases() -> Vec<Case> {
    let case = |n: u64, length: &str, mix: &str| Case::new(&[n]).with("length", length).with("mix", mix);
    vec![
        case(0, "5", "uniform"),
        case(1, "1", "equal"),
        case(33, "3", "uniform").with("exclusive", ""),
        case(257, "3", "power"),
        case(1031, "1", "equal"),
        case(2053, "2000", "equal").with("exclusive", ""),
        case(4099, "64", "uniform"),
        case(5003, "10000", "equal"),
        case(9001, "300", "power").with("exclusive", ""),
    ]
}

fn sizes() -> Vec<Case> {
    let case = |power: u64, length: &str, mix: &str| Case::new(&[1 << power]).with("length", length).with("mix", mix);
    vec![
        case(16, "128", "uniform"),
        case(20, "128", "uniform"),
        case(24, "128", "uniform"),
        case(28, "16", "equal"),
        case(28, "128", "uniform"),
        case(28, "1048576", "equal"),
        case(28, "128", "power"),
    ]
}

/// Checks the operands and returns them.
fn operands<'a, T: Element>(problem: &Problem<'a>) -> Result<(&'a [u32], &'a [T])> {
    let (values, keys) = (problem.view::<T>(0)?, problem.view::<u32>(1)?);
    if keys.len() != values.len() {
        let (keys, values) = (keys.len(), values.len());
        let text = format!("scan_by_key takes a key for each value: there are {keys} keys and {values} values");
        return Err(Error::Usage(text));
    }
    Ok((keys, values))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::Settings;

    #[test]
    fn every_value_has_a_key() {
        let inputs = [f32::wrap(vec![1.0; 3]).into(), u32::wrap(vec![1; 2]).into()];
        let settings = Settings::new(FAMILY.settings, []).expect("settings");
        let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op: "sum", settings: &settings };
        let refused = FAMILY.resolve(&problem).and_then(|resolved| resolved.oracle(problem).map(|_| ()));
        assert!(refused.expect_err("refused").to_string().contains("there are 2 keys and 3 values"));
    }

    #[test]
    fn keys_are_numbers_of_runs() {
        assert_eq!(keys(6, &[0, 2, 2, 5, 6]), [0, 0, 2, 2, 2, 3]);
        assert_eq!(keys(0, &[0]), [0; 0]);
    }
}
