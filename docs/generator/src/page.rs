//! A family's page.

use crate::results::{self, Row};
use crate::source;
use anyhow::Result;
use host::explain::Page;
use host::explain::page::{MEASURES, Measure, Variant};
use host::kernels::{FAMILIES, Family};
use host::plot::{self, Measurement};
use std::fmt::Write;

/// Measures that a page's table has, by their names in `host explain`.
const COLUMNS: [&str; 5] =
    ["warp instructions", "divergent branches", "bank conflicts", "sectors per request", "estimated time"];

/// What was measured of a family.
pub struct Rows {
    /// By us.
    pub measured: Vec<Row>,
    /// By the documents that the family comes from.
    pub published: Vec<Row>,
}

impl Rows {
    /// Rates over sizes of the family's first operation and type, or `None` without measurements.
    pub fn plot(&self, family: &Family) -> Result<Option<String>> {
        let measurement = |row: &Row| {
            Some(Measurement {
                subject: format!("{} {}", family.name, row.subject()),
                variant: row.variant.clone(),
                peer: is_peer(family, row),
                n: row.n,
                value: row.rate()?,
            })
        };
        let panels = plot::panels(self.measured.iter().filter_map(measurement));
        if panels.is_empty() { Ok(None) } else { Ok(Some(plot::svg(&panels)?)) }
    }
}

fn is_peer(family: &Family, row: &Row) -> bool {
    (family.variants)().iter().all(|variant| variant.name != row.variant)
}

/// The list of pages.
pub fn index() -> String {
    let mut text = "# The ladders\n\nOne page per family: the idea of each rung, its code, what the simulator counts, and what an H200 \
                    takes.\n`cargo xtask docs` writes these pages out of the sources, the simulator and `docs/results`.\n\n\
                    | family | what it computes | rungs |\n|---|---|---|\n"
        .to_owned();
    for family in FAMILIES {
        let names: Vec<_> = (family.variants)().iter().map(|variant| variant.name).collect();
        text += &format!("| [{0}]({0}.md) | {1} | {2} |\n", family.name, family.idea, names.join(", "));
    }
    text
}

/// The page of a family.
pub fn page(family: &Family, explained: &Page, rows: &Rows, plot: bool) -> Result<String> {
    let mut text = format!("# {}: {}\n\n", family.name, family.idea);
    text += "Written by `cargo xtask docs`; change the kernels' module texts instead.\n\n";
    text += &source::module_text(family)?;
    text += "\n\n## The ladder\n\n";
    text += &ladder(family, explained, rows);
    if plot {
        write!(text, "\n## Measured on an H200\n\n![rates over sizes]({}.svg)\n\n", family.name)?;
        text += &measured(family, rows)?;
    }
    text += "\n## The rungs\n";
    let variants = (family.variants)();
    for (number, (info, variant)) in variants.iter().zip(&explained.variants).enumerate() {
        let path = source::variant_file(family, info.name);
        let (number, idea, link) = (number + 1, sentence(info.idea), path.display());
        write!(text, "\n### {number}. {}\n\n{idea}. [{link}](../../{link})\n", info.name)?;
        if let Some(kernel) = source::kernel(&path)? {
            write!(text, "\n```rust\n{kernel}\n```\n")?;
        }
        text += &cost(variant);
    }
    write!(
        text,
        "\n## Try it\n\n```text\nhost {0} --device sim\nhost explain {0} --variant {1} --against {2}\nhost check {0}\n```\n",
        family.name,
        variants[0].name,
        variants[variants.len() - 1].name
    )?;
    Ok(text)
}

