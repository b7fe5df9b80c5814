//! All ways to add floats, on the simulator: how far their sums are from the exact ones, and how far they may be.

use super::inputs::Input;
use anyhow::{Result, bail, ensure};
use ladders::kernels::reduce::bound::{Bound, Terms};
use ladders::kernels::{Family, Job, Problem, RungId, Settings, exact_sum, family, reduce};
use rustwarp::backend::{self, Backend, Checks, Choice, Module, Printed, Simulation};
use rustwarp::element::{Dtype, Value};
use rustwarp::{Tensor, ptx};

/// A sum beside its bound.
#[derive(Clone, Copy)]
pub struct Outcome {
    /// Distance from the exact sum.
    pub error: f64,
    /// Largest distance that the bound allows.
    pub bound: f64,
    /// Relative to the exact sum: the factor for both.
    pub relative: f64,
    /// Largest number of additions in a chain from an element to the result.
    pub depth: u64,
}

/// A way to add, with its sums.
pub struct Way {
    /// Its name.
    pub name: String,
    /// Its error bound.
    pub bound: Bound,
    /// The sums of each group of inputs; none of inputs that the rung does not accept.
    pub outcomes: Vec<Vec<Outcome>>,
}

/// The rungs that add floats.
pub struct Sums {
    dtype: Dtype,
    backend: Box<dyn Backend>,
    /// A family, its operation, and its kernels.
    families: Vec<(&'static Family, &'static str, Module)>,
}

impl Sums {
    /// Those of a type.
    ///
    /// # Errors
    /// Fails if there are no kernels.
    pub fn new(dtype: Dtype) -> Result<Self> {
        let (backend, _) = backend::open_printing(Choice::Sim, Checks::Bounds, Printed::Stderr)?;
        // With several workers the order of atomic additions would differ between runs.
        backend.simulate(&Simulation { workers: Some(1), ..Simulation::default() })?;
        let mut families = Vec::new();
        for (name, op) in [(reduce::FAMILY.name, "sum"), (exact_sum::FAMILY.name, "")] {
            let Some(family) = family(name) else { bail!("there is no family `{name}`") };
            let module = backend.load(&ptx::find_family("kernels-gpu", name, None, None)?.bytes, name)?;
            families.push((family, op, module));
        }
        Ok(Self { dtype, backend, families })
    }

    /// Adds groups of inputs in every way.
    ///
    /// # Errors
    /// Fails if a rung cannot be run, its sum is farther from the exact one than its bound, or it has findings.
    pub fn ways(&self, groups: &[&[Input]]) -> Result<Vec<Way>> {
        let one_by_one = |input: &Input| Ok(Some((input.one_by_one(), input.len() as u64 - 1)));
        let mut ways = vec![way(self.dtype, "one by one, on the CPU".to_owned(), Bound::Plain, groups, one_by_one)?];
        for &(family, op, module) in &self.families {
            for rung in family.rungs() {
                let of_reduce = !op.is_empty();
                let name = if of_reduce { rung.name.to_owned() } else { format!("{}: {}", family.name, rung.name) };
                let bound = if of_reduce { reduce::bound(rung, self.dtype) } else { Bound::Rounded };
                let sum = |input: &Input| self.sum(family, op, module, rung, input);
                ways.push(way(self.dtype, name, bound, groups, sum)?);
            }
        }
        Ok(ways)
    }

    /// The sum that a rung computes, and its longest chain; `None` if the rung does not accept an input of this length.
    fn sum(
        &self,
        family: &Family,
        op: &str,
        module: Module,
        rung: RungId,
        input: &Input,
    ) -> Result<Option<(f64, u64)>> {
        let (inputs, settings) = ([Tensor::from(input.array())], Settings::default());
        let problem = Problem { inputs: &inputs, dtype: self.dtype, op, settings: &settings };
        let ladder = family.resolve(&problem)?;
        if ladder.refusal(rung, problem).is_some() {
            return Ok(None);
        }
        let oracle = ladder.oracle(problem)?;
        let (device, variants) = (&*self.backend, &[rung]);
        let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
        let mut depth = None;
        let result = ladder.run(&job, &mut |row| depth = row.is_clean().then_some(row.depth))?;
        let Some(depth) = depth else { bail!("{} {} has a wrong sum, or findings", family.name, rung.name) };
        let Some(Value::Float(sum)) = result.single() else { bail!("{} {} gives no float", family.name, rung.name) };
        Ok(Some((sum, depth)))
    }
}

/// Adds groups of inputs in one way, which gives a sum and the number of additions in its longest chain.
///
/// # Errors
/// Fails if a sum is farther from the exact one than its bound.
fn way(
    dtype: Dtype,
    name: String,
    bound: Bound,
    groups: &[&[Input]],
    sum: impl Fn(&Input) -> Result<Option<(f64, u64)>>,
) -> Result<Way> {
    let mut outcomes = Vec::new();
    for group in groups {
        let mut of_group = Vec::new();
        for input in *group {
            let Some((sum, depth)) = sum(input)? else { continue };
            let terms = Terms { dtype, depth, sum: input.sum, magnitude: input.magnitude };
            let (error, bound, n) = (input.error(sum), bound.error(terms), input.len());
            ensure!(error <= bound, "{name} of {n} {dtype} is off by {error:e}, more than {bound:e}");
            of_group.push(Outcome { error, bound, relative: 1.0 / input.sum.abs(), depth });
        }
        outcomes.push(of_group);
    }
    Ok(Way { name, bound, outcomes })
}

#[cfg(test)]
mod tests {
    use super::super::inputs::Precision;
    use super::*;

    #[test]
    fn a_sum_beyond_its_bound_is_an_error() {
        let input = [Precision { dtype: Dtype::F32, digits: 24, ranges: [0; 8] }.positive(1000, 1)];
        let of = |factor: f64| {
            let sum = |input: &Input| Ok(Some((input.sum * (1.0 + factor), 10)));
            way(Dtype::F32, "a sum".to_owned(), Bound::Plain, &[&input], sum)
        };
        let u = f64::powi(2.0, -24);
        let outcomes = of(9.9 * u).expect("within its bound").outcomes;
        assert!((outcomes[0][0].error / outcomes[0][0].bound - 0.99).abs() < 1e-3);
        for wrong in [10.1 * u, -10.1 * u, -1.0, f64::MAX, f64::NAN] {
            let error = of(wrong).err().expect("beyond its bound").to_string();
            assert!(error.contains("a sum of 1000 f32 is off by"), "{error}");
        }
    }
}
