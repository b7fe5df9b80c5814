//! The families that a group solves: how operands are divided, the call of the library, and the error bound.

use super::{Shared, in_parts, on_host};
use crate::error::{Error, Result};
use crate::kernels::histogram::Question;
use crate::kernels::spelling::OP;
use crate::kernels::{Problem, Work, dot, exact_sum, histogram, matmul, reduce, scan, segreduce};
use rustwarp::element::{Dtype, Element, Scalar};
use rustwarp::histogram::{Cut, Key};
use rustwarp::reduce::Sum;
use rustwarp::scan::Kind;
use rustwarp::tensor::{Tensor, text};
use rustwarp::{Device, Group, Sharded, Tuning, with_dtype};

/// A family that a group solves.
pub struct Solver {
    /// The family's name.
    pub family: &'static str,
    /// Copies each rank's part of the operands to its device.
    pub(super) share: for<'g> fn(&'g Group, Problem<'_>) -> Result<Shared<'g>>,
}

/// The families that a group solves.
pub const FAMILIES: &[Solver] = &[
    Solver { family: reduce::FAMILY.name, share: of_reduce },
    Solver { family: exact_sum::FAMILY.name, share: of_exact_sum },
    Solver { family: dot::FAMILY.name, share: of_dot },
    Solver { family: histogram::FAMILY.name, share: of_histogram },
    Solver { family: scan::FAMILY.name, share: of_scan },
    Solver { family: segreduce::FAMILY.name, share: of_segreduce },
    Solver { family: matmul::FAMILY.name, share: of_matmul },
];

fn of_reduce<'g>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
    with_dtype!(problem.dtype, T => {
        let sum: fn(&Group, &Sharded<T>) -> rustwarp::Result<T> = match problem.op {
            "sum" => Group::sum,
            "max" => Group::max,
            "min" => Group::min,
            other => return Err(no_op("reduce", other)),
        };
        let x = group.shard(problem.view::<T>(0)?)?;
        let (work, depth) = (bytes_of(problem.inputs), sum_depth(group, &x)?);
        Ok(Shared { solve: Box::new(move || Ok(on_host(one(sum(group, &x)?)))), work, depth })
    }, else => Err(no_kernel("reduce", problem.dtype)))
}

fn of_exact_sum<'g>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
    fn share<'g, T: Element + rustwarp::exact_sum::Real>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
        let x = group.shard(problem.view::<T>(0)?)?;
        let solve = Box::new(move || Ok(on_host(one(group.exact_sum(&x)?))));
        Ok(Shared { solve, work: bytes_of(problem.inputs), depth: 0 })
    }
    match problem.dtype {
        Dtype::F32 => share::<f32>(group, problem),
        Dtype::F64 => share::<f64>(group, problem),
        other => Err(no_kernel("exact_sum", other)),
    }
}

fn of_dot<'g>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
    fn share<'g, T: Element + rustwarp::dot::Real>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
        let (a, b) = (group.shard(problem.view::<T>(0)?)?, group.shard(problem.view::<T>(1)?)?);
        let depth = match longest(group, &a) {
            0 => 0,
            len => rustwarp::dot::Plan::<T>::new(first(group)?, len, Tuning::default())?.depth(),
        };
        let solve = Box::new(move || Ok(on_host(one(group.dot(&a, &b)?))));
        Ok(Shared { solve, work: bytes_of(problem.inputs), depth: depth + group.size() as u64 })
    }
    match problem.dtype {
        Dtype::F32 => share::<f32>(group, problem),
        Dtype::F64 => share::<f64>(group, problem),
        other => Err(no_kernel("dot", other)),
    }
}

