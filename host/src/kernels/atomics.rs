//! Atomics: eight operations on counters that threads share.

use super::problem::bench_lengths;
use super::settings::{Kind, Setting};
use super::{BlockRule, Case, Demand, Entry, Family, Job, Operand, Oracle, Problem, Row, Trial, VariantInfo, Work};
use crate::backend::{Buffer, Shape, require_memory};
use crate::compare::{Expected, Verdict};
use crate::element::{Array, Dtype, Scalar, Value};
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::atomics::*;

/// The family.
pub const FAMILY: Family = Family {
    name: "atomics",
    idea: "element i goes to counter i % addresses by one of eight operations, and none is lost",
    operands: &[Operand::of_elements("values")],
    ops: &["add", "sub", "inc", "dec", "min", "max", "exch", "cas"],
    dtypes: &[Dtype::U32],
    settings: &[Setting {
        name: "addresses",
        help: "counters: 1 is the most contention",
        generated: false,
        kind: Kind::Number { default: 1, min: 1, max: MAX_ADDRESSES as u64 },
    }],
    variants,
    cases,
    sizes,
    generate,
    oracle,
    run,
    specials: false,
    peer: None,
};

type Kernel = for<'a> fn(Slice<'a, u32>, u32, PtrMut<'a, u32>) -> Call<'a>;

/// A row of the table.
struct Variant {
    name: &'static str,
    idea: &'static str,
    block: BlockRule,
    kernel: Kernel,
}

/// The table, slowest first.
fn table<O: Op>() -> Vec<Variant> {
    vec![
        Variant {
            name: "global",
            idea: "an atomic on device memory per element: all threads of the grid meet",
            block: BlockRule::Any { default: BLOCK },
            kernel: global::atomics_global::<O>,
        },
        Variant {
            name: "warp_aggregated",
            idea: "lanes with one counter combine by shuffles, and one of them acts for all",
            block: BlockRule::WholeWarps { default: BLOCK },
            kernel: warp_aggregated::atomics_warp_aggregated::<O>,
        },
        Variant {
            name: "shared",
            idea: "counters of each block's own in shared memory, joined with the grid's once",
            block: BlockRule::Any { default: BLOCK },
            kernel: shared::atomics_shared::<O>,
        },
    ]
}

/// Runs code that is generic over the operation.
macro_rules! with_op {
    ($op:expr, $o:ident => $body:expr) => {
        with_op!($op, $o => $body, "add" Add, "sub" Sub, "inc" Inc, "dec" Dec, "min" Min, "max" Max, "exch" Exch, "cas" Cas)
    };
    ($op:expr, $o:ident => $body:expr, $($name:literal $type:ident),*) => {
        match $op {
            $($name => {
                type $o = $type;
                Ok($body)
            })*
            other => Err(Error::Usage(format!("atomics has no operation '{other}'"))),
        }
    };
}

