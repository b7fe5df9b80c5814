//! The simulator's explanation of every variant of a family.

use crate::results::Row;
use anyhow::{Context, Result, bail};
use ladders::explain::Page;
use ladders::kernels::{Demand, Family, Job, Problem, Settings};
use rustwarp::backend::{self, Printed, Simulation};
use rustwarp::ptx;

/// Profile of the device that the explanations are for.
const PROFILE: &str = "H200";

/// Runs and explains every variant of the family that solves the problem, with the operation, type and settings that
/// were measured, at the largest size that the simulator runs in seconds.
///
/// # Errors
/// Fails if a variant cannot be run, or its result is wrong.
pub fn explain(family: &'static Family, measured: &[&Row]) -> Result<Page> {
    let (backend, device) = backend::explaining(PROFILE, Printed::Stderr)?;
    // With several workers the order of blocks that wait for each other, and with it the pages, would differ between
    // runs.
    backend.simulate(&Simulation { workers: Some(1), ..Simulation::default() })?;
    let main = measured.first();
    let settings = Settings::new(family.settings, main.map_or(Vec::new(), |row| pairs(&row.settings)))?;
    let dtype = main.map_or(Ok(family.dtypes[0]), |row| row.dtype.parse())?;
    let op = family.op(main.map(|row| row.op.as_str()).filter(|op| !op.is_empty()))?;
    let size = size(family, measured)?;
    let demand = Demand { size: &size, dtype, seed: 42, settings: &settings };
    let inputs = (family.generate)(&demand)?;
    let problem = Problem { inputs: &inputs, dtype, op, settings: &settings };
    let ladder = family.resolve(&problem)?;
    let oracle = ladder.oracle(problem)?;
    let variants = family.rungs();
    let job = Job {
        device: &*backend,
        module: backend.load(&ptx::find_family("kernels-gpu", family.name, None, None)?.bytes, family.name)?,
        problem,
        oracle: &oracle,
        variants: &variants,
        block: None,
        grid: None,
        plan: None,
    };
    let solving = variants.iter().filter(|variant| ladder.refusal(**variant, problem).is_none()).count();
    let mut rows = Vec::new();
    ladder.run(&job, &mut |row| rows.push(row)).with_context(|| format!("{} on the simulator", family.name))?;
    if let Some(wrong) = rows.iter().find(|row| !row.is_clean()) {
        bail!("{} {} has a wrong result or findings: run `host check {}`", family.name, wrong.variant, family.name);
    }
    if rows.len() != solving {
        bail!("{}: {} of {solving} variants were explained: a variant returned no row", family.name, rows.len());
    }
    Ok(Page::of_rows(family, device, rows))
}

/// The largest measured size that is not too large to simulate; without measurements, the largest size allowed.
fn size(family: &Family, measured: &[&Row]) -> Result<Vec<u64>> {
    let largest = family.limits.explained;
    let small = measured.iter().filter(|row| row.n <= largest).max_by_key(|row| row.n);
    match small {
        Some(row) if row.shape.is_empty() => Ok(vec![row.n]),
        Some(row) => row.shape.split('x').map(|axis| Ok(axis.parse()?)).collect(),
        None if family.of_vectors => Ok(vec![largest]),
        None => Ok(vec![largest.isqrt()]),
    }
}

/// Splits settings such as `--dims 1 --exclusive` into names and values.
fn pairs(settings: &str) -> Vec<(&str, &str)> {
    let words = settings.split("--").map(str::trim).filter(|words| !words.is_empty());
    words.map(|words| words.split_once(' ').unwrap_or((words, ""))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_as_they_are_typed() {
        assert_eq!(pairs("--dims 1 --exclusive --range -1:2"), [("dims", "1"), ("exclusive", ""), ("range", "-1:2")]);
        assert_eq!(pairs(""), []);
    }
}
