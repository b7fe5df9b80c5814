//! The page about sums of floats: the error of every rung over the number of elements and over the condition number, as
//! the simulator computes them.

use anyhow::{Result, bail, ensure};
use ladders::kernels::{Demand, Family, Job, Problem, Role, RungId, Settings, exact_sum, family};
use ladders::plot::{self, Line, Panel};
use rustwarp::backend::{self, Backend, Module, Printed, Simulation};
use rustwarp::element::{Array, Dtype, Value};
use rustwarp::{Tensor, ptx};

/// Name of the page and of its plots.
pub const NAME: &str = "adding_floats";

/// Numbers of elements: powers of two.
const POWERS: [u32; 6] = [6, 8, 10, 12, 14, 16];

/// About the number of elements whose sums have different condition numbers.
const ELEMENTS: usize = 4096;

/// Exponents of the largest elements of these sums.
const RANGES: [u32; 8] = [0, 8, 16, 24, 36, 48, 60, 72];

/// Inputs over which an error is averaged.
const SEEDS: u64 = 4;

/// What is drawn for an error of 0: less than any other mean.
const NO_ERROR: f64 = 1.0 / (1 << 28) as f64;

/// The page, and its plot as SVG.
///
/// # Errors
/// Fails if a rung cannot be run, or its error exceeds its bound.
pub fn page() -> Result<(String, String)> {
    let sums = Sums::new()?;
    let by_length =
        sums.lines(POWERS.map(|power| move |seed| uniform(1 << power, seed)), |values| values.len() as f64)?;
    let by_condition = sums.lines(RANGES.map(|range| move |seed| cancelling(range, seed)), condition)?;
    let panels = [
        Panel::Lines {
            title: "sums of f32 between 0 and 1".to_owned(),
            axis: "elements",
            unit: "relative error",
            lines: by_length,
        },
        Panel::Lines {
            title: format!("sums of about {ELEMENTS} f32 that cancel"),
            axis: "condition number: sum of |x| over |sum of x|",
            unit: "relative error",
            lines: by_condition,
        },
    ];
    Ok((TEXT.to_owned(), plot::svg(&panels)?))
}

/// The rungs that add floats, on the simulator.
struct Sums {
    backend: Box<dyn Backend>,
    /// A family and its operation.
    families: Vec<(&'static Family, &'static str, Module)>,
}

impl Sums {
    fn new() -> Result<Self> {
        let (backend, _) = backend::explaining("H200", Printed::Stderr)?;
        backend.simulate(&Simulation { workers: Some(1), ..Simulation::default() })?;
        let mut families = Vec::new();
        for (name, op) in [("reduce", "sum"), (exact_sum::FAMILY.name, "")] {
            let Some(family) = family(name) else { bail!("there is no family `{name}`") };
            let module = backend.load(&ptx::find_family("kernels-gpu", name, None, None)?.bytes, name)?;
            families.push((family, op, module));
        }
        Ok(Self { backend, families })
    }

    /// A line per rung: the mean error of each group of inputs, over `place` of its first input.
    fn lines<const N: usize>(
        &self,
        groups: [impl Fn(u64) -> Vec<f32>; N],
        place: fn(&[f32]) -> f64,
    ) -> Result<Vec<Line>> {
        let inputs = groups.map(|group| (0..SEEDS).map(|seed| group(seed + 1)).collect::<Vec<_>>());
        let mut lines = vec![line("one by one, on the CPU", &inputs, place, |values| {
            Ok(Some(values.iter().fold(0.0_f32, |sum, x| sum + x).into()))
        })?];
        for &(family, op, module) in &self.families {
            for rung in family.rungs() {
                let name = if op.is_empty() { format!("{}: {}", family.name, rung.name) } else { rung.name.to_owned() };
                let sum = |values: &[f32]| self.sum(family, op, module, rung, values);
                lines.push(line(&name, &inputs, place, sum)?);
            }
        }
        Ok(lines)
    }

