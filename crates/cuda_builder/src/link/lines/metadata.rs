//! Reads the debug metadata of a module's text, and replaces its locations by numbers.

use std::collections::HashMap;

use crate::link::syntax;

/// Offset between a location's metadata number and the line that replaces it; no source file is that long.
const FIRST: u32 = 1 << 30;

/// Column of a numbered location; the `.loc` that starts a function has column 0.
const MARK: u32 = 1;

/// A place in the source.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Place {
    pub file: String,
    pub line: u32,
    pub column: u32,
    /// Linkage name of the function that contains it.
    pub function: String,
    /// Metadata number of the call that it was inlined into. In a [`Table`], equal calls have one number.
    pub inlined_at: Option<u32>,
}

/// The locations of a module by metadata number.
#[derive(Debug, Default)]
pub(crate) struct Table(HashMap<u32, Place>);

impl Table {
    /// The place that a `.loc` with this line and column represents; `None` unless it is numbered.
    pub fn find(&self, line: u32, column: u32) -> Option<&Place> {
        if column != MARK { None } else { self.get(line.checked_sub(FIRST)?) }
    }

    /// The place with a metadata number.
    pub fn get(&self, number: u32) -> Option<&Place> {
        self.0.get(&number)
    }

    /// Gives calls with the same place and the same chain one number: an unrolled loop has a node for each copy of a
    /// call.
    fn merge_calls(&mut self) {
        let (mut first, mut merged) = (HashMap::new(), HashMap::new());
        let mut numbers: Vec<_> = self.0.keys().copied().collect();
        numbers.sort_unstable();
        for number in numbers {
            self.merge(number, &mut first, &mut merged);
        }
    }

    /// The number of the first call that equals this one; outer calls are merged first.
    fn merge(&mut self, number: u32, first: &mut HashMap<Place, u32>, merged: &mut HashMap<u32, u32>) -> u32 {
        if let Some(&same) = merged.get(&number) {
            return same;
        }
        let Some(outer) = self.0.get(&number).map(|place| place.inlined_at) else { return number };
        // Guards against cyclic `inlinedAt` chains.
        merged.insert(number, number);
        let outer = outer.map(|outer| self.merge(outer, first, merged));
        let Some(place) = self.0.get_mut(&number) else { return number };
        place.inlined_at = outer;
        let same = *first.entry(place.clone()).or_insert(number);
        merged.insert(number, same);
        same
    }
}

/// A metadata node that contains a location, directly or through others.
enum Scope<'a> {
    Function { name: &'a str, file: u32 },
    Block { parent: u32, file: Option<u32> },
    File(String),
}

/// The module with numbers for locations, and the table of the numbers.
pub(crate) fn number(module: &str) -> (String, Table) {
    let mut scopes = HashMap::new();
    for (id, body) in module.lines().filter_map(node) {
        if let Some(scope) = scope(body) {
            scopes.insert(id, scope);
        }
    }
    let mut table = Table::default();
    let mut out = String::with_capacity(module.len());
    for line in module.lines() {
        match location(line, &scopes) {
            Some((id, place, rewritten)) => {
                table.0.insert(id, place);
                out.push_str(&rewritten);
            }
            None => out.push_str(line),
        }
        out.push('\n');
    }
    table.merge_calls();
    (out, table)
}

/// Splits `!7 = distinct !DIKind(…)` into the number 7 and `!DIKind(…)`.
fn node(line: &str) -> Option<(u32, &str)> {
    let (id, body) = line.strip_prefix('!')?.split_once(" = ")?;
    Some((id.parse().ok()?, body.strip_prefix("distinct ").unwrap_or(body)))
}

fn scope(body: &str) -> Option<Scope<'_>> {
    let (kind, rest) = body.strip_prefix('!')?.split_once('(')?;
    let fields = Fields(rest);
    Some(match kind {
        "DISubprogram" => Scope::Function {
            name: fields.text("linkageName").or(fields.text("name"))?,
            file: fields.reference("file")?,
        },
        "DILexicalBlock" | "DILexicalBlockFile" => {
            Scope::Block { parent: fields.reference("scope")?, file: fields.reference("file") }
        }
        "DIFile" => Scope::File(syntax::unescape(fields.text("filename")?)),
        _ => return None,
    })
}

