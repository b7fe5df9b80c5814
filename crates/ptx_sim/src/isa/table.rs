//! The table: every instruction that only moves bits between registers, by its opcode.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lift::{File, Meaning};

/// An instruction in the table.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// What it does.
    pub meaning: Meaning,
    /// Destinations that the text may leave out: `setp` without `|q`.
    pub optional: u8,
    /// Its last source is the carry flag, which the text does not name.
    pub carry_in: bool,
    /// Its last destination is the carry flag.
    pub carry_out: bool,
    /// [`Args::immediate`](crate::registers::Args::immediate).
    pub immediate: u16,
}

impl Default for Row {
    fn default() -> Self {
        let meaning = Meaning { run: crate::registers::Pure::plain(|_, _, _| {}), d: &[], s: &[] };
        Self { meaning, optional: 0, carry_in: false, carry_out: false, immediate: 0 }
    }
}

/// Collects rows while the chapters list theirs.
#[derive(Default)]
pub struct Table {
    rows: HashMap<String, Row>,
}

impl Table {
    /// Adds an instruction. `[.rn]` in the opcode may be absent, `{s32|u32}` stands for each of its alternatives.
    #[inline(never)]
    pub fn row(&mut self, opcode: &str, meaning: Meaning) {
        self.insert(opcode, Row { meaning, ..Row::default() });
    }

    /// The same, with everything that a row may say.
    #[inline(never)]
    pub fn insert(&mut self, opcode: &str, row: Row) {
        for spelling in spellings(opcode) {
            let previous = self.rows.insert(spelling, row);
            debug_assert!(previous.is_none(), "two rows for {opcode}");
        }
    }
}

static TABLE: LazyLock<HashMap<String, Row>> = LazyLock::new(|| {
    let mut table = Table::default();
    super::list(&mut table);
    table.rows
});

/// Looks an opcode up.
pub fn find(opcode: &str) -> Option<&'static Row> {
    TABLE.get(opcode)
}

/// An instruction of the table, as conformance tests and lists of what is supported need it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// With its modifiers. `pack.…` and `unpack.…` are `mov` with a vector operand; `.r64.r32` behind a conversion are
    /// the widths of its registers where they exceed those of its types.
    pub opcode: &'static str,
    /// Destinations, without the carry flag.
    pub destinations: &'static [File],
    /// Sources, without the carry flag.
    pub sources: &'static [File],
    /// Reads the carry flag.
    pub carry_in: bool,
    /// Writes the carry flag.
    pub carry_out: bool,
}

/// All instructions of the table, by name.
pub fn signatures() -> Vec<Signature> {
    let signature = |(opcode, row): (&'static String, &'static Row)| Signature {
        opcode,
        destinations: &row.meaning.d[..row.meaning.d.len() - usize::from(row.carry_out)],
        sources: &row.meaning.s[..row.meaning.s.len() - usize::from(row.carry_in)],
        carry_in: row.carry_in,
        carry_out: row.carry_out,
    };
    let mut all: Vec<Signature> = TABLE.iter().map(signature).collect();
    all.sort_by_key(|signature| signature.opcode);
    all
}

/// All spellings of a pattern.
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
