//! Atomics: eight operations on counters that threads share.
//!
//! Floats are generated as whole numbers from -8 to 7, whose sums are exact in any order while they fit the type. Other
//! sums of floats are within `n * epsilon * sum(|x|)` of the exact ones for `n` elements per counter, since the order
//! is not defined.

use super::ladder::{Chosen, Ladder, Run, Rung};
use super::plan::Plan;
use super::problem::{bench_lengths, epsilon};
use super::reduce::oracle::{beats, empty};
use super::settings::{Number, Setting};
use super::{BlockRule, Case, Demand, Entry, Family, Job, Limits, Operand, Oracle, Problem, Resolved, Work};
use crate::compare::{Expected, Verdict};
use crate::error::{Error, Result};
use crate::kernels::spelling::{DTYPE, N, OP};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::atomics::*;
use rustwarp::backend::{Buffer, Shape, require_memory};
use rustwarp::element::{Array, Dtype, Element, Value};
use rustwarp::tensor::Tensor;
use rustwarp::with_dtype;
use std::marker::PhantomData;

const ADDRESSES: Setting<Number> = Setting {
    name: "addresses",
    help: "counters: 1 is the most contention",
    generated: false,
    kind: Number { default: 1, min: 1, max: MAX_ADDRESSES as u64 },
};

/// The family.
pub const FAMILY: Family = Family {
    name: "atomics",
    idea: "element i goes to counter i % addresses by one of eight operations, and none is lost",
    operands: &[Operand::of_elements("values")],
    ops: &["add", "sub", "inc", "dec", "min", "max", "exch", "cas"],
    dtypes: &[Dtype::U32, Dtype::I32, Dtype::U64, Dtype::I64, Dtype::F32, Dtype::F64],
    only: &[("inc", &[Dtype::U32]), ("dec", &[Dtype::U32])],
    settings: &[ADDRESSES.listed()],
    variants: || FAMILY.merge(resolve),
    cases,
    sizes,
    of_vectors: true,
    generate,
    resolve: |problem| resolve(problem.op, problem.dtype),
    specials: false,
    // All threads may update one address: with compare-and-swap in turns, time grows with length times threads, and
    // millions of elements take minutes.
    limits: Limits { tested: 1 << 13, ..Limits::DEFAULT },
    peers: &[],
};

/// Resolves the kernels of an operation and type.
fn resolve(op: &str, dtype: Dtype) -> Result<Resolved> {
    match (op, dtype) {
        ("inc", Dtype::U32) => Ok(Resolved::of::<Atomics<Ring<Inc>, u32>>()),
        ("dec", Dtype::U32) => Ok(Resolved::of::<Atomics<Ring<Dec>, u32>>()),
        ("inc" | "dec", dtype) => Err(Error::Usage(format!(
            "atomics has {op} for u32 only, as PTX has, and not for {dtype}: use {DTYPE} u32, or {OP} add"
        ))),
        (op, dtype) => with_dtype!(dtype, T => match op {
            "add" => Ok(Resolved::of::<Atomics<All<Add>, T>>()),
            "sub" => Ok(Resolved::of::<Atomics<All<Sub>, T>>()),
            "min" => Ok(Resolved::of::<Atomics<All<Min>, T>>()),
            "max" => Ok(Resolved::of::<Atomics<All<Max>, T>>()),
            "exch" => Ok(Resolved::of::<Atomics<All<Exch>, T>>()),
            "cas" => Ok(Resolved::of::<Atomics<All<Cas>, T>>()),
            other => Err(FAMILY.no_op(other)),
        }, else => Err(FAMILY.no_kernel(dtype))),
    }
}

/// The family for the kernels `K` of an operation and an element type.
struct Atomics<K, T>(PhantomData<(K, T)>);

/// An operation that every type supports.
struct All<O>(PhantomData<O>);

/// An operation modulo the length of the ring.
struct Ring<O>(PhantomData<O>);

/// A launcher of values, number of counters, and counters.
type Kernel<T> = for<'a> fn(Slice<'a, T>, u32, PtrMut<'a, T>) -> Call<'a>;

/// The rule by which the reference computes the final value of a counter.
#[derive(Clone, Copy)]
enum Rule {
    /// The sum of the elements, or its negative.
    Sum { negative: bool },
    /// The number of elements modulo the length of the ring, or its negative.
    Count { negative: bool },
    /// The largest element, or the smallest one.
    Extreme { larger: bool },
}

