//! Checks the approximate instructions against the bounds of the PTX ISA ("Floating Point Instructions", "Half
//! Precision Floating Point Instructions"), both in the simulator and on an H200: `tests/golden/h200/approximate.bin`
//! has its results for the opcodes of `approximate.txt`, in the format of each.

use super::facts::Fidelity;
use super::golden::{self, splitmix};
use super::half::{bfloat_to_f32, half_to_f32};
use super::instructions::find;
use super::soft::{BF16, F16, F32, F64, Format, Rounding};
use super::testing::run_many;
use std::f64::consts::{PI, TAU};

/// Maximum deviation of a result from the exact one.
enum Error {
    /// Steps of the format, from the exact result rounded to nearest.
    Ulp(i64),
    Relative(f64),
    Absolute(f64),
}

/// An instruction as the PTX ISA describes it.
struct Function {
    /// Name without `.ftz` and type.
    name: &'static str,
    types: &'static [&'static str],
    /// Text in the fidelity report.
    text: &'static str,
    exact: fn(&[f64]) -> f64,
    /// Error bound; `None` where the result is not specified.
    error: fn(&[f64]) -> Option<Error>,
}

const UPPER: &str = "not specified; here the upper 32 bits of the result for the operand's upper 32 bits";
const ANGLES: &str =
    "absolute error 2^-20.5 for angles from -2 pi to 2 pi, 2^-14.7 from -100 pi to 100 pi, else not specified";

fn angle(x: &[f64]) -> Option<Error> {
    match x[0].abs() {
        x if x.is_nan() || x.is_infinite() || x <= TAU => Some(Error::Absolute(2f64.powf(-20.5))),
        x if x <= 100.0 * PI => Some(Error::Absolute(2f64.powf(-14.7))),
        _ => None,
    }
}

fn logarithm(x: &[f64]) -> Option<Error> {
    let error = 2f64.powi(-22);
    match x[0] {
        // The table of special values has no negative subnormal number.
        x if x < 0.0 && x > -2f64.powi(-126) => None,
        x if x > 0.5 && x < 2.0 => Some(Error::Absolute(error)),
        _ => Some(Error::Relative(error)),
    }
}

fn divisor(x: &[f64]) -> Option<Error> {
    let b = x[1].abs();
    let inside = (2f64.powi(-126)..=2f64.powi(126)).contains(&b);
    (inside || b == 0.0 || b.is_infinite() || b.is_nan()).then_some(Error::Ulp(2))
}

#[rustfmt::skip]
const FUNCTIONS: [Function; 18] = [
    Function { name: "div.approx", types: &["f32", "ftz.f32"], text: "2 ulp for divisors from 2^-126 to 2^126, else \
        not specified",
        exact: |x| x[0] / x[1], error: divisor },
    Function { name: "div.full", types: &["f32", "ftz.f32"], text: "2 ulp", exact: |x| x[0] / x[1],
        error: |_| Some(Error::Ulp(2)) },
    Function { name: "rcp.approx", types: &["f32", "ftz.f32"], text: "1 ulp", exact: |x| 1.0 / x[0],
        error: |_| Some(Error::Ulp(1)) },
    Function { name: "rcp.approx", types: &["ftz.f64"], text: UPPER, exact: |x| 1.0 / x[0],
        error: |_| Some(Error::Relative(2f64.powi(-20))) },
    Function { name: "sqrt.approx", types: &["f32", "ftz.f32"], text: "relative error 2^-23", exact: |x| x[0].sqrt(),
        error: |_| Some(Error::Relative(2f64.powi(-23))) },
    Function { name: "rsqrt.approx", types: &["f32", "ftz.f32"], text: "relative error 2^-22.9",
        exact: |x| 1.0 / x[0].sqrt(),
        error: |_| Some(Error::Relative(2f64.powf(-22.9))) },
    Function { name: "rsqrt.approx", types: &["ftz.f64"], text: UPPER, exact: |x| 1.0 / x[0].sqrt(),
        error: |_| Some(Error::Relative(2f64.powi(-20))) },
    Function { name: "rsqrt.approx", types: &["f64"], text: "not specified; here within 2 ulp",
        exact: |x| 1.0 / x[0].sqrt(),
        error: |_| Some(Error::Ulp(2)) },
    Function { name: "sin.approx", types: &["f32", "ftz.f32"], text: ANGLES, exact: |x| x[0].sin(), error: angle },
    Function { name: "cos.approx", types: &["f32", "ftz.f32"], text: ANGLES, exact: |x| x[0].cos(), error: angle },
    Function { name: "lg2.approx", types: &["f32", "ftz.f32"],
        text: "absolute error 2^-22 for operands between 1/2 and 2, else relative error 2^-22", exact: |x| x[0].log2(),
        error: logarithm },
    Function { name: "ex2.approx", types: &["f32", "ftz.f32"], text: "2 ulp", exact: |x| x[0].exp2(),
        error: |_| Some(Error::Ulp(2)) },
    Function { name: "ex2.approx", types: &["f16"], text: "relative error 2^-9.9", exact: |x| x[0].exp2(),
        error: |_| Some(Error::Relative(2f64.powf(-9.9))) },
    Function { name: "ex2.approx", types: &["ftz.bf16"], text: "relative error 2^-7", exact: |x| x[0].exp2(),
        error: |_| Some(Error::Relative(2f64.powi(-7))) },
    Function { name: "tanh.approx", types: &["f32"], text: "relative error 2^-11", exact: |x| x[0].tanh(),
        error: |_| Some(Error::Relative(2f64.powi(-11))) },
    Function { name: "tanh.approx", types: &["f16"], text: "absolute error 2^-10.987", exact: |x| x[0].tanh(),
        error: |_| Some(Error::Absolute(2f64.powf(-10.987))) },
    Function { name: "tanh.approx", types: &["bf16"], text: "absolute error 2^-8", exact: |x| x[0].tanh(),
        error: |_| Some(Error::Absolute(2f64.powi(-8))) },
    // The table contains this spelling too, although ptxas rejects it.
    Function { name: "ex2.approx", types: &["ftz.f16"], text: "relative error 2^-9.9", exact: |x| x[0].exp2(),
        error: |_| Some(Error::Relative(2f64.powf(-9.9))) },
];

