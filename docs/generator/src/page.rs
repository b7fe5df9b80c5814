//! The page of a family, and the list of pages.

use crate::results::{self, Row};
use crate::source;
use anyhow::{Context, Result, bail};
use ladders::explain::Page;
use ladders::explain::measures::{MEASURES, Measure};
use ladders::explain::page::Variant;
use ladders::kernels::{FAMILIES, Family, Role, VariantInfo};
use ladders::plot::{self, Measurement, Size};
use std::fmt::Write;

/// Measures that a page's table shows, by their names in `host explain`.
const COLUMNS: [&str; 5] =
    ["warp instructions", "divergent branches", "bank conflicts", "sectors per request", "estimated time"];

/// Explanation of the pages' columns.
const COLUMNS_TEXT: &str = "
## The columns

| column | meaning |
|---|---|
| warp instructions | PTX instructions issued by warps: one for up to 32 threads. The machine code has other \
    instructions |
| divergent branches | share of the branches whose lanes go both ways, so that the warp executes both sides one \
    after the other |
| bank conflicts | wavefronts (passes over the 32 banks of shared memory) beyond those of the same accesses without \
    conflicts |
| sectors per request | 32-byte pieces of global memory that a warp's load or store touches; 4 where 32 lanes read \
    neighbouring 4-byte elements, 16 where each reads 16 bytes |
| estimated time | estimate for all launches on an H200 with a cold cache, by a replay of the simulated blocks of one \
    multiprocessor: no measurement. The plot below has all estimates beside their times |
| H200, *size* | the median time of all launches, measured on an H200 with the L2 cache overwritten before each run |
| GB/s, TFLOP/s | bytes that must be moved at least (operands once, results once), or operations of the algorithm, \
    divided by the measured time |
| step | speedup over the previous rung |
| share | part of the estimated cost of the longest launch that a source line causes |
";

/// How good the estimates are.
const ESTIMATES_TEXT: &str = "
## Estimates and times

![Estimates against measured times](../results/h200/2026-11-27-time-model.svg)

The rungs of all ladders at the sizes that the simulator runs in seconds, each by its time on an H200 and its \
estimate. [How the estimate is made, and how good it is](../decisions/time-model.md).
";

/// The measurements of a family.
pub struct Rows {
    /// Our measurements, of our kernels and of libraries.
    pub measured: Vec<Row>,
    /// Measurements in the documents that the family is taken from.
    pub published: Vec<Row>,
}

impl Rows {
    /// The rows of the operation, type and settings that the page is about: default settings where they were measured.
    pub fn main(&self) -> Vec<&Row> {
        let of = |row: &Row| (row.subject(), row.axes());
        let main = self.measured.iter().find(|row| row.settings.is_empty()).or(self.measured.first()).map(of);
        self.measured.iter().filter(|row| Some(of(row)) == main).collect()
    }

    /// Plots rates over sizes, with a panel for each operation, type and settings; `None` without measurements.
    ///
    /// # Errors
    /// Fails if the plot cannot be drawn.
    pub fn plot(&self, family: &Family) -> Result<Option<String>> {
        // A ragged size just below an even one would make a step in the line.
        let ragged = |row: &Row| {
            let above = |other: &Row| row.n < other.n && other.n - row.n <= row.n / 20;
            self.measured.iter().any(|other| above(other) && other.subject() == row.subject())
        };
        // Sizes of several channels are not comparable with those of one.
        let other = |row: &Row| {
            let first = self.measured.iter().find(|first| first.subject() == row.subject());
            first.is_some_and(|first| first.axes() != row.axes())
        };
        let measurement = |row: &Row| {
            Some(Measurement {
                subject: format!("{} {}", family.name, row.subject()),
                variant: row.variant.clone(),
                role: if is_peer(family, row) { Role::Library } else { Role::of_variant(&row.variant) },
                size: Size::new(family.name, row.n, &row.sides()),
                value: row.rate()?,
            })
        };
        let panels =
            plot::panels(self.measured.iter().filter(|row| !ragged(row) && !other(row)).filter_map(measurement));
        if panels.is_empty() { Ok(None) } else { Ok(Some(plot::svg(&panels)?)) }
    }
}

pub fn is_peer(family: &Family, row: &Row) -> bool {
    (family.variants)().iter().all(|variant| variant.name != row.variant)
}

