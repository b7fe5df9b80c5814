//! The counters and the time model compared with an H200: the profiler's readings of whole kernels
//! (`crates/ptx_sim/tests/golden/ladder.csv`), and the measured order of the reduction's rungs.

use ladders::explain::page::Variant;
use ladders::kernels::{self, Demand, Family, Job, Problem, RungId, Settings};
use rustwarp::backend::{Backend, Counters, Module, Printed, explaining};
use rustwarp::element::Dtype;
use rustwarp::ptx;
use std::path::Path;
use std::str::FromStr;

/// Variants of a family, and the input to run them on.
struct Run<'a> {
    family: &'a Family,
    variants: Vec<RungId>,
    op: &'static str,
    settings: Vec<(String, String)>,
    dtype: Dtype,
    size: Vec<u64>,
    block: Option<u32>,
    grid: Option<u32>,
}

/// A simulator with the profile of an H200 and the kernels of one family.
struct Explaining {
    device: Box<dyn Backend>,
    module: Module,
    family: &'static str,
}

impl Explaining {
    fn new(family: &Family) -> Self {
        let (device, _) = explaining("H200", Printed::Stderr).expect("a profile");
        let image = ptx::find_family("kernels-gpu", family.name, None, None).expect("the kernels' PTX");
        let module = device.load(&image.bytes, "kernels-gpu").expect("PTX");
        Self { device, module, family: family.name }
    }
}

/// Runs the variants of `run` and returns their explanations.
fn explain(on: &Explaining, run: &Run<'_>) -> Vec<Variant> {
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
        explained.push(Variant::new(&row.variant, "", row.verified, counters, row.launches, row.copies));
    });
    result.expect("runs");
    explained
}

#[test]
fn whole_kernels_count_what_the_profiler_reads() {
    let mut problems = Vec::new();
    let rows = table("crates/ptx_sim/tests/golden/ladder.csv");
    let mut on = Explaining::new(rows[0].run().family);
    for row in &rows {
        let run = row.run();
        if on.family != run.family.name {
            on = Explaining::new(run.family);
        }
        let explained = explain(&on, &run);
        let variant = &explained[0];
        let name = format!("{} {} {} {}", run.family.name, variant.name, row.get("dtype"), row.get("settings"));
        assert_eq!(Some(variant.launches.len()), row.number("launches"), "{name}");
        let mut compare = |column: &str, counted: f64, within: f64| {
            let Some(reading) = row.number::<f64>(column) else {
                // Device memory may read more than the data: see the README beside the table.
                assert_eq!(column, "dram_read", "{name}: no reading of {column}");
                return;
            };
            let differs = (counted - reading).abs() > within * reading;
            match row.reason(column) {
                None if differs => {
                    problems.push(format!("{name} {column}: the profiler read {reading}, counted {counted}"));
                }
                // The number of polls differs between runs.
                Some(reason) if !differs && reason != "polls" => {
                    problems.push(format!(
                        "{name} {column}: the counter agrees with the reading; remove the reason `{reason}`"
                    ));
                }
                _ => {}
            }
        };
        for (column, counted) in counted(&variant.counters) {
            compare(column, counted as f64, 0.02);
        }
        let read: u64 = variant.launches.iter().map(|launch| launch.read_bytes).sum();
        compare("dram_read", read as f64, 0.02);
        compare("active", variant.counters.active_threads(), 0.05);
        compare("bytes_per_sector", variant.counters.bytes_per_sector(), 0.05);
    }
    assert!(rows.len() >= 150, "{} rows", rows.len());
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// Each column of the table with the simulator's counter for it.
fn counted(counters: &Counters) -> [(&'static str, u64); 11] {
    [
        ("wavefronts_ld", counters.shared_load_wavefronts),
        ("wavefronts_st", counters.shared_wavefronts - counters.shared_load_wavefronts),
        ("wavefronts_atom", counters.shared_atomic_wavefronts),
        ("requests_ld", counters.global_loads),
        ("requests_st", counters.global_stores),
        ("requests_atom", counters.global_atomics - counters.global_reductions),
        ("requests_red", counters.global_reductions),
        ("sectors_ld", counters.global_load_sectors),
        ("sectors_st", counters.global_store_sectors),
        ("sectors_atom", counters.global_atomic_sectors - counters.global_reduction_sectors),
        ("sectors_red", counters.global_reduction_sectors),
    ]
}

/// Relative difference of times below which two rungs count as a tie (together with the spreads of both): other builds
/// and other runs on the same machine differ by as much.
const NOISE: f64 = 0.02;

#[test]
fn the_predicted_order_of_the_rungs_is_the_measured_one() {
    let n = 1_u64 << 22;
    let family = kernels::family("reduce").expect("a family");
    let variants = family.select("all").expect("variants");
    let run = Run {
        family,
        variants,
        op: family.ops[0],
        settings: Vec::new(),
        dtype: Dtype::F32,
        size: vec![n],
        block: None,
        grid: None,
    };
    let explained = explain(&Explaining::new(family), &run);
    let measured: Vec<(String, f64, f64)> = table("docs/results/h200/2026-11-21.csv")
        .into_iter()
        .filter(|row| {
            row.get("comparison") == "ladder" && row.get("family") == "reduce" && row.get("n") == n.to_string()
        })
        .map(|row| {
            let number = |name: &str| row.number(name).expect("a number");
            (row.get("variant").to_owned(), number("median_us"), number("spread"))
        })
        .collect();
    let predicted = |name: &str| {
        let variant = explained.iter().find(|variant| variant.name == name);
        variant.unwrap_or_else(|| panic!("no variant {name}")).time_us
    };
    let (mut pairs, mut problems) = (0, Vec::new());
    for (i, (a, time_a, spread_a)) in measured.iter().enumerate() {
        for (b, time_b, spread_b) in &measured[..i] {
            let apart = (time_a - time_b).abs() / time_a.min(*time_b);
            if apart <= NOISE + spread_a + spread_b {
                continue;
            }
            pairs += 1;
            if (predicted(a) < predicted(b)) != (time_a < time_b) {
                let (p, q) = (predicted(a), predicted(b));
                problems.push(format!("{a} takes {time_a} us and {b} {time_b} us; predicted {p:.1} and {q:.1}"));
            }
        }
    }
    // There are 55 pairs; far fewer would mean that readings are missing.
    assert!(pairs >= 40, "{pairs} pairs of rungs differ");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A line of a CSV file: pairs of column name and value.
struct Row(Vec<(String, String)>);

impl Row {
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(column, _)| column == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no column {name}"))
    }

    /// The number in column `name`, or `None` if the column is empty.
    fn number<N: FromStr>(&self, name: &str) -> Option<N> {
        let text = self.get(name);
        (!text.is_empty()).then(|| text.parse().unwrap_or_else(|_| panic!("{name} is {text}")))
    }

    /// The reason, explained in the README beside the table, for which the column differs from a GPU's count.
    fn reason(&self, column: &str) -> Option<&str> {
        let mut reasons = self.get("differs").split_whitespace().filter_map(|item| item.split_once(':'));
        reasons.find(|(_, other)| *other == column).map(|(reason, _)| reason)
    }

    /// The run that the row describes.
    fn run(&self) -> Run<'static> {
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
fn table(path: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(&path).expect("readings");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| header.iter().map(ToString::to_string).zip(line.split(',').map(str::to_owned)).collect();
    lines.map(|line| Row(row(line))).collect()
}