/// The format of the last type of an opcode.
fn format(opcode: &str) -> Format {
    match opcode.rsplit('.').next() {
        Some("f16") => F16,
        Some("bf16") => BF16,
        Some("f32") => F32,
        _ => F64,
    }
}

fn bytes(opcode: &str) -> usize {
    match format(opcode).precision {
        24 => 4,
        53 => 8,
        _ => 2,
    }
}

/// Returns the number that the bits represent.
fn value(opcode: &str, bits: u64) -> f64 {
    match opcode.rsplit('.').next() {
        Some("f16") => half_to_f32(bits as u16).into(),
        Some("bf16") => bfloat_to_f32(bits as u16).into(),
        Some("f32") => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits),
    }
}

/// Returns the smallest normal number.
fn normal(format: Format) -> f64 {
    2f64.powi(1 - format.emax)
}

/// Returns the position of a number in the ordered list of its format; both zeros have the same position.
fn order(opcode: &str, bits: u64) -> i64 {
    let sign = 1 << (8 * bytes(opcode) - 1);
    let magnitude = (bits & (sign - 1)) as i64;
    if bits & sign != 0 { -magnitude } else { magnitude }
}

/// Returns a description of a wrong result.
fn problem(opcode: &str, function: &Function, bits: &[u64], result: u64) -> Option<String> {
    let format = format(opcode);
    let ftz = opcode.contains(".ftz");
    let operand = |&bits: &u64| {
        // These instructions read only the upper half.
        let bits = if bytes(opcode) == 8 && ftz { bits >> 32 << 32 } else { bits };
        let x = value(opcode, bits);
        if ftz && x.abs() < normal(format) { 0f64.copysign(x) } else { x }
    };
    let x: Vec<f64> = bits.iter().map(operand).collect();
    let error = (function.error)(&x)?;
    let (exact, found) = ((function.exact)(&x), value(opcode, result));
    let off = (found - exact).abs();
    // Below the normal numbers the absolute error of one step counts, and zero is right with `.ftz`.
    let step = normal(format) * 2f64.powi(1 - format.precision as i32);
    let flushed = ftz && found == 0.0 && exact.abs() < normal(format) * (1.0 + 2f64.powi(-18));
    let right = match error {
        _ if exact.is_nan() => found.is_nan(),
        // Zero and infinity are special values, and must have the right sign.
        _ if exact == 0.0 || exact.is_infinite() => {
            found == exact && found.is_sign_negative() == exact.is_sign_negative()
        }
        _ if flushed => found.is_sign_negative() == exact.is_sign_negative(),
        Error::Absolute(bound) => off <= bound,
        Error::Relative(bound) => off <= (bound * exact.abs()).max(step) || rounds_to_infinity(format, exact, found),
        Error::Ulp(bound) => {
            let rounded = format.pack(F64.unpack(exact.to_bits()), Rounding::NearestEven);
            (order(opcode, result) - order(opcode, rounded)).abs() <= bound
        }
    };
    (!right).then(|| format!("{opcode} of {x:?} gives {found:e}, not {exact:e}"))
}

