//! The words of a product of matrices: its shape and its types.

use super::reject::{Reject, unsupported};
use crate::isa::matrix::{Element, Multiply, Sum};

/// Returns the product that the words of an `mma` describe.
///
/// # Errors
/// [`Reject`] for an unknown word.
pub fn product_of(words: &[&str]) -> Result<Multiply, Reject> {
    let mut shape = None;
    let (mut types, mut saturate, mut and) = (Vec::new(), false, false);
    for &word in words {
        match word {
            "row" | "col" | "popc" | "xor" => {}
            "and" => and = true,
            "satfinite" => saturate = true,
            _ if word.starts_with('m') => shape = dimensions(word),
            _ => types.push(word),
        }
    }
    let [d, a, b, c] = types[..] else { return unsupported("this form of `mma` is not supported") };
    let (Some((m, n, k)), Some(d), Some(a), Some(b), Some(c)) = (shape, sum(d), element(a), element(b), sum(c)) else {
        return unsupported("this form of `mma` is not supported");
    };
    Ok(Multiply { m, n, k, a, b, c, d, saturate, and, wmma: None, sparse: None })
}

/// Parses a shape such as `m16n8k16`.
pub fn dimensions(word: &str) -> Option<(usize, usize, usize)> {
    let (m, rest) = word.strip_prefix('m')?.split_once('n')?;
    let (n, k) = rest.split_once('k')?;
    let size = |text: &str| text.parse().ok().filter(|&size: &usize| (1..=256).contains(&size));
    Some((size(m)?, size(n)?, size(k)?))
}

/// Returns the type of a factor's elements.
pub fn element(kind: &str) -> Option<Element> {
    Some(match kind {
        "f16" => Element::F16,
        "bf16" => Element::Bf16,
        "tf32" => Element::Tf32,
        "e4m3" => Element::E4m3,
        "e5m2" => Element::E5m2,
        "f64" => Element::F64,
        "s8" => Element::S8,
        "u8" => Element::U8,
        "s4" => Element::S4,
        "u4" => Element::U4,
        "b1" => Element::B1,
        _ => return None,
    })
}

/// Returns the type of sums.
pub fn sum(kind: &str) -> Option<Sum> {
    Some(match kind {
        "f16" => Sum::F16,
        "f32" => Sum::F32,
        "f64" => Sum::F64,
        "s32" => Sum::S32,
        _ => return None,
    })
}

/// Whether the types of the factors and of the sums may be combined.
pub fn consistent(multiply: &Multiply) -> bool {
    use Element::{B1, Bf16, E4m3, E5m2, F16, F64, S4, S8, Tf32, U4, U8};
    let factors = match (multiply.a, multiply.b) {
        (E4m3 | E5m2, E4m3 | E5m2) | (S8 | U8, S8 | U8) | (S4 | U4, S4 | U4) => true,
        (a, b) => a == b,
    };
    factors
        && match multiply.a {
            F16 => matches!((multiply.c, multiply.d), (Sum::F16 | Sum::F32, Sum::F16 | Sum::F32)),
            E4m3 | E5m2 => matches!((multiply.c, multiply.d), (Sum::F16, Sum::F16) | (Sum::F32, Sum::F32)),
            Bf16 | Tf32 => (multiply.c, multiply.d) == (Sum::F32, Sum::F32),
            F64 => (multiply.c, multiply.d) == (Sum::F64, Sum::F64),
            S8 | U8 | S4 | U4 | B1 => (multiply.c, multiply.d) == (Sum::S32, Sum::S32),
        }
}

/// Returns the number of registers that a lane needs for its part of a matrix.
pub fn registers(elements: usize, bits: usize) -> usize {
    (elements * bits).div_ceil(bits.max(32) * 32)
}
