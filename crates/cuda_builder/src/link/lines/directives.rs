//! Writes the `.loc` directives of a PTX text in full.

use std::{collections::HashMap, fmt::Write};

use super::metadata::{Place, Table};
use crate::files;

/// `llc`'s output with real lines instead of numbers.
pub(crate) fn resolve(ptx: &str, table: &Table) -> String {
    let mut writer = Writer {
        files: Files::of(ptx),
        names: Names::default(),
        table,
        calls: HashMap::new(),
        current: None,
        out: String::new(),
    };
    writer.out.reserve(ptx.len() + ptx.len() / 2);
    for line in ptx.lines() {
        if line.starts_with("$L__func_begin") {
            // A call is looked up among the places named before it in the same function.
            writer.calls.clear();
            writer.current = None;
        }
        match numbered(line, table) {
            // A place holds until the next one, whatever labels lie between.
            Some(place) if writer.current == Some(place) => {}
            Some(place) => {
                writer.place(place);
                let file = files::escape(&place.file);
                let _ = writeln!(writer.out, "\t// {file}:{}:{}", place.line, place.column);
                writer.current = Some(place);
            }
            None => {
                if line.starts_with("\t.loc\t") {
                    writer.current = None;
                    // Code of no line; `llc` names in a comment the calls around it, by numbers of the table.
                    writer.out.push_str(line.split("//").next().unwrap_or_default().trim_end());
                } else if let Some((number, path)) = files::directive(line) {
                    writer.out.push_str(&files::write(number, &path));
                } else {
                    writer.out.push_str(line);
                }
                writer.out.push('\n');
            }
        }
    }
    writer.finish()
}

/// The place whose number a line of the form `\t.loc\t1 1073741828 1` contains.
fn numbered<'a>(line: &str, table: &'a Table) -> Option<&'a Place> {
    let mut words = line.strip_prefix("\t.loc\t")?.split_whitespace().skip(1);
    table.find(words.next()?.parse().ok()?, words.next()?.parse().ok()?)
}

struct Writer<'a> {
    files: Files,
    names: Names<'a>,
    table: &'a Table,
    /// The chain with which a (file, line, column) was last written: `inlined_at` refers to the latest.
    calls: HashMap<(u32, u32, u32), Option<u32>>,
    /// The place of the next instruction unless another is written.
    current: Option<&'a Place>,
    out: String,
}

impl<'a> Writer<'a> {
    fn place(&mut self, place: &'a Place) {
        let file = self.files.number(&place.file);
        let inlined = place.inlined_at.and_then(|call| Some((self.call(call)?, self.names.label(&place.function))));
        self.calls.insert((file, place.line, place.column), place.inlined_at);
        let _ = write!(self.out, "\t.loc\t{file} {} {}", place.line, place.column);
        if let Some(((file, line, column), label)) = inlined {
            let _ = write!(self.out, ", function_name $L__info_string{label}, inlined_at {file} {line} {column}");
        }
    }

    /// Writes a `.loc` for this call unless the latest one with its place has the same chain; returns the place.
    fn call(&mut self, number: u32) -> Option<(u32, u32, u32)> {
        let place = self.table.get(number)?;
        let key = (self.files.number(&place.file), place.line, place.column);
        // The chain above must be in place before this one can refer to it.
        if let Some(outer) = place.inlined_at {
            self.call(outer);
        }
        if self.calls.get(&key) != Some(&place.inlined_at) {
            self.place(place);
            self.out.push('\n');
        }
        Some(key)
    }

    fn finish(mut self) -> String {
        for (number, path) in self.files.added.iter().enumerate() {
            let _ = writeln!(self.out, "{}", files::write(self.files.first_added + number as u32, path));
        }
        if !self.names.list.is_empty() {
            self.out.push_str("\t.section\t.debug_str\n\t{\n");
            for (label, name) in self.names.list.iter().enumerate() {
                let bytes: String = name.bytes().map(|byte| format!("{byte}, ")).collect();
                let _ = writeln!(self.out, "$L__info_string{label}:\t// {name}\n\t.b8 {bytes}0");
            }
            self.out.push_str("\t}\n");
        }
        self.out
    }
}

/// The numbers of source files, as `.file` gives them at the end of the text.
struct Files {
    numbers: HashMap<String, u32>,
    first_added: u32,
    added: Vec<String>,
}

impl Files {
    fn of(ptx: &str) -> Self {
        let directives = ptx.lines().filter_map(files::directive);
        let numbers: HashMap<String, u32> = directives.map(|(number, path)| (path, number)).collect();
        let first_added = numbers.values().max().map_or(1, |last| last + 1);
        Self { numbers, first_added, added: Vec::new() }
    }