fn of_histogram<'g>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
    fn of_keys<'g, T: Key>(group: &'g Group, problem: Problem<'_>, bins: u32) -> Result<Counting<'g>> {
        let x = group.shard(problem.view::<T>(0)?)?;
        Ok(Box::new(move || group.histogram(&x, bins)))
    }
    fn of_floats<'g, T: Cut>(group: &'g Group, problem: Problem<'_>, bins: u32, ends: [T; 2]) -> Result<Counting<'g>> {
        let x = group.shard(problem.view::<T>(0)?)?;
        Ok(Box::new(move || group.histogram_of_range(&x, bins, ends[0]..ends[1])))
    }
    type Counting<'g> = Box<dyn Fn() -> rustwarp::Result<Vec<u64>> + 'g>;

    let question = Question::of(&problem)?;
    question.require_one_channel("on several devices")?;
    let Question { bins, letters, range: [low, high, _], .. } = question;
    let count: Counting<'g> = match problem.dtype {
        Dtype::U8 if letters => {
            let x = group.shard(problem.view::<u8>(0)?)?;
            Box::new(move || group.histogram_of_letters(&x))
        }
        Dtype::U8 => of_keys::<u8>(group, problem, bins)?,
        Dtype::U32 => of_keys::<u32>(group, problem, bins)?,
        Dtype::F32 => of_floats(group, problem, bins, [low as f32, high as f32])?,
        Dtype::F64 => of_floats(group, problem, bins, [low, high])?,
        other => return Err(no_kernel("histogram", other)),
    };
    let counts = u64::from(bins) * size_of::<u64>() as u64;
    let work = Work::bytes(bytes_of(problem.inputs).bytes + counts);
    Ok(Shared { solve: Box::new(move || Ok(on_host(u64::wrap(count()?).into()))), work, depth: 0 })
}

fn of_scan<'g>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
    let kind = if problem.settings.flag(&scan::EXCLUSIVE) { Kind::Exclusive } else { Kind::Inclusive };
    with_dtype!(problem.dtype, T => {
        let scan: fn(&Group, &Sharded<T>, Kind) -> rustwarp::Result<Sharded<T>> = match problem.op {
            "sum" => |group, x, kind| match kind {
                Kind::Inclusive => group.inclusive_scan(x),
                Kind::Exclusive => group.exclusive_scan(x),
            },
            "max" => Group::scan_maxima,
            "min" => Group::scan_minima,
            other => return Err(no_op("scan", other)),
        };
        let input = &problem.inputs[0];
        if input.shape().len() != 1 {
            let shape = text(input.shape());
            return Err(Error::Usage(format!("scan takes a vector, not an array of {shape} elements: reshape it")));
        }
        let x = group.shard(problem.view::<T>(0)?)?;
        let (n, work) = (x.len(), Work::bytes(2 * bytes_of(problem.inputs).bytes));
        // Elements of 16 bytes stand in front of a part.
        let len = longest(group, &x) + 16 / size_of::<T>();
        let own = rustwarp::scan::Plan::<Sum, T>::new(first(group)?, len, kind)?.depth();
        let depth = own + sum_depth(group, &x)?;
        Ok(Shared { solve: Box::new(move || Ok(in_parts(group, scan(group, &x, kind)?, vec![n]))), work, depth })
    }, else => Err(no_kernel("scan", problem.dtype)))
}

/// A function that reduces segments.
type Segmented<T> = fn(&Group, &Sharded<T>, &[u64]) -> rustwarp::Result<Sharded<T>>;

fn of_segreduce<'g>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
    let offsets = problem.view::<u64>(1)?.to_vec();
    rustwarp::segreduce::require_offsets(&offsets, problem.inputs[0].len() as u64)?;
    with_dtype!(problem.dtype, T => {
        let sum: Segmented<T> = match problem.op {
            "sum" => Group::segmented_sum,
            "max" => Group::segmented_max,
            "min" => Group::segmented_min,
            other => return Err(no_op("segreduce", other)),
        };
        let x = group.shard(problem.view::<T>(0)?)?;
        let (segments, inside) = (offsets.len() - 1, offsets[offsets.len() - 1] - offsets[0]);
        let bytes = (inside + segments as u64) * size_of::<T>() as u64 + bytes_of(&problem.inputs[1..]).bytes;
        // A rank has fewer elements than all, and either kernel; the second number is that of a warp per segment.
        let plan = rustwarp::segreduce::Plan::<Sum, T>::new(first(group)?, x.len(), &offsets, Tuning::default())?;
        let longest = offsets.windows(2).map(|ends| ends[1] - ends[0]).max().unwrap_or(0);
        let depth = plan.depth().max(longest.div_ceil(32) + 5) + group.size() as u64;
        let solve = Box::new(move || Ok(in_parts(group, sum(group, &x, &offsets)?, vec![segments])));
        Ok(Shared { solve, work: Work::bytes(bytes), depth })
    }, else => Err(no_kernel("segreduce", problem.dtype)))
}

