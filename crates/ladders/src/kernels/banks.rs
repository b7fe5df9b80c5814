//! Banks: sums of 32 words each, read from shared memory in several orders.

use super::block;
use super::settings::{Choice, Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::compare::Expected;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::banks::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Array, Dtype, Value};
use rustwarp::error::{Error, Result};
use rustwarp::tensor::Tensor;

const STRIDE: Setting<Number> = Setting {
    name: "stride",
    help: "words from one to the next of a group in shared memory",
    generated: false,
    kind: Number { default: 32, min: 1, max: MAX_STRIDE as u64 },
};

const WORD: Setting<Choice> = Setting { name: "word", help: "bytes of a word", generated: false, kind: Choice(WORDS) };

/// The family.
pub const FAMILY: Family = Family {
    name: "banks",
    idea: "sums of 32 words through shared memory: the order of reads decides the bank conflicts",
    operands: &[Operand::of_elements("values")],
    ops: &[],
    dtypes: &[Dtype::U32],
    only: &[],
    settings: &[STRIDE.listed(), WORD.listed()],
    variants,
    cases,
    sizes,
    generate: |demand| demand.vectors(1),
    oracle,
    run,
    specials: false,
    limits: Limits::DEFAULT,
    peer: None,
};

/// Bytes of a word.
const WORDS: &[&str] = &["4", "8", "16"];

type Kernel = for<'a> fn(Slice<'a, u32>, u32, PtrMut<'a, u32>) -> Call<'a>;

/// A row of the table.
struct Variant {
    name: &'static str,
    idea: &'static str,
    /// In the order of [`WORDS`].
    kernels: [Kernel; WORDS.len()],
}

/// The three kernels of a rung.
macro_rules! kernels {
    ($path:path) => {{
        use $path as kernel;
        [kernel::<Bytes4>, kernel::<Bytes8>, kernel::<Bytes16>]
    }};
}

/// The table, slowest first.
fn table() -> Vec<Variant> {
    vec![
        Variant { name: "strided", idea: strided::IDEA, kernels: kernels!(strided::banks_strided) },
        Variant { name: "multicast", idea: multicast::IDEA, kernels: kernels!(multicast::banks_multicast) },
        Variant { name: "padded", idea: padded::IDEA, kernels: kernels!(padded::banks_padded) },
        Variant { name: "broadcast", idea: broadcast::IDEA, kernels: kernels!(broadcast::banks_broadcast) },
    ]
}

const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };

fn variants() -> Vec<VariantInfo> {
    let info = |variant: Variant| {
        let entry = |kernel: &Kernel| {
            // SAFETY: nothing is launched; only the name and the parameters are of interest.
            let (none, out) = unsafe { (Slice::new(0, 0), PtrMut::new(0)) };
            Entry::from(kernel(none, 0, out))
        };
        let entries = variant.kernels.iter().map(entry).collect();
        VariantInfo { name: variant.name, idea: variant.idea, block: BLOCKS, entries }
    };
    table().into_iter().map(info).collect()
}

fn cases() -> Vec<Case> {
    let case = |n: u64, stride: u32, word| Case::new(&[n]).with("stride", &stride.to_string()).with("word", word);
    let mut cases: Vec<_> = [0, 1, 31, 32, 33, 257, 1009].into_iter().map(|n| case(n, 32, "4")).collect();
    for word in WORDS {
        cases.extend([1, 2, 3, 8, 24, 31, 33].map(|stride| case(300, stride, word)));
        cases.extend([case(65, 32, word), case(127, 33, word)]);
    }
    cases
}

fn sizes() -> Vec<Case> {
    let case = |stride: &str, word| Case::new(&[1 << 24]).with("stride", stride).with("word", word);
    vec![case("32", "4"), case("2", "4"), case("33", "4"), case("32", "8"), case("32", "16"), case("1", "16")]
}

/// `u32` in a word.
fn word_len(problem: &Problem<'_>) -> usize {
    match problem.settings.choice(&WORD) {
        "8" => 2,
        "16" => 4,
        _ => 1,
    }
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let input = problem.view::<u32>(0)?;
    let len = word_len(&problem);
    let expected = move |i: usize, _| {
        let group = i - i % (32 * len);
        let parts = input[group..].iter().take(32 * len).skip(i % len).step_by(len);
        Expected::exactly(Value::Int(parts.map(|&x| i128::from(x)).sum::<i128>() % (1 << 32)))
    };
    Ok(Oracle::elements::<u32>(vec![input.len()], expected))
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<u32>(0)?;
    let (n, len) = (input.len(), word_len(&job.problem));
    let stride = job.problem.settings.number(&STRIDE) as u32;
    let bytes = 2 * size_of_val(input) as u64;
    require_memory(job.device, Some(bytes), "banks with as many sums as values", "use a smaller --n or input")?;
    let groups = n.div_ceil(WARP as usize * len) as u64;
    let grid =
        block::grid(groups, &format!("a vector of {n} values"), "use a smaller --n or input, or a larger --word")?;
    let device_input = Buffer::from_slice(job.device, input, "input")?;
    let mut result = Tensor::from(Array::U32(Vec::new()));
    for name in job.variants {
        let Some(variant) = table().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("banks has no variant '{name}'")));
        };
        job.require_no_grid(name)?;
        let block = BLOCKS.choose(job.block, name, job.device.info().max_block)?;
        let output = Buffer::<u32>::uninit(job.device, n, "output")?;
        let kernel = variant.kernels[len.ilog2() as usize];
        let call = kernel(device_input.slice(n), stride, output.ptr());
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
            // SAFETY: the call is the kernel's own launcher's, with as many sums as values, a block per group, and an
            // allowed stride.
            _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
        })?;
        emit(row);
    }
    Ok(result)
}