/// With a capital letter.
fn sentence(idea: &str) -> String {
    let mut letters = idea.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

/// One row per rung: counters, and times at the largest size measured.
fn ladder(family: &Family, explained: &Page, rows: &Rows) -> String {
    let measures: Vec<&Measure> =
        COLUMNS.iter().filter_map(|name| MEASURES.iter().find(|measure| measure.name == *name)).collect();
    let main = rows.measured.first().map(Row::subject);
    let of_main = || rows.measured.iter().filter(|row| Some(row.subject()) == main);
    let largest = of_main().map(|row| row.n).max();
    let time = |name: &str| of_main().find(|row| Some(row.n) == largest && row.variant == name);
    let mut machines: Vec<&str> = rows.published.iter().map(|row| row.machine.as_str()).collect();
    machines.dedup();

    let mut header: Vec<String> = vec!["rung".into()];
    header.extend(measures.iter().map(|measure| measure.name.to_owned()));
    if let Some(row) = of_main().find(|row| Some(row.n) == largest) {
        let unit = row.rate().map_or("", |rate| rate.0);
        header.extend([format!("H200, {}", row.size()), unit.to_owned(), "step".into()]);
    }
    header.extend(machines.iter().map(|machine| (*machine).to_owned()));
    let mut text = table_row(&header) + &table_row(&vec!["---".to_owned(); header.len()]);
    let mut before = None;
    for variant in &explained.variants {
        let mut cells = vec![variant.name.clone()];
        cells.extend(measures.iter().map(|measure| measure.unit.write((measure.of)(variant))));
        if largest.is_some() {
            let row = time(&variant.name);
            cells.push(row.map_or("-".into(), |row| us(row.median_us)));
            cells.push(row.and_then(Row::rate).map_or("-".into(), |rate| rate_text(rate.1)));
            let step = before.zip(row).map(|(before, row): (f64, &Row)| format!("{:.2}x", before / row.median_us));
            cells.push(step.unwrap_or_else(|| "-".into()));
            before = row.map(|row| row.median_us).or(before);
        }
        for machine in &machines {
            let row = rows.published.iter().find(|row| row.machine == *machine && row.variant == variant.name);
            cells.push(row.map_or("-".into(), |row| us(row.median_us)));
        }
        text += &table_row(&cells);
    }
    let about = format!("Counters and estimated times: the simulator's, of {}", explained.title);
    let measured =
        main.map(|subject| format!("; times on an H200: {} {subject}, all launches, cold cache", family.name));
    text + "\n" + &about + &measured.unwrap_or_default() + ".\n"
}

/// Every size of `best` beside the library.
fn measured(family: &Family, rows: &Rows) -> Result<String> {
    let best = (family.variants)().last().map_or("", |variant| variant.name);
    let mut text = String::new();
    let mut seen = Vec::new();
    for row in rows.measured.iter().filter(|row| row.variant == best) {
        let key = (row.subject(), row.size());
        let same = |other: &&Row| is_peer(family, other) && (other.subject(), other.size()) == key;
        for peer in rows.measured.iter().filter(same) {
            if seen.is_empty() {
                let unit = row.rate().map_or("", |rate| rate.0);
                text += &table_row(&["", "size", "best", unit, "library", "", "its time over ours"].map(str::to_owned));
                text += "|---|---|---|---|---|---|---|\n";
            }
            let rate = row.rate().map_or("-".into(), |rate| rate_text(rate.1));
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
        write!(text, "\nAll numbers and their machine: [{0}](../../{0}).\n", path.display())?;
    }
    Ok(text)
}

/// Where a rung's time goes.
fn cost(variant: &Variant) -> String {
    let mut text = String::new();
    for line in &variant.lines {
        if text.is_empty() {
            text += "\n| share | line | why |\n|---|---|---|\n";
        }
        let place = line.file.rsplit('/').next().unwrap_or_default();
        let code = line.text.replace('|', "\\|").replace('`', "'");
        text += &format!("| {:.0} % | `{place}:{}` `{code}` | {} |\n", line.share * 100.0, line.line, line.reason);
    }
    text
}

fn table_row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn us(time: f64) -> String {
    match time {
        _ if time >= 1e4 => format!("{:.1} ms", time / 1e3),
        _ if time >= 1e3 => format!("{:.2} ms", time / 1e3),
        _ => format!("{time:.1} us"),
    }
}

fn rate_text(rate: f64) -> String {
    if rate >= 100.0 { format!("{rate:.0}") } else { format!("{rate:.2}") }
}
