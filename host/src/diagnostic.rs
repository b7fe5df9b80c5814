//! A fault or a finding as scripts read it, and as people do.

use serde::Serialize;
use std::borrow::Borrow;
use std::fmt;

/// What happened, where, and to which thread. `Display` gives the full report, which may have several lines.
#[derive(Clone, Debug, Serialize)]
pub struct Diagnostic {
    /// `fault`, `stuck` or `finding`.
    pub kind: &'static str,
    /// Short and stable: the simulator's `out-of-bounds`, `race`; the driver's `CUDA_ERROR_ILLEGAL_ADDRESS`.
    pub code: String,
    /// One sentence: what happened to what.
    pub title: String,
    /// The source file of the line to look at; null where no line is known, as on a GPU.
    pub file: Option<String>,
    /// 1-based.
    pub line: Option<u32>,
    /// `%ctaid`.
    pub block: Option<[u32; 3]>,
    /// `%tid`.
    pub thread: Option<[u32; 3]>,
    /// The full report.
    pub text: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// Reports join like strings: `findings.join("\n")`.
impl Borrow<str> for Diagnostic {
    fn borrow(&self) -> &str {
        &self.text
    }
}
