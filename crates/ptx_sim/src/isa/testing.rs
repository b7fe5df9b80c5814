//! Runs one instruction of the table on given bits: what the tests of all chapters share.

use super::lift::File;
use super::table::{self, Row};
use crate::registers::{Args, LANES, Registers};

/// Lanes that take part; the others must stay as they were.
const MASK: u32 = 0x8000_0ff5;

/// The bits that an instruction gives for these bits. Predicates are 0 or 1; carry flags come last.
pub fn run(opcode: &str, sources: &[u64]) -> Vec<u64> {
    let row = table::find(opcode).unwrap_or_else(|| panic!("no row for `{opcode}`"));
    let all = run_with(row, sources, u32::MAX);
    let some = run_with(row, sources, MASK);
    assert!(all.iter().all(|row| row.iter().all(|&bits| bits == row[0])), "{opcode}: lanes differ");
    for (row, whole) in some.iter().zip(&all) {
        for lane in 0..LANES {
            let expected = if MASK >> lane & 1 != 0 { whole[lane] } else { 0 };
            assert_eq!(row[lane], expected, "{opcode}: lane {lane} under a mask");
        }
    }
    all.iter().map(|row| row[0]).collect()
}

fn run_with(row: &Row, sources: &[u64], mask: u32) -> Vec<[u64; LANES]> {
    let mut registers = Registers { w32: vec![[0; LANES]; 8], w64: vec![[0; LANES]; 8], pred: vec![0; 8] };
    let mut args = Args { d: [0, 1, 2, 3], ..Args::default() };
    assert_eq!(sources.len(), row.meaning.s.len(), "number of sources");
    for (i, (&file, &bits)) in row.meaning.s.iter().zip(sources).enumerate() {
        let slot = 4 + i;
        args.s[i] = slot as u32;
        match file {
            File::Pred => registers.pred[slot] = if bits & 1 != 0 { u32::MAX } else { 0 },
            File::Half | File::Word | File::Single => registers.w32[slot] = [bits as u32; LANES],
            File::Long | File::Double => registers.w64[slot] = [bits; LANES],
        }
    }
    (row.meaning.run)(&mut registers, mask, &args);
    let read = |(i, file): (usize, &File)| match file {
        File::Pred => std::array::from_fn(|lane| u64::from(registers.pred[i] >> lane & 1)),
        File::Half | File::Word | File::Single => registers.w32[i].map(u64::from),
        File::Long | File::Double => registers.w64[i],
    };
    row.meaning.d.iter().enumerate().map(read).collect()
}

/// An opcode, its sources, its destinations.
pub type Case = (&'static str, &'static [u64], &'static [u64]);

/// Checks a list of cases.
pub fn check(cases: &[Case]) {
    for (opcode, sources, expected) in cases {
        let found = run(opcode, sources);
        assert_eq!(found, *expected, "{opcode} of {sources:x?} gives {found:x?}, not {expected:x?}");
    }
}
