//! Output of commands: JSON lines, and tables for people.

pub(super) use super::rows::ALL;
use super::rows::{counted, number, timed};
use super::{ending, interrupt, look, stdout};
use ladders::error::{Error, Result};
use ladders::input;
use ladders::kernels::{Row, Wrong};
use ladders::plot;
use ladders::table::{Column, Grid};
use rustwarp::backend::{Counters, Fidelity, Printed};
use rustwarp::diagnostic::{Diagnostic, note};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The options `--json [FILE]` and `--plot FILE`.
#[derive(Clone, Debug, clap::Args)]
#[group(skip)]
pub(super) struct Options {
    /// Print one JSON object per line instead of the table; with FILE, write the objects there and print the table too
    #[arg(long, value_name = "FILE", num_args = 0..=1)]
    pub json: Option<Option<PathBuf>>,
    /// Plot the rates, or on the simulator the counters, as SVG
    #[arg(long, value_name = "FILE")]
    pub plot: Option<PathBuf>,
}

impl Options {
    /// Whether standard output has JSON only.
    pub fn to_stdout(&self) -> bool {
        matches!(self.json, Some(None))
    }

    /// Checks that the files can be written, before there is a result.
    ///
    /// # Errors
    /// Fails if the file of `--json` or of `--plot` cannot be written.
    pub fn require_writable(&self) -> Result<()> {
        let is_svg = |path| ending::require("--plot", path, "plots are written as SVG", &["svg"]);
        self.plot.as_deref().map_or(Ok(()), is_svg)?;
        self.json.iter().flatten().chain(&self.plot).try_for_each(|path| input::require_writable(path))
    }

    /// Destination of the text that kernels print.
    pub fn printed(&self) -> Printed {
        printed(self.to_stdout())
    }
}

/// Destination of the text that kernels print if standard output has JSON, or not.
pub(super) fn printed(json: bool) -> Printed {
    if json { Printed::Stderr } else { Printed::Stdout }
}

/// Collects the rows of one command. Those of an interrupted command are printed, and its files written.
pub(super) struct Report {
    state: Arc<Mutex<State>>,
}

struct State {
    options: Options,
    /// Headings, each with the rows of its table.
    sections: Vec<(String, Vec<Row>)>,
    /// The objects for the file of `--json FILE`.
    objects: Vec<String>,
    /// Elements of a short result, shown after the table.
    values: Option<String>,
    /// Schedules that have begun, under `--seeds`.
    begun: Option<u64>,
    /// The file of a result that is being written, which an interrupted command removes.
    unfinished: Option<PathBuf>,
    /// The first error in printing.
    failed: Option<Error>,
    /// Whether everything has been printed.
    finished: bool,
}

impl Report {
    /// Creates a report without rows.
    pub fn new(options: &Options) -> Self {
        let state = Arc::new(Mutex::new(State {
            options: options.clone(),
            sections: vec![(String::new(), Vec::new())],
            objects: Vec::new(),
            values: None,
            begun: None,
            unfinished: None,
            failed: None,
            finished: false,
        }));
        let interrupted = state.clone();
        interrupt::then_exit(move || lock(&interrupted).interrupted());
        Self { state }
    }

    /// Starts a table: its rows are compared with each other only.
    pub fn section(&mut self, heading: &str) {
        let mut state = lock(&self.state);
        state.flush();
        state.sections.push((heading.to_owned(), Vec::new()));
    }

    /// Adds a row, and prints its JSON at once.
    pub fn add(&mut self, row: Row) {
        let mut state = lock(&self.state);
        state.object(json(&row));
        if let Some((_, rows)) = state.sections.last_mut() {
            rows.push(row);
        }
    }

    /// Adds a fault to the JSON; people see it as the error that ends the command.
    pub fn fault(&mut self, family: &str, fault: &Diagnostic) {
        self.object(serde_json::json!({ "family": family, "fault": fault }).to_string());
    }

    /// Adds an object to the JSON: prints it at once, or keeps it for the file.
    pub fn object(&self, text: String) {
        lock(&self.state).object(text);
    }

    /// Counts one more schedule, which begins: an interruption says how many were finished.
    pub fn schedule(&self) {
        let mut state = lock(&self.state);
        state.begun = Some(state.begun.map_or(1, |begun| begun + 1));
    }

    /// Names the temporary file of a result that is being written: an interrupted command removes it.
    pub fn unfinished(&self, path: &Path) {
        lock(&self.state).unfinished = Some(path.to_owned());
    }

    /// Sets the elements of a result to show after the table, if all its rows are clean.
    pub fn values(&mut self, text: String) {
        lock(&self.state).values = Some(text);
    }

    /// Prints the rest and writes the files, also after an error, since earlier measurements are valid. Returns whether
    /// every row is clean, and the command's result.
    ///
    /// # Errors
    /// Returns the error of `outcome`; otherwise the first one of printing and of writing the files.
    pub fn finish<T>(self, outcome: Result<T>) -> Result<(bool, T)> {
        let mut state = lock(&self.state);
        let clean = state.finish(outcome.is_ok());
        match (outcome, state.failed.take()) {
            (Ok(value), None) => Ok((clean, value)),
            (Ok(_), Some(error)) => Err(error),
            (Err(error), None) => Err(error),
            (Err(error), Some(other)) => {
                note(other);
                Err(error)
            }
        }
    }
}

