//! What kernels print, and what the checkers find: shown as it comes, and appended to a file for other programs.

use crate::code::Code;
use crate::log;
use ptx_sim::stop::{Diagnostic, Place, Source};
use ptx_sim::{Finding, Stop, StopKind, Style};
use serde_json::{Value, json};
use std::collections::HashSet;
use std::fs::File;
use std::io::{IsTerminal, Write};

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

/// Findings so far, and where they go.
pub struct Report {
    path: Option<String>,
    style: Style,
    /// What has been shown: code and place. A defect that many launches show is shown once.
    shown: HashSet<String>,
}

impl Report {
    /// Creates a report that is appended to a file, if one is given.
    pub fn new(path: Option<String>) -> Self {
        let style = if std::io::stderr().is_terminal() { Style::Colour } else { Style::Plain };
        Self { path, style, shown: HashSet::new() }
    }

    /// Writes what a kernel printed to the program's standard output, after what the program has printed.
    pub fn printed(&self, text: &str) {
        if text.is_empty() {
            return;
        }
        // SAFETY: C's library sets its variable before the program starts. Other streams are left alone: a thread that
        // has locked one may wait for this call.
        unsafe { libc::fflush(stdout) };
        log::write(log::STDOUT, text);
    }

    /// Reports what the checkers found in a launch.
    pub fn findings(&mut self, kernel: &str, findings: &[Finding]) {
        for finding in findings {
            let entry = entry("finding", kernel, &finding.diagnostic, &finding.to_string(), Some(finding));
            let text = finding.render(self.style);
            self.add(&entry, &text);
        }
    }

    /// Reports why a launch ended early.
    pub fn stop(&mut self, kernel: &str, stop: &Stop) {
        let kind = match stop.kind() {
            StopKind::Fault => "fault",
            StopKind::Stuck => "stuck",
            StopKind::Unsupported => "unsupported",
            _ => return,
        };
        let entry = entry(kind, kernel, stop.diagnostic(), &stop.to_string(), None);
        let text = stop.render(self.style);
        self.add(&entry, &text);
    }

    /// Logs why a call was refused, and returns the code for the program.
    pub fn refusal(&self, attempt: &str, stop: &Stop) -> Code {
        log::line(&format!("{attempt}: {}", stop.diagnostic().title));
        match stop.code() {
            "out-of-memory" => Code::OUT_OF_MEMORY,
            _ => Code::INVALID_VALUE,
        }
    }

    /// Logs an explanation of an error.
    pub fn note(&self, text: &str) {
        log::line(text);
    }

    /// Reports that the simulator has panicked, which says nothing about the program.
    pub fn defect(&mut self) {
        let title = "a defect of the simulated driver; please report it with the message above";
        let entry = entry("unsupported", "", &Diagnostic::new("simulator-defect", title), title, None);
        self.add(&entry, &format!("unsupported[simulator-defect]: {title}"));
    }

    /// Reports that the program contains NVIDIA's runtime library, or loads it.
    pub fn nvidia_runtime(&mut self) {
        let title = "the program contains NVIDIA's runtime library (libcudart), which runs on NVIDIA's driver only; \
                     relink it: `nvcc -cudart shared`, or in CMake `set_target_properties(TARGET PROPERTIES \
                     CUDA_RUNTIME_LIBRARY Shared)`, without an RPATH to NVIDIA's library";
        let entry = entry("unsupported", "", &Diagnostic::new("nvidia-runtime", title), title, None);
        self.add(&entry, &format!("unsupported[nvidia-runtime]: {title}"));
    }

    /// Reports memory that the program has not freed.
    pub fn leak(&mut self, name: &str, bytes: u64) {
        self.host("host-leak", name, format!("`{name}` ({bytes} bytes) is not freed when the program ends"));
    }

    /// Reports memory that the program has unmapped.
    pub fn unmapped(&mut self, name: &str, bytes: u64) {
        let what = "is registered, but the program has unmapped or protected it: kernels no longer have access";
        self.host("host-unmapped", name, format!("`{name}` ({bytes} bytes) {what}"));
    }

    /// Reports a finding about the program's own calls.
    fn host(&mut self, code: &'static str, name: &str, title: String) {
        let text = format!("finding[{code}]: {title}");
        let entry = entry("finding", name, &Diagnostic::new(code, title), &text, None);
        self.add(&entry, &text);
    }

    fn add(&mut self, entry: &Value, text: &str) {
        let place = (entry["code"].as_str(), entry["file"].as_str(), entry["line"].as_u64(), entry["kernel"].as_str());
        let key = match entry["file"] {
            Value::Null => format!("{place:?} {}", entry["title"]),
            _ => format!("{place:?}"),
        };
        if self.shown.insert(key) {
            log::write(log::STDERR, &format!("{}\n\n", text.trim_end()));
        }
        let Some(path) = &self.path else { return };
        // One write of a whole line: processes that share the file do not mix their lines.
        let append =
            || File::options().create(true).append(true).open(path)?.write_all(format!("{entry}\n").as_bytes());
        if let Err(error) = append() {
            log::line(&format!("cannot append to the report {path}: {error}"));
        }
    }
}

/// An entry of the file: a JSON object with the keys of `host check --json`, the kernel and the process.
fn entry(kind: &str, kernel: &str, diagnostic: &Diagnostic, text: &str, finding: Option<&Finding>) -> Value {
    let source = diagnostic.user_source();
    let own = diagnostic.place.iter().map(|own| (diagnostic.label.as_deref(), own));
    let related = diagnostic.related.iter().map(|(label, other)| (Some(label.trim_end_matches(':')), other));
    json!({
        "kind": kind,
        "code": diagnostic.code,
        "title": diagnostic.title,
        "kernel": kernel,
        "file": source.map(Source::shown),
        "line": source.map(|source| source.line),
        "column": source.map(|source| source.column).filter(|column| *column > 0),
        "block": diagnostic.thread.map(|thread| thread.block),
        "thread": diagnostic.thread.map(|thread| thread.thread),
        "places": own.chain(related).map(|(label, other)| place(label, other)).collect::<Vec<_>>(),
        "notes": diagnostic.notes,
        "help": diagnostic.help,
        "count": finding.map_or(1, |finding| finding.count),
        "merged": finding.map_or(0, |finding| finding.merged),
        "bytes": finding.and_then(|finding| finding.bytes.as_ref()).map(|bytes| [bytes.start, bytes.end]),
        "seed": null,
        "process": std::process::id(),
        "text": text,
    })
}

fn place(label: Option<&str>, place: &Place) -> Value {
    let source = place.user_source();
    let position = |source: &Source| {
        let Source { line, column, function, .. } = source;
        json!({ "file": source.shown(), "line": line, "column": column, "function": function })
    };
    json!({
        "label": label,
        "file": source.map(Source::shown),
        "line": source.map(|source| source.line),
        "column": source.map(|source| source.column).filter(|column| *column > 0),
        "function": place.function,
        "ptx_file": "",
        "ptx_line": place.ptx_line,
        "ptx": place.ptx,
        "inlined_at": place.source.iter().map(position).collect::<Vec<_>>(),
    })
}