/// The list of pages.
pub fn index() -> String {
    let mut text = "# The ladders\n\nOne page per family: the idea of each rung, its code, the simulator's counters, \
        and the \
                    times of an H200.\n`cargo xtask docs` generates these pages from the sources, the simulator and \
                    `docs/results`.\n\n\
                    | family | what it computes | rungs |\n|---|---|---|\n"
        .to_owned();
    for family in FAMILIES {
        let names: Vec<_> = (family.variants)().iter().map(|variant| variant.name).collect();
        text += &format!("| [{0}]({0}.md) | {1} | {2} |\n", family.name, family.idea, names.join(", "));
    }
    text += "\nSums of floats, their errors beside their bounds, and their order: \
        [How to add floats](adding_floats.md). Times from 2^10 elements on, beside the vendor's libraries: \
        [Time over size](sizes.md).\n";
    text += COLUMNS_TEXT;
    text + ESTIMATES_TEXT
}

/// The page of a family.
///
/// # Errors
/// Fails if a kernel's source cannot be read or found, a rung is not explained, or a column is no measure.
pub fn page(family: &Family, explained: &Page, rows: &Rows, plot: bool) -> Result<String> {
    let mut text = format!("# {}: {}\n\n", family.name, family.idea);
    text += "Written by `cargo xtask docs`; change the kernels' module texts instead.\n\n";
    text += &source::module_text(family)?;
    text += "\n\n## The ladder\n\n";
    text += &ladder(family, explained, rows)?;
    text += &published(rows);
    if plot {
        write!(text, "\n## Measured on an H200\n\n![rates over sizes]({}.svg)\n\n", family.name)?;
        text += &measured(family, rows)?;
    }
    text += "\n## The rungs\n";
    let variants = (family.variants)();
    for (number, (info, variant)) in with_explanations(&variants, &explained.variants)?.into_iter().enumerate() {
        let kernel = source::kernel(family, info)?;
        let (number, idea, link) = (number + 1, sentence(info.idea), kernel.path.display());
        write!(text, "\n### {number}. {}\n\n{idea}. [{link}](../../{link})\n", info.name)?;
        write!(text, "\n```rust\n{}\n```\n", kernel.text)?;
        text += &variant.map_or_else(String::new, cost);
    }
    write!(
        text,
        "\n## Try it\n\n```text\nhost {0} --device sim\nhost explain {0} --variant {1} --against {2}\n\
         host check {0}\n```\n",
        family.name,
        variants[0].name,
        variants[variants.len() - 1].name
    )?;
    Ok(text)
}

/// Each rung with its explanation, if it solves the problem that is explained.
///
/// # Errors
/// Fails if the explanations are not those of rungs, in the same order.
fn with_explanations<'p>(
    rungs: &'p [VariantInfo],
    explained: &'p [Variant],
) -> Result<Vec<(&'p VariantInfo, Option<&'p Variant>)>> {
    let mut left = explained.iter().peekable();
    let pairs: Vec<_> = rungs.iter().map(|rung| (rung, left.next_if(|variant| variant.name == rung.name))).collect();
    if left.next().is_some() {
        let names: Vec<_> = rungs.iter().map(|rung| rung.name).collect();
        let others: Vec<_> = explained.iter().map(|variant| variant.name.as_str()).collect();
        bail!(
            "the simulator explained the rungs [{}], but the family has [{}]: explain the rungs in the family's order",
            others.join(", "),
            names.join(", ")
        );
    }
    Ok(pairs)
}

