//! Results that must not depend on the order in which blocks and warps run.

use ladders::kernels::{BEST, Case, Family, Job, Problem, Row, RungId, family};
use rustwarp::backend::{Checks, Choice, Simulation, open};
use rustwarp::element::Dtype;

use crate::matrix::{Bench, describe, load, operands};

/// The runs of a variant on one problem.
#[derive(Debug, Default)]
pub struct Explored {
    /// Number of blocks of the first launch.
    pub blocks: u32,
    /// Number of instructions of warps under each seed: they differ if threads wait for others longer.
    pub instructions: Vec<u64>,
}

/// Solves a problem by one variant on the simulator, under its default schedule and under that of each seed. Returns
/// `None` for a problem that the variant does not solve.
///
/// # Errors
/// Describes the first run that fails, has a wrong result or a finding, or has other bits than the first one.
pub fn same_bits(
    Bench { device, module }: &Bench,
    family: &Family,
    variant: RungId,
    problem: Problem<'_>,
    seeds: &[u64],
) -> Result<Option<Explored>, String> {
    let ladder = family.resolve(&problem).map_err(|error| error.to_string())?;
    if ladder.refusal(variant, problem).is_some() {
        return Ok(None);
    }
    let oracle = ladder.oracle(problem).map_err(|error| error.to_string())?;
    let (device, module, variants) = (&**device, *module, &[variant]);
    let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
    let (mut expected, mut explored) = (None, Explored::default());
    for seed in [None].into_iter().chain(seeds.iter().copied().map(Some)) {
        let Problem { dtype, op, settings, .. } = problem;
        let of = |error: String| {
            let seed = seed.map_or("without a seed".to_owned(), |seed| format!("under seed {seed}"));
            format!("{} {} {op} {dtype} {} {seed}: {error}", family.name, variant.name, settings.text())
        };
        device.simulate(&Simulation { seed, ..Simulation::default() }).map_err(|error| of(error.to_string()))?;
        let mut wrong = None;
        let mut judge = |row: Row| {
            explored.blocks = row.grid;
            explored.instructions.extend(seed.and(row.counters).map(|counters| counters.warp_instructions));
            wrong = (!row.is_clean()).then(|| describe(&row));
        };
        let result = ladder.run(&job, &mut judge).map_err(|error| of(error.to_string()))?;
        if let Some(wrong) = wrong {
            return Err(of(wrong));
        }
        // Bytes are compared, since NaN is not equal to itself, and zeros of both signs are equal.
        if expected.get_or_insert_with(|| result.clone()).data().bytes() != result.data().bytes() {
            return Err(of("the bits are not those of the run without a seed".to_owned()));
        }
    }
    Ok(Some(explored))
}

/// Checks that the last rung of `scan` returns the same bits whichever blocks and warps run first, on floats whose sums
/// are rounded and over several groups of tiles.
///
/// # Panics
/// Panics if the bits differ.
pub fn scan_gives_the_same_bits() {
    // A wrong order shows in the results. The checkers, which take most of the time, are not needed.
    let (device, _) = open(Choice::Sim, Checks::Bounds).expect("the simulator");
    let module = load(&*device, "scan", None);
    let family = family("scan").expect("a family");
    let tiles = 2 * u64::from(kernels_gpu::scan::best::GROUP) + 3;
    let n = tiles * u64::from(kernels_gpu::scan::best::tile(kernels_gpu::scan::best::ROWS, 4));
    let (inputs, settings) = operands(family, Dtype::F32, &Case::new(&[n])).expect("operands");
    let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op: "sum", settings: &settings };
    let best = family.select(BEST).expect("a variant")[0];
    let explored = same_bits(&Bench { device, module }, family, best, problem, &[1, 2, 3]).expect("the same bits");
    assert!(explored.expect("a variant for every problem").blocks > 1);
}