/// An operation with the rule of its reference.
trait Judged {
    /// The rule; `None` if each value is handed on once, so that the order decides the final value.
    const RULE: Option<Rule>;
}

macro_rules! judged {
    ($($operation:ident $rule:expr;)*) => {
        $(impl Judged for $operation {
            const RULE: Option<Rule> = $rule;
        })*
    };
}
judged!(
    Add Some(Rule::Sum { negative: false });
    Sub Some(Rule::Sum { negative: true });
    Inc Some(Rule::Count { negative: false });
    Dec Some(Rule::Count { negative: true });
    Min Some(Rule::Extreme { larger: false });
    Max Some(Rule::Extreme { larger: true });
    Exch None;
    Cas Some(Rule::Sum { negative: false });
);

/// The kernels of an operation.
trait Kernels<T: 'static> {
    /// Whether each element receives the previous value of the counter.
    const RETURNS: bool;
    /// The rule of the reference, as in [`Judged`].
    const RULE: Option<Rule>;

    /// The initial value of the counters.
    fn start() -> T;

    /// The launchers of the rungs `global`, `warp_aggregated` and `shared`.
    fn launchers() -> [Kernel<T>; 3];
}

impl<O: Op<T> + Judged, T: Element> Kernels<T> for All<O> {
    const RETURNS: bool = O::RETURNS;
    const RULE: Option<Rule> = O::RULE;

    fn start() -> T {
        O::start()
    }

    fn launchers() -> [Kernel<T>; 3] {
        [
            global::atomics_global::<O, T>,
            warp_aggregated::atomics_warp_aggregated::<O, T>,
            shared::atomics_shared::<O, T>,
        ]
    }
}

impl<O: Op<u32> + Judged> Kernels<u32> for Ring<O> {
    const RETURNS: bool = O::RETURNS;
    const RULE: Option<Rule> = O::RULE;

    fn start() -> u32 {
        O::start()
    }

    fn launchers() -> [Kernel<u32>; 3] {
        [
            global::atomics_global_ring::<O>,
            warp_aggregated::atomics_warp_aggregated_ring::<O>,
            shared::atomics_shared_ring::<O>,
        ]
    }
}

/// Values and initial counters on a device.
struct Values<'j, T> {
    input: Buffer<'j, T>,
    starts: Buffer<'j, T>,
}

impl<T> Values<'_, T> {
    /// Number of counters and returned values.
    fn results<K: Kernels<T>>(&self) -> usize
    where
        T: Element,
    {
        self.starts.len() + if K::RETURNS { self.input.len() } else { 0 }
    }
}

impl<K: Kernels<T>, T: Element> Ladder for Atomics<K, T> {
    const FAMILY: &'static str = FAMILY.name;
    type Kernel = Kernel<T>;
    type Operands<'j> = Values<'j, T>;

    fn rungs() -> Vec<Rung<Kernel<T>>> {
        let (any, warps) = (BlockRule::Any { default: BLOCK }, BlockRule::WholeWarps { default: BLOCK });
        let [global, warp_aggregated, shared] = K::launchers();
        vec![
            Rung { name: "global", idea: global::IDEA, block: any, kernel: global },
            Rung { name: "warp_aggregated", idea: warp_aggregated::IDEA, block: warps, kernel: warp_aggregated },
            Rung { name: "shared", idea: shared::IDEA, block: any, kernel: shared },
        ]
    }

    fn entries(rung: &Rung<Kernel<T>>) -> Vec<Entry> {
        vec![Entry::of(rung.kernel)]
    }

    fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
        oracle(problem, K::RULE, K::start())
    }

    fn upload<'j>(job: &'j Job<'_>, _: &[Chosen<'_, Kernel<T>>]) -> Result<Values<'j, T>> {
        let input = job.problem.view::<T>(0)?;
        let starts = vec![K::start(); job.problem.settings.number(&ADDRESSES) as usize];
        let results = 2 * starts.len() + if K::RETURNS { input.len() } else { 0 };
        let memory = size_of_val(input) as u64 + (results * size_of::<T>()) as u64;
        require_memory(job.device, Some(memory), "atomics with its counters", &format!("use a smaller {N} or input"))?;
        Ok(Values {
            input: Buffer::from_slice(job.device, input, "input")?,
            starts: Buffer::from_slice(job.device, &starts, "starts")?,
        })
    }

    fn work(values: &Values<'_, T>) -> Work {
        Work::bytes(values.input.bytes() + (values.results::<K>() * size_of::<T>()) as u64)
    }

    fn prepare(values: &Values<'_, T>, rung: &Chosen<'_, Kernel<T>>, run: Run<'_>) -> Result<()> {
        let Values { input, starts } = values;
        let (n, block) = (input.len(), rung.block);
        let fill = u64::from(rung.device.info().multiprocessors) * u64::from((BLOCKS_PER_SM * BLOCK / block).max(1));
        let grid = rung.grid.unwrap_or_else(|| (n as u64).div_ceil(block.into()).min(fill) as u32);
        let output = rung.uninit::<T>(values.results::<K>(), "output")?;
        let call = (rung.kernel)(input.slice(n), starts.len() as u32, output.ptr());
        let plan = Plan::new(block, grid, &output, &[output.len()]).copy(&output, starts);
        if n == 0 {
            return run(plan);
        }
        // SAFETY: the kernel's own launcher made the call; the counters have their initial values and are followed by
        // room for the returned values, and the rung allows the block size.
        run(unsafe { plan.launch(call, Shape::linear(grid, block)) })
    }
}

