//! Divergence: two chains of steps per element; what differs is which lane runs which.

use super::block;
use super::problem::bench_lengths;
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::compare::Expected;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::divergence::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Array, Dtype, Value};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;

/// The family.
pub const FAMILY: Family = Family {
    name: "divergence",
    idea: "two chains of steps per element: lanes of one warp that disagree pay for both",
    operands: &[Operand::of_elements("values")],
    ops: &[],
    dtypes: &[Dtype::U32],
    only: &[],
    settings: &[SHORT_STEPS.listed(), LONG_STEPS.listed()],
    variants,
    cases,
    sizes: bench_lengths,
    generate: |demand| demand.vectors(1),
    oracle,
    run,
    specials: false,
    limits: Limits::DEFAULT,
    peer: None,
};

const SHORT_STEPS: Setting<Number> = steps("short", "steps of the short chain", 16);
const LONG_STEPS: Setting<Number> = steps("long", "steps of the long chain", 64);

const fn steps(name: &'static str, help: &'static str, default: u64) -> Setting<Number> {
    Setting { name, help, generated: false, kind: Number { default, min: 0, max: 1 << 20 } }
}

/// A row of the table.
struct Variant {
    name: &'static str,
    idea: &'static str,
    kernel: for<'a> fn(Slice<'a, u32>, u32, u32, PtrMut<'a, u32>) -> Call<'a>,
}

/// The table, slowest first.
const TABLE: &[Variant] = &[
    Variant { name: "by_lane", idea: by_lane::IDEA, kernel: by_lane::divergence_by_lane },
    Variant { name: "by_data", idea: by_data::IDEA, kernel: by_data::divergence_by_data },
    Variant { name: "unequal_loops", idea: unequal_loops::IDEA, kernel: unequal_loops::divergence_unequal_loops },
    Variant { name: "by_warp", idea: by_warp::IDEA, kernel: by_warp::divergence_by_warp },
];

const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };

fn variants() -> Vec<VariantInfo> {
    let info = |variant: &Variant| {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out) = unsafe { (Slice::new(0, 0), PtrMut::new(0)) };
        let entries = vec![Entry::from((variant.kernel)(none, 0, 0, out))];
        VariantInfo { name: variant.name, idea: variant.idea, block: BLOCKS, entries }
    };
    TABLE.iter().map(info).collect()
}

fn cases() -> Vec<Case> {
    let lengths = [0, 1, 2, 31, 33, 127, 128, 129, 257, 1009];
    let steps = |short: &str, long: &str| Case::new(&[200]).with("short", short).with("long", long);
    let chains = [steps("0", "0"), steps("1", "0"), steps("5", "5"), steps("33", "7")];
    lengths.into_iter().map(|n| Case::new(&[n])).chain(chains).collect()
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

/// `x` after so many steps.
fn chain(chain: Chain, x: u32, steps: u64) -> u64 {
    let step = |x: u64, _| ((x ^ x >> 16) * u64::from(chain.factor) + u64::from(chain.term)) % (1 << 32);
    (0..steps).fold(u64::from(x), step)
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<u32>(0)?;
    let n = input.len();
    let steps = |setting| job.problem.settings.number(setting) as u32;
    let bytes = 2 * size_of_val(input) as u64;
    require_memory(job.device, Some(bytes), "divergence with as many results as values", "use a smaller --n or input")?;
    let blocks = n.div_ceil(ELEMENTS as usize) as u64;
    let grid = block::grid(blocks, &format!("a vector of {n} values"), "use a smaller --n or input")?;
    let device_input = Buffer::from_slice(job.device, input, "input")?;
    let mut result = Tensor::from(Array::U32(Vec::new()));
    for name in job.variants {
        let Some(variant) = TABLE.iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("divergence has no variant '{name}'")));
        };
        job.require_no_grid(name)?;
        let block = BLOCKS.choose(job.block, name, job.device.info().max_block)?;
        let output = Buffer::<u32>::uninit(job.device, n, "output")?;
        let call = (variant.kernel)(device_input.slice(n), steps(&SHORT_STEPS), steps(&LONG_STEPS), output.ptr());
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![n],
            depth: 0,
            work: Work::bytes(bytes),
        };
        let row;
        (result, row) = job.measure(&trial, &mut || match grid {
            0 => Ok(()),
            // SAFETY: the call is the kernel's own launcher's, with as many results as values, and a block per
            // `ELEMENTS` of them.
            _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
        })?;
        emit(row);
    }
    Ok(result)
}