fn variants() -> Vec<VariantInfo> {
    let info = |(row, variant): (usize, Variant)| {
        let entry = |op: &&str| {
            let kernel = with_op!(*op, O => table::<O>()[row].kernel).ok()?;
            // SAFETY: nothing is launched; only the name and the parameters are of interest.
            let (none, out) = unsafe { (Slice::new(0, 0), PtrMut::new(0)) };
            Some(Entry::from(kernel(none, 0, out)))
        };
        let entries = FAMILY.ops.iter().filter_map(entry).collect();
        VariantInfo { name: variant.name, idea: variant.idea, block: variant.block, entries }
    };
    table::<Add>().into_iter().enumerate().map(info).collect()
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

/// Any values but the one that stands for an untouched counter, which `exch` can't take.
fn generate(demand: &Demand<'_>) -> Result<Vec<Tensor>> {
    let made = demand.vectors(1)?;
    let without = |tensor: Tensor| match tensor.into_data() {
        Array::U32(mut values) => {
            values.iter_mut().filter(|value| **value == EMPTY).for_each(|value| *value -= 1);
            Array::U32(values).into()
        }
        other => other.into(),
    };
    Ok(made.into_iter().map(without).collect())
}

fn oracle(problem: Problem<'_>) -> Result<Oracle<'_>> {
    let input = problem.view::<u32>(0)?;
    let addresses = problem.settings.number("addresses") as usize;
    if problem.op == "exch" {
        if input.contains(&EMPTY) {
            let text = format!("exch takes no value of {EMPTY}: it stands for a counter that nothing was written to");
            return Err(Error::Usage(text));
        }
        return Ok(Oracle::new(move |result, _| exchanged(input, addresses, result)));
    }
    let op = problem.op.to_owned();
    let expected = move |counter: usize, _| {
        let mut values = input.iter().skip(counter).step_by(addresses).map(|&x| i128::from(x));
        let ring = i128::from(LAST) + 1;
        let value = match op.as_str() {
            "sub" => (-values.sum::<i128>()).rem_euclid(1 << 32),
            "inc" => values.count() as i128 % ring,
            "dec" => (-(values.count() as i128)).rem_euclid(ring),
            "min" => values.min().unwrap_or(u32::MAX.into()),
            "max" => values.max().unwrap_or(0),
            // And by compare-and-swap.
            _ => values.by_ref().sum::<i128>() % (1 << 32),
        };
        Expected::exactly(Value::Int(value))
    };
    Ok(Oracle::elements::<u32>(vec![addresses], expected))
}

/// Values only change hands: what the elements of a counter got back and what it holds in the end, is what they brought and what it
/// held in the beginning.
fn exchanged(input: &[u32], addresses: usize, result: &Tensor) -> Verdict {
    let all = u32::view(result.data()).filter(|all| all.len() == addresses + input.len());
    let Some((last, handed)) = all.map(|all| all.split_at(addresses)) else {
        return Verdict { verified: false, error: f64::NAN };
    };
    let sorted = |values: &[u32], counter: usize, one_more: u32| {
        let mut values: Vec<_> = values.iter().skip(counter).step_by(addresses).copied().chain([one_more]).collect();
        values.sort_unstable();
        values
    };
    let wrong = (0..addresses).filter(|&c| sorted(handed, c, last[c]) != sorted(input, c, EMPTY)).count();
    Verdict { verified: wrong == 0, error: wrong as f64 }
}

fn run(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    with_op!(job.problem.op, O => typed::<O>(job, emit)?)
}

fn typed<O: Op>(job: &Job<'_>, emit: &mut dyn FnMut(Row)) -> Result<Tensor> {
    let input = job.problem.view::<u32>(0)?;
    let n = input.len();
    let addresses = job.problem.settings.number("addresses");
    let len = addresses as usize + if O::RETURNS { n } else { 0 };
    let bytes = size_of_val(input) as u64 + 4 * len as u64;
    require_memory(job.device, Some(bytes), "atomics with its counters", "use a smaller --n or input")?;
    let device_input = Buffer::from_slice(job.device, input, "input")?;
    let mut result = Tensor::from(Array::U32(Vec::new()));
    for name in job.variants {
        let Some(variant) = table::<O>().into_iter().find(|variant| variant.name == *name) else {
            return Err(Error::Usage(format!("atomics has no variant '{name}'")));
        };
        let info = job.device.info();
        let block = variant.block.choose(job.block, name, info.max_block)?;
        let fill = u64::from(info.multiprocessors) * u64::from((BLOCKS_PER_SM * BLOCK / block).max(1));
        let grid = job.grid.unwrap_or_else(|| (n as u64).div_ceil(block.into()).min(fill) as u32);
        let output = Buffer::<u32>::uninit(job.device, len, "output")?;
        let call = (variant.kernel)(device_input.slice(n), addresses as u32, output.ptr());
        let trial = Trial {
            family: FAMILY.name,
            variant: name,
            shape: (block, grid),
            output: &output,
            result: vec![len],
            depth: 0,
            work: Work::bytes(bytes),
        };
        let row;
        (result, row) = job.measure(&trial, &mut || {
            // Every start has four equal bytes: 0 or all ones.
            job.device.fill(output.address(), O::START.to_le_bytes()[0], 4 * addresses)?;
            match (grid, n) {
                (0, _) | (_, 0) => Ok(()),
                // SAFETY: the call is the kernel's own launcher's; the counters are at their start, with a place behind them for
                // what each element gets back, and the block is one that the variant allows.
                _ => unsafe { job.device.launch(job.module, &call, Shape::linear(grid, block)) },
            }
        })?;
        emit(row);
    }
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_start_has_equal_bytes() {
        for op in FAMILY.ops {
            let start = with_op!(*op, O => O::START).expect("an operation");
            assert!([0, u32::MAX].contains(&start), "{op}");
        }
    }

    #[test]
    fn an_exchange_loses_nothing() {
        let judge = |result: Vec<u32>| exchanged(&[5, 6, 7], 2, &Array::U32(result).into()).verified;
        // Counter 0 has elements 0 and 2 (5 and 7), counter 1 has element 1.
        assert!(judge(vec![7, 6, EMPTY, EMPTY, 5]));
        assert!(judge(vec![5, 6, 7, EMPTY, EMPTY]));
        assert!(!judge(vec![7, 6, EMPTY, EMPTY, EMPTY]), "5 is lost");
        assert!(!judge(vec![7, 6, 5, EMPTY, 5]), "5 twice");
        assert!(!judge(vec![6, 7, EMPTY, EMPTY, 5]), "the wrong counter");
        assert!(!judge(vec![7, 6, EMPTY, EMPTY]), "too short");
    }
}
