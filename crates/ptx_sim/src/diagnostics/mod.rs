//! Renders stops and findings in the format of rustc's diagnostics, with rustc's own renderer: title, source lines with
//! every place underlined, notes, help.

mod text;

#[cfg(test)]
mod tests;

use crate::files::{Files, Recorded, Unavailable};
use crate::stop::{Diagnostic, Finding, Place, Source, Stop, StopKind};
use annotate_snippets::level::{ERROR, HELP, NOTE, WARNING};
use annotate_snippets::{AnnotationKind, Element, Group, Level, Origin, Renderer, Snippet, normalize_untrusted_str};
use std::fmt;
use text::Excerpt;

/// Whether a rendered report contains colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Style {
    /// Plain text, for files and tests.
    #[default]
    Plain,
    /// Text with ANSI escapes for rustc's colours, for terminals.
    Colour,
}

impl Stop {
    /// Renders the report as rustc prints an error. `Display` gives the plain form.
    ///
    /// Source lines are shown if their file is found, and if it has the hash that the line tables record. Paths below
    /// the current directory are shown relative to it.
    pub fn render(&self, style: Style) -> String {
        let level = match self.kind() {
            StopKind::Fault | StopKind::Usage => ERROR,
            StopKind::Unsupported => ERROR.with_name("not supported"),
            StopKind::Stuck => ERROR.with_name("stuck"),
        };
        render(self.diagnostic(), level, 1, style)
    }
}

impl Finding {
    /// Renders the report as rustc prints a warning: see [`Stop::render`].
    pub fn render(&self, style: Style) -> String {
        render(&self.diagnostic, WARNING.with_name("finding"), self.count, style)
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.render(Style::Plain))
    }
}

/// A place and its label in the report.
struct Shown<'a> {
    place: &'a Place,
    label: String,
}

fn render(diagnostic: &Diagnostic, level: Level<'_>, count: u64, style: Style) -> String {
    let files = &Files::default();
    // Names in a title come from the PTX, so they may contain any character.
    let mut main =
        level.primary_title(clean(&diagnostic.title)).id(diagnostic.code).elements(Vec::<Element<'_>>::new());
    let mut others: Vec<Shown<'_>> = Vec::new();
    let mut notes = Vec::new();
    if let Some(headline) = diagnostic.headline() {
        let by = if diagnostic.label.is_some() || Excerpt::new(headline, files).is_some() { "by " } else { "" };
        let thread = diagnostic.thread.map(|thread| format!("{by}{thread}"));
        let label = diagnostic.label.clone().into_iter().chain(thread).collect::<Vec<_>>().join(", ");
        let headline = Shown { place: headline, label };
        let (near, far) = arrange(diagnostic, headline.place, files);
        let group: Vec<&Shown<'_>> = std::iter::once(&headline).chain(&near).collect();
        let shown = snippets(&group, files);
        if !shown.labelled && !headline.label.is_empty() {
            notes.push(headline.label.clone());
        }
        main = main.elements(shown.elements);
        notes.extend(about(headline.place, "", files));
        for other in &near {
            notes.extend(about(other.place, &other.label, files));
        }
        others = far;
    } else {
        notes.extend(diagnostic.thread.map(|thread| thread.to_string()));
        others.extend(diagnostic.related.iter().map(shown));
    }
    notes.extend(diagnostic.notes.iter().cloned());
    notes.extend(unavailable(diagnostic, files));
    if count > 1 {
        notes.push(format!("seen {count} times"));
    }
    main = main.elements(notes.iter().map(|note| message(NOTE, note)));
    main = main.elements(diagnostic.help.as_deref().map(|help| message(HELP, help)));
    let others = others.iter().map(|other| {
        let shown = snippets(&[&Shown { place: other.place, label: String::new() }], files);
        let notes = about(other.place, "", files).into_iter().map(|note| message(NOTE, &note));
        NOTE.secondary_title(clean(&other.label)).elements(shown.elements).elements(notes)
    });
    let report: Vec<Group<'_>> = std::iter::once(main).chain(others).collect();
    let renderer = match style {
        Style::Plain => Renderer::plain(),
        Style::Colour => Renderer::styled(),
    };
    renderer.render(&report)
}

/// Splits the other places into those in the headline's snippet and those with a snippet of their own.
///
/// Where the headline is a caller's line, the path from there to the instruction comes last, because all of it is
/// library code.
fn arrange<'a>(diagnostic: &'a Diagnostic, headline: &Place, files: &Files) -> (Vec<Shown<'a>>, Vec<Shown<'a>>) {
    let is_headline = |place: &Place| std::ptr::eq(place, headline);
    let at = diagnostic.related.iter().position(|(_, place)| is_headline(place));
    let (library, rest) = match at {
        Some(at) => (&diagnostic.related[..at], &diagnostic.related[at + 1..]),
        None => (&[][..], diagnostic.related.as_slice()),
    };
    let mut near = Vec::new();
    let mut far = Vec::new();
    for other in rest.iter().map(shown) {
        let same = file(other.place) == file(headline) && Excerpt::new(other.place, files).is_some();
        if same && Excerpt::new(headline, files).is_some() { near.push(other) } else { far.push(other) }
    }
    let inside = diagnostic.place.as_ref().filter(|place| !is_headline(place));
    far.extend(inside.map(|place| Shown { place, label: "this led into library code, to here".to_owned() }));
    far.extend(library.iter().map(shown));
    (near, far)
}

