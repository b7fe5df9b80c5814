//! Print: every thread doubles its element, and chosen threads print it. The result in memory is verified; the printed
//! text is shown.

use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::Result;
use crate::kernels::spelling::{BLOCK_SIZE, N};
use cuda_std::launch::{Call, Slice, SliceMut};
use kernels_gpu::print::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Value};
use rustwarp::require_grid;

const FIRST: Setting<Number> = Setting {
    name: "first",
    help: "the first thread of the grid that prints",
    generated: false,
    kind: Number { default: 0, min: 0, max: u32::MAX as u64 },
};

const COUNT: Setting<Number> = Setting {
    name: "count",
    help: "number of threads that print, from the first one on",
    generated: false,
    kind: Number { default: 6, min: 0, max: u32::MAX as u64 },
};

/// The family.
pub const FAMILY: Family = Family {
    name: "print",
    idea: "double every element, and let chosen threads print",
    operands: &[Operand::of_elements("values")],
    ops: &[],
    dtypes: &[Dtype::I32],
    only: &[],
    settings: &[FIRST.listed(), COUNT.listed()],
    variants: || Resolved::of::<Printing>().variants(),
    cases,
    sizes: || vec![Case::new(&[1 << 20]).with("count", "0"), Case::new(&[1 << 20]).with("count", "6")],
    of_vectors: true,
    generate: |demand| demand.vectors(1),
    resolve: |_| Ok(Resolved::of::<Printing>()),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &[],
};

/// The family.
struct Printing;

/// A launcher that takes values, the first thread that prints, the number of such threads, and results.
type Kernel = for<'a> fn(Slice<'a, i32>, u32, u32, SliceMut<'a, i32>) -> Call<'a>;

/// Values on a device.
struct Values<'j> {
    input: Buffer<'j, i32>,
    /// The first thread that prints, and the number of such threads.
    printing: [u32; 2],
}

impl Ladder for Printing {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel;
    type Operands<'j> = Values<'j>;

    fn rungs() -> Vec<Rung<Kernel>> {
        let (any, warps) = (BlockRule::Any { default: BLOCK }, BlockRule::WholeWarps { default: BLOCK });
        vec![
            Rung {
                name: "println",
                idea: println::IDEA,
                block: any,
                kernel: |input, first, count, output| println::print_println(input, first, count, output).into(),
            },
            Rung {
                name: "printf",
                idea: printf::IDEA,
                block: any,
                kernel: |input, first, count, output| printf::print_printf(input, first, count, output).into(),
            },
            Rung {
                name: "one_per_warp",
                idea: one_per_warp::IDEA,
                block: warps,
                kernel: one_per_warp::print_one_per_warp,
            },
        ]
    }

    fn entries(rung: &Rung<Kernel>) -> Vec<Entry> {
        vec![Entry::of(rung.kernel)]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        let input = problem.view::<i32>(0)?;
        let expected = move |i: usize, _| {
            let wide = 2 * i64::from(input[i]);
            Expected::exactly(Value::Int(i128::from(wide as i32)))
        };
        Ok(Oracle::elements::<i32>(vec![input.len()], expected))
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernel>]) -> Result<Values<'j>> {
        let input = job.problem.view::<i32>(0)?;
        let bytes = 2 * size_of_val(input) as u64;
        require_memory(
            job.device,
            Some(bytes),
            "print with as many results as values",
            &format!("use a smaller {N} or input"),
        )?;
        let printing = [&FIRST, &COUNT].map(|setting| job.problem.settings.number(setting) as u32);
        Ok(Values { input: Buffer::from_slice(job.device, input, "input")?, printing })
    }

    fn work(values: &Values<'_>) -> Work {
        Work::bytes(2 * values.input.bytes())
    }

    fn prepare(values: &Values<'_>, rung: &Chosen<'_, Kernel>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Values { ref input, printing: [first, count] } = *values;
        let n = input.len();
        let blocks = n.div_ceil(rung.block as usize) as u64;
        let grid =
            require_grid(blocks, &format!("{} of {n} values", rung.name), &format!("use a larger {BLOCK_SIZE}"))?;
        let output = rung.uninit::<i32>(n, "output")?;
        // SAFETY: the plan borrows `output`, and reads it after the launch.
        let doubled = unsafe { SliceMut::new(output.address(), n) };
        let call = (rung.kernel)(input.slice(n), first, count, doubled);
        // SAFETY: the kernel's own launcher made the call, with as many results as values, and a thread for each.
        run(unsafe { Plan::of(call, Shape::linear(grid, rung.block), &output, &[n]) })
    }
}

/// These cases print few lines, since the output appears in that of every test.
fn cases() -> Vec<Case> {
    let quiet = [0, 1, 31, 33, 257, 1009].into_iter().map(|n| Case::new(&[n]).with("count", "0"));
    quiet.chain([Case::new(&[300]).with("first", "256").with("count", "2")]).collect()
}
