//! The marks of tunable constants: a comment `// tune: 2 4 8` directly above a constant lists the values to try.

use std::fmt;

/// A constant with the values to try.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Number of the constant's line, from 1.
    pub line: usize,
    /// Name of the constant.
    pub name: String,
    /// Its value.
    pub present: u64,
    /// The other values of the mark, in its order.
    pub candidates: Vec<u64>,
}

/// A mark that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bad {
    /// Number of the mark's line, from 1.
    pub line: usize,
    /// The defect and its remedy.
    pub problem: String,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.line, self.problem)
    }
}

/// The marks of a source file in their order.
pub fn parse(text: &str) -> Vec<Result<Mark, Bad>> {
    let lines: Vec<&str> = text.lines().collect();
    let marked = lines.iter().enumerate().filter_map(|(at, line)| Some((at, values_of(line)?)));
    marked
        .map(|(at, values)| {
            let next = lines.get(at + 1).copied().unwrap_or_default();
            mark(at + 2, values, next).map_err(|problem| Bad { line: at + 1, problem })
        })
        .collect()
}

/// The text of the file with another value of the constant.
///
/// # Panics
/// If the mark is not one of this text.
pub fn substitute(text: &str, mark: &Mark, value: u64) -> String {
    let lines = text.split_inclusive('\n').enumerate();
    let changed = lines.map(|(at, line)| match at + 1 == mark.line {
        false => line.to_owned(),
        true => {
            let (start, rest) = line.split_once(" = ").unwrap_or_else(|| unreachable!("a constant: {line}"));
            let (_, end) = rest.split_once(';').unwrap_or_else(|| unreachable!("a constant: {line}"));
            format!("{start} = {value};{end}")
        }
    });
    changed.collect()
}

/// The values of a line that is a mark.
fn values_of(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("//")?.trim_start().strip_prefix("tune:")
}

fn mark(line: usize, values: &str, next: &str) -> Result<Mark, String> {
    let (name, present) = constant(next).ok_or_else(|| {
        "a mark is directly above a constant that is a whole number, as `const UNROLL: usize = 8;`".to_owned()
    })?;
    let mut all = Vec::new();
    for word in values.split_whitespace() {
        let value = number(word).ok_or_else(|| format!("`{word}` is not a whole number: separate values by spaces"))?;
        if all.contains(&value) {
            return Err(format!("the value {value} is listed twice: remove one"));
        }
        all.push(value);
    }
    all.retain(|value| *value != present);
    if all.is_empty() {
        return Err(format!("the mark of `{name}` lists no other value than the present one: add one"));
    }
    Ok(Mark { line, name, present, candidates: all })
}

/// Name and value of a constant.
fn constant(line: &str) -> Option<(String, u64)> {
    let line = line.trim_start();
    let (_, rest) = line.split_once("const ").filter(|(before, _)| before.is_empty() || before.starts_with("pub"))?;
    let (name, rest) = rest.split_once(": ")?;
    let (_, rest) = rest.split_once(" = ")?;
    let (value, _) = rest.split_once(';')?;
    Some((name.to_owned(), number(value)?))
}

fn number(word: &str) -> Option<u64> {
    word.replace('_', "").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The only mark of a text, or its problem.
    fn only(text: &str) -> Result<Mark, Bad> {
        let mut marks = parse(text);
        assert_eq!(marks.len(), 1, "{text}");
        marks.remove(0)
    }

    #[test]
    fn a_mark_lists_the_values_to_try() {
        let text = "//! Text.\n\n/// Loads.\n// tune: 2 4 8 1_024\npub const UNROLL: usize = 8;\n";
        let mark = Mark { line: 5, name: "UNROLL".to_owned(), present: 8, candidates: vec![2, 4, 1024] };
        assert_eq!(only(text), Ok(mark));
        // Without the present value, private, indented, and with a larger type's separators.
        let mark = Mark { line: 2, name: "TILE".to_owned(), present: 4096, candidates: vec![1] };
        assert_eq!(only("    // tune: 1\n    const TILE: u32 = 4_096;\n"), Ok(mark));
        assert_eq!(parse("// tuned by hand\nconst A: u32 = 1; // tune: 2\n"), []);
    }

    #[test]
    fn a_mark_that_cannot_be_used_is_an_error() {
        let constant = "const A: usize = 4;";
        for (values, next, problem) in [
            ("2 4", "", "directly above a constant"),
            ("2 4", "/// Text.\nconst A: usize = 4;", "directly above a constant"),
            ("2 4", "static A: usize = 4;", "directly above a constant"),
            ("2 4", "const A: usize = 2 * B;", "directly above a constant"),
            ("2 4 2", constant, "the value 2 is listed twice"),
            ("4 4", constant, "the value 4 is listed twice"),
            ("2,8", constant, "`2,8` is not a whole number"),
            ("-1", constant, "`-1` is not a whole number"),
            ("4", constant, "no other value"),
            ("", constant, "no other value"),
        ] {
            let bad = only(&format!("//! Text.\n// tune: {values}\n{next}\n")).expect_err("refused");
            assert!(bad.line == 2 && bad.problem.contains(problem), "{values:?} above {next:?}: {bad}");
        }
    }

    #[test]
    fn only_the_value_of_the_constant_is_replaced() {
        let text = "const A: u32 = 8; // 8\n// tune: 4 8\npub const B: usize = 8; // of 8\nconst C: u32 = 8;";
        let mark = only(text).expect("a mark");
        let changed = "const A: u32 = 8; // 8\n// tune: 4 8\npub const B: usize = 4; // of 8\nconst C: u32 = 8;";
        assert_eq!(substitute(text, &mark, 4), changed);
        assert_eq!(only(&substitute(text, &mark, 4)).expect("a mark").present, 4);
        assert_eq!(substitute(text, &mark, 8), text);
    }
}
