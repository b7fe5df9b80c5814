//! Banks: sums of 32 words each, read from shared memory in several orders.

use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::settings::{Choice, Number, Setting};
use super::{BlockRule, Case, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::Expected;
use crate::error::Result;
use crate::kernels::spelling::N;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::banks::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Dtype, Value};
use rustwarp::require_grid;

const STRIDE: Setting<Number> = Setting {
    name: "stride",
    help: "distance in words between neighbours of a group in shared memory",
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
    variants: || Resolved::of::<Sums>().variants(),
    cases,
    sizes,
    of_vectors: true,
    generate: |demand| demand.vectors(1),
    resolve: |_| Ok(Resolved::of::<Sums>()),
    specials: false,
    limits: Limits::DEFAULT,
    peers: &[],
};

/// Bytes of a word.
const WORDS: &[&str] = &["4", "8", "16"];

type Kernel = for<'a> fn(Slice<'a, u32>, u32, PtrMut<'a, u32>) -> Call<'a>;

/// The family.
struct Sums;

/// The kernels of a rung, in the order of [`WORDS`].
type Kernels = [Kernel; WORDS.len()];

/// The three kernels of a rung.
macro_rules! kernels {
    ($path:path) => {{
        use $path as kernel;
        [kernel::<Bytes4>, kernel::<Bytes8>, kernel::<Bytes16>]
    }};
}

/// Threads per block: one warp per group.
const BLOCKS: BlockRule = BlockRule::OneOf { sizes: &[BLOCK], default: BLOCK };

/// Words on a device.
struct Words<'j> {
    input: Buffer<'j, u32>,
    /// Number of `u32` in a word.
    len: usize,
    /// Distance in words between neighbours of a group in shared memory.
    stride: u32,
}

impl Ladder for Sums {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernels;
    type Operands<'j> = Words<'j>;

    fn rungs() -> Vec<Rung<Kernels>> {
        let rung = |name, idea, kernel| Rung { name, idea, block: BLOCKS, kernel };
        vec![
            rung("strided", strided::IDEA, kernels!(strided::banks_strided)),
            rung("multicast", multicast::IDEA, kernels!(multicast::banks_multicast)),
            rung("padded", padded::IDEA, kernels!(padded::banks_padded)),
            rung("broadcast", broadcast::IDEA, kernels!(broadcast::banks_broadcast)),
        ]
    }

    fn entries(rung: &Rung<Kernels>) -> Vec<Entry> {
        rung.kernel.iter().map(Entry::of).collect()
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

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernels>]) -> Result<Words<'j>> {
        let input = job.problem.view::<u32>(0)?;
        let bytes = 2 * size_of_val(input) as u64;
        require_memory(
            job.device,
            Some(bytes),
            "banks with as many sums as values",
            &format!("use a smaller {N} or input"),
        )?;
        let stride = job.problem.settings.number(&STRIDE) as u32;
        Ok(Words { input: Buffer::from_slice(job.device, input, "input")?, len: word_len(&job.problem), stride })
    }

    fn work(words: &Words<'_>) -> Work {
        Work::bytes(2 * words.input.bytes())
    }

    fn prepare(words: &Words<'_>, rung: &Chosen<'_, Kernels>, run: Run<'_>) -> Result<()> {
        rung.require_no_grid()?;
        let Words { ref input, len, stride } = *words;
        let n = input.len();
        let groups = n.div_ceil(WARP as usize * len) as u64;
        let advice = &format!("use a smaller {N} or input, or a larger {WORD}");
        let shape = Shape::linear(require_grid(groups, &format!("a vector of {n} values"), advice)?, rung.block);
        let output = rung.uninit::<u32>(n, "output")?;
        let call = (rung.kernel[len.ilog2() as usize])(input.slice(n), stride, output.ptr());
        // SAFETY: the kernel's own launcher made the call, with as many sums as values, a block per group, and an
        // allowed stride.
        run(unsafe { Plan::of(call, shape, &output, &[n]) })
    }
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

/// Number of `u32` in a word.
fn word_len(problem: &Problem<'_>) -> usize {
    match problem.settings.choice(&WORD) {
        "8" => 2,
        "16" => 4,
        _ => 1,
    }
}
