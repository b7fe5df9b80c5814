//! Kernels explained by the simulator for an H200, and tables of an H200's readings.

use ladders::explain::page::Variant;
use ladders::kernels::{self, Demand, Family, Job, Problem, RungId, Settings};
use rustwarp::backend::{Backend, Module, Printed, explaining_larger};
use rustwarp::element::Dtype;
use rustwarp::ptx;
use std::path::Path;
use std::str::FromStr;

/// Variants of a family, and the input to run them on.
pub struct Run<'a> {
    /// The family.
    pub family: &'a Family,
    /// The variants.
    pub variants: Vec<RungId>,
    /// The operation.
    pub op: &'static str,
    /// Settings by name.
    pub settings: Vec<(String, String)>,
    /// Type of the elements.
    pub dtype: Dtype,
    /// Shape of the first operand.
    pub size: Vec<u64>,
    /// Threads per block, if not the default.
    pub block: Option<u32>,
    /// Blocks, if not the default.
    pub grid: Option<u32>,
}

/// A simulator with the profile of an H200 and the kernels of one family.
pub struct Explaining {
    device: Box<dyn Backend>,
    module: Module,
    /// Name of the family.
    pub family: &'static str,
}

impl Explaining {
    /// Opens the simulator.
    pub fn new(family: &Family) -> Self {
        Self::larger(family, 1.0)
    }

    /// Opens the simulator for launches that stand for some that move this many times as much data.
    pub fn larger(family: &Family, times: f64) -> Self {
        let (device, _) = explaining_larger("H200", times, Printed::Stderr).expect("a profile");
        let image = ptx::find_family("kernels-gpu", family.name, None, None).expect("the kernels' PTX");
        let module = device.load(&image.bytes, "kernels-gpu").expect("PTX");
        Self { device, module, family: family.name }
    }
}

/// Runs the variants of `run` and returns their explanations.
pub fn explain(on: &Explaining, run: &Run<'_>) -> Vec<Variant> {
    let Run { family, variants, op, dtype, size, block, grid, .. } = run;
    let (device, module) = (&*on.device, on.module);
    let settings =
        Settings::new(family.settings, run.settings.iter().map(|(name, value)| (name.as_str(), value.as_str())))
            .expect("settings");
    let demand = Demand { size, dtype: *dtype, seed: 42, settings: &settings };
    let inputs = (family.generate)(&demand).expect("operands");
    let problem = Problem { inputs: &inputs, dtype: *dtype, op, settings: &settings };
    let ladder = family.resolve(&problem).expect("kernels");
    let oracle = ladder.oracle(problem).expect("an oracle");
    let job = Job { device, module, problem, oracle: &oracle, variants, block: *block, grid: *grid, plan: None };
    let mut explained = Vec::new();
    let result = ladder.run(&job, &mut |row| {
        assert!(row.is_verified(), "{} is wrong", row.variant);
        let counters = row.counters.expect("counters");
        explained.push(Variant::new(&row.variant, "", row.verified, counters, row.launches, row.between));
    });
    result.expect("runs");
    explained
}

/// A line of a CSV file: pairs of column name and value.
pub struct Row(Vec<(String, String)>);

impl Row {
    /// The text in column `name`.
    pub fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(column, _)| column == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no column {name}"))
    }

    /// The number in column `name`, or `None` if the column is empty.
    pub fn number<N: FromStr>(&self, name: &str) -> Option<N> {
        let text = self.get(name);
        (!text.is_empty()).then(|| text.parse().unwrap_or_else(|_| panic!("{name} is {text}")))
    }

    /// The reason, explained in the README beside the table, for which the column differs from a GPU's count.
    pub fn reason(&self, column: &str) -> Option<&str> {
        let mut reasons = self.get("differs").split_whitespace().filter_map(|item| item.split_once(':'));
        reasons.find(|(_, other)| *other == column).map(|(reason, _)| reason)
    }

    /// The run that the row describes.
    pub fn run(&self) -> Run<'static> {
        let family = kernels::family(self.get("family")).expect("a family");
        let op = family.ops.iter().find(|op| **op == self.get("op") || self.get("op").is_empty());
        let settings = self.get("settings").split_whitespace().filter_map(|item| item.split_once('='));
        Run {
            family,
            variants: family.select(self.get("variant")).expect("a variant"),
            op: op.copied().unwrap_or_default(),
            settings: settings.map(|(name, value)| (name.to_owned(), value.to_owned())).collect(),
            dtype: self.get("dtype").parse().expect("a type"),
            size: self.get("size").split('x').map(|n| n.parse().expect("a size")).collect(),
            block: self.number("block"),
            grid: self.number("grid"),
        }
    }
}

/// Reads a table of readings. Their fields are never quoted, so a split at the commas is the whole format.
pub fn table(path: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(&path).expect("readings");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| header.iter().map(ToString::to_string).zip(line.split(',').map(str::to_owned)).collect();
    lines.map(|line| Row(row(line))).collect()
}
