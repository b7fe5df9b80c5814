//! Sums of products.
//!
//! Integers and `f64` are exact. For the narrow floating-point formats, the PTX ISA specifies little; this is the
//! behaviour of tensor cores found by studies (Fasi, Higham, Mikaitis and Pranesh, "Numerical behavior of NVIDIA tensor
//! cores", PeerJ Computer Science 7, 2021; Khattak and Mikaitis, "Accurate models of NVIDIA tensor cores", 2025):
//! products are exact; the products of one block and the summand are aligned to the largest exponent among them, and
//! bits shifted out are dropped; the sum is exact and rounded once. The lengths of blocks and the number of bits kept
//! are those of an H200. On 512 random warps of each shape with moderate and wide exponents, zeros, subnormal numbers,
//! infinities and NaN, all results of f16, bf16 and tf32 were equal, except for at most 7 in 10 000 of those with
//! special values. Of `wgmma`, all of 700 000 results were equal, of integers and fp8 too.

use super::quick::{Factor, Sums};
use super::shape::{Element, Multiply, Sum};
use super::term::{FRACTION, Special, Term};
use crate::isa::soft::{F16, F32, Format, Number, Rounding, add};
use crate::level::{Host, Level};

/// Combines a row of `a`, a column of `b` and an element of `c`.
type Dot<'f> = dyn Fn(&[u64], &[u64], u64) -> u64 + 'f;

/// Computes all elements of `a * b + c`, by row. `a` is by row, `b` by column. `group`: as `wgmma` does, else as `mma`.
pub fn products(shape: &Multiply, a: &[u64], b: &[u64], c: &[u64], group: bool) -> Vec<u64> {
    let k = shape.k;
    let each = |f: &Dot<'_>| {
        let place = |i: usize| {
            let (row, column) = (i / shape.n, i % shape.n);
            f(&a[row * k..][..k], &b[column * k..][..k], c[i])
        };
        (0..shape.m * shape.n).map(place).collect()
    };
    match shape.a {
        Element::F64 => each(&|a, b, c| {
            let mut sum = f64::from_bits(c);
            for (&a, &b) in a.iter().zip(b) {
                sum = f64::from_bits(fused(f64::from_bits(a), f64::from_bits(b), sum));
            }
            sum.to_bits()
        }),
        Element::S8 | Element::U8 | Element::S4 | Element::U4 => each(&|a, b, c| {
            let terms = a.iter().zip(b).map(|(&a, &b)| integer(shape.a, a) * integer(shape.b, b));
            let sum = i64::from(c as u32 as i32) + terms.sum::<i64>();
            let sum = if shape.saturate { sum.clamp(i64::from(i32::MIN), i64::from(i32::MAX)) } else { sum };
            u64::from(sum as u32)
        }),
        Element::B1 => each(&|a, b, c| {
            let ones = a.iter().zip(b).filter(|(a, b)| if shape.and { *a & *b != 0 } else { a != b }).count();
            u64::from((c as u32).wrapping_add(ones as u32))
        }),
        Element::F16 | Element::Bf16 | Element::Tf32 | Element::E4m3 | Element::E5m2 => {
            let a: Vec<Term> = a.iter().map(|&bits| Term::of(shape.a, bits)).collect();
            let b: Vec<Term> = b.iter().map(|&bits| Term::of(shape.b, bits)).collect();
            let block = block_length(shape.a);
            let quick = quick_sums(shape, &a, &b, c, block);
            (0..shape.m * shape.n)
                .map(|i| {
                    if let Some(Some(sum)) = quick.get(i) {
                        return u64::from(*sum);
                    }
                    let (row, column) = (i / shape.n, i % shape.n);
                    let (a, b) = (&a[row * k..][..k], &b[column * k..][..k]);
                    float_sum(shape, a, b, c[i], block, group)
                })
                .collect()
        }
    }
}

/// Returns the number of products that are summed at once.
fn block_length(element: Element) -> usize {
    match element {
        Element::Tf32 => 8,
        _ => 16,
    }
}

