//! Whole numbers as values of options.

use std::fmt::Display;

/// The types of numbers that options take.
pub(super) trait Whole: Copy + Display + TryFrom<u64> {
    /// The largest number.
    const MAX: Self;
}

impl Whole for u32 {
    const MAX: Self = Self::MAX;
}

impl Whole for u64 {
    const MAX: Self = Self::MAX;
}

/// Parses a number, 0 included.
pub(super) fn any<T: Whole>(text: &str) -> Result<T, String> {
    from(text, 0)
}

/// Parses a number of at least 1.
pub(super) fn positive<T: Whole>(text: &str) -> Result<T, String> {
    from(text, 1)
}

fn from<T: Whole>(text: &str, least: u64) -> Result<T, String> {
    let number = text.parse::<u64>().ok().filter(|number| *number >= least);
    number
        .and_then(|number| number.try_into().ok())
        .ok_or_else(|| format!("write a whole number from {least} to {}", T::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_what_is_none() {
        assert_eq!((any::<u64>("0"), any::<u32>("7"), positive::<u32>("4294967295")), (Ok(0), Ok(7), Ok(u32::MAX)));
        for text in ["", "abc", "-1", "1.5", "4294967296"] {
            assert_eq!(any::<u32>(text), Err("write a whole number from 0 to 4294967295".to_owned()), "{text}");
        }
        assert!(positive::<u64>("0").is_err_and(|error| error.contains("from 1 to 18446744073709551615")));
    }
}
