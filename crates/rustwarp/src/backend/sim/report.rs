//! The simulator's reports in this library's form.

use crate::backend::observed::Fidelity;
use crate::diagnostic::{Diagnostic, Place, Position};
use crate::error::Error;
use ptx_sim::Style;

/// Converts a finding.
pub(super) fn finding(finding: &ptx_sim::Finding, module: &str) -> Diagnostic {
    let texts = [finding.render(Style::Plain), finding.render(Style::Colour)];
    let bytes = finding.bytes.as_ref().map(|bytes| [bytes.start, bytes.end]);
    let (count, merged) = (finding.count, finding.merged);
    Diagnostic { count, merged, bytes, ..describe("finding", &finding.diagnostic, module, texts) }
}

/// Converts a diagnostic of the simulator. `texts`: the report without colours and with them.
fn describe(kind: &'static str, found: &ptx_sim::stop::Diagnostic, module: &str, texts: [String; 2]) -> Diagnostic {
    let place = |label: Option<String>, place: &ptx_sim::stop::Place| {
        let source = place.user_source();
        Place {
            label,
            file: source.map(|source| source.shown()),
            line: source.map(|source| source.line),
            column: source.map(|source| source.column).filter(|column| *column > 0),
            function: place.function.clone(),
            ptx_file: module.to_owned(),
            ptx_line: place.ptx_line,
            ptx: place.ptx.clone(),
            inlined_at: place.source.iter().map(position).collect(),
        }
    };
    let own = found.place.iter().map(|own| place(found.label.clone(), own));
    let related = found.related.iter().map(|(what, other)| place(Some(what.trim_end_matches(':').to_owned()), other));
    // The source line of the nearest caller, if the instruction itself is in library code.
    let source = found.user_source();
    let [text, colour] = texts;
    Diagnostic {
        file: source.map(|source| source.shown()),
        line: source.map(|source| source.line),
        column: source.map(|source| source.column).filter(|column| *column > 0),
        block: found.thread.map(|thread| thread.block),
        thread: found.thread.map(|thread| thread.thread),
        places: own.chain(related).collect(),
        notes: found.notes.clone(),
        help: found.help.clone(),
        colour,
        ..Diagnostic::new(kind, found.code, found.title.clone(), text)
    }
}

fn position(source: &ptx_sim::stop::Source) -> Position {
    Position { file: source.shown(), line: source.line, column: source.column, function: source.function.clone() }
}

/// Converts a stop that concerns no module to an error.
pub(super) fn explain(stop: &ptx_sim::Stop, attempt: &str) -> Error {
    explain_in(stop, "", attempt)
}

/// Converts a stop to an error: a fault is a report with every place involved, an error of the caller a single line.
pub(super) fn explain_in(stop: &ptx_sim::Stop, module: &str, attempt: &str) -> Error {
    let report = |style| format!("{attempt} failed\n{}", stop.render(style));
    let fault = |kind| {
        let texts = [report(Style::Plain), report(Style::Colour)];
        Error::Fault(Box::new(describe(kind, stop.diagnostic(), module, texts)))
    };
    match stop.kind() {
        ptx_sim::StopKind::Stuck => fault("stuck"),
        ptx_sim::StopKind::Unsupported => Error::Unsupported(report(Style::Plain)),
        ptx_sim::StopKind::Usage => {
            let diagnostic = stop.diagnostic();
            let help = diagnostic.help.as_ref().map(|help| format!(" ({help})"));
            Error::Argument(format!("{attempt}: {}{}", diagnostic.title, help.unwrap_or_default()))
        }
        _ => fault("fault"),
    }
}

/// Describes how closely an opcode's results match those of a GPU.
pub(super) fn fidelity(line: ptx_sim::fidelity::Line) -> Fidelity {
    let (fidelity, bound) = match line.fidelity {
        ptx_sim::fidelity::Fidelity::Exact => ("exact", None),
        ptx_sim::fidelity::Fidelity::Approximate(bound) => ("approximate", Some(bound)),
        ptx_sim::fidelity::Fidelity::Unspecified(why) => ("unspecified", Some(why)),
        ptx_sim::fidelity::Fidelity::Unsupported => ("unsupported", None),
    };
    Fidelity { opcode: line.opcode, fidelity, bound, executions: line.executed, lines: line.lines }
}
