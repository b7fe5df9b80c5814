//! The counters and the model of time against an H200: whole kernels against the profiler's readings
//! (`crates/ptx_sim/tests/golden/ladder.csv`), and the predicted order of the reduction's rungs against their measured times.

use host::backend::{Counters, Printed, explaining};
use host::element::Dtype;
use host::explain::page::Variant;
use host::kernels::{self, Demand, Job, Problem, Settings};
use host::ptx;
use std::path::Path;

/// Runs variants of a family on the simulator that explains its launches, for an H200.
fn explain(
    family: &str,
    variants: &[&'static str],
    dtype: Dtype,
    size: &[u64],
    block: Option<u32>,
    grid: Option<u32>,
) -> Vec<Variant> {
    let family = kernels::family(family).expect("a family");
    let (device, _) = explaining("H200", Printed::Stderr).expect("a profile");
    let image = ptx::find("kernels-gpu", None, None).expect("the kernels' PTX").of_family(family);
    let module = device.load(&image.bytes, "kernels-gpu").expect("PTX");
    let settings = Settings::new(family.settings, Vec::new()).expect("defaults");
    let demand = Demand { size, dtype, seed: 42, settings: &settings };
    let inputs = (family.generate)(&demand).expect("operands");
    let op = family.ops.first().copied().unwrap_or_default();
    let problem = Problem { inputs: &inputs, dtype, op, settings: &settings };
    let oracle = (family.oracle)(problem).expect("an oracle");
    let job = Job { device: &*device, module, problem, oracle: &oracle, variants, block, grid, plan: None };
    let mut explained = Vec::new();
    let result = (family.run)(&job, &mut |row| {
        assert!(row.verified, "{} is wrong", row.variant);
        let counters = row.counters.expect("counters");
        explained.push(Variant::new(&row.variant, "", row.verified, counters, row.launches, row.copies));
    });
    result.expect("runs");
    explained
}

#[test]
fn whole_kernels_count_what_the_profiler_reads() {
    let mut problems = Vec::new();
    let mut rows = 0;
    for row in table("crates/ptx_sim/tests/golden/ladder.csv") {
        rows += 1;
        let number = |name: &str| row.get(name).parse::<u64>().ok();
        let family = kernels::family(row.get("family")).expect("a family");
        let variants = family.select(row.get("variant")).expect("a variant");
        let (block, grid) = (number("block").map(|n| n as u32), number("grid").map(|n| n as u32));
        let dtype = row.get("dtype").parse().expect("a type");
        let size: Vec<u64> = row.get("size").split('x').map(|n| n.parse().expect("a size")).collect();
        let explained = explain(family.name, &variants, dtype, &size, block, grid);
        let variant = &explained[0];
        let read: u64 = variant.launches.iter().map(|launch| launch.read_bytes).sum();
        let mut compare = |name: &str, counted: u64, within: f64| {
            let reading = number(name).expect("a reading");
            if (counted as f64 - reading as f64).abs() > within * reading as f64 {
                problems.push(format!("{} {name}: the profiler read {reading}, counted {counted}", variant.name));
            }
        };
        assert_eq!(variant.launches.len() as u64, number("launches").expect("launches"));
        for (name, counted) in counted(&variant.counters) {
            compare(name, counted, 0.02);
        }
        if !row.get("dram_read").is_empty() {
            compare("dram_read", read, 0.02);
        }
    }
    assert!(rows >= 29, "{rows} rows");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

fn counted(counters: &Counters) -> [(&'static str, u64); 10] {
    [
        ("wavefronts_ld", counters.shared_load_wavefronts),
        ("wavefronts_st", counters.shared_wavefronts - counters.shared_load_wavefronts),
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

/// Two rungs whose measured times differ by less than this and the spreads of both count as a tie: other builds and other runs of
/// the same machine differ by as much.
const NOISE: f64 = 0.02;

#[test]
fn the_predicted_order_of_the_rungs_is_the_measured_one() {
    let n = 1_u64 << 22;
    let family = kernels::family("reduce").expect("a family");
    let variants = family.select("all").expect("variants");
    let explained = explain("reduce", &variants, Dtype::F32, &[n], None, None);
    let measured: Vec<(String, f64, f64)> = table("docs/results/h200/2026-11-21.csv")
        .into_iter()
        .filter(|row| {
            row.get("comparison") == "ladder" && row.get("family") == "reduce" && row.get("n") == n.to_string()
        })
        .map(|row| {
            let number = |name: &str| row.get(name).parse::<f64>().expect("a number");
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
    // Of 55 pairs; fewer would mean that the readings are gone.
    assert!(pairs >= 40, "{pairs} pairs of rungs differ");
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// A line of a CSV file, with its header.
struct Row(Vec<(String, String)>);

impl Row {
    fn get(&self, name: &str) -> &str {
        let found = self.0.iter().find(|(column, _)| column == name);
        found.map(|(_, value)| value.as_str()).unwrap_or_else(|| panic!("no column {name}"))
    }
}

fn table(path: &str) -> Vec<Row> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(path);
    let text = std::fs::read_to_string(&path).expect("readings");
    let mut lines = text.lines().filter(|line| !line.starts_with('#'));
    let header: Vec<&str> = lines.next().expect("a header").split(',').collect();
    let row = |line: &str| header.iter().map(ToString::to_string).zip(line.split(',').map(str::to_owned)).collect();
    lines.map(|line| Row(row(line))).collect()
}
