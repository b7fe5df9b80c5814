//! Every instruction of the table gives the same bits as an H200: `tests/golden/h200/opcodes.txt` has a hash of its
//! results for each opcode that ptxas accepts for `sm_90a` (the others are spellings for other architectures, and
//! 128-bit types). Approximate instructions are checked in `bounds.rs`.

use super::instructions;
use super::lift::File;
use super::testing::run_many;

/// Number of values of each operand.
const VALUES: usize = 2048;

/// `[kind][operand]`: kind 0 has 16 bits, 1 has 32, 2 has 64.
pub type Inputs = [[Vec<u64>; 4]; 3];

/// Special 16-bit values of both `f16` and `bf16`.
const HALVES: [u64; 32] = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03ff, 0x0400, 0x8400, 0x3c00, 0xbc00, 0x3c01, 0x3800, 0x4000, 0x4200, 0x7bff,
    0xfbff, 0x7c00, 0xfc00, 0x7c01, 0x7e00, 0xfe00, 0xffff, 0x7fff, 0x007f, 0x0080, 0x3f80, 0xbf80, 0x7f7f, 0x7f80,
    0xff80, 0x7fc0, 0x00ff, 0x00f0,
];

const WORDS: [u64; 32] = [
    0,
    0x8000_0000,
    1,
    0x8000_0001,
    0x007f_ffff,
    0x0080_0000,
    0x8080_0000,
    0x3f80_0000,
    0xbf80_0000,
    0x3f80_0001,
    0x3f00_0000,
    0x4000_0000,
    0x4049_0fdb,
    0x7f7f_ffff,
    0xff7f_ffff,
    0x7f80_0000,
    0xff80_0000,
    0x7f80_0001,
    0x7fc0_0000,
    0xffc0_0000,
    0xffff_ffff,
    0x7fff_ffff,
    0x4b00_0000,
    0x4b80_0001,
    0x3eff_ffff,
    0x4f00_0000,
    0x5f00_0000,
    0x3300_0000,
    0x20,
    0x1f,
    0x3c00_3c00,
    0x7c00_fbff,
];

const LONGS: [u64; 32] = [
    0,
    1 << 63,
    1,
    1 << 63 | 1,
    0x000f_ffff_ffff_ffff,
    0x0010_0000_0000_0000,
    0x8010_0000_0000_0000,
    0x3ff0_0000_0000_0000,
    0xbff0_0000_0000_0000,
    0x3ff0_0000_0000_0001,
    0x3fe0_0000_0000_0000,
    0x4000_0000_0000_0000,
    0x4009_21fb_5444_2d18,
    0x7fef_ffff_ffff_ffff,
    0xffef_ffff_ffff_ffff,
    0x7ff0_0000_0000_0000,
    0xfff0_0000_0000_0000,
    0x7ff0_0000_0000_0001,
    0x7ff8_0000_0000_0000,
    0xfff8_0000_0000_0000,
    u64::MAX,
    u64::MAX >> 1,
    0x4330_0000_0000_0000,
    0x43f0_0000_0000_0000,
    0x47ef_ffff_e000_0000,
    0x3690_0000_0000_0000,
    0x36a0_0000_0000_0000,
    0x40ef_ffc0_0000_0000,
    1 << 32,
    0x3f,
    0x3f80_0000_3f80_0000,
    0x7ff8_0000_1234_5678,
];

/// Returns the `i`th number of a seed. Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA
/// 2014.
pub fn splitmix(seed: u64, i: usize) -> u64 {
    let mut x = seed.wrapping_add((i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

/// The inputs of the H200: pairs of special values, then floats around one, then random bits.
pub fn inputs() -> Inputs {
    let kinds = [(&HALVES, 16, 10, 15), (&WORDS, 32, 23, 127), (&LONGS, 64, 52, 1023)];
    std::array::from_fn(|kind| {
        let (specials, bits, fraction, bias) = kinds[kind];
        let value = |operand: usize, t: usize| {
            let random = splitmix((1000 * kind + operand) as u64, t);
            let special = [t, t / 32, t * 7 + 3, t * 5 + 1][operand] % 32;
            let exponent = (random >> 60) + bias - 8;
            match t {
                0..1024 => specials[special],
                1024..1536 => random & ((1 << fraction) - 1) | exponent << fraction | (random >> 59 & 1) << (bits - 1),
                _ => random & u64::MAX >> (64 - bits),
            }
        };
        std::array::from_fn(|operand| (0..VALUES).map(|t| value(operand, t)).collect())
    })
}

/// Returns the values of an opcode's sources, including a carry flag.
pub fn sources(opcode: &str, inputs: &Inputs) -> Vec<Vec<u64>> {
    let row = instructions::find(opcode).unwrap_or_else(|| panic!("no row for `{opcode}`"));
    let last = row.meaning.s.len() - 1;
    let each = row.meaning.s.iter().enumerate();
    each.map(|(i, file)| match file {
        // An immediate operand.
        _ if opcode.starts_with("lop3") && i == 3 => vec![0x1b; VALUES],
        File::Pred => inputs[1][if row.carry_in && i == last { 3 } else { i }].iter().map(|bits| bits & 1).collect(),
        File::Half => inputs[0][i].clone(),
        File::Word | File::Single => inputs[1][i].clone(),
        File::Long | File::Double => inputs[2][i].clone(),
    })
    .collect()
}

/// Whether an input is excluded from the hashes. `fns` with an offset of -2^31 follows no apparent rule on a GPU: for
/// the mask 7fc00000 it gives 0 from any base, although by PTX's text no bit is found and the result is ffffffff.
fn left_out(opcode: &str, sources: &[Vec<u64>], t: usize) -> bool {
    opcode == "fns.b32" && sources[2][t] == 1 << 31
}

#[test]
fn opcodes_as_on_an_h200() {
    let inputs = inputs();
    let (mut wrong, mut count) = (Vec::new(), 0);
    for line in include_str!("../../tests/golden/h200/opcodes.txt").lines() {
        let (opcodes, expected) = line.rsplit_once(' ').expect("opcodes and hashes");
        for opcode in opcodes.split(' ') {
            let sources = sources(opcode, &inputs);
            let hash = |values: &Vec<u64>| {
                let all = values.iter().enumerate().filter(|(t, _)| !left_out(opcode, &sources, *t));
                all.fold(0, |sum: u64, (t, value)| sum.wrapping_add(value.wrapping_mul(splitmix(7, t) | 1)))
            };
            let found: Vec<String> =
                run_many(opcode, &sources).iter().map(|values| format!("{:016x}", hash(values))).collect();
            if found.join("+") != expected {
                wrong.push(opcode);
            }
            count += 1;
        }
    }
    assert!(wrong.is_empty(), "other bits than an H200: {wrong:?}");
    assert_eq!(count, 5456);
}
