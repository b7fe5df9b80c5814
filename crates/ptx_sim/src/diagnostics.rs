//! Prints stops and findings the way rustc prints errors: title, place, the line itself, notes, help.

use crate::stop::{Diagnostic, Finding, Place, Source, Stop, StopKind};
use std::fmt::{self, Write};

/// Bytes of a source file beyond which it is not read for a line.
const MOST_SOURCE: u64 = 16 << 20;

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
    let headline = diagnostic.headline();
    if let Some(place) = headline {
        write_place(&mut out, place, "");
    }
    if let Some(thread) = &diagnostic.thread {
        line(&mut out, "note", &thread.to_string());
    }
    // Where the headline is a caller's line, the way from the instruction to it comes last: all of that is library code.
    let inside = match (&diagnostic.place, headline) {
        (Some(place), Some(headline)) if !std::ptr::eq(place, headline) => Some(place),
        _ => None,
    };
    let at = diagnostic.related.iter().position(|(_, place)| headline.is_some_and(|shown| std::ptr::eq(place, shown)));
    let (library, rest) = match at {
        Some(at) => (&diagnostic.related[..at], &diagnostic.related[at + 1..]),
        None => (&[][..], diagnostic.related.as_slice()),
    };
    for (what, place) in rest {
        write_place(&mut out, place, what);
    }
    if let Some(place) = inside {
        write_place(&mut out, place, "this led into library code, to here:");
    }
    for (what, place) in library {
        write_place(&mut out, place, what);
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
    let text = source_text(&source.file);
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

/// The file, if it looks like source: the name comes from the PTX and may be anything.
fn source_text(file: &str) -> Option<String> {
    let about = std::fs::metadata(file).ok()?;
    (about.is_file() && about.len() <= MOST_SOURCE).then(|| std::fs::read_to_string(file).ok()).flatten()
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stop::Thread;

    fn source(file: &str, line: u32, column: u32, function: Option<&str>) -> Source {
        Source { file: file.to_owned(), line, column, function: function.map(str::to_owned) }
    }

    #[test]
    fn a_report_reads_like_rustc() {
        let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pass/vecadd.ptx");
        let chain = vec![
            source("/rust/library/core/src/ptr/mut_ptr.rs", 961, 18, Some("core::ptr::mut_ptr::add")),
            source(kernel, 1, 4, None),
        ];
        let place =
            Place { function: "k".into(), ptx_line: 7, ptx: "st.global.b32 [%rd1], %r1;".into(), source: chain };
        let mut diagnostic = Diagnostic::new("out-of-bounds", "too far");
        diagnostic.place = Some(place);
        diagnostic.thread = Some(Thread { block: [1, 0, 0], thread: [2, 3, 0] });
        diagnostic.help = Some("stop earlier".to_owned());
        let text = Stop::new(StopKind::Fault, diagnostic).to_string();
        let wanted = format!(
            "error[out-of-bounds]: too far
  --> {kernel}:1:4
  |
1 | // Any length: the last block is only partly busy.
  |    ^
   = note: `core::ptr::mut_ptr::add` inlined at {kernel}:1:4
   = note: the instruction itself belongs to /rust/library/core/src/ptr/mut_ptr.rs:961:18
   = note: in `k`, PTX line 7: st.global.b32 [%rd1], %r1;
   = note: block (1, 0, 0), thread (2, 3, 0)
   = help: stop earlier"
        );
        assert_eq!(text, wanted);
    }

    #[test]
    fn files_that_are_none_are_not_read() {
        assert!(source_text("/dev/zero").is_none());
        assert!(source_text("no such file").is_none());
    }
}
