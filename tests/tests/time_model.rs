//! The estimates of time compared with an H200: all measured rows of the ladders that the simulator runs in seconds.

use ladders::explain::accuracy::{ACCURACY, Accuracy};
use ladders::explain::predict;
use ladders::kernels;
use rayon::prelude::*;
use std::collections::BTreeMap;
use tests::explained::{Explaining, Row, Run, explain, table};

/// The readings, and those of products of matrices, which have small sizes and f64 too. Peers are not simulated.
const READINGS: &str = "docs/results/h200/2026-11-26-ladders.csv";
const PRODUCTS: (&str, &str) = ("matmul", "docs/results/h200/2026-11-27-matmul.csv");
/// The largest size, and that of families that were not measured at it. A product of 1024 takes up to a minute.
const MOST: u64 = 1 << 20;
const MOST_OF_LARGER: u64 = 1 << 22;
const MOST_OF_PRODUCTS: u64 = 1 << 18;
/// Multiprocessors of an H200.
const MULTIPROCESSORS: u32 = 132;

/// Bounds over all rows: mean of |log(estimate / measured)|, share within 25 %, share of the pairs of rungs that differ
/// by more than 10 % in the right order.
const MEAN: f64 = 0.075;
const WITHIN: f64 = 0.965;
const ORDERED: f64 = 0.975;

/// A measured row with its estimate.
struct Judged {
    family: &'static str,
    /// Everything but the variant.
    name: String,
    variant: String,
    measured: f64,
    estimate: f64,
}

impl Judged {
    fn off(&self) -> f64 {
        (self.estimate / self.measured).ln().abs()
    }
}

/// How good estimates are.
struct Quality {
    mean: f64,
    within: f64,
    ordered: f64,
    pairs: usize,
}

impl Quality {
    /// Of rows in groups that differ in nothing but the variant.
    fn of<'j>(groups: impl IntoIterator<Item = &'j Vec<Judged>> + Clone) -> Self {
        let all: Vec<&Judged> = groups.clone().into_iter().flatten().collect();
        let share = |held: usize, of: usize| held as f64 / of.max(1) as f64;
        let (mut pairs, mut right) = (0, 0);
        for rows in groups {
            for (i, a) in rows.iter().enumerate() {
                for b in rows[..i].iter().filter(|b| (a.measured / b.measured).ln().abs() > 1.1_f64.ln()) {
                    pairs += 1;
                    right += usize::from((a.measured < b.measured) == (a.estimate < b.estimate));
                }
            }
        }
        Self {
            mean: all.iter().map(|row| row.off()).sum::<f64>() / all.len() as f64,
            within: share(all.iter().filter(|row| row.off() <= 1.25_f64.ln()).count(), all.len()),
            ordered: share(right, pairs),
            pairs,
        }
    }
}

/// Estimates the rows of up to `most` elements, in groups that differ in nothing but the variant.
fn judged(most: impl Fn(&kernels::Family, &[Row]) -> u64) -> Vec<Vec<Judged>> {
    let (of_products, products) = PRODUCTS;
    let rows: Vec<Row> = table(READINGS).into_iter().filter(|row| row.get("family") != of_products).collect();
    let rows: Vec<Row> = rows.into_iter().chain(table(products)).collect();
    let mut families: BTreeMap<&str, BTreeMap<String, Vec<&Row>>> = BTreeMap::new();
    for row in &rows {
        let Some(family) = rung(row) else { continue };
        if row.number::<u64>("n").is_some_and(|n| n <= most(family, &rows)) {
            let key = ["family", "op", "dtype", "n", "shape", "settings"].map(|column| row.get(column)).join(" ");
            families.entry(family.name).or_default().entry(key).or_default().push(row);
        }
    }
    let families: Vec<_> = families.into_iter().collect();
    let of = |(family, groups): (&str, BTreeMap<String, Vec<&Row>>)| -> Vec<Vec<Judged>> {
        let on = Explaining::new(kernels::family(family).expect("a family"));
        groups.iter().map(|(name, rows)| rows.iter().map(|row| judge(&on, name, row)).collect()).collect()
    };
    families.into_par_iter().flat_map_iter(of).collect()
}

