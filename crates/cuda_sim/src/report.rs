//! What kernels print, and what the checkers find: shown as it comes, and appended to a file for other programs.

use crate::code::Code;
use crate::log;
use ptx_sim::stop::{Diagnostic, Place, Source};
use ptx_sim::{Finding, Stop, StopKind, Style};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

unsafe extern "C" {
    /// C's standard output.
    static stdout: *mut libc::FILE;
}

/// Findings so far, and where they go.
pub struct Report {
    path: Option<String>,
    style: Style,
    /// How often each defect was found, by code and place. One that many launches show is shown once.
    found: HashMap<String, u32>,
    /// What kernels have printed since the program has waited for them last.
    printed: String,
    /// Whether a kernel has run.
    has_launched: bool,
    /// Greatest number of different defects that are reported: a program may run for days.
    most_defects: usize,
    /// Greatest number of entries of one defect in the file.
    most_entries: u32,
}

/// What is shown at the end of the current call, when the state is no longer locked: another thread may have locked C's
/// standard output and wait for the state.
static DUE: Mutex<String> = Mutex::new(String::new());
static IS_DUE: AtomicBool = AtomicBool::new(false);

/// Writes what kernels have printed, and what is due, to the program's standard output, after what the program has
/// printed.
pub fn show_due() {
    if !IS_DUE.swap(false, Ordering::AcqRel) {
        return;
    }
    let text = std::mem::take(&mut *DUE.lock().unwrap_or_else(PoisonError::into_inner));
    // SAFETY: C's library sets its variable before the program starts. Other streams are left alone: a thread that
    // has locked one may wait for this call.
    unsafe { libc::fflush(stdout) };
    log::write(log::STDOUT, &text);
}

fn append(path: &str, entry: &Value) {
    // One write of a whole line: processes that share the file do not mix their lines.
    let append = || File::options().create(true).append(true).open(path)?.write_all(format!("{entry}\n").as_bytes());
    if let Err(error) = append() {
        log::line(&format!("cannot append to the report {path}: {error}"));
    }
}

impl Report {
    /// Creates a report that is appended to a file, if one is given.
    pub fn new(path: Option<String>) -> Self {
        let style = if std::io::stderr().is_terminal() { Style::Colour } else { Style::Plain };
        Self {
            path,
            style,
            found: HashMap::new(),
            printed: String::new(),
            has_launched: false,
            most_defects: 10_000,
            most_entries: 100,
        }
    }

    /// Reports that the program has initialised the driver: without that, an empty report says nothing.
    pub fn started(&self) {
        if let Some(path) = &self.path {
            append(path, &json!({ "kind": "started", "process": std::process::id() }));
        }
    }

    /// Reports, once, that a kernel has run: the program does use the simulator, whatever else it tries.
    pub fn launched(&mut self) {
        if let (Some(path), false) = (&self.path, self.has_launched) {
            append(path, &json!({ "kind": "launched", "process": std::process::id() }));
        }
        self.has_launched = true;
    }

    /// Number of different defects so far.
    pub fn defects(&self) -> usize {
        self.found.len()
    }

    /// Keeps what a kernel printed until [`Report::show_printed`].
    pub fn printed(&mut self, text: &str) {
        self.printed.push_str(text);
    }

    /// Lets [`show_due`] show what kernels have printed: the documentation lists the calls that do.
    pub fn show_printed(&mut self) {
        if !self.printed.is_empty() {
            DUE.lock().unwrap_or_else(PoisonError::into_inner).push_str(&std::mem::take(&mut self.printed));
            IS_DUE.store(true, Ordering::Release);
        }
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
        let Diagnostic { title, help, .. } = stop.diagnostic();
        let help = help.as_ref().map(|help| format!("; {help}")).unwrap_or_default();
        log::line(&format!("{attempt}: {title}{help}"));
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
        let most = self.most_defects;
        if self.found.len() == most && !self.found.contains_key(&key) {
            log::once(&format!("{most} different defects were reported; the others are not"));
            return;
        }
        let times = self.found.entry(key).or_default();
        *times = times.saturating_add(1);
        if *times == 1 {
            log::write(log::STDERR, &format!("{}\n\n", text.trim_end()));
        }
        if let Some(path) = self.path.as_ref().filter(|_| *times <= self.most_entries) {
            append(path, entry);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// What a program that runs for days adds to the report has bounds.
    #[test]
    fn a_defect_is_appended_a_limited_number_of_times() {
        let path = std::env::temp_dir().join(format!("cuda_sim-report-{}.jsonl", std::process::id()));
        let path_of_report = Some(path.display().to_string());
        let mut report = Report { most_defects: 3, most_entries: 2, ..Report::new(path_of_report) };
        (0..5).for_each(|_| report.leak("`a`", 4));
        (0..5).for_each(|bytes| report.leak("b", bytes));
        let lines = std::fs::read_to_string(&path).expect("a report").lines().count();
        std::fs::remove_file(&path).expect("the report");
        assert_eq!((report.found.len(), lines), (3, 2 + 2));
    }
}