fn shown((what, place): &(String, Place)) -> Shown<'_> {
    Shown { place, label: what.trim_end_matches(':').to_owned() }
}

/// Returns the source file of a place, or the PTX function when there are no line tables.
fn file(place: &Place) -> (Option<(&str, &Recorded)>, &str) {
    match place.user_source() {
        Some(source) => (Some((&source.file, &source.recorded)), ""),
        None => (None, &place.function),
    }
}

/// States for each source file of a report why its lines are not shown. PTX without hashes gives no reason.
fn unavailable(diagnostic: &Diagnostic, files: &Files) -> Vec<String> {
    let places = diagnostic.place.iter().chain(diagnostic.related.iter().map(|(_, place)| place));
    let mut notes = Vec::new();
    for source in places.filter_map(Place::user_source) {
        let file = files.open(&source.file, &source.recorded);
        if let Err(reason @ (Unavailable::Changed(_) | Unavailable::Absent)) = &file.found {
            let note = format!("the lines of {} are not shown: {reason}", file.shown);
            if !notes.contains(&note) {
                notes.push(note);
            }
        }
    }
    notes
}

struct Snippets {
    elements: Vec<Element<'static>>,
    /// Whether the snippets show the labels; without source text they show only positions.
    labelled: bool,
}

/// Builds the snippets for places in one file; the first place is the primary one.
fn snippets(places: &[&Shown<'_>], files: &Files) -> Snippets {
    let Some(first) = places.first() else { return Snippets { elements: Vec::new(), labelled: false } };
    let mut excerpts: Vec<_> = places.iter().filter_map(|shown| Excerpt::new(shown.place, files)).collect();
    if excerpts.is_empty() {
        return Snippets {
            elements: origin(first.place, files).into_iter().map(Element::from).collect(),
            labelled: false,
        };
    }
    let whole = match first.place.user_source() {
        Some(source) => Excerpt::join(source, &mut excerpts, files).into_iter().collect(),
        // Without a source file, only the PTX lines of the instructions themselves are available.
        None => excerpts.iter_mut().map(Excerpt::split).collect::<Vec<_>>(),
    };
    let mut kinds = std::iter::once(AnnotationKind::Primary).chain(std::iter::repeat(AnnotationKind::Context));
    let mut labels = places.iter().map(|shown| clean(&shown.label));
    let mut spans = excerpts.into_iter().map(|excerpt| excerpt.span);
    let mut elements = Vec::new();
    for text in whole {
        let mut snippet = Snippet::source(text.text).line_start(text.first as usize).path(clean(&text.path));
        for _ in 0..text.places {
            let (Some(kind), Some(span), Some(label)) = (kinds.next(), spans.next(), labels.next()) else { break };
            let annotation = kind.span(span);
            snippet = snippet.annotation(if label.is_empty() { annotation } else { annotation.label(label) });
        }
        elements.push(snippet.into());
    }
    Snippets { elements, labelled: true }
}

/// Position of a place whose text is not available.
fn origin(place: &Place, files: &Files) -> Option<Origin<'static>> {
    let origin = match place.user_source() {
        Some(source) => {
            let file = files.open(&source.file, &source.recorded);
            let origin = Origin::path(clean(&file.shown)).line(source.line as usize);
            if source.column > 0 { origin.char_column(source.column as usize) } else { origin }
        }
        None if place.ptx_line > 0 => {
            Origin::path(clean(&format!("PTX of `{}`", place.function))).line(place.ptx_line as usize)
        }
        None => return None,
    };
    Some(origin)
}

/// Notes on a place: the chain of calls that it was inlined through, and its PTX.
fn about(place: &Place, what: &str, files: &Files) -> Vec<String> {
    let Some(shown) = place.user_source() else { return Vec::new() };
    let whose = |text: String| if what.is_empty() { text } else { format!("{what}: {text}") };
    let mut notes = Vec::new();
    for pair in place.source.windows(2) {
        let function = pair[0].function.as_deref().unwrap_or("a function");
        notes.push(whose(format!("`{function}` inlined at {}", position(&pair[1], files))));
    }
    if let Some(inner) = place.source.first().filter(|inner| *inner != shown) {
        notes.push(whose(format!("the instruction itself belongs to {}", position(inner, files))));
    }
    if place.ptx_line > 0 {
        notes.push(whose(format!("in `{}`, PTX line {}: {}", place.function, place.ptx_line, place.ptx)));
    }
    notes
}

fn message(level: Level<'static>, text: &str) -> Element<'static> {
    level.message(clean(text)).into()
}

/// Replaces escapes and other control characters, which could manipulate a terminal.
fn clean(text: &str) -> String {
    normalize_untrusted_str(text)
}

fn position(source: &Source, files: &Files) -> String {
    let file = files.open(&source.file, &source.recorded);
    match source.column {
        0 => format!("{}:{}", file.shown, source.line),
        column => format!("{}:{}:{column}", file.shown, source.line),
    }
}
