//! Prints stops and findings the way rustc prints errors: title, place, the line itself, notes, help.

use crate::stop::{Diagnostic, Finding, Place, Source, Stop, StopKind};
use std::fmt::{self, Write};

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let level = match self.kind() {
            StopKind::Fault => "error",
            StopKind::Unsupported => "not supported",
            StopKind::Stuck => "stuck",
            StopKind::Usage => "error",
        };
        f.write_str(&render(self.diagnostic(), level))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&render(&self.diagnostic, "finding"))?;
        if self.count > 1 {
            write!(f, "\n   = note: seen {} times", self.count)?;
        }
        Ok(())
    }
}

fn render(diagnostic: &Diagnostic, level: &str) -> String {
    let mut out = format!("{level}[{}]: {}", diagnostic.code, diagnostic.title);
    if let Some(place) = &diagnostic.place {
        write_place(&mut out, place, "");
    }
    for (what, place) in &diagnostic.related {
        write_place(&mut out, place, what);
    }
    if let Some(thread) = &diagnostic.thread {
        line(&mut out, "note", &thread.to_string());
    }
    for note in &diagnostic.notes {
        line(&mut out, "note", note);
    }
    if let Some(help) = &diagnostic.help {
        line(&mut out, "help", help);
    }
    out
}

fn line(out: &mut String, label: &str, text: &str) {
    let _ = write!(out, "\n   = {label}: {text}");
}

/// The source line with a caret under it, the chain of calls it was inlined through, and the PTX line.
fn write_place(out: &mut String, place: &Place, what: &str) {
    if !what.is_empty() {
        let _ = write!(out, "\n{what}");
    }
    match place.user_source() {
        Some(source) => {
            let _ = write!(out, "\n  --> {}", Position(source));
            write_snippet(out, source);
            write_inlining(out, place, source);
        }
        None => {
            let _ = write!(out, "\n  --> {}, PTX line {}", place.function, place.ptx_line);
        }
    }
    line(out, "note", &format!("in `{}`, PTX line {}: {}", place.function, place.ptx_line, place.ptx));
}

fn write_snippet(out: &mut String, source: &Source) {
    let text = std::fs::read_to_string(&source.file).ok();
    let row = text.as_deref().and_then(|text| text.lines().nth((source.line as usize).checked_sub(1)?));
    let Some(row) = row else { return };
    let number = source.line.to_string();
    let gutter = " ".repeat(number.len());
    let _ = write!(out, "\n{gutter} |\n{number} | {}", row.replace('\t', " "));
    if source.column > 0 {
        let indent = " ".repeat(source.column as usize - 1);
        let _ = write!(out, "\n{gutter} | {indent}^");
    }
}

fn write_inlining(out: &mut String, place: &Place, shown: &Source) {
    for pair in place.source.windows(2) {
        let function = pair[0].function.as_deref().unwrap_or("a function");
        let _ = write!(out, "\n   = note: `{function}` inlined at {}", Position(&pair[1]));
    }
    if let Some(inner) = place.source.first().filter(|inner| *inner != shown) {
        let _ = write!(out, "\n   = note: the instruction itself belongs to {}", Position(inner));
    }
}

struct Position<'a>(&'a Source);

impl fmt::Display for Position<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Source { file, line, column, .. } = self.0;
        match column {
            0 => write!(f, "{file}:{line}"),
            _ => write!(f, "{file}:{line}:{column}"),
        }
    }
}
