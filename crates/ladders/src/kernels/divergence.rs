//! Divergence: two chains of steps per element; the variants differ in which lane runs which chain.

use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::problem::bench_lengths;
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::Result;
use crate::kernels::spelling::N;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::divergence::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Value};
use rustwarp::require_grid;

/// The family.
pub const FAMILY: Family = Family {
    name: "divergence",
    idea: "two chains of steps per element: lanes of one warp that disagree pay for both",
    operands: &[Operand::of_elements("values")],
    ops: &[],
    dtypes: &[Dtype::U32],
    only: &[],
    settings: &[SHORT_STEPS.listed(), LONG_STEPS.listed()],
    variants: || Resolved::of::<Chains>().variants(),
    cases,
    sizes: bench_lengths,
    of_vectors: true,
    generate: |demand| demand.vectors(1),
    resolve: |_| Ok(Resolved::of::<Chains>()),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &[],
};

const SHORT_STEPS: Setting<Number> = steps("short", "steps of the short chain", 16);
const LONG_STEPS: Setting<Number> = steps("long", "steps of the long chain", 64);

const fn steps(name: &'static str, help: &'static str, default: u64) -> Setting<Number> {
    Setting { name, help, generated: false, kind: Number { default, min: 0, max: 1 << 20 } }
}

/// The family.
struct Chains;

/// A launcher of values, steps of both chains, and results.
type Kernel = for<'a> fn(Slice<'a, u32>, u32, u32, PtrMut<'a, u32>) -> Call<'a>;

const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };

/// Values on a device.
struct Values<'j> {
    input: Buffer<'j, u32>,
    /// Numbers of steps of the short and of the long chain.
    steps: [u32; 2],
}

impl Ladder for Chains {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel;
    type Operands<'j> = Values<'j>;

    fn rungs() -> Vec<Rung<Kernel>> {
        let rung = |name, idea, kernel: Kernel| Rung { name, idea, block: BLOCKS, kernel };
        vec![
            rung("by_lane", by_lane::IDEA, by_lane::divergence_by_lane),
            rung("by_data", by_data::IDEA, by_data::divergence_by_data),
            rung("unequal_loops", unequal_loops::IDEA, unequal_loops::divergence_unequal_loops),
            rung("by_warp", by_warp::IDEA, by_warp::divergence_by_warp),
        ]
    }

    fn entries(rung: &Rung<Kernel>) -> Vec<Entry> {
        vec![Entry::of(rung.kernel)]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let input = problem.view::<u32>(0)?;
        let (short, long) = (problem.settings.number(&SHORT_STEPS), problem.settings.number(&LONG_STEPS));
        let expected = move |i: usize, _| {
            let sum = chain(SHORT, input[i], short) + chain(LONG, input[i], long);
            Expected::exactly(Value::Int(i128::from(sum % (1 << 32))))
        };
        Ok(Oracle::elements::<u32>(vec![input.len()], expected))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernel>]) -> Result<Values<'j>> {
        let input = job.problem.view::<u32>(0)?;
        let (bytes, what) = (2 * size_of_val(input) as u64, "divergence with as many results as values");
        require_memory(job.device, Some(bytes), what, &format!("use a smaller {N} or input"))?;
        let steps = [&SHORT_STEPS, &LONG_STEPS].map(|steps| job.problem.settings.number(steps) as u32);
        Ok(Values { input: Buffer::from_slice(job.device, input, "input")?, steps })
    }

    fn work(values: &Values<'_>) -> Work {
        Work::bytes(2 * values.input.bytes())
    }

    fn prepare(values: &Values<'_>, rung: &Chosen<'_, Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Values { ref input, steps: [short, long] } = *values;
        let n = input.len();
        let blocks = n.div_ceil(ELEMENTS as usize) as u64;
        let grid = require_grid(blocks, &format!("a vector of {n} values"), &format!("use a smaller {N} or input"))?;
        let output = rung.uninit::<u32>(n, "output")?;
        let call = (rung.kernel)(input.slice(n), short, long, output.ptr());
        // SAFETY: the kernel's own launcher made the call, with as many results as values, and a block per `ELEMENTS`
        // of them.
        run(unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &[n]) })
    }
}

fn cases() -> Vec<Case> {
    let lengths = [0, 1, 2, 31, 33, 127, 128, 129, 257, 1009];
    let steps = |short: &str, long: &str| Case::new(&[200]).with("short", short).with("long", long);
    let chains = [steps("0", "0"), steps("1", "0"), steps("5", "5"), steps("33", "7")];
    lengths.into_iter().map(|n| Case::new(&[n])).chain(chains).collect()
}
/// `x` after this number of steps.
fn chain(chain: Chain, x: u32, steps: u64) -> u64 {
    let step = |x: u64, _| ((x ^ x >> 16) * u64::from(chain.factor) + u64::from(chain.term)) % (1 << 32);
    (0..steps).fold(u64::from(x), step)
}
