//! Print: every thread doubles its element, and chosen ones print it. The result in memory is verified; what is printed
//! is shown.

use super::block;
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::compare::Expected;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::print::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Array, Dtype, Value};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;

const FIRST: Setting<Number> = Setting {
    name: "first",
    help: "the first thread of the grid that prints",
    generated: false,
    kind: Number { default: 0, min: 0, max: u32::MAX as u64 },
};

const COUNT: Setting<Number> = Setting {
    name: "count",
    help: "how many threads print, from that one on",
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
    variants,
    cases,
    sizes: || vec![Case::new(&[1 << 20]).with("count", "0"), Case::new(&[1 << 20]).with("count", "6")],
    generate: |demand| demand.vectors(1),
    oracle,
    run,
    specials: false,
    limits: Limits::DEFAULT,
    peer: None,
};

/// A row of the table.
struct Variant {
    name: &'static str,
    idea: &'static str,
    block: BlockRule,
    kernel: for<'a> fn(Slice<'a, i32>, u32, u32, PtrMut<'a, i32>) -> Call<'a>,
}

/// The table.
const TABLE: &[Variant] = &[
    Variant {
        name: "println",
        idea: println::IDEA,
        block: BlockRule::Any { default: BLOCK },
        kernel: println::print_println,
    },
    Variant {
        name: "printf",
        idea: printf::IDEA,
        block: BlockRule::Any { default: BLOCK },
        kernel: printf::print_printf,
    },
    Variant {
        name: "one_per_warp",
        idea: one_per_warp::IDEA,
        block: BlockRule::WholeWarps { default: BLOCK },
        kernel: one_per_warp::print_one_per_warp,
    },
];

fn variants() -> Vec<VariantInfo> {
    let info = |variant: &Variant| {
        // SAFETY: nothing is launched; only the name and the parameters are of interest.
        let (none, out) = unsafe { (Slice::new(0, 0), PtrMut::new(0)) };
        let entries = vec![Entry::from((variant.kernel)(none, 0, 0, out))];
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries }
    };
    TABLE.iter().map(info).collect()
}

/// Few lines: they are shown wherever a test runs.
fn cases() -> Vec<Case> {
    let quiet = [0, 1, 31, 33, 257, 1009].into_iter().map(|n| Case::new(&[n]).with("count", "0"));
    quiet.chain([Case::new(&[300]).with("first", "256").with("count", "2")]).collect()
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let input = problem.view::<i32>(0)?;
    let expected = move |i: usize, _| {
        let wide = 2 * i64::from(input[i]);
        Expected::exactly(Value::Int(i128::from(wide as i32)))
    };
    Ok(Oracle::elements::<i32>(vec![input.len()], expected))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<i32>(0)?;
    let n = input.len();
    let number = |setting| job.problem.settings.number(setting) as u32;
    let bytes = 2 * size_of_val(input) as u64;
    require_memory(job.device, Some(bytes), "print with as many results as values", "use a smaller --n or input")?;
    let device_input = Buffer::from_slice(job.device, input, "input")?;
    let mut result = Tensor::from(Array::I32(Vec::new()));
    for name in job.variants {
        let Some(variant) = TABLE.iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("print has no variant '{name}'")));
        };
        job.require_no_grid(name)?;
        let block = variant.block.choose(job.block, name, job.device.info().max_block)?;
        let blocks = n.div_ceil(block as usize) as u64;
        let grid = block::grid(blocks, &format!("{name} of {n} values"), "use a larger --block")?;
        let output = Buffer::<i32>::uninit(job.device, n, "output")?;
        let call = (variant.kernel)(device_input.slice(n), number(&FIRST), number(&COUNT), output.ptr());
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
            // SAFETY: the call is the kernel's own launcher's, with as many results as values, and a thread for each.
            _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
        })?;
        emit(row);
    }
    Ok(result)
}
