//! Numeric literals in PTX notation.

use super::tree::Operand;

/// Parses a number token; `None` if the token is not a valid number.
pub fn number<'t>(text: &str) -> Option<Operand<'t>> {
    let bytes = text.as_bytes();
    if let [b'0', marker, ..] = bytes {
        let digits = text.get(2..)?;
        match marker {
            b'f' | b'F' if digits.len() == 8 => return u32::from_str_radix(digits, 16).ok().map(Operand::Float32),
            b'd' | b'D' if digits.len() == 16 => return u64::from_str_radix(digits, 16).ok().map(Operand::Float64),
            b'x' | b'X' => return integer(digits, 16),
            b'b' | b'B' => return integer(digits, 2),
            b'0'..=b'7' => return integer(text.get(1..)?, 8),
            _ => {}
        }
    }
    if bytes.iter().any(|b| matches!(b, b'.' | b'e' | b'E')) {
        return text.parse().ok().map(Operand::Decimal);
    }
    integer(text, 10)
}

fn integer<'t>(digits: &str, radix: u32) -> Option<Operand<'t>> {
    let digits = digits.strip_suffix(['u', 'U']).unwrap_or(digits);
    u64::from_str_radix(digits, radix).ok().map(Operand::Integer)
}

/// Applies a leading `-` to a number.
pub fn negate<'t>(operand: Operand<'t>) -> Option<Operand<'t>> {
    match operand {
        Operand::Integer(value) => Some(Operand::Integer(value.wrapping_neg())),
        Operand::Float32(bits) => Some(Operand::Float32(bits ^ 1 << 31)),
        Operand::Float64(bits) => Some(Operand::Float64(bits ^ 1 << 63)),
        Operand::Decimal(value) => Some(Operand::Decimal(-value)),
        _ => None,
    }
}