/// Computes the sums of one block in f32; `None`, or an empty list, for those that need the general code.
fn quick_sums(shape: &Multiply, a: &[Term], b: &[Term], c: &[u64], block: usize) -> Vec<Option<u32>> {
    let narrow = matches!(shape.a, Element::F16 | Element::Bf16 | Element::Tf32);
    if !narrow || (shape.c, shape.d) != (Sum::F32, Sum::F32) || shape.k != block {
        return Vec::new();
    }
    let mut d = vec![None; shape.m * shape.n];
    let fraction = a.first().map_or(0, |a| 2 * a.fraction);
    let (a, b) = (Factor::of(a, shape.k), Factor::of(b, shape.k));
    let level = Level::best();
    match block {
        8 => level.perform(&mut Sums::<8> { a: &a, b: &b, fraction, c, d: &mut d }),
        16 => level.perform(&mut Sums::<16> { a: &a, b: &b, fraction, c, d: &mut d }),
        _ => {}
    }
    d
}

fn float_sum(shape: &Multiply, a: &[Term], b: &[Term], c: u64, block: usize, group: bool) -> u64 {
    let mut sum = match shape.c {
        Sum::F16 => Term::of(Element::F16, c),
        _ => Term::single(c as u32),
    };
    if group && matches!(shape.a, Element::E4m3 | Element::E5m2) {
        return group_sum_of_fp8(shape, a, b, sum);
    }
    if matches!(shape.a, Element::E4m3 | Element::E5m2) {
        // `mma` adds all products first, and then the summand in an ordinary addition.
        let (format, zero) = (if shape.d == Sum::F16 { F16 } else { F32 }, Term::single(0));
        let nearest = Rounding::NearestEven;
        let rounding = if shape.d == Sum::F16 { nearest } else { Rounding::Zero };
        // The first two of every four neighbours form one half, the other two the other.
        let half = |x: &[Term], which: usize| -> Vec<Term> {
            x.iter().enumerate().filter(|(i, _)| i / 2 % 2 == which).map(|(_, term)| *term).collect()
        };
        let (mut sum, mut bits) = (zero, 0);
        for which in 0..2 {
            bits = block_sum(&half(a, which), &half(b, which), sum, (format, rounding), FRACTION);
            sum = if shape.d == Sum::F16 { Term::of(Element::F16, bits) } else { Term::single(bits as u32) };
        }
        let products = format.unpack(bits);
        return format.pack(add(products, format.unpack(c), nearest), nearest);
    }
    let mut bits = 0;
    for (a, b) in a.chunks(block).zip(b.chunks(block)) {
        let (format, rounding) = match shape.d {
            Sum::F16 => (F16, Rounding::NearestEven),
            _ => (F32, Rounding::Zero),
        };
        bits = block_sum(a, b, sum, (format, rounding), FRACTION);
        sum = if shape.d == Sum::F16 { Term::of(Element::F16, bits) } else { Term::single(bits as u32) };
    }
    bits
}

/// Sums of fp8 by `wgmma`: all products and the summand at once, with 13 fractional bits of the largest. Sums of f32
/// keep as many; those of f16 are rounded once. So an H200 computes them: 131 072 results of moderate and wide
/// exponents were equal, NaN and infinities among them.
fn group_sum_of_fp8(shape: &Multiply, a: &[Term], b: &[Term], sum: Term) -> u64 {
    const KEPT: i32 = 13;
    const SHORT: Format = Format { precision: KEPT as u32 + 1, emax: 127 };
    const NAN: u64 = 0x7fff_ffff;
    if shape.d == Sum::F16 {
        return block_sum(a, b, sum, (F16, Rounding::NearestEven), KEPT);
    }
    let bits = block_sum(a, b, sum, (SHORT, Rounding::Zero), KEPT);
    if matches!(Term::apart(SHORT, bits).special, Special::Nan) { NAN } else { bits << (23 - KEPT) }
}

