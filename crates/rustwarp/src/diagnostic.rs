//! A fault or a finding as scripts read it, and as people do.

use serde::Serialize;
use std::borrow::Borrow;
use std::fmt;
use std::io::{IsTerminal, Write};

/// What happened, where, and to which thread. `Display` gives the full report, which may have several lines.
///
/// This is the one shape of diagnostics in everything that `--json` prints: `findings` and `fault` of a family's row
/// and of `run` and `check`, and `finding` under `--seeds`. Fields are only ever added.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnostic {
    /// `fault`, `stuck` or `finding`.
    pub kind: &'static str,
    /// Short and stable: the simulator's `out-of-bounds`, `race-raw`; the driver's `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub code: String,
    /// One sentence: what happened to what.
    pub title: String,
    /// The source file of the line to look at; null where no line is known, as on a GPU.
    pub file: Option<String>,
    /// 1-based.
    pub line: Option<u32>,
    /// 1-based, in bytes; null when unknown.
    pub column: Option<u32>,
    /// `%ctaid`.
    pub block: Option<[u32; 3]>,
    /// `%tid`.
    pub thread: Option<[u32; 3]>,
    /// Every place that takes part: first the one that the report is about, none on a GPU.
    pub places: Vec<Place>,
    /// Facts that explain it.
    pub notes: Vec<String>,
    /// What to do next.
    pub help: Option<String>,
    /// How often it was seen.
    pub count: u64,
    /// The order of events that showed it first, under `--seeds`.
    pub seed: Option<u64>,
    /// The full report, without colours.
    pub text: String,
    /// The full report for terminals.
    #[serde(skip)]
    pub colour: String,
}

/// A place of a [`Diagnostic`].
#[derive(Clone, Debug, Serialize)]
pub struct Place {
    /// What happened there; null when `title` says it all.
    pub label: Option<String>,
    /// The line to look at: the innermost one outside library code; null without line tables.
    pub file: Option<String>,
    /// 1-based.
    pub line: Option<u32>,
    /// 1-based, in bytes; null when unknown.
    pub column: Option<u32>,
    /// The function of the PTX, demangled.
    pub function: String,
    /// The PTX file.
    pub ptx_file: String,
    /// 1-based line of the PTX; 0 when unknown.
    pub ptx_line: u32,
    /// That line.
    pub ptx: String,
    /// The instruction's own position, then what it was inlined into, innermost first.
    pub inlined_at: Vec<Position>,
}

/// A position in a source file.
#[derive(Clone, Debug, Serialize)]
pub struct Position {
    /// As the compiler wrote it.
    pub file: String,
    /// 1-based.
    pub line: u32,
    /// 1-based; 0 when unknown.
    pub column: u32,
    /// The inlined function that the line belongs to; null for the outermost.
    pub function: Option<String>,
}

impl Diagnostic {
    /// Without places; `text` is the full report.
    pub fn new(kind: &'static str, code: impl Into<String>, title: impl Into<String>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            kind,
            code: code.into(),
            title: title.into(),
            file: None,
            line: None,
            column: None,
            block: None,
            thread: None,
            places: Vec::new(),
            notes: Vec::new(),
            help: None,
            count: 1,
            seed: None,
            colour: text.clone(),
            text,
        }
    }

    /// The report as standard error should have it: with colours on a terminal, unless `NO_COLOR` is set
    /// (<https://no-color.org>).
    pub fn for_stderr(&self) -> &str {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if plain || !std::io::stderr().is_terminal() { &self.text } else { &self.colour }
    }

    /// What happened, and at which places: threads and addresses differ from run to run.
    pub fn identity(&self) -> (String, String, Vec<String>) {
        let place = |place: &Place| match (&place.file, place.line) {
            (Some(file), Some(line)) => format!("{file}:{line}:{}", place.column.unwrap_or_default()),
            _ => format!("{}:{}", place.function, place.ptx_line),
        };
        let title = if self.places.is_empty() { self.title.clone() } else { String::new() };
        (self.code.clone(), title, self.places.iter().map(place).collect())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Says something to people: a line on standard error. Unlike `eprintln!` it does not panic where nobody listens
/// (`2>&1 | true`), because results and exit codes still count.
pub fn note(text: impl fmt::Display) {
    let line = format!("{text}\n");
    let _ = std::io::stderr().write_all(line.as_bytes());
}

/// Reports join like strings: `findings.join("\n")`.
impl Borrow<str> for Diagnostic {
    fn borrow(&self) -> &str {
        &self.text
    }
}