/// Reads a location: its number, its place, and its text with the number instead of the line. `None` for other lines.
fn location(line: &str, scopes: &HashMap<u32, Scope<'_>>) -> Option<(u32, Place, String)> {
    let (id, body) = node(line)?;
    let fields = Fields(body.strip_prefix("!DILocation(")?);
    // Line 0 marks code that the compiler added.
    let source_line = fields.number("line").filter(|&line| line != 0)?;
    let scope = fields.reference("scope")?;
    let (function, file) = enclosing(scope, scopes)?;
    let inlined_at = fields.reference("inlinedAt");
    let column = fields.number("column").unwrap_or(0);
    let place = Place { file: file.to_owned(), line: source_line, column, function: function.to_owned(), inlined_at };
    let distinct = if line.contains(" = distinct ") { "distinct " } else { "" };
    let call = inlined_at.map(|call| format!(", inlinedAt: !{call}")).unwrap_or_default();
    let text = format!("!{id} = {distinct}!DILocation(line: {}, column: {MARK}, scope: !{scope}{call})", FIRST + id);
    Some((id, place, text))
}

/// The function that encloses a scope, and the scope's file.
fn enclosing<'a>(mut scope: u32, scopes: &'a HashMap<u32, Scope<'_>>) -> Option<(&'a str, &'a str)> {
    let mut nearest = None;
    loop {
        match scopes.get(&scope)? {
            Scope::Block { parent, file } => {
                nearest = nearest.or(*file);
                scope = *parent;
            }
            Scope::Function { name, file } => match scopes.get(&nearest.unwrap_or(*file))? {
                Scope::File(path) => return Some((name, path)),
                _ => return None,
            },
            Scope::File(_) => return None,
        }
    }
}

/// The fields `name: value, …` after the opening bracket of a node.
struct Fields<'a>(&'a str);

impl<'a> Fields<'a> {
    fn value(&self, name: &str) -> Option<&'a str> {
        let (text, bytes) = (self.0, self.0.as_bytes());
        let mut start = 0;
        let mut at = 0;
        loop {
            match bytes.get(at) {
                Some(b'"') => {
                    at = syntax::string_end(text, at);
                    continue;
                }
                Some(b'(') => at = syntax::bracket_end(text, at)? - 1,
                Some(b',' | b')') | None => {
                    let (key, value) = text[start..at.min(text.len())].trim().split_once(": ")?;
                    if key == name {
                        return Some(value);
                    }
                    if bytes.get(at) != Some(&b',') {
                        return None;
                    }
                    start = at + 1;
                }
                _ => {}
            }
            at += 1;
        }
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.value(name)?.parse().ok()
    }

    fn reference(&self, name: &str) -> Option<u32> {
        self.value(name)?.strip_prefix('!')?.parse().ok()
    }

    fn text(&self, name: &str) -> Option<&'a str> {
        Some(self.value(name)?.trim_matches('"'))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODULE: &str = concat!(
        r#"!1 = !DIFile(filename: "k/src/lib.rs", directory: "")
!2 = distinct !DISubprogram(name: "a, (b)", linkageName: "_Rk", scope: !9, file: !1, line: 3, "#,
        r#"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !8)
!3 = distinct !DILexicalBlock(scope: !2, file: !1, line: 4, column: 1)
!4 = !DILocation(line: 5, column: 9, scope: !3, inlinedAt: !6)
!5 = !DILocation(line: 0, scope: !2)
!6 = distinct !DILocation(line: 20, column: 3, scope: !7)
!7 = distinct !DISubprogram(name: "entry", scope: !9, file: !1, line: 18)
"#
    );

    #[test]
    fn a_location_is_given_back_by_its_number() {
        let (text, table) = number(MODULE);
        assert!(
            text.contains(&format!("!4 = !DILocation(line: {}, column: 1, scope: !3, inlinedAt: !6)\n", FIRST + 4)),
            "{text}"
        );
        assert!(text.contains("!6 = distinct !DILocation("), "{text}");
        assert!(text.contains("!5 = !DILocation(line: 0, scope: !2)"), "{text}");
        let place = table.find(FIRST + 4, MARK).expect("numbered");
        let expected =
            Place { file: "k/src/lib.rs".into(), line: 5, column: 9, function: "_Rk".into(), inlined_at: Some(6) };
        assert_eq!(*place, expected);
        assert_eq!(table.get(6).map(|place| place.function.as_str()), Some("entry"));
    }

    #[test]
    fn a_functions_own_line_is_no_number() {
        let (_, table) = number(MODULE);
        assert_eq!(table.find(18, 0), None);
        assert_eq!(table.find(FIRST + 99, MARK), None);
    }
}