fn rounds_to_infinity(format: Format, exact: f64, found: f64) -> bool {
    found.is_infinite() && exact.abs() >= 2f64.powi(format.emax) * (2.0 - 2f64.powi(1 - format.precision as i32))
}

/// Inputs: special values, every exponent, the ranges of the bounds and their ends, random bits.
fn sweep(opcode: &str) -> Vec<u64> {
    let random = |seed| (0..1 << 13).map(move |i| splitmix(seed, i));
    let ranges = [(-7.0, 7.0), (-320.0, 320.0), (0.4, 2.2), (-150.0, 129.0)];
    let between = |(low, high): (f64, f64), bits: u64| low + (high - low) * (bits >> 11) as f64 * 2f64.powi(-53);
    match bytes(opcode) {
        2 => (0..1 << 16).collect(),
        4 => {
            const FRACTIONS: [u64; 8] = [0, 1, 2, 0x3f_ffff, 0x40_0000, 0x55_5555, 0x7f_fffe, 0x7f_ffff];
            let exponents = (0..512).flat_map(|top| FRACTIONS.map(|fraction| top << 23 | fraction));
            let within = ranges.into_iter().enumerate();
            let within = within.flat_map(|(seed, range)| {
                random(seed as u64).map(move |bits| u64::from((between(range, bits) as f32).to_bits()))
            });
            exponents.chain(random(9).map(|bits| bits >> 32)).chain(within).collect()
        }
        _ => {
            const FRACTIONS: [u64; 4] = [0, 1, 0x9_5555_5555_5555, 0xf_ffff_ffff_ffff];
            let exponents = (0..4096).flat_map(|top| FRACTIONS.map(|fraction| top << 52 | fraction));
            exponents.chain(random(9)).collect()
        }
    }
}

fn opcodes() -> impl Iterator<Item = (String, &'static Function)> {
    FUNCTIONS
        .iter()
        .flat_map(|function| function.types.iter().map(move |t| (format!("{}.{t}", function.name), function)))
}

#[test]
fn every_result_is_within_its_bound() {
    for (opcode, function) in opcodes() {
        let row = find(&opcode).expect("an instruction of the table");
        assert_eq!(row.facts.fidelity, Fidelity::Approximate(function.text), "{opcode}");
        let a = sweep(&opcode);
        let mut sources = vec![a.clone()];
        if function.name.starts_with("div") {
            // Pairs of neighbouring and of distant numbers.
            let far = a.len() * 5 / 11;
            sources = vec![[a.clone(), a.clone()].concat()];
            sources.push((0..2 * a.len()).map(|i| a[(i % a.len() + [1, far][i / a.len()]) % a.len()]).collect());
        }
        let results = &run_many(&opcode, &sources)[0];
        let wrong: Vec<String> = (0..results.len())
            .filter_map(|i| {
                let operands: Vec<u64> = sources.iter().map(|source| source[i]).collect();
                problem(&opcode, function, &operands, results[i])
            })
            .collect();
        assert!(wrong.is_empty(), "{} of {}: {:#?}", wrong.len(), results.len(), &wrong[..wrong.len().min(5)]);
    }
}

#[test]
fn an_h200_is_within_the_bounds() {
    let inputs = golden::inputs();
    let mut rest: &[u8] = include_bytes!("../../tests/golden/h200/approximate.bin");
    for opcode in include_str!("../../tests/golden/h200/approximate.txt").lines() {
        let (_, function) = opcodes().find(|(name, _)| name == opcode).expect("a function");
        let sources = golden::sources(opcode, &inputs);
        // All pairs for two operands, each special value once for one operand.
        let taken: Vec<usize> =
            (0..sources[0].len()).filter(|t| sources.len() == 2 || !(32..1024).contains(t)).collect();
        let ours = &run_many(opcode, &sources)[0];
        for t in taken {
            let (bits, behind) = rest.split_at(bytes(opcode));
            rest = behind;
            let mut all = [0; 8];
            all[..bits.len()].copy_from_slice(bits);
            let result = u64::from_le_bytes(all);
            let operands: Vec<u64> = sources.iter().map(|source| source[t]).collect();
            assert_eq!(problem(opcode, function, &operands, result), None, "of the H200");
            let special = |bits| (value(opcode, bits).is_nan(), value(opcode, bits).is_infinite());
            if (function.error)(&operands.iter().map(|&bits| value(opcode, bits)).collect::<Vec<_>>()).is_some() {
                assert_eq!(special(ours[t]), special(result), "{opcode} of {operands:x?}");
            }
        }
    }
    assert!(rest.is_empty());
}
