//! The estimates of time compared with an H200: all measured rows of the ladders that the simulator runs in seconds.
//!
//! Products of matrices are left out, whose simulation takes minutes.

use ladders::explain::accuracy::{ACCURACY, Accuracy};
use ladders::explain::predict;
use ladders::kernels;
use std::collections::BTreeMap;
use tests::explained::{Explaining, Row, Run, explain, table};

/// The readings. Peers and longer rows are not simulated.
const READINGS: &str = "docs/results/h200/2026-11-26-ladders.csv";
/// The largest size, and that of families that were not measured at it.
const MOST: u64 = 1 << 20;
const MOST_OF_LARGER: u64 = 1 << 22;
/// Multiprocessors of an H200.
const MULTIPROCESSORS: u32 = 132;

/// Bounds over all rows: mean of |log(estimate / measured)|, share within 25 %, share of the pairs of rungs that differ
/// by more than 10 % in the right order.
const MEAN: f64 = 0.081;
const WITHIN: f64 = 0.96;
const ORDERED: f64 = 0.95;

/// A measured row with its estimate.
struct Judged {
    family: &'static str,
    name: String,
    variant: String,
    measured: f64,
    estimate: f64,
}

#[test]
fn estimates_are_near_the_measured_times() {
    let rows = table(READINGS);
    let small = |row: &Row| row.number::<u64>("n").is_some_and(|n| n <= MOST);
    let measured = |family: &str, row: &Row| row.get("family") == family && small(row);
    let most = |family: &kernels::Family| {
        if rows.iter().any(|row| measured(family.name, row)) { MOST } else { MOST_OF_LARGER }
    };
    let mut groups: BTreeMap<String, Vec<&Row>> = BTreeMap::new();
    for row in &rows {
        let family = kernels::family(row.get("family")).expect("a family");
        let known = (family.variants)().iter().any(|info| info.name == row.get("variant"));
        if known && family.name != "matmul" && row.number::<u64>("n").is_some_and(|n| n <= most(family)) {
            let key = ["family", "op", "dtype", "n", "shape", "settings"].map(|column| row.get(column)).join(" ");
            groups.entry(key).or_default().push(row);
        }
    }
    let mut judged: Vec<Vec<Judged>> = Vec::new();
    let mut on = Explaining::new(kernels::family("reduce").expect("a family"));
    for (name, rows) in &groups {
        let family = kernels::family(rows[0].get("family")).expect("a family");
        if on.family != family.name {
            on = Explaining::new(family);
        }
        judged.push(rows.iter().map(|row| judge(&on, name, row)).collect());
    }
    let all: Vec<&Judged> = judged.iter().flatten().collect();
    let off = |row: &&Judged| (row.estimate / row.measured).ln().abs();
    let share = |held: usize, of: usize| held as f64 / of.max(1) as f64;
    let mean = all.iter().map(off).sum::<f64>() / all.len() as f64;
    let within = share(all.iter().filter(|row| off(row) <= 1.25_f64.ln()).count(), all.len());
    let (mut pairs, mut right) = (0, 0);
    for rows in &judged {
        for (i, a) in rows.iter().enumerate() {
            for b in rows[..i].iter().filter(|b| (a.measured / b.measured).ln().abs() > 1.1_f64.ln()) {
                pairs += 1;
                right += usize::from((a.measured < b.measured) == (a.estimate < b.estimate));
            }
        }
    }
    let ordered = share(right, pairs);
    let mut worst = all.clone();
    worst.sort_by(|a, b| off(b).total_cmp(&off(a)));
    let text: String = worst
        .iter()
        .take(20)
        .map(|row| {
            let Judged { name, variant, measured, estimate, .. } = row;
            format!("{name} {variant}: {estimate:.1} us, measured {measured:.1} us\n")
        })
        .collect();
    let derived = accuracy(&all);
    println!(
        "{derived:?}\n{} rows: mean {mean:.3}, within 25 % {within:.3}, ordered {ordered:.3} of {pairs}\n{text}",
        all.len()
    );
    // Far fewer would mean that readings are missing.
    assert!(all.len() >= 90 && pairs >= 300, "{} rows, {pairs} pairs", all.len());
    assert!(
        mean <= MEAN && within >= WITHIN && ordered >= ORDERED,
        "mean {mean:.3}, {within:.3}, {ordered:.3}\n{text}"
    );
    // The simulator's schedule decides how much a block does that draws its work.
    let same = |own: &Accuracy, shown: &Accuracy| {
        (own.family, own.rows) == (shown.family, shown.rows) && own.off.abs_diff(shown.off) <= 2
    };
    let matches = derived.len() == ACCURACY.len() && derived.iter().zip(&ACCURACY).all(|(own, shown)| same(own, shown));
    assert!(matches, "crates/ladders/src/explain/accuracy.rs has {ACCURACY:?}, the readings give {derived:?}");
}