fn cases() -> Vec<Case> {
    let case = |(n, addresses): (u64, u32)| Case::new(&[n]).with("addresses", &addresses.to_string());
    let sizes = [
        (0, 1),
        (1, 1),
        (1, 3),
        (31, 1),
        (33, 5),
        (256, 32),
        (257, 31),
        (1009, 1),
        (1009, 7),
        (1100, 300),
        (2100, 1024),
    ];
    sizes.into_iter().map(case).collect()
}

fn sizes() -> Vec<Case> {
    let contended = [1, 4, 32, 1024].map(|addresses| Case::new(&[1 << 24]).with("addresses", &addresses.to_string()));
    bench_lengths().into_iter().filter(|case| case.size[0] < 1 << 24).chain(contended).collect()
}

/// Generates one vector. Floats are small whole numbers; no element has the type's highest value, which marks an
/// untouched counter and is not valid for `exch`.
fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let made = demand.vectors(1)?;
    let usable = |tensor: Tensor| match tensor.into_data() {
        Array::F32(values) => Array::F32(values.iter().map(|x| (x * 8.0).floor()).collect()).into(),
        Array::F64(values) => Array::F64(values.iter().map(|x| (x * 8.0).floor()).collect()).into(),
        Array::I32(values) => Array::I32(values.iter().map(|&x| x.min(i32::MAX - 1)).collect()).into(),
        Array::U32(values) => Array::U32(values.iter().map(|&x| x.min(u32::MAX - 1)).collect()).into(),
        Array::I64(values) => Array::I64(values.iter().map(|&x| x.min(i64::MAX - 1)).collect()).into(),
        Array::U64(values) => Array::U64(values.iter().map(|&x| x.min(u64::MAX - 1)).collect()).into(),
        other => other.into(),
    };
    Ok(made.into_iter().map(usable).collect())
}