    fn number(&mut self, path: &str) -> u32 {
        if let Some(&number) = self.numbers.get(path) {
            return number;
        }
        let number = self.first_added + self.added.len() as u32;
        self.added.push(path.to_owned());
        self.numbers.insert(path.to_owned(), number);
        number
    }
}

/// Labels of the function names that `.loc` refers to.
#[derive(Default)]
struct Names<'a> {
    labels: HashMap<&'a str, usize>,
    list: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn label(&mut self, name: &'a str) -> usize {
        *self.labels.entry(name).or_insert_with(|| {
            self.list.push(name);
            self.list.len() - 1
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::lines::number;

    /// `inner` inlined into `middle`, that inlined into `entry` at two places.
    const MODULE: &str = r#"!1 = !DIFile(filename: "a.rs", directory: "")
!2 = !DIFile(filename: "b.rs", directory: "")
!3 = distinct !DISubprogram(name: "inner", file: !1)
!4 = distinct !DISubprogram(name: "middle", file: !2)
!5 = distinct !DISubprogram(name: "entry", file: !1)
!10 = !DILocation(line: 7, column: 5, scope: !3, inlinedAt: !11)
!11 = distinct !DILocation(line: 30, column: 2, scope: !4, inlinedAt: !12)
!12 = distinct !DILocation(line: 50, column: 1, scope: !5)
!13 = !DILocation(line: 7, column: 5, scope: !3, inlinedAt: !14)
!14 = distinct !DILocation(line: 30, column: 2, scope: !4, inlinedAt: !15)
!15 = distinct !DILocation(line: 60, column: 1, scope: !5)
"#;

    fn resolved(ids: &[u32]) -> Vec<String> {
        let (_, table) = number(MODULE);
        let locs: String = ids.iter().map(|id| format!("\t.loc\t1 {} 1\n\tadd;\n", (1u32 << 30) + id)).collect();
        let text = resolve(&format!("$L__func_begin0:\n\t.loc\t1 49 0\n{locs}\t.file\t1 \"a.rs\"\n"), &table);
        text.lines().map(|line| line.split("\t//").next().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn a_chain_is_written_from_the_outside_in() {
        let lines = resolved(&[10]);
        let expected = [
            "$L__func_begin0:",
            "\t.loc\t1 49 0",
            "\t.loc\t1 50 1",
            "\t.loc\t2 30 2, function_name $L__info_string0, inlined_at 1 50 1",
            "\t.loc\t1 7 5, function_name $L__info_string1, inlined_at 2 30 2",
            "\tadd;",
            "\t.file\t1 \"a.rs\"",
            "\t.file\t2 \"b.rs\"",
            "\t.section\t.debug_str",
            "\t{",
            "$L__info_string0:",
            "\t.b8 109, 105, 100, 100, 108, 101, 0",
            "$L__info_string1:",
            "\t.b8 105, 110, 110, 101, 114, 0",
            "\t}",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn a_call_place_is_written_again_when_its_chain_changes() {
        let calls = |lines: &[String]| lines.iter().filter(|line| line.starts_with("\t.loc\t2 30 2")).count();
        assert_eq!(calls(&resolved(&[10, 10])), 1);
        assert_eq!(calls(&resolved(&[10, 13, 10])), 3);
    }

    #[test]
    fn a_place_holds_until_the_next_one() {
        let places = |lines: &[String]| lines.iter().filter(|line| line.starts_with("\t.loc\t1 7 5")).count();
        assert_eq!(places(&resolved(&[10, 10, 10])), 1);
        assert_eq!(places(&resolved(&[10, 13, 10])), 3);
    }

    #[test]
    fn code_of_no_line_says_no_number_of_the_table() {
        let (_, table) = number(MODULE);
        let text = resolve("\t.loc\t1 0 0                 // a.rs:0 @[ b.rs:1073741835:1 ]\n\tadd;\n", &table);
        assert_eq!(text, "\t.loc\t1 0 0\n\tadd;\n");
    }

    #[test]
    fn copies_of_a_call_are_one() {
        // Locations 10 to 12 again, as unrolling copies them.
        let copy = r#"!20 = !DILocation(line: 7, column: 5, scope: !3, inlinedAt: !21)
!21 = distinct !DILocation(line: 30, column: 2, scope: !4, inlinedAt: !22)
!22 = distinct !DILocation(line: 50, column: 1, scope: !5)
"#;
        let (_, table) = number(&format!("{MODULE}{copy}"));
        assert_eq!(table.get(20), table.get(10));
        assert_ne!(table.get(13), table.get(10));
    }
}
