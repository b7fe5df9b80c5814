//! Families on a group of devices, each of which has a part of the operands: their problems, and how times scale.
//!
//! [`run`] solves, verifies and times one problem of a family of [`FAMILIES`]. [`scaling`] measures some of them on 1,
//! 2, … GPUs, and [`model`] predicts their times on more.

mod collectives;
pub mod model;
pub mod sample;
pub mod scaling;

mod solvers;
mod transfers;
mod wall;

pub use solvers::{FAMILIES, Solver};

use crate::bench::copy_bandwidth;
use crate::error::{Error, Result};
use crate::kernels::{BEST, Family, Problem, Row, Work, reduce};
use rustwarp::Group;
use rustwarp::backend::Handle;
use rustwarp::element::{Dtype, Scalar};
use rustwarp::tensor::Tensor;
use rustwarp::{Device, Sharded};

/// A problem whose operands are on the devices of a group.
struct Shared<'g> {
    /// Solves it once.
    solve: Box<dyn Fn() -> rustwarp::Result<Answer<'g>> + 'g>,
    /// The minimum work of all devices.
    work: Work,
    /// Largest number of additions in a chain from an element to the result.
    depth: u64,
}

/// The result, which the function copies to the host of rank 0; other processes get `None`.
type Answer<'g> = Box<dyn FnOnce() -> Result<Option<Tensor>> + 'g>;

/// An answer that every rank has on its host.
fn on_host<'g>(tensor: Tensor) -> Answer<'g> {
    Box::new(move || Ok(Some(tensor)))
}

/// An answer of which each rank has a part.
fn in_parts<'g, T: Scalar>(group: &'g Group, values: Sharded<T>, shape: Vec<usize>) -> Answer<'g> {
    Box::new(move || {
        let all = group.gather_to(&values, 0)?;
        Ok(all.map(|all| Tensor::new(&shape, T::wrap(all))).transpose()?)
    })
}

/// Whether a group solves problems of this family.
pub fn solves(family: &Family) -> bool {
    solver(family).is_ok()
}

/// How a group solves problems of this family.
///
/// # Errors
/// [`Error::Usage`] with the families that it solves.
pub fn solver(family: &Family) -> Result<&'static Solver> {
    FAMILIES.iter().find(|solver| solver.family == family.name).ok_or_else(|| {
        let names: Vec<_> = FAMILIES.iter().map(|solver| solver.family).collect();
        Error::Usage(format!("{} runs on one device; groups of devices solve {}", family.name, names.join(" ")))
    })
}

/// Checks that a group solves problems of this family with elements of a type.
///
/// # Errors
/// [`Error::Usage`] with the types, or with what to do about one that single devices have kernels for.
pub fn require_kernel(family: &Family, dtype: Dtype) -> Result<()> {
    family.require_kernel(dtype)?;
    let is_missing = family.name == reduce::FAMILY.name && !reduce::IN_PARTS.contains(&dtype);
    if is_missing { Err(solvers::no_kernel(family.name, dtype)) } else { Ok(()) }
}

/// Solves a problem on all devices of a group, verifies the result, and times it with `repeat` samples on GPUs. Rank 0
/// gets the row and the result; the processes of other ranks get `None`.
///
/// The time is that between two barriers of all ranks and devices, measured by the host of rank 0: it includes
/// launches, kernels, what the devices exchange, and what the host combines. The operands are on the devices already.
///
/// # Errors
/// [`Error::Usage`] for a problem that the family does not solve on a group, [`rustwarp::Error::Group`] if ranks differ
/// or end, and the errors of the devices.
pub fn run(group: &Group, family: &Family, problem: Problem<'_>, repeat: u32) -> Result<Option<(Row, Tensor)>> {
    let solver = solver(family)?;
    let first = group.ranks().contains(&0);
    // Bad operands are errors before anything runs. The right result is computed once, since all ranks get the same.
    let oracle = match first {
        true => Some(family.resolve(&problem)?.oracle(problem)?),
        false => None,
    };
    let shared = (solver.share)(group, problem)?;
    let result = (shared.solve)()?()?;
    let judged = oracle.zip(result).filter(|_| first).map(|(oracle, result)| {
        let verdict = oracle.judge(&result, shared.depth);
        let [device, name] = [described(group), group.devices().next().map_or("", |one| &one.info().name).to_owned()];
        let mut row = Row::of(family.name, BEST, (problem, &oracle), [&device, &name], verdict);
        row.judged(&oracle, &result, shared.depth);
        row.value = oracle.value.and_then(|_| result.single());
        (row, result)
    });
    let empty = problem.inputs.iter().all(Tensor::is_empty);
    let timing = match group.devices().next() {
        Some(device) if device.info().is_gpu() && !empty => {
            let timing = wall::time(group, repeat, &mut || (shared.solve)().map(drop))?;
            Some((timing, limit_gbps(device)? * group.size() as f64, device))
        }
        _ => None,
    };
    Ok(judged.map(|(mut row, result)| {
        if let Some((timing, limit, device)) = timing {
            let tflops = device.info().peak_tflops(problem.dtype).map(|one| one * group.size() as f64);
            row.set_timing(timing, shared.work, limit, tflops);
        }
        (row, result)
    }))
}

/// Bandwidth of a device's memory: the nominal peak, or that of a copy.
fn limit_gbps(device: &Device) -> Result<f64> {
    match device.info().peak_gbps {
        Some(peak) => Ok(peak),
        None => copy_bandwidth(device.backend()),
    }
}

/// The devices of a group in words: `2 x gpu (NVIDIA H200)`, `4 x sim`.
pub fn described(group: &Group) -> String {
    let size = group.size();
    match group.devices().next() {
        Some(device) if device.info().is_gpu() => format!("{size} x gpu ({})", device.info().name),
        _ => format!("{size} x sim"),
    }
}
