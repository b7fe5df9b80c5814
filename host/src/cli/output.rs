//! What commands print: JSON lines, and tables for people.

use crate::backend::{Counters, Fidelity, Printed};
use crate::bench::Cache;
use crate::error::{Error, Result};
use crate::kernels::Row;
use crate::plot;
use comfy_table::{CellAlignment, Table, presets};
use std::io::Write;
use std::path::{Path, PathBuf};

/// `--json [FILE]`.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// One JSON object per line instead of the table; with FILE: the objects there, and the table too
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub json: Option<Option<PathBuf>>,
    /// Draw the rates, or on the simulator the counters: SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

impl Options {
    /// Standard output belongs to programs.
    pub fn to_stdout(&self) -> bool {
        matches!(self.json, Some(None))
    }

    /// Where kernels may print to.
    pub fn printed(&self) -> Printed {
        printed(self.to_stdout())
    }
}

/// Where kernels may print to beside JSON (or not) on standard output.
pub(super) fn printed(json: bool) -> Printed {
    if json { Printed::Stderr } else { Printed::Stdout }
}

/// Collects the rows of one command.
pub(super) struct Report<'o> {
    options: &'o Options,
    /// A heading, and the rows of its table.
    sections: Vec<(String, Vec<Row>)>,
    failed: Option<std::io::Error>,
}

impl<'o> Report<'o> {
    /// Without rows yet.
    pub fn new(options: &'o Options) -> Self {
        Self { options, sections: vec![(String::new(), Vec::new())], failed: None }
    }

    /// Rows that follow are compared with each other and with none before.
    pub fn section(&mut self, heading: &str) {
        self.flush();
        self.sections.push((heading.to_owned(), Vec::new()));
    }

    /// Takes a row; JSON to standard output appears at once.
    pub fn add(&mut self, row: Row) {
        if self.options.to_stdout() {
            self.keep(line(&json(&row)));
        }
        if let Some((_, rows)) = self.sections.last_mut() {
            rows.push(row);
        }
    }

    /// Prints what is left, and writes the file; tells whether every row is clean.
    pub fn finish(mut self) -> Result<bool> {
        self.flush();
        if let Some(source) = self.failed {
            return Err(Error::Write { path: "standard output".into(), source });
        }
        let rows = || self.sections.iter().flat_map(|(_, rows)| rows);
        if let Some(Some(path)) = &self.options.json {
            let text: String = rows().map(|row| json(row) + "\n").collect();
            write(path, &text)?;
        }
        if let Some(path) = &self.options.plot {
            write(path, &plot::svg(&plot::of_rows(rows()))?)?;
        }
        Ok(rows().all(Row::is_clean))
    }

    /// Prints what there is of an interrupted command, and a fault as JSON for programs; writes no file.
    pub fn abandon(mut self, family: &str, error: &Error) {
        self.flush();
        if let (true, Error::Fault(fault)) = (self.options.to_stdout(), error) {
            // Nobody reads it any more when this fails; the error itself is still reported.
            let _ = line(&serde_json::json!({ "family": family, "fault": fault }).to_string());
        }
    }

    /// Prints the last section, and what does not fit in its table.
    fn flush(&mut self) {
        let Some((heading, rows)) = self.sections.last() else { return };
        if rows.is_empty() {
            return;
        }
        let mut text = if heading.is_empty() { String::new() } else { format!("\n{heading}\n\n") };
        let counted_rows = rows.iter().any(|row| row.counters.is_some());
        text += &if counted_rows { counted(rows) } else { timed(rows) }.to_string();
        let printed = if self.options.to_stdout() { Ok(()) } else { line(&text) };
        rows.iter().for_each(notes);
        self.keep(printed);
    }

    /// The first error is the one to report.
    fn keep(&mut self, result: std::io::Result<()>) {
        self.failed = self.failed.take().or(result.err());
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|source| Error::Write { path: path.to_owned(), source })
}

/// What does not fit in a column, on standard error.
fn notes(row: &Row) {
    let name = || format!("{} {}", row.family, row.variant);
    if !row.verified {
        let value =
            |value: &Option<_>| value.map_or("an array".to_owned(), |value: crate::element::Value| value.to_string());
        let (got, expected) = (value(&row.value), value(&row.reference));
        eprintln!("{}: WRONG: got {got}, expected {expected}, off by {}", name(), row.error);
    }
    for finding in &row.findings {
        eprintln!("{}: {}", name(), finding.for_stderr());
    }
}

