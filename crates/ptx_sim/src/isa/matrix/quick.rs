//! Sums of products of f16, bf16 and tf32 in f32, by loops that vectorise. The results are those of `dot`, which also
//! has the numbers that this file leaves to it: infinities, NaN, and results that are subnormal or overflow.

use super::term::{FRACTION, Term};
use crate::level::{Host, Task};

/// Largest number of products of a block.
const MOST: usize = 16;
/// Exponent of a zero, below all others.
const LOW: i32 = -10_000;

/// A factor: exponents and significands of its finite numbers by row, in blocks.
pub struct Factor {
    significands: Vec<i32>,
    exponents: Vec<i32>,
    /// Whether a number of a row is infinite or NaN.
    special: Vec<bool>,
    k: usize,
}

impl Factor {
    /// Takes terms apart that are stored by rows of `k`.
    pub fn of(terms: &[Term], k: usize) -> Self {
        let exponent = |term: &Term| if term.significand == 0 { LOW } else { term.exponent };
        Self {
            significands: terms.iter().map(|term| term.significand as i32).collect(),
            exponents: terms.iter().map(exponent).collect(),
            special: terms.chunks(k).map(|row| row.iter().any(Term::is_special)).collect(),
            k,
        }
    }
}

/// All sums of one product of matrices: one block of `K` products, and a summand of 32 bits.
pub struct Sums<'a, const K: usize> {
    pub a: &'a Factor,
    pub b: &'a Factor,
    /// Fractional bits of a product.
    pub fraction: i32,
    pub c: &'a [u64],
    /// Results; `None` where the general code has to compute them.
    pub d: &'a mut [Option<u32>],
}

impl<const K: usize> Task for Sums<'_, K> {
    type Output = ();
    #[inline(always)]
    fn run<H: Host>(&mut self, _: H) {
        const { assert!(K <= MOST) };
        let (rows, columns) = (self.a.special.len(), self.b.special.len());
        for row in 0..rows {
            if self.a.special[row] {
                continue;
            }
            for column in (0..columns).filter(|&column| !self.b.special[column]) {
                let i = row * columns + column;
                let (Some(sa), Some(ea)) = (
                    self.a.significands[row * self.a.k..].first_chunk::<K>(),
                    self.a.exponents[row * self.a.k..].first_chunk::<K>(),
                ) else {
                    return;
                };
                let (Some(sb), Some(eb)) = (
                    self.b.significands[column * self.b.k..].first_chunk::<K>(),
                    self.b.exponents[column * self.b.k..].first_chunk::<K>(),
                ) else {
                    return;
                };
                self.d[i] = sum(sa, ea, sb, eb, self.fraction, self.c[i] as u32);
            }
        }
    }
}

/// Returns one sum; `None` where the general code has to compute it.
#[inline(always)]
fn sum<const K: usize>(
    sa: &[i32; K],
    ea: &[i32; K],
    sb: &[i32; K],
    eb: &[i32; K],
    fraction: i32,
    c: u32,
) -> Option<u32> {
    let field = (c >> 23 & 255) as i32;
    if field == 255 {
        return None;
    }
    let hidden = if field == 0 { 0 } else { 1 << 23 };
    let magnitude = (c & 0x7f_ffff | hidden) as i32;
    let exponent = if magnitude == 0 { 2 * LOW } else { field.max(1) - 127 };
    let mut largest = exponent;
    for j in 0..K {
        largest = largest.max(ea[j] + eb[j]);
    }
    if largest < LOW / 2 {
        return Some(0);
    }
    let mut total = 0i64;
    // Every aligned product has at most 27 bits.
    let mut parts = [0i32; K];
    for j in 0..K {
        let product = sa[j] * sb[j];
        let aligned = (product.unsigned_abs() << (FRACTION - fraction)) >> (largest - ea[j] - eb[j]).min(31);
        parts[j] = if product < 0 { -(aligned as i32) } else { aligned as i32 };
    }
    for part in parts {
        total += i64::from(part);
    }
    let aligned = i64::from((magnitude as u32) << (FRACTION - 23) >> (largest - exponent).min(31));
    total += if c >> 31 != 0 { -aligned } else { aligned };
    if total == 0 {
        return Some(0);
    }
    // The sum has at most 33 bits, so the conversion is exact; the lower bits of its result are dropped.
    let top = largest - FRACTION + 63 - total.unsigned_abs().leading_zeros() as i32;
    if !(-126..=127).contains(&top) {
        return None;
    }
    let bits = (total as f64).to_bits();
    let mantissa = (bits >> 29 & 0x7f_ffff) as u32;
    Some(((bits >> 63) as u32) << 31 | ((top + 127) as u32) << 23 | mantissa)
}