/// The idea with a capital letter, unless it begins with code.
fn sentence(idea: &str) -> String {
    let word = idea.split(' ').next().unwrap_or_default();
    if !word.chars().all(|letter| letter.is_ascii_lowercase() || "',-".contains(letter)) {
        return idea.to_owned();
    }
    let mut letters = idea.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// One row per rung: the simulator's counters and estimate, and the times measured at the simulated size and at the
/// largest.
///
/// # Errors
/// Fails if a column is no measure.
fn ladder(family: &Family, explained: &Page, rows: &Rows) -> Result<String> {
    let measures = measures(&COLUMNS)?;
    let main = rows.main();
    let largest = main.iter().max_by_key(|row| row.n);
    let simulated = main.iter().find(|row| row.size() == results::size(explained.n, &explained.shape));
    let simulated = simulated.filter(|row| largest.is_none_or(|largest| largest.size() != row.size()));
    let time = |name: &str, size: &str| main.iter().copied().find(|row| row.size() == size && row.variant == name);

    let mut header: Vec<String> = vec!["rung".into()];
    header.extend(measures.iter().map(|measure| measure.name.to_owned()));
    header.extend(simulated.map(|row| format!("H200, {}", row.size())));
    if let Some(row) = largest {
        let unit = row.rate().map_or("", |rate| rate.0);
        header.extend([format!("H200, {}", row.size()), format!("{unit} at {}", row.size()), "step".into()]);
    }
    let mut text = table_row(&header) + &table_row(&vec!["---".to_owned(); header.len()]);
    let mut before = None;
    for variant in &explained.variants {
        let mut cells = vec![variant.name.clone()];
        cells.extend(measures.iter().map(|measure| measure.unit.write((measure.of)(variant))));
        let cell = |row: Option<&Row>| row.map_or("-".into(), |row| us(row.median_us));
        cells.extend(simulated.map(|size| cell(time(&variant.name, &size.size()))));
        if let Some(size) = largest {
            let row = time(&variant.name, &size.size());
            cells.push(cell(row));
            cells.push(row.and_then(Row::rate).map_or("-".into(), |rate| rate_text(rate.1)));
            let step = before.zip(row).map(|(before, row): (f64, &Row)| format!("{:.2}x", before / row.median_us));
            cells.push(step.unwrap_or_else(|| "-".into()));
            before = row.map(|row| row.median_us).or(before);
        }
        text += &table_row(&cells);
    }
    text += &format!("\nCounters and estimated times are the simulator's, for {}", explained.title);
    if let Some(row) = largest {
        text += &format!("; times on an H200: {} {}, all launches, cold cache", family.name, row.subject());
    }
    Ok(text + ". What the columns mean: [README](README.md#the-columns).\n")
}

/// The measures with these names.
///
/// # Errors
/// Fails if `host explain` has no measure of a name.
fn measures(names: &[&str]) -> Result<Vec<&'static Measure>> {
    let of = |name: &&str| {
        let measure = MEASURES.iter().find(|measure| measure.name == *name);
        measure.with_context(|| {
            format!("`host explain` has no measure `{name}`: change the name in `COLUMNS` and `COLUMNS_TEXT`")
        })
    };
    names.iter().map(of).collect()
}

/// Measurements in the documents that the family is taken from, beside those of an H200 with the same operation, type
/// and size.
fn published(rows: &Rows) -> String {
    let Some(first) = rows.published.first() else { return String::new() };
    let mut machines: Vec<&str> = rows.published.iter().map(|row| row.machine.as_str()).collect();
    machines.dedup();
    let of = |machine: &str| rows.published.iter().filter(|row| row.machine == machine).collect::<Vec<_>>();
    let ours = |variant: &str| {
        let same = |row: &&Row| row.variant == variant && (row.subject(), row.n) == (first.subject(), first.n);
        rows.measured.iter().find(same)
    };
    let mut names: Vec<&str> = Vec::new();
    for row in &rows.published {
        if !names.contains(&row.variant.as_str()) {
            names.push(&row.variant);
        }
    }
    let mut text = format!("\n## As published: {} of {} elements\n\n", first.subject(), first.size());
    let header = ["rung"].into_iter().chain(machines.iter().copied()).chain(["H200"]).map(str::to_owned);
    let header: Vec<String> = header.collect();
    text += &(table_row(&header) + &table_row(&vec!["---".to_owned(); header.len()]));
    for name in &names {
        let mut cells = vec![(*name).to_owned()];
        for machine in &machines {
            let row = of(machine).into_iter().find(|row| row.variant == *name);
            cells.push(row.map_or("-".into(), |row| us(row.median_us)));
        }
        cells.push(ours(name).map_or("-".into(), |row| us(row.median_us)));
        text += &table_row(&cells);
    }
    let gain = |first: Option<f64>, last: Option<f64>| {
        first.zip(last).map_or("-".to_owned(), |(first, last)| format!("{:.3}x", first / last))
    };
    let mut cells = vec!["first over last".to_owned()];
    for machine in &machines {
        let rows = of(machine);
        cells.push(gain(rows.first().map(|row| row.median_us), rows.last().map(|row| row.median_us)));
    }
    let time = |name: Option<&&str>| name.and_then(|name| ours(name)).map(|row| row.median_us);
    cells.push(gain(time(names.first()), time(names.last())));
    text + &table_row(&cells)
}

