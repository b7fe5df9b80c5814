//! The table: every instruction that only moves bits between registers or between the lanes of a warp, by its opcode.

use std::collections::HashMap;
use std::sync::LazyLock;

use super::lift::File;
use super::spelling::canonical;
use super::table::{Row, Table};
use super::{approximate, carry, compare, convert, float, half, integer, logic, mixed, moves, set, sign, video, warp};

static TABLE: LazyLock<HashMap<String, Row>> = LazyLock::new(|| {
    let mut table = Table::default();
    let chapters = [
        integer::list,
        carry::list,
        logic::list,
        compare::list,
        set::list,
        float::list,
        sign::list,
        approximate::list,
        half::list,
        mixed::list,
        video::list,
        convert::list,
        moves::list,
        warp::list,
    ];
    chapters.iter().for_each(|list| list(&mut table));
    table.finish()
});

/// The rows by the canonical order of their words.
static SPELLINGS: LazyLock<HashMap<String, &'static Row>> =
    LazyLock::new(|| TABLE.iter().map(|(opcode, row)| (canonical(opcode), row)).collect());

/// Looks up an opcode, whose words may be in another order than in the table.
pub fn find(opcode: &str) -> Option<&'static Row> {
    TABLE.get(opcode).or_else(|| SPELLINGS.get(&canonical(opcode)).copied())
}

/// An instruction of the table, for conformance tests and lists of supported instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The opcode with its modifiers. `pack.…` and `unpack.…` are `mov` with a vector operand, and `min3` and `max3`
    /// are `min` and `max` of three numbers. `video.…` is an instruction without its types, which are in the last
    /// source with the other words of its opcode and the parts of its operands. `.r64.r32` after a conversion are the
    /// widths of its registers where they exceed those of its types.
    pub opcode: &'static str,
    /// Files of the destinations, without the carry flag.
    pub destinations: &'static [File],
    /// Files of the sources, without the carry flag.
    pub sources: &'static [File],
    /// Whether the instruction reads the carry flag.
    pub carry_in: bool,
    /// Whether the instruction writes the carry flag.
    pub carry_out: bool,
}

/// Returns all instructions of the table that treat each lane separately, by name.
pub fn signatures() -> Vec<Signature> {
    let signature = |(opcode, row): (&'static String, &'static Row)| Signature {
        opcode,
        destinations: &row.meaning.d[..row.meaning.d.len() - usize::from(row.carry_out)],
        sources: &row.meaning.s[..row.meaning.s.len() - usize::from(row.carry_in)],
        carry_in: row.carry_in,
        carry_out: row.carry_out,
    };
    let mut all: Vec<Signature> = TABLE.iter().filter(|(_, row)| row.collective.is_none()).map(signature).collect();
    all.sort_by_key(|signature| signature.opcode);
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_rows_have_different_words() {
        assert_eq!(SPELLINGS.len(), TABLE.len());
        let row = find("div.ftz.rn.f32").map(|row| row.meaning.run.baseline as usize);
        assert_eq!(row, TABLE.get("div.rn.ftz.f32").map(|row| row.meaning.run.baseline as usize));
        assert!(row.is_some() && find("mul.s32.lo").is_none());
    }
}
