//! The page as text for a terminal.

use super::page::{MEASURES, Measure, Page, Variant, limit_in_words};
use comfy_table::{Attribute, Cell, CellAlignment, Color, Table, presets};
use std::fmt::Write;

/// Renders tables and sentences; `colour` marks the better value of two.
pub fn render(page: &Page, colour: bool) -> String {
    let mut out = format!("{}\nestimated for {}, from a cold cache\n\n", page.title, page.device.name);
    let _ = writeln!(out, "{}", measures(page, colour));
    for variant in &page.variants {
        write_variant(&mut out, variant);
    }
    if let [a, b] = page.variants.as_slice() {
        let _ = writeln!(out, "\n{}", compare(a, b));
    }
    if let Some(next) = &page.next {
        let _ = writeln!(out, "\nnext rung: {next}");
    }
    out
}

fn measures(page: &Page, colour: bool) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN);
    let names = page.variants.iter().map(|variant| variant.name.as_str());
    table.set_header(std::iter::once("").chain(names).chain(["what it means"]));
    if colour {
        table.enforce_styling();
    } else {
        table.force_no_tty();
    }
    for measure in MEASURES {
        let values: Vec<f64> = page.variants.iter().map(measure.of).collect();
        if values.iter().all(|value| *value == 0.0) {
            continue;
        }
        let mut row = vec![Cell::new(measure.name)];
        row.extend(values.iter().map(|value| cell(measure, *value, &values)));
        row.push(Cell::new(measure.meaning).add_attribute(Attribute::Dim));
        table.add_row(row);
    }
    table
}

fn cell(measure: &Measure, value: f64, all: &[f64]) -> Cell {
    let cell = Cell::new(measure.unit.write(value)).set_alignment(CellAlignment::Right);
    let (low, high) = all.iter().fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(*v), high.max(*v)));
    match measure.fewer {
        Some(fewer) if low < high && value == if fewer { low } else { high } => cell.fg(Color::Green),
        Some(fewer) if low < high && value == if fewer { high } else { low } => cell.fg(Color::Yellow),
        _ => cell,
    }
}

fn write_variant(out: &mut String, variant: &Variant) {
    let _ = writeln!(out, "\n{}: {}", variant.name, variant.idea);
    match variant.verified {
        Some(true) => {}
        Some(false) => {
            let _ = writeln!(out, "  WRONG RESULT: the kernel explained below computes something else");
        }
        None => {
            let _ = writeln!(out, "  NOT JUDGED: there is no result to compare with");
        }
    }
    let _ = writeln!(out, "  about {:.1} us, limited by {}", variant.time_us, limit_in_words(&variant.limit));
    if let Some(launch) = variant.longest() {
        for limit in launch.time.limits.iter().filter(|limit| limit.us >= 0.05 * launch.time.kernel_us) {
            let _ = writeln!(out, "    {:<10} {:>9.1} us  {}", limit.name, limit.us, limit.why);
        }
    }
    let _ = writeln!(out, "  the lines that cost most:");
    for line in &variant.lines {
        let place = if line.file.is_empty() {
            format!("PTX line {}", line.line)
        } else {
            format!("{}:{}", line.file, line.line)
        };
        let _ = writeln!(out, "    {:>5.1} %  {place}", line.share * 100.0);
        let _ = writeln!(out, "             {}", line.text);
        let _ = writeln!(out, "             {}", line.reason);
    }
}

/// Compares two variants in one sentence.
pub fn compare(a: &Variant, b: &Variant) -> String {
    let (slow, fast) = if a.time_us >= b.time_us { (a, b) } else { (b, a) };
    let factor = if fast.time_us > 0.0 { slow.time_us / fast.time_us } else { 1.0 };
    if factor < 1.03 {
        return format!(
            "{} and {} would take the same time: both are limited by {}",
            slow.name,
            fast.name,
            limit_in_words(&fast.limit)
        );
    }
    format!(
        "{} would be {factor:.2}x as fast as {}. {}: {}. {}: {}",
        fast.name,
        slow.name,
        slow.name,
        limit_in_words(&slow.limit),
        fast.name,
        limit_in_words(&fast.limit)
    )
}