/// The state, also after a panic of another thread that held it: rows are added whole.
fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    /// Prints the rest and writes the files; `whole` means that the command ended without an error. Returns whether
    /// every row is clean.
    fn finish(&mut self, whole: bool) -> bool {
        self.finished = true;
        self.flush();
        let clean = self.rows().all(Row::is_clean);
        if let (true, true, false, Some(values)) = (clean, whole, self.options.to_stdout(), &self.values) {
            let printed = stdout::line(&format!("result: {values}"));
            self.keep(printed);
        }
        let written = self.write_files(whole);
        self.keep(written);
        clean
    }

    /// Prints the rows that are there when the user interrupts the command.
    fn interrupted(&mut self) {
        if self.finished {
            return;
        }
        if let Some(path) = self.unfinished.take() {
            // It is there no longer if the command has just ended.
            let _ = std::fs::remove_file(path);
        }
        self.finish(false);
        if let Some(error) = self.failed.take() {
            note(error);
        }
        let (count, what) = match self.begun {
            Some(begun) => (begun - 1, "seed"),
            None => (self.rows().count() as u64, "row"),
        };
        match count {
            1 => note(format_args!("interrupted: 1 {what} was finished")),
            count => note(format_args!("interrupted: {count} {what}s were finished")),
        }
    }

    fn object(&mut self, text: String) {
        match self.options.json {
            Some(None) => {
                let printed = stdout::line(&text);
                self.keep(printed);
            }
            Some(Some(_)) => self.objects.push(text),
            None => {}
        }
    }

    fn rows(&self) -> impl Iterator<Item = &Row> {
        self.sections.iter().flat_map(|(_, rows)| rows)
    }

    /// Writes the requested files; after bad input there are none.
    fn write_files(&self, whole: bool) -> Result<()> {
        if let Some(Some(path)) = self.options.json.as_ref().filter(|_| whole || !self.objects.is_empty()) {
            let text: String = self.objects.iter().map(|object| format!("{object}\n")).collect();
            input::write_text(path, &text)?;
        }
        if let Some(path) = self.options.plot.as_ref().filter(|_| whole || self.rows().next().is_some()) {
            input::write_text(path, &plot::svg(&plot::of_rows(self.rows()))?)?;
        }
        Ok(())
    }

    /// Prints the last section, and the details that do not fit in its table.
    fn flush(&mut self) {
        let Some((heading, rows)) = self.sections.last() else { return };
        if rows.is_empty() {
            return;
        }
        let mut text = if heading.is_empty() { String::new() } else { format!("\n{heading}\n\n") };
        let counted_rows = rows.iter().any(|row| row.counters.is_some());
        text += &if counted_rows { counted(rows) } else { timed(rows) }.render(look::stdout());
        let printed = if self.options.to_stdout() { Ok(()) } else { stdout::line(&text) };
        rows.iter().for_each(notes);
        self.keep(printed);
    }

    /// Keeps the first error, which is the one to report.
    fn keep(&mut self, result: Result<()>) {
        self.failed = self.failed.take().or(result.err());
    }
}

/// Prints details that do not fit in a column to standard error.
fn notes(row: &Row) {
    let name = format!("{} {}", row.family, row.variant);
    if row.verified.is_none() && row.findings.is_empty() {
        note(format_args!("{name}: NOT JUDGED: no checker found anything, and there is no result to compare with"));
    }
    if row.verified == Some(false) {
        let what = match (row.value, row.reference, row.wrong) {
            (Some(got), Some(expected), _) => {
                let (got, expected) = (number(row, got), number(row, expected));
                format!("got {got}, expected {expected}, off by {}", row.error)
            }
            (_, _, Some(Wrong { index, got, expected })) => {
                let (got, expected) = (number(row, got), number(row, expected));
                format!("element {index} is {got}, expected {expected}; the largest error is {}", row.error)
            }
            _ => format!("the largest error of an element is {}", row.error),
        };
        note(format_args!("{name}: WRONG: {what}"));
    }
    for finding in &row.findings {
        note(format_args!("{name}: {}", look::report(finding)));
    }
}

/// The row as JSON. Serialisation cannot fail: all maps of a row have string keys.
fn json(row: &Row) -> String {
    serde_json::to_string(row).unwrap_or_else(|error| format!("{{\"error\":\"{error}\"}}"))
}

/// The table of all counters of one launch.
pub(super) fn counters(counters: &Counters) -> Grid {
    let mut table = Grid::new([Column::text("counter"), Column::number("value")], ALL);
    for (name, value) in counters.fields() {
        table.row([name.replace('_', " "), value.to_string()]);
    }
    table
}

/// The table of how closely the opcodes of a launch match a GPU.
pub(super) fn fidelity(opcodes: &[Fidelity]) -> Grid {
    /// Maximum number of PTX lines that a row names.
    const PLACES: usize = 6;
    let columns = [
        Column::text("opcode"),
        Column::sentences("compared with a GPU", 20),
        Column::number("executions").rank(1),
        Column::sentences("lines of the PTX", 12).rank(2),
    ];
    let mut table = Grid::new(columns, ALL);
    for opcode in opcodes {
        let lines: Vec<_> = opcode.lines.iter().take(PLACES).map(u32::to_string).collect();
        let more =
            if opcode.lines.len() > PLACES { format!(", ... {} in all", opcode.lines.len()) } else { String::new() };
        let class = match opcode.bound {
            Some(bound) => format!("{}: {bound}", opcode.fidelity),
            None => opcode.fidelity.to_owned(),
        };
        table.row([opcode.opcode.clone(), class, opcode.executions.to_string(), lines.join(", ") + &more]);
    }
    table
}