/// Every size of the last rung beside the library's.
fn measured(family: &Family, rows: &Rows) -> Result<String> {
    let best = (family.variants)().last().map_or("", |variant| variant.name);
    let mut text = String::new();
    let mut seen = Vec::new();
    let subjects: Vec<String> = rows.measured.iter().map(Row::subject).collect();
    let mut ours: Vec<&Row> = rows.measured.iter().filter(|row| row.variant == best).collect();
    ours.sort_by_key(|row| (subjects.iter().position(|subject| *subject == row.subject()), row.n));
    for row in ours {
        let key = (row.subject(), row.size());
        let same = |other: &&Row| is_peer(family, other) && (other.subject(), other.size()) == key;
        for peer in rows.measured.iter().filter(same) {
            if seen.is_empty() {
                text += &table_row(&["", "size", best, "rate", "library", "", "its time over ours"].map(str::to_owned));
                text += "|---|---|---|---|---|---|---|\n";
            }
            let rate = row.rate().map_or("-".into(), |rate| format!("{} {}", rate_text(rate.1), rate.0));
            let ratio = format!("{:.2}x", peer.median_us / row.median_us);
            let cells = [
                key.0.clone(),
                key.1.clone(),
                us(row.median_us),
                rate,
                peer.variant.clone(),
                us(peer.median_us),
                ratio,
            ];
            text += &table_row(&cells);
            seen.push(key.clone());
        }
    }
    if let Some(path) = results::newest()? {
        write!(text, "\nAll numbers, with their machine: [{0}](../../{0}).\n", path.display())?;
    }
    Ok(text)
}

/// The lines that cause a rung's cost.
fn cost(variant: &Variant) -> String {
    let mut text = String::new();
    for line in &variant.lines {
        if text.is_empty() {
            text += "\n| share | line | why |\n|---|---|---|\n";
        }
        let place = short(&line.file);
        let code = line.text.replace('|', "\\|").replace('`', "'");
        text += &format!("| {:.0} % | `{place}:{}` `{code}` | {} |\n", line.share * 100.0, line.line, line.reason);
    }
    text
}

/// The name of a source file; a module file is named with its folder.
fn short(path: &str) -> &str {
    let parts = if path.ends_with("/mod.rs") { 2 } else { 1 };
    path.rmatch_indices('/').nth(parts - 1).map_or(path, |(slash, _)| &path[slash + 1..])
}

pub fn table_row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

pub fn us(time: f64) -> String {
    match time {
        _ if time >= 1e4 => format!("{:.1} ms", time / 1e3),
        _ if time >= 1e3 => format!("{:.2} ms", time / 1e3),
        _ => format!("{time:.1} us"),
    }
}

fn rate_text(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_file_is_named_with_its_folder() {
        assert_eq!(short("kernels-gpu/src/vecadd/best.rs"), "best.rs");
        assert_eq!(short("kernels-gpu/src/vecadd/mod.rs"), "vecadd/mod.rs");
        assert_eq!(short("mod.rs"), "mod.rs");
    }

    #[test]
    fn every_column_is_a_measure_that_the_list_of_pages_explains() {
        let found = measures(&COLUMNS).expect("measures");
        assert_eq!(found.iter().map(|measure| measure.name).collect::<Vec<_>>(), COLUMNS);
        for name in COLUMNS {
            assert!(COLUMNS_TEXT.contains(&format!("\n| {name} | ")), "COLUMNS_TEXT lacks `{name}`");
        }
        let error = measures(&["warp instructions", "renamed"]).err().expect("no such measure").to_string();
        assert!(error.starts_with("`host explain` has no measure `renamed`"), "{error}");
    }

    #[test]
    fn every_rung_needs_its_explanation() {
        let rungs = (FAMILIES[0].variants)();
        let explained = |name: &str| Variant::new(name, "", None, Default::default(), Vec::new(), Default::default());
        let all: Vec<_> = rungs.iter().map(|rung| explained(rung.name)).collect();
        let pairs = with_explanations(&rungs, &all).expect("pairs");
        let found = |(rung, variant): &(&VariantInfo, Option<&Variant>)| variant.is_some_and(|v| v.name == rung.name);
        assert!(!pairs.is_empty() && pairs.iter().all(found));
        assert_eq!(pairs.len(), rungs.len());
        let fewer = with_explanations(&rungs, &all[1..]).expect("a rung does not solve the problem");
        assert!(fewer[0].1.is_none() && fewer[1..].iter().all(found));
        let mut longer = all;
        longer.push(explained("another"));
        let error = with_explanations(&rungs, &longer).expect_err("one too many").to_string();
        assert!(error.starts_with("the simulator explained the rungs ["), "{error}");
    }
}
