//! The page about sums of floats: the error of every rung over the number of elements and over the condition number,
//! and beside its bound, as the simulator computes them.

use anyhow::{Result, ensure};
use inputs::{ELEMENTS, Input, Precision};
use ladders::kernels::Role;
use ladders::kernels::reduce::bound::Bound;
use ladders::plot::{self, Line, Panel};
use rayon::prelude::*;
use rustwarp::element::Dtype;
use std::fmt::Write;
use std::path::PathBuf;
use sums::{Outcome, Sums, Way};

mod inputs;
mod sums;

/// Name of the page, with which those of its plots begin.
const NAME: &str = "adding_floats";

/// The types, each with a plot and a table.
const TYPES: [Precision; 2] = [
    Precision { dtype: Dtype::F32, digits: 24, ranges: [0, 8, 16, 24, 36, 48, 60, 72] },
    Precision { dtype: Dtype::F64, digits: 53, ranges: [0, 18, 36, 54, 72, 90, 108, 126] },
];

/// Numbers of elements: powers of two.
const POWERS: [u32; 6] = [6, 8, 10, 12, 14, 16];

/// Inputs over which an error is averaged.
const SEEDS: u64 = 4;

/// Where the tables stand in the page's text.
const TABLES: &str = "TABLES\n";

/// The page, and its plots as SVG, by their file names.
///
/// # Errors
/// Fails if a rung cannot be run, or its error exceeds its bound.
pub fn pages() -> Result<Vec<(PathBuf, String)>> {
    let made: Vec<_> = TYPES.par_iter().map(of_type).collect::<Result<_>>()?;
    ensure!(TEXT.contains(TABLES), "the text of {NAME} has no place for the tables");
    let tables: String = made.iter().map(|(_, table)| table.as_str()).collect();
    let text = [(format!("{NAME}.md").into(), TEXT.replace(TABLES, tables.trim_start()))];
    let plot = |(of, (svg, _)): (&Precision, (String, String))| (format!("{NAME}_{}.svg", of.dtype).into(), svg);
    Ok(text.into_iter().chain(TYPES.iter().zip(made).map(plot)).collect())
}

/// The plot and the table of a type.
fn of_type(of: &Precision) -> Result<(String, String)> {
    let seeds = |input: &dyn Fn(u64) -> Input| (1..=SEEDS).map(input).collect::<Vec<_>>();
    let by_length = POWERS.map(|power| seeds(&|seed| of.positive(1 << power, seed)));
    let by_condition = of.ranges.map(|range| seeds(&|seed| of.cancelling(range, seed)));
    let (signs, halves) = (seeds(&|seed| of.both_signs(seed)), [of.halves()]);
    let groups: Vec<&[Input]> =
        by_length.iter().chain(&by_condition).map(Vec::as_slice).chain([&*signs, &halves]).collect();
    let ways = Sums::new(of.dtype)?.ways(&groups)?;

    let panel = |title: String, axis, first: usize, places: Vec<f64>| {
        let lines = ways.iter().map(|way| line(of, way, &way.outcomes[first..], &places)).collect();
        Panel::Lines { title, axis, unit: "relative error", lines }
    };
    let lengths = by_length.iter().map(|inputs| inputs[0].len() as f64).collect();
    let conditions = by_condition.iter().map(|inputs| inputs[0].condition()).collect();
    let panels = [
        panel(format!("sums of {} between 0 and 1", of.dtype), "elements", 0, lengths),
        panel(
            format!("sums of {ELEMENTS} {} that cancel", of.dtype),
            "condition number: sum of |x| over |sum of x|",
            POWERS.len(),
            conditions,
        ),
    ];

    // Of the groups that are plotted, one of each plot.
    let (length, cancels) = (3, by_condition.len() / 2);
    let power = |input: &Input| format!("2^{:.0}", input.condition().log2());
    let columns = [
        (length, format!("0 to 1, condition {}", power(&by_length[length][0]))),
        (groups.len() - 2, format!("-1 to 1, condition {}", power(&signs[0]))),
        (POWERS.len() + cancels, format!("cancelling, condition {}", power(&by_condition[cancels][0]))),
        (groups.len() - 1, format!("1 and {} times 2^-{}", ELEMENTS - 1, of.digits)),
    ];
    ensure!(columns.iter().all(|(group, _)| groups[*group][0].len() == ELEMENTS), "inputs of several lengths");
    Ok((plot::svg(&panels)?, table(of, &ways, &columns)?))
}

/// The mean error of each group of inputs, over its place. An error of 0 is drawn below any other mean.
fn line(of: &Precision, way: &Way, groups: &[Vec<Outcome>], places: &[f64]) -> Line {
    let mean = |outcomes: &[Outcome]| {
        // More than 1 is no worse than 1: no digit is right.
        let errors = outcomes.iter().map(|outcome| (outcome.error * outcome.relative).min(1.0));
        (errors.sum::<f64>() / outcomes.len() as f64).max(of.unit() / 16.0)
    };
    let with_sums = places.iter().zip(groups).filter(|(_, outcomes)| !outcomes.is_empty());
    let points = with_sums.map(|(place, outcomes)| (*place, mean(outcomes))).collect();
    Line { name: way.name.clone(), role: Role::of_variant(&way.name), points }
}

/// The bound of each way to add, and for some groups, each with a title, the error beside what the bound allows.
fn table(of: &Precision, ways: &[Way], columns: &[(usize, String)]) -> Result<String> {
    let titles: String = columns.iter().map(|(_, title)| format!(" {title} |")).collect();
    let rules = "---|".repeat(columns.len());
    let mut text = format!("\n### Sums of {ELEMENTS} {}\n\n| sum | bound | d |{titles} largest share |\n", of.dtype);
    writeln!(text, "|---|---|---|{rules}---|")?;
    for way in ways {
        let share = |outcome: &Outcome| outcome.error / outcome.bound;
        let worst = |outcomes: &[Outcome]| outcomes.iter().copied().max_by(|a, b| share(a).total_cmp(&share(b)));
        let mut worst_of_all: f64 = 0.0;
        let mut depth = None;
        let mut cells = String::new();
        for (group, title) in columns {
            let worst = worst(&way.outcomes[*group]);
            let worst = worst.ok_or_else(|| anyhow::anyhow!("{} has no sum of {title}", way.name))?;
            let relative = |x: f64| number(x * worst.relative);
            write!(cells, " {} of {} |", relative(worst.error), relative(worst.bound))?;
            worst_of_all = worst_of_all.max(share(&worst));
            ensure!(depth.is_none_or(|depth| depth == worst.depth), "{} has chains of several lengths", way.name);
            depth = Some(worst.depth);
        }
        let depth = depth.filter(|_| way.bound != Bound::Rounded).map_or("-".to_owned(), |depth| depth.to_string());
        let (name, formula) = (&way.name, way.bound.formula());
        writeln!(text, "| {name} | {formula} | {depth} |{cells} {} |", percent(worst_of_all))?;
    }
    Ok(text)
}

/// Two digits.
fn number(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { format!("{x:.1e}") }
}

/// A share, with two digits.
fn percent(share: f64) -> String {
    match 100.0 * share {
        0.0 => "0".to_owned(),
        x if x >= 10.0 => format!("{x:.0} %"),
        x if x >= 1.0 => format!("{x:.1} %"),
        x if x >= 0.01 => format!("{x:.2} %"),
        x => format!("{x:.0e} %"),
    }
}

/// The page. Its links are those of a page in `docs/ladders`.
const TEXT: &str = include_str!("page.txt");
