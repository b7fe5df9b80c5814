//! Parsing of sizes: `1000000`, `4M`, `2^22`, `3*2^20`.

use crate::error::{Error, Result};

/// Parses a number of elements. `k`, `M`, `G` are powers of 1024, as in the sizes of memory; `^` is a power; `*` a
/// product; `_` is ignored between digits.
///
/// # Errors
/// [`Error::Usage`] for text that is not a size, or a size beyond 64 bits.
pub fn parse(text: &str) -> Result<u64> {
    let no_size = || Error::Usage(format!("`{text}` is not a size: write 1000000, 4M (times 2^20), 2^22 or 3*2^20"));
    let too_large = || Error::Usage(format!("`{text}` is more than 64 bits can represent"));
    text.split('*').try_fold(1_u64, |product, factor| {
        let factor = match factor.split_once('^') {
            Some((base, exponent)) => {
                let exponent: u32 = exponent.trim().parse().map_err(|_| no_size())?;
                number(base).ok_or_else(no_size)?.checked_pow(exponent).ok_or_else(too_large)?
            }
            None => {
                let factor = factor.trim();
                let shift = match factor.chars().last() {
                    Some('k' | 'K') => 10,
                    Some('M') => 20,
                    Some('G') => 30,
                    _ => 0,
                };
                let digits = if shift == 0 { factor } else { &factor[..factor.len() - 1] };
                number(digits).ok_or_else(no_size)?.checked_mul(1 << shift).ok_or_else(too_large)?
            }
        };
        product.checked_mul(factor).ok_or_else(too_large)
    })
}

/// Parses digits, with `_` between them.
fn number(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits: String = text.chars().filter(|&c| c != '_').collect();
    (text.starts_with(|c: char| c.is_ascii_digit()) && digits.chars().all(|c| c.is_ascii_digit()))
        .then(|| digits.parse().ok())
        .flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_documented_form() {
        for (text, size) in [
            ("0", 0),
            ("1000000", 1_000_000),
            ("1_000", 1000),
            ("4M", 4 << 20),
            ("4k", 4096),
            ("2G", 2 << 30),
            ("2^22", 1 << 22),
            ("3*2^20", 3 << 20),
            ("2^0", 1),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(parse(text).expect(text), size, "{text}");
        }
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "",
            "M",
            "-1",
            "+1",
            "1.5",
            "2^",
            "^2",
            "2^-1",
            "1e6",
            "2^64",
            "17179869184G",
            "4MB",
            "2**3",
            "_1",
            "18446744073709551616",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