    /// The sum that a rung computes; `None` if the rung does not accept an input of this length.
    fn sum(&self, family: &Family, op: &str, module: Module, rung: RungId, values: &[f32]) -> Result<Option<f64>> {
        let (inputs, settings) = ([Tensor::from(Array::F32(values.to_vec()))], Settings::default());
        let problem = Problem { inputs: &inputs, dtype: Dtype::F32, op, settings: &settings };
        let ladder = family.resolve(&problem)?;
        if ladder.refusal(rung, problem).is_some() {
            return Ok(None);
        }
        let oracle = ladder.oracle(problem)?;
        let (device, variants) = (&*self.backend, &[rung]);
        let job = Job { device, module, problem, oracle: &oracle, variants, block: None, grid: None, plan: None };
        let mut clean = false;
        let result = ladder.run(&job, &mut |row| clean = row.is_clean())?;
        ensure!(clean, "the error of {} {} exceeds its bound, or it has findings", family.name, rung.name);
        let Some(Value::Float(sum)) = result.single() else { bail!("{} {} gives no float", family.name, rung.name) };
        Ok(Some(sum))
    }
}

/// The line of one way to add.
fn line(
    name: &str,
    groups: &[Vec<Vec<f32>>],
    place: fn(&[f32]) -> f64,
    sum: impl Fn(&[f32]) -> Result<Option<f64>>,
) -> Result<Line> {
    let mut points = Vec::new();
    for inputs in groups {
        let mut total = 0.0;
        for input in inputs {
            let exact = exact(input);
            // Without a sum there is no point. More than 1 is no worse than 1: no digit is right.
            total += sum(input)?.map_or(f64::NAN, |sum| ((sum - exact) / exact).abs().min(1.0));
        }
        if !total.is_nan() {
            points.push((place(&inputs[0]), (total / inputs.len() as f64).max(NO_ERROR)));
        }
    }
    Ok(Line { name: name.to_owned(), role: Role::of_variant(name), points })
}

/// The sum, with an error of half a unit in the last place of f64.
fn exact(values: &[f32]) -> f64 {
    rustwarp::exact_sum::on_cpu(&values.iter().map(|&x| f64::from(x)).collect::<Vec<_>>())
}

/// The sum of absolute values, divided by the absolute value of the sum.
fn condition(values: &[f32]) -> f64 {
    values.iter().map(|x| f64::from(x.abs())).sum::<f64>() / exact(values).abs()
}

/// Numbers between 0 and 1.
fn uniform(n: usize, seed: u64) -> Vec<f32> {
    let settings = Settings::default();
    let demand = Demand { size: &[n as u64], dtype: Dtype::F32, seed, settings: &settings };
    let made = demand.vectors(1).ok().and_then(|tensors| match tensors.first().map(Tensor::data) {
        Some(Array::F32(values)) => Some(values.iter().map(|x| x.abs()).collect()),
        _ => None,
    });
    made.unwrap_or_default()
}

/// Numbers of both signs, up to 2^`range`, most of which cancel: of three numbers with similar exponents the third is
/// the negative sum of the others. The order is random.
fn cancelling(range: u32, seed: u64) -> Vec<f32> {
    let numbers = uniform(2 * ELEMENTS, seed);
    let (values, random) = numbers.split_at(ELEMENTS);
    let (large, rest) = values.split_at(ELEMENTS * 2 / 3 / 2 * 2);
    // Multiples of 2^-23 below 1, whose sum is a float of the same type.
    let three = |(pair, power): (&[f32], &f32)| {
        let scale = f32::powi(2.0, (power * (range + 1) as f32) as i32);
        let [x, y] = [pair[0] * scale, pair[1] * scale];
        [x, y, -(x + y)]
    };
    let cancelling = large.chunks_exact(2).zip(random).flat_map(three);
    let mut all: Vec<f32> = cancelling.chain(rest[..ELEMENTS / 32].iter().copied()).collect();
    for i in (1..all.len()).rev() {
        all.swap(i, (random[i % ELEMENTS] * (i + 1) as f32) as usize % (i + 1));
    }
    all
}

/// The page. Its links are those of a page in `docs/ladders`.
const TEXT: &str = include_str!("floats.txt");
