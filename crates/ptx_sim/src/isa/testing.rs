//! Support for the tests of all chapters: runs one instruction of the table on given bits.

use super::instructions;
use super::lift::{self, File};
use super::table::Row;
use crate::level::{Host, Level};
use crate::registers::{Args, LANES, Registers};

/// Active lanes; the others must keep their values.
const MASK: u32 = 0x8000_0ff5;

/// Returns the result bits of an instruction. Predicates are 0 or 1; carry flags come last.
pub fn run(opcode: &str, sources: &[u64]) -> Vec<u64> {
    let row = instructions::find(opcode).unwrap_or_else(|| panic!("no row for `{opcode}`"));
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

/// Runs the instruction on every level of this host, and compares the results.
fn run_with(row: &Row, sources: &[u64], mask: u32) -> Vec<[u64; LANES]> {
    let sources: Vec<[u64; LANES]> = sources.iter().map(|&bits| [bits; LANES]).collect();
    let results = Level::available().into_iter().map(|level| run_at(level, row, &sources, mask));
    let results: Vec<_> = results.collect();
    assert!(results.iter().all(|found| *found == results[0]), "levels differ: {results:x?}");
    results[0].clone()
}

/// Returns the results of an instruction for many values of each source, as many as the first source has, one warp at a
/// time on the best level of this host.
pub fn run_many(opcode: &str, sources: &[Vec<u64>]) -> Vec<Vec<u64>> {
    let row = instructions::find(opcode).unwrap_or_else(|| panic!("no row for `{opcode}`"));
    let count = sources[0].len();
    let mut found = vec![Vec::with_capacity(count); row.meaning.d.len()];
    for start in (0..count).step_by(LANES) {
        let lane_value = |source: &Vec<u64>, lane| source.get(start + lane).copied().unwrap_or_default();
        let warp: Vec<[u64; LANES]> =
            sources.iter().map(|source| std::array::from_fn(|lane| lane_value(source, lane))).collect();
        for (all, values) in found.iter_mut().zip(run_at(Level::best(), row, &warp, u32::MAX)) {
            all.extend(values.into_iter().take(count - start));
        }
    }
    found
}

fn run_at(level: Level, row: &Row, sources: &[[u64; LANES]], mask: u32) -> Vec<[u64; LANES]> {
    let mut registers =
        Registers { w32: vec![[0; LANES]; 9], w64: vec![[0; LANES]; 9], pred: vec![0; 9], ..Registers::default() };
    let mut args = Args { d: [0, 1, 2, 3], immediate: row.immediate, ..Args::default() };
    assert_eq!(sources.len(), row.meaning.s.len(), "number of sources");
    for (i, (&file, values)) in row.meaning.s.iter().zip(sources).enumerate() {
        let slot = 4 + i;
        args.s[i] = slot as u32;
        match file {
            File::Pred => registers.pred[slot] = lift::pack(&values.map(|bits| bits & 1 != 0)),
            File::Half | File::Word | File::Single => registers.w32[slot] = values.map(|bits| bits as u32),
            File::Long | File::Double => registers.w64[slot] = *values,
        }
    }
    level.run(&row.meaning.run, &mut registers, mask, &args);
    let read = |(i, file): (usize, &File)| match file {
        File::Pred => std::array::from_fn(|lane| u64::from(registers.pred[i] >> lane & 1)),
        File::Half | File::Word | File::Single => registers.w32[i].map(u64::from),
        File::Long | File::Double => registers.w64[i],
    };
    row.meaning.d.iter().enumerate().map(read).collect()
}

/// A test case: opcode, sources, destinations.
pub type Case = (&'static str, &'static [u64], &'static [u64]);

/// Checks a list of cases.
pub fn check(cases: &[Case]) {
    for (opcode, sources, expected) in cases {
        let found = run(opcode, sources);
        assert_eq!(found, *expected, "{opcode} of {sources:x?} gives {found:x?}, not {expected:x?}");
    }
}

/// Returns special and random values.
fn bits(state: &mut u64) -> u64 {
    const SPECIAL: [u64; 12] = [
        0,
        1,
        u64::MAX,
        i64::MIN as u64,
        0x8000_0000_7fff_ffff,
        0x3f80_0000_3f80_0000,
        0x7f80_0000_ff80_0000,
        0x7fc0_0001_ffa0_0000,
        0x0000_0001_8080_0000,
        0x7ff0_0000_0000_0000,
        0xfff4_0000_0000_0001,
        0x3ff0_0000_0000_0000,
    ];
    // Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut x = *state;
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^= x >> 31;
    if x & 3 == 0 { SPECIAL[(x >> 8) as usize % SPECIAL.len()].rotate_left((x >> 16) as u32 & 32) } else { x }
}

#[test]
fn every_instruction_gives_the_same_bits_on_every_level() {
    let mut state = 0;
    for signature in instructions::signatures() {
        let row = instructions::find(signature.opcode).expect("a signature is a row");
        for round in 0..8 {
            let mut w32 = || std::array::from_fn(|_| bits(&mut state) as u32);
            let w32: Vec<_> = (0..12).map(|_| w32()).collect();
            let mut w64 = || std::array::from_fn(|_| bits(&mut state));
            let w64: Vec<_> = (0..12).map(|_| w64()).collect();
            let pred = (0..12).map(|_| bits(&mut state) as u32).collect();
            let registers = Registers { w32, w64, pred, ..Registers::default() };
            let mask = if round == 0 { u32::MAX } else { bits(&mut state) as u32 };
            // A source may also be a destination, and neighbouring rows form a 128-bit register.
            let d = if round % 2 == 0 { [0, 1, 2, 3] } else { [4, 5, 6, 7] };
            let args = Args { d, s: [4, 5, 6, 7, 8], negated: round, immediate: row.immediate };
            let mut found = Level::available().into_iter().map(|level| {
                let mut registers = registers.clone();
                level.run(&row.meaning.run, &mut registers, mask, &args);
                registers
            });
            let first = found.next().expect("the baseline");
            for other in found {
                let same = first.w32 == other.w32 && first.w64 == other.w64 && first.pred == other.pred;
                assert!(same, "{} with mask {mask:08x}:\n{first:x?}\n{other:x?}", signature.opcode);
            }
        }
    }
}