fn of_matmul<'g>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
    fn share<'g, T: rustwarp::matmul::Real>(group: &'g Group, problem: Problem<'_>) -> Result<Shared<'g>> {
        let rustwarp::matmul::Sizes { m, n, k, .. } = matmul::sizes_of(&problem)?;
        let a = group.shard_rows(problem.view::<T>(0)?, k)?;
        let b = group.shard_rows(problem.view::<T>(1)?, n)?;
        let too_large = || Error::Usage(format!("a product of {m}x{n} elements is too large for 64 bits"));
        let product = m.checked_mul(n).and_then(|len| len.checked_mul(size_of::<T>())).ok_or_else(too_large)?;
        let flops = [m, n, k].iter().try_fold(2_u64, |product, &side| product.checked_mul(side as u64));
        let bytes = bytes_of(problem.inputs).bytes + product as u64;
        let solve = Box::new(move || Ok(in_parts(group, group.matmul(&a, &b, [m, n, k])?, vec![m, n])));
        Ok(Shared { solve, work: Work { bytes, flops: flops.ok_or_else(too_large)? }, depth: k as u64 })
    }
    let settings = problem.settings;
    for (setting, given) in [
        (matmul::TRANSPOSE_A.to_string(), settings.flag(&matmul::TRANSPOSE_A)),
        (matmul::TRANSPOSE_B.to_string(), settings.flag(&matmul::TRANSPOSE_B)),
        (matmul::TILE.to_string(), settings.choice(&matmul::TILE) != "auto"),
    ] {
        if given {
            return Err(Error::Usage(format!("a product on a group of devices has no {setting}: leave it out")));
        }
    }
    match problem.dtype {
        Dtype::F32 => share::<f32>(group, problem),
        Dtype::F64 => share::<f64>(group, problem),
        other => Err(no_kernel("matmul", other)),
    }
}

/// A single value.
fn one<T: Scalar>(value: T) -> Tensor {
    T::wrap(vec![value]).into()
}

/// The work of reading these operands.
fn bytes_of(operands: &[Tensor]) -> Work {
    Work::bytes(operands.iter().map(|operand| (operand.len() * operand.dtype().size()) as u64).sum())
}

/// Largest number of additions in a chain from an element to the sum of all ranks.
fn sum_depth<T: Element>(group: &Group, values: &Sharded<T>) -> Result<u64> {
    let own = match longest(group, values) {
        0 => 0,
        len => rustwarp::reduce::Plan::<Sum, T>::new(first(group)?, len, Tuning::default())?.depth(),
    };
    Ok(own + group.size() as u64)
}

/// Number of elements of the longest part.
fn longest<T: bytemuck::Pod>(group: &Group, values: &Sharded<T>) -> usize {
    (0..group.size()).map(|rank| values.range(rank).len()).max().unwrap_or(0)
}

/// The first device of this process.
fn first(group: &Group) -> Result<&Device> {
    group.devices().next().ok_or_else(|| Error::Usage("a group has at least one device".to_owned()))
}

fn no_op(family: &str, op: &str) -> Error {
    Error::Usage(format!("{family} has no {OP} {op} on a group of devices; there are: sum max min"))
}

/// The error of a family without a kernel for a type on several devices.
pub(super) fn no_kernel(family: &str, dtype: Dtype) -> Error {
    Error::Usage(format!(
        "{family} has no kernel for {dtype} on a group of devices: use one, or convert the data to f32"
    ))
}