/// A line for each of the rows that are farthest off.
fn worst(groups: &[Vec<Judged>], most: usize) -> String {
    let mut worst: Vec<&Judged> = groups.iter().flatten().collect();
    worst.sort_by(|a, b| b.off().total_cmp(&a.off()));
    let line = |row: &&Judged| {
        let Judged { name, variant, measured, estimate, .. } = row;
        format!("{name} {variant}: {estimate:.1} us, measured {measured:.1} us\n")
    };
    worst.iter().take(most).map(line).collect()
}

#[test]
fn estimates_are_near_the_measured_times() {
    let groups = judged(|family, rows| {
        let measured =
            |row: &Row| row.get("family") == family.name && row.number::<u64>("n").is_some_and(|n| n <= MOST);
        match family.name {
            name if name == PRODUCTS.0 => MOST_OF_PRODUCTS,
            _ if rows.iter().any(measured) => MOST,
            _ => MOST_OF_LARGER,
        }
    });
    let Quality { mean, within, ordered, pairs } = Quality::of(&groups);
    let all: Vec<&Judged> = groups.iter().flatten().collect();
    let text = worst(&groups, 20);
    let derived = accuracy(&all);
    println!(
        "{derived:?}\n{} rows: mean {mean:.3}, within 25 % {within:.3}, ordered {ordered:.3} of {pairs}\n{text}",
        all.len()
    );
    // Far fewer would mean that readings are missing.
    assert!(all.len() >= 150 && pairs >= 500, "{} rows, {pairs} pairs", all.len());
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

/// Prints what `docs/results/h200` has of the model: all rows as a table to plot, and families.
#[test]
#[ignore = "takes minutes: rows of up to 2^22 elements and products of 1024"]
fn all_rows() {
    let groups = judged(|family, _| if family.name == PRODUCTS.0 { MOST } else { MOST_OF_LARGER });
    let row = |row: &Judged| format!("{},{},{:.2},{:.2}\n", row.name, row.variant, row.measured, row.estimate);
    println!("group,variant,measured_us,estimate_us\n{}", groups.iter().flatten().map(row).collect::<String>());
    let mut families: BTreeMap<&str, Vec<&Vec<Judged>>> = BTreeMap::new();
    groups.iter().for_each(|rows| families.entry(rows[0].family).or_default().push(rows));
    let line = |name: &str, rows: usize, Quality { mean, within, ordered, pairs }: Quality| {
        println!("{name:<12} {rows:>4} {mean:.3} {:5.1} % {:5.1} % of {pairs}", 100.0 * within, 100.0 * ordered);
    };
    for (name, groups) in &families {
        let quality = Quality::of(groups.iter().copied());
        line(name, groups.iter().map(|rows| rows.len()).sum(), quality);
    }
    line("all", groups.iter().flatten().count(), Quality::of(&groups));
    println!("{}", worst(&groups, 30));
}

/// How far the estimates of each family are off, by name.
fn accuracy(all: &[&Judged]) -> Vec<Accuracy> {
    let mut families: BTreeMap<&'static str, Vec<f64>> = BTreeMap::new();
    for row in all {
        families.entry(row.family).or_default().push(row.off());
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
const MEAN_OF_LARGE: f64 = 0.12;
const WITHIN_OF_LARGE: f64 = 0.95;

/// Families whose rungs are run twice in seconds; `docs/results/h200/2026-11-27-time-model.txt` has the others.
const PREDICTED: [&str; 3] = ["vecadd", "dot", "reduce"];
/// Its lanes are 16 and 32 elements apart in the runs, in two banks and one of the first-level cache, and 993 at the
/// large size: predicted at 2.8 times its time.
const OTHER_BANKS: &str = "divide_and_conquer";

/// Predicts the time of a measured row from runs of a smaller size, if that size's runs give one.
fn predicted(family: &kernels::Family, row: &Row, small: &[u64]) -> Result<f64, predict::Refusal> {
    let large = size(row);
    let runs = predict::runs(small, &large, |size| {
        let on = Explaining::larger(family, predict::times(size, &large));
        let explained = explain(&on, &run(row, size.to_vec())).remove(0);
        Ok::<_, ()>(predict::Run::new(size, &explained, MULTIPROCESSORS))
    });
    predict::time(&large, &runs.expect("runs"))
}

/// The family of a row, if the row is one of its rungs.
fn rung(row: &Row) -> Option<&'static kernels::Family> {
    let family = kernels::family(row.get("family")).expect("a family");
    (family.variants)().iter().any(|info| info.name == row.get("variant")).then_some(family)
}

/// Prints what `docs/results/h200` has of predictions: every row of the large size, from runs of the small one.
#[test]
#[ignore = "takes minutes: every rung twice"]
fn all_predictions() {
    let rows = table(READINGS);
    let large = |row: &&Row| row.number::<u64>("n") == Some(LARGE) && row.get("family") != PRODUCTS.0;
    let rows: Vec<(&Row, &kernels::Family)> =
        rows.iter().filter(large).filter_map(|row| Some((row, rung(row)?))).collect();
    let of = |&(row, family): &(&Row, &'static kernels::Family)| {
        let mut small = size(row);
        while small.iter().product::<u64>() > SMALL {
            *small.iter_mut().max().expect("an axis") /= 2;
        }
        let name = ["family", "op", "dtype", "shape", "settings"].map(|column| row.get(column)).join(" ");
        let measured = row.number("median_us").expect("a time");
        match predicted(family, row, &small) {
            Ok(estimate) => {
                Ok(Judged { family: family.name, name, variant: row.get("variant").to_owned(), measured, estimate })
            }
            Err(refusal) => Err(format!("{name} {}: {refusal}", row.get("variant"))),
        }
    };
    let all: Vec<Result<Judged, String>> = rows.par_iter().map(of).collect();
    let mut families: BTreeMap<&str, Vec<Judged>> = BTreeMap::new();
    for row in all {
        match row {
            Ok(row) => families.entry(row.family).or_default().push(row),
            Err(refused) => println!("{refused}"),
        }
    }
    println!("group,variant,measured_us,estimate_us");
    for row in families.values().flatten() {
        println!("{},{},{:.2},{:.2}", row.name, row.variant, row.measured, row.estimate);
    }
    for (family, rows) in &families {
        let Quality { mean, within, .. } = Quality::of([rows]);
        println!("{family:<12} {:>4} {mean:.3} {:5.1} %", rows.len(), 100.0 * within);
    }
    let groups: Vec<Vec<Judged>> = families.into_values().collect();
    let Quality { mean, within, .. } = Quality::of(&groups);
    println!("all {:>4} {mean:.3} {:5.1} %\n{}", groups.iter().flatten().count(), 100.0 * within, worst(&groups, 30));
}

#[test]
fn large_sizes_are_predicted_from_small_runs() {
    let mut off = Vec::new();
    for row in table(READINGS) {
        let large = size(&row) == [LARGE] && row.get("dtype") == "f32";
        let Some(family) = rung(&row).filter(|family| large && PREDICTED.contains(&family.name)) else { continue };
        let predicted = predicted(family, &row, &[SMALL]).expect("a prediction");
        let measured = row.number::<f64>("median_us").expect("a time");
        println!("{} {}: {predicted:.1} us, measured {measured:.1} us", family.name, row.get("variant"));
        let apart = (predicted / measured).ln().abs();
        if row.get("variant") == OTHER_BANKS {
            assert!(apart > 1.25_f64.ln(), "it is predicted like the others now");
            continue;
        }
        off.push(apart);
    }
    let mean = off.iter().sum::<f64>() / off.len() as f64;
    let within = off.iter().filter(|off| **off <= 1.25_f64.ln()).count() as f64 / off.len() as f64;
    assert!(off.len() >= 25, "{} rows", off.len());
    assert!(mean <= MEAN_OF_LARGE && within >= WITHIN_OF_LARGE, "mean {mean:.3}, within 25 % {within:.3}");
}