/// JSON never fails here: a row has no map with keys that are no strings.
fn json(row: &Row) -> String {
    serde_json::to_string(row).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// Prints a line; unlike `println!` it reports a closed pipe instead of panicking.
pub(super) fn line(text: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    out.write_all(text.as_bytes())?;
    out.write_all(b"\n")?;
    out.flush()
}

/// An empty table.
pub(super) fn table<const N: usize>(header: [&str; N]) -> Table {
    let mut table = Table::new();
    table.load_preset(presets::ASCII_MARKDOWN).set_header(header);
    table
}

/// All counters of one launch.
pub(super) fn counters(counters: &Counters) -> Table {
    let mut table = table(["counter", "value"]);
    for (name, value) in counters.fields() {
        table.add_row([name.replace('_', " "), value.to_string()]);
    }
    align(&mut table, 1..2);
    table
}

/// How close the opcodes of a launch are to a GPU's.
pub(super) fn fidelity(opcodes: &[Fidelity]) -> Table {
    /// Places in the PTX that a row names.
    const PLACES: usize = 6;
    let mut table = table(["opcode", "compared with a GPU", "executions", "lines of the PTX"]);
    for opcode in opcodes {
        let lines: Vec<_> = opcode.lines.iter().take(PLACES).map(u32::to_string).collect();
        let more =
            if opcode.lines.len() > PLACES { format!(", ... {} in all", opcode.lines.len()) } else { String::new() };
        let class = match opcode.bound {
            Some(bound) => format!("{}: {bound}", opcode.fidelity),
            None => opcode.fidelity.to_owned(),
        };
        table.add_row([opcode.opcode.clone(), class, opcode.executions.to_string(), lines.join(", ") + &more]);
    }
    align(&mut table, 2..3);
    table
}

/// The GPU's table.
fn timed(rows: &[Row]) -> Table {
    let mut table = table(["variant", "value", "time", "GB/s", "of peak", "speed-up", "spread", "cache", "verified"]);
    let first = rows[0].time_ms;
    for row in rows {
        let dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
        table.add_row([
            row.variant.clone(),
            value(row),
            dash(row.time_ms.map(|ms| format!("{:.1} us", ms * 1e3))),
            dash(row.gbps.map(|gbps| format!("{gbps:.0}"))),
            dash(row.fraction_of_limit.map(|fraction| format!("{:.1} %", fraction * 100.0))),
            dash(first.zip(row.time_ms).map(|(first, ms)| format!("{:.2}x", first / ms))),
            dash(row.timing.map(|timing| format!("{:.1} %", timing.spread * 100.0))),
            dash(row.timing.map(|timing| if timing.cache == Cache::Cold { "cold" } else { "warm" }.into())),
            verified(row),
        ]);
    }
    align(&mut table, 2..7);
    table
}

/// The simulator's table: it has no time, and tells instead what time goes into.
fn counted(rows: &[Row]) -> Table {
    let mut table = table([
        "variant",
        "value",
        "instructions",
        "bank conflicts",
        "divergent branches",
        "global sectors",
        "sectors/request",
        "barriers",
        "verified",
    ]);
    for row in rows {
        let counters = row.counters.unwrap_or_default();
        let Counters { global_sectors, global_requests, .. } = counters;
        table.add_row([
            row.variant.clone(),
            value(row),
            counters.warp_instructions.to_string(),
            counters.bank_conflicts.to_string(),
            format!("{} of {}", counters.divergent_branches, counters.branches),
            global_sectors.to_string(),
            if global_requests > 0 {
                format!("{:.2}", global_sectors as f64 / global_requests as f64)
            } else {
                "-".into()
            },
            counters.barriers.to_string(),
            verified(row),
        ]);
    }
    align(&mut table, 2..8);
    table
}

fn value(row: &Row) -> String {
    match (row.value, row.wrapped) {
        (Some(value), true) => format!("{value} (wrapped)"),
        (Some(value), false) => value.to_string(),
        (None, _) => format!("{} elements", row.n),
    }
}

fn verified(row: &Row) -> String {
    match (row.verified, row.findings.len()) {
        (false, _) => "WRONG".into(),
        (true, 0) => "yes".into(),
        (true, count) => format!("yes, {count} findings"),
    }
}

fn align(table: &mut Table, columns: std::ops::Range<usize>) {
    for column in columns {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
