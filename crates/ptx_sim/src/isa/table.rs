//! Rows: one per instruction that only moves bits between registers.

use std::collections::HashMap;

use super::collective::Collective;
use super::facts::Facts;
use super::lift::Meaning;

/// A row of the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The function that it computes, and the types of its results and operands.
    pub meaning: Meaning,
    /// Facts for the checkers, the counters and the time estimate.
    pub facts: Facts,
    /// Kind of instruction that the lanes of a mask, the last operand in the text, execute together; `None` for others.
    pub collective: Option<Collective>,
    /// Number of destinations that the text may omit: `setp` without `|q`.
    pub optional: u8,
    /// Whether the last source is the carry flag, which the text does not name.
    pub carry_in: bool,
    /// Whether the last destination is the carry flag.
    pub carry_out: bool,
    /// Value of [`Args::immediate`](crate::registers::Args::immediate).
    pub immediate: u16,
}

impl Row {
    /// Creates a row whose operands are all named by the text.
    pub const fn new(facts: Facts, meaning: Meaning) -> Self {
        Self { meaning, facts, collective: None, optional: 0, carry_in: false, carry_out: false, immediate: 0 }
    }
}

/// Collects the rows of all chapters.
#[derive(Default)]
pub struct Table {
    rows: HashMap<String, Row>,
}

impl Table {
    /// Adds an instruction. `[.rn]` in the opcode is optional; `{s32|u32}` stands for each of its alternatives.
    #[inline(never)]
    pub fn row(&mut self, opcode: &str, facts: Facts, meaning: Meaning) {
        self.insert(opcode, Row::new(facts, meaning));
    }

    /// Adds an instruction whose text leaves out operands, or whose opcode has an immediate.
    #[inline(never)]
    pub fn insert(&mut self, opcode: &str, row: Row) {
        for spelling in spellings(opcode) {
            let previous = self.rows.insert(spelling, row);
            debug_assert!(previous.is_none(), "two rows for {opcode}");
        }
    }

    /// Returns all rows, by opcode.
    pub fn finish(self) -> HashMap<String, Row> {
        self.rows
    }
}

/// Returns all spellings of a pattern.
fn spellings(pattern: &str) -> Vec<String> {
    let Some(open) = pattern.find(['[', '{']) else { return vec![pattern.to_string()] };
    let close = if pattern.as_bytes()[open] == b'[' { ']' } else { '}' };
    let Some(end) = pattern[open..].find(close).map(|i| open + i) else { return Vec::new() };
    let inside = &pattern[open + 1..end];
    let choices: Vec<&str> = if close == ']' { vec!["", inside] } else { inside.split('|').collect() };
    let tails = spellings(&pattern[end + 1..]);
    choices
        .iter()
        .flat_map(|choice| tails.iter().map(move |tail| format!("{}{choice}{tail}", &pattern[..open])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::spellings;

    #[test]
    fn patterns_expand() {
        assert_eq!(spellings("add[.rn].{f32|f64}"), ["add.f32", "add.f64", "add.rn.f32", "add.rn.f64"]);
    }
}
