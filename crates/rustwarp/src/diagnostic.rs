//! Faults and findings, in a form for scripts and as a report for people.

use serde::{Deserialize, Deserializer, Serialize};
use std::borrow::Borrow;
use std::fmt;
use std::io::{IsTerminal, Write};

/// Kind of a [`Diagnostic`].
pub type Kind = &'static str;

/// A fault or a finding: what happened, where, and in which thread. `Display` gives the full report, which may have
/// several lines.
///
/// This is the one shape of diagnostics in everything that `--json` prints: `findings` and `fault` of a family's row
/// and of `run` and `check`, and `finding` under `--seeds`. Fields are only ever added.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Diagnostic {
    /// `fault`, `stuck`, `unsupported` or `finding`.
    #[serde(deserialize_with = "kind")]
    pub kind: Kind,
    /// Short and stable code: the simulator's, such as `out-of-bounds` or `race-raw`, or the driver's, such as
    /// `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub code: String,
    /// One sentence that describes what happened.
    pub title: String,
    /// The source file of the main location; null if no line is known, as on a GPU.
    pub file: Option<String>,
    /// Line number, counted from 1.
    pub line: Option<u32>,
    /// Column in bytes, counted from 1; null if unknown.
    pub column: Option<u32>,
    /// The block (`%ctaid`).
    pub block: Option<[u32; 3]>,
    /// The thread in its block (`%tid`).
    pub thread: Option<[u32; 3]>,
    /// All locations involved, the main one first; empty on a GPU.
    pub places: Vec<Place>,
    /// Facts that explain the diagnostic.
    pub notes: Vec<String>,
    /// What to do next.
    pub help: Option<String>,
    /// Number of occurrences.
    pub count: u64,
    /// Number of other findings that this one stands for: the same defect at the same source lines, by other
    /// instructions.
    pub merged: u64,
    /// The first byte that the occurrences concern and the byte after the last, in the allocation that the title names;
    /// null if they are not recorded.
    pub bytes: Option<[u64; 2]>,
    /// The seed of the schedule that showed it first, under `--seeds`.
    pub seed: Option<u64>,
    /// The full report, without colours.
    pub text: String,
    /// The full report for terminals.
    #[serde(skip)]
    pub colour: String,
}

/// A location of a [`Diagnostic`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Place {
    /// Description of what happened there; null if the title is sufficient.
    pub label: Option<String>,
    /// The source file of the innermost frame outside library code; null without line tables.
    pub file: Option<String>,
    /// Line number, counted from 1.
    pub line: Option<u32>,
    /// Column in bytes, counted from 1; null if unknown.
    pub column: Option<u32>,
    /// The function of the PTX, demangled.
    pub function: String,
    /// The PTX file.
    pub ptx_file: String,
    /// Line of the PTX, counted from 1; 0 if unknown.
    pub ptx_line: u32,
    /// Text of that line.
    pub ptx: String,
    /// The instruction's own position, followed by the positions that it was inlined at, innermost first.
    pub inlined_at: Vec<Position>,
}

/// A position in a source file.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Position {
    /// The path as the compiler wrote it.
    pub file: String,
    /// Line number, counted from 1.
    pub line: u32,
    /// Column in bytes, counted from 1; 0 if unknown.
    pub column: u32,
    /// The inlined function that contains the line; null for the outermost position.
    pub function: Option<String>,
}

/// Reads a kind, of which there are few.
fn kind<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Kind, D::Error> {
    let kind = String::deserialize(deserializer)?;
    let known = ["fault", "stuck", "unsupported", "finding"].into_iter().find(|known| *known == kind);
    known.ok_or_else(|| serde::de::Error::custom(format!("unknown kind of diagnostic `{kind}`")))
}

impl Diagnostic {
    /// Creates a diagnostic without locations; `text` is the full report.
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
            merged: 0,
            bytes: None,
            seed: None,
            colour: text.clone(),
            text,
        }
    }

    /// The report for standard error: with colours on a terminal, unless `NO_COLOR` is set (<https://no-color.org>).
    pub fn for_stderr(&self) -> &str {
        let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
        if plain || !std::io::stderr().is_terminal() { &self.text } else { &self.colour }
    }

    /// Identifies equal diagnostics of several runs: what happened to which allocation at which lines, without threads,
    /// addresses and columns, which differ between runs.
    pub fn identity(&self) -> (String, String, Vec<String>) {
        let place = |place: &Place| match (&place.file, place.line) {
            (Some(file), Some(line)) => format!("{file}:{line}"),
            _ => format!("{}:{}", place.function, place.ptx_line),
        };
        let names = || self.title.split('`').skip(1).step_by(2).collect::<Vec<_>>().join(" ");
        let title = if self.places.is_empty() { self.title.clone() } else { names() };
        (self.code.clone(), title, self.places.iter().map(place).collect())
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Prints a line to standard error. Unlike `eprintln!` it does not panic if the pipe is closed (`2>&1 | true`), because
/// results and exit codes are still valid.
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