/// Returns `sum + a[0] * b[0] + …`, aligned and added at once, with `kept` fractional bits of the largest term.
fn block_sum(a: &[Term], b: &[Term], sum: Term, (format, rounding): (Format, Rounding), kept: i32) -> u64 {
    let mut terms = [sum; 33];
    let mut count = 1;
    for ((&a, &b), place) in a.iter().zip(b).zip(&mut terms[1..]) {
        *place = a.times(b);
        count += 1;
    }
    let terms = &terms[..count];
    if let Some(special) = special_sum(terms) {
        return match special {
            Special::Infinity { negative } => format.pack(Number::Infinity(negative), rounding),
            _ => format.pack(Number::Nan, rounding),
        };
    }
    let largest = terms.iter().filter(|term| term.significand != 0).map(|term| term.exponent).max();
    let Some(largest) = largest else { return 0 };
    let mut total = 0i64;
    for term in terms {
        let shift = term.exponent - largest + kept - term.fraction;
        let magnitude = term.significand.unsigned_abs();
        let aligned = match shift {
            0.. => magnitude << shift.min(63),
            -63.. => magnitude >> -shift,
            _ => 0,
        } as i64;
        total += if term.significand < 0 { -aligned } else { aligned };
    }
    if total == 0 {
        return 0;
    }
    let number = Number::Finite {
        negative: total < 0,
        significand: u128::from(total.unsigned_abs()),
        exponent: largest - kept,
        sticky: false,
    };
    let bits = format.pack(number, rounding);
    // Overflow gives infinity in every rounding mode.
    let top = largest - kept + 63 - total.unsigned_abs().leading_zeros() as i32;
    if top > format.emax { format.pack(Number::Infinity(total < 0), rounding) } else { bits }
}

fn special_sum(terms: &[Term]) -> Option<Special> {
    let mut found = Special::None;
    for term in terms {
        found = match (found, term.special) {
            (found, Special::None) => found,
            (Special::None, special) => special,
            (Special::Infinity { negative: x }, Special::Infinity { negative: y }) if x == y => found,
            _ => Special::Nan,
        };
    }
    (found != Special::None).then_some(found)
}

fn fused(a: f64, b: f64, c: f64) -> u64 {
    crate::isa::float::propagated(a.mul_add(b, c), [c, a, b])
}

fn integer(element: Element, bits: u64) -> i64 {
    match element {
        Element::S8 => i64::from(bits as u8 as i8),
        Element::S4 => i64::from((bits as u8) << 4) << 56 >> 60,
        _ => bits as i64,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One sum of products of e4m3 that are `a[i] * 1`, and `c`.
    fn sum_of_e4m3(a: &[u64], c: f32, group: bool) -> f32 {
        const ONE: u64 = 0x38;
        let (element, sum) = (Element::E4m3, Sum::F32);
        let shape = Multiply {
            m: 1,
            n: 1,
            k: 32,
            a: element,
            b: element,
            c: sum,
            d: sum,
            saturate: false,
            and: false,
            wmma: None,
            sparse: None,
        };
        let mut row = [0; 32];
        row[..a.len()].copy_from_slice(a);
        f32::from_bits(products(&shape, &row, &[ONE; 32], &[c.to_bits().into()], group)[0] as u32)
    }

    #[test]
    fn sums_of_fp8_of_a_warpgroup_keep_13_fractional_bits_of_the_largest_term() {
        // 256, and 2^-6, 14 places below: `mma` keeps it, `wgmma` does not; 2^-5 is kept by both.
        let (large, small, double) = (0x78, 0x08, 0x10);
        assert_eq!(sum_of_e4m3(&[large, small], 0.0, true), 256.0);
        assert_eq!(sum_of_e4m3(&[large, small], 0.0, false), 256.0 + 1.0 / 64.0);
        assert_eq!(sum_of_e4m3(&[large, double], 0.0, true), 256.0 + 1.0 / 32.0);
        // The summand is aligned with the products.
        assert_eq!(sum_of_e4m3(&[large], 1.0 / 64.0, true), 256.0);
        assert_eq!(sum_of_e4m3(&[small; 4], 0.0, true), 1.0 / 16.0);
        assert_eq!(sum_of_e4m3(&[0x7f], 0.0, true).to_bits(), 0x7fff_ffff);
    }
}