/// How far the estimates of each family are off, by name.
fn accuracy(all: &[&Judged]) -> Vec<Accuracy> {
    let mut families: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for row in all {
        families.entry(row.family).or_default().push((row.estimate / row.measured).ln().abs());
    }
    let of = |(family, off): (&'static str, Vec<f64>)| {
        let mean = off.iter().sum::<f64>() / off.len() as f64;
        Accuracy { family, rows: off.len() as u32, off: (100.0 * mean).round() as u32 }
    };
    families.into_iter().map(of).collect()
}

fn judge(on: &Explaining, name: &str, row: &Row) -> Judged {
    let estimate = explain(on, &run(row, size(row)))[0].time_us;
    let variant = row.get("variant").to_owned();
    let measured = row.number("median_us").expect("a time");
    Judged { family: on.family, name: name.to_owned(), variant, measured, estimate }
}

/// The size of the first operand.
fn size(row: &Row) -> Vec<u64> {
    let shape = if row.get("shape").is_empty() { row.get("n") } else { row.get("shape") };
    shape.split('x').map(|n| n.parse().expect("a size")).collect()
}

/// The run that was measured, of another size.
fn run(row: &Row, size: Vec<u64>) -> Run<'static> {
    let family = kernels::family(row.get("family")).expect("a family");
    // A flag has no value.
    let setting = |text: &str| {
        let (name, value) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
        (name.to_owned(), value.to_owned())
    };
    let settings = row.get("settings").split("--").skip(1).map(setting).collect();
    let op = family.ops.iter().find(|op| **op == row.get("op"));
    Run {
        family,
        variants: family.select(row.get("variant")).expect("a variant"),
        op: op.or(family.ops.first()).copied().unwrap_or_default(),
        settings,
        dtype: row.get("dtype").parse().expect("a type"),
        size,
        block: None,
        grid: None,
    }
}

/// The size that is predicted, the one that is run for it, and bounds as above.
const LARGE: u64 = 1 << 28;
const SMALL: u64 = 1 << 22;
const MEAN_OF_LARGE: f64 = 0.14;
const WITHIN_OF_LARGE: f64 = 0.9;

/// Families whose rungs are run twice in seconds; `docs/results/h200/2026-11-26-time-model.txt` has the others.
const PREDICTED: [&str; 3] = ["vecadd", "dot", "reduce"];

#[test]
fn large_sizes_are_predicted_from_small_runs() {
    let mut off = Vec::new();
    for row in table(READINGS) {
        let known = |family: &kernels::Family| (family.variants)().iter().any(|info| info.name == row.get("variant"));
        let family = kernels::family(row.get("family")).expect("a family");
        let large = size(&row) == [LARGE] && row.get("dtype") == "f32";
        if !(large && known(family) && PREDICTED.contains(&family.name)) {
            continue;
        }
        let runs = predict::runs(&[SMALL], &[LARGE], |size| {
            let on = Explaining::larger(family, predict::times(size, &[LARGE]));
            let explained = explain(&on, &run(&row, size.to_vec())).remove(0);
            Ok::<_, ()>(predict::Run::new(size, &explained, MULTIPROCESSORS))
        });
        let predicted = predict::time(&[LARGE], &runs.expect("runs")).expect("a prediction");
        let measured = row.number::<f64>("median_us").expect("a time");
        println!("{} {}: {predicted:.1} us, measured {measured:.1} us", family.name, row.get("variant"));
        off.push((predicted / measured).ln().abs());
    }
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    let within = off.iter().filter(|off| **off <= 1.25_f64.ln()).count() as f64 / off.len() as f64;
    assert!(off.len() >= 25, "{} rows", off.len());
    assert!(mean <= MEAN_OF_LARGE && within >= WITHIN_OF_LARGE, "mean {mean:.3}, within 25 % {within:.3}");
}