fn oracle<T: Element>(problem: Problem<'_>, rule: Option<Rule>, start: T) -> Result<Oracle<'_>> {
    let input = problem.view::<T>(0)?;
    let addresses = problem.settings.number(&ADDRESSES) as usize;
    let Some(rule) = rule else {
        if input.iter().any(|x| x.same(start)) {
            let text =
                format!("exch takes no value of {}: it marks a counter that no thread has written", start.value());
            return Err(Error::Usage(text));
        }
        return Ok(Oracle::new(move |result, _| exchanged(input, addresses, start, result)));
    };
    let expected = move |counter: usize, _| {
        let values = input.iter().skip(counter).step_by(addresses).copied();
        match rule {
            Rule::Count { negative } => {
                let count = values.count() as i128;
                Expected::exactly(Value::Int((if negative { -count } else { count }).rem_euclid(RING)))
            }
            Rule::Extreme { larger } => {
                let best = values.map(T::value).reduce(|best, x| if beats(x, best, larger) { x } else { best });
                Expected::exactly(best.unwrap_or_else(|| empty(T::DTYPE, larger)))
            }
            Rule::Sum { negative } => sum(values.map(T::value), negative, T::DTYPE, |sum| T::round(sum).value()),
        }
    };
    Ok(Oracle::elements::<T>(vec![addresses], expected))
}

/// Length of the ring.
const RING: i128 = LAST as i128 + 1;

/// The sum, or its negative; `round` converts a wide number to the type.
fn sum(values: impl Iterator<Item = Value>, negative: bool, dtype: Dtype, round: impl Fn(Value) -> Value) -> Expected {
    let (mut whole, mut float, mut magnitude, mut count, mut exact) = (0_i128, 0.0, 0.0_f64, 0_u64, true);
    for value in values {
        count += 1;
        match value {
            Value::Int(x) => whole += x,
            Value::Float(x) => {
                float += x;
                magnitude += x.abs();
                exact &= x.fract() == 0.0;
            }
        }
    }
    if !dtype.is_float() {
        return Expected::exactly(round(Value::Int(if negative { -whole } else { whole })));
    }
    let epsilon = epsilon(dtype);
    let value = round(Value::Float(if negative { -float } else { float }));
    // Sums of whole numbers whose magnitudes fit are exact, but a 0 may have either sign.
    exact &= magnitude <= 2.0 / epsilon;
    let tolerance = if exact { 0.0 } else { count as f64 * epsilon * magnitude };
    Expected { value, tolerance: tolerance.max(f64::from_bits(1)), may_overflow: false }
}

/// Judges an exchange: for each counter, the returned values and its final value are a permutation of the elements and
/// its initial value.
fn exchanged<T: Element>(input: &[T], addresses: usize, empty: T, result: &Tensor) -> Verdict {
    let all = T::view(result.data()).filter(|all| all.len() == addresses + input.len());
    let Some((last, handed)) = all.map(|all| all.split_at(addresses)) else {
        return Verdict { verified: false, error: f64::NAN };
    };
    // Any order serves for the comparison if both sides use it.
    let sorted = |values: &[T], counter: usize, one_more: T| {
        let values = values.iter().skip(counter).step_by(addresses).copied().chain([one_more]);
        let mut values: Vec<Vec<u8>> = values.map(|x| bytemuck::bytes_of(&x).to_vec()).collect();
        values.sort_unstable();
        values
    };
    let wrong = (0..addresses).filter(|&c| sorted(handed, c, last[c]) != sorted(input, c, empty)).count();
    Verdict { verified: wrong == 0, error: wrong as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Scalar;

    #[test]
    fn an_exchange_loses_nothing() {
        const EMPTY: u32 = u32::MAX;
        let judge = |result: Vec<u32>| exchanged(&[5, 6, 7], 2, EMPTY, &Array::U32(result).into()).verified;
        // Counter 0 has elements 0 and 2 (5 and 7), counter 1 has element 1.
        assert!(judge(vec![7, 6, EMPTY, EMPTY, 5]));
        assert!(judge(vec![5, 6, 7, EMPTY, EMPTY]));
        assert!(!judge(vec![7, 6, EMPTY, EMPTY, EMPTY]), "5 is lost");
        assert!(!judge(vec![7, 6, 5, EMPTY, 5]), "5 twice");
        assert!(!judge(vec![6, 7, EMPTY, EMPTY, 5]), "the wrong counter");
        assert!(!judge(vec![7, 6, EMPTY, EMPTY]), "too short");
    }

    #[test]
    fn whole_floats_are_exact_and_others_nearly() {
        let sum = |values: &[f32], negative| {
            sum(values.iter().map(|x| x.value()), negative, Dtype::F32, |sum| <f32 as Element>::round(sum).value())
        };
        let judge = |values: &[f32], negative, result: f32| sum(values, negative).judge(result.value()).verified;
        assert!(judge(&[3.0, -5.0, 7.0], false, 5.0) && judge(&[3.0, -5.0, 7.0], true, -5.0));
        assert!(!judge(&[3.0, -5.0, 7.0], false, 5.000_001));
        assert!(judge(&[3.0, -3.0], false, -0.0));
        assert!(judge(&[0.1; 3], false, 0.300_000_03) && !judge(&[0.1; 3], false, 0.301));
        // 2^24 + 1 is no f32.
        assert!(judge(&[16_777_216.0, 1.0], false, 16_777_216.0) && !judge(&[16_777_216.0, 1.0], false, 16_777_000.0));
    }

    #[test]
    fn a_ring_of_floats_is_refused() {
        let inputs = [Tensor::from(Array::F32(vec![1.0]))];
        let settings = super::super::Settings::new(FAMILY.settings, []).expect("defaults");
        let problem = |op| Problem { inputs: &inputs, dtype: Dtype::F32, op, settings: &settings };
        let oracle = |op| FAMILY.resolve(&problem(op)).and_then(|ladder| ladder.oracle(problem(op)));
        let refused = oracle("inc").err().expect("a refusal").to_string();
        assert!(refused.contains("u32 only") && refused.contains("f32"), "{refused}");
        assert!(oracle("add").is_ok());
    }
}
