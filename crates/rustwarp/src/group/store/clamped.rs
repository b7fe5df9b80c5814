//! Texts of a limited length.

/// The text's beginning of at most `limit` bytes.
pub fn clamped(text: &str, limit: usize) -> &str {
    let mut end = text.len().min(limit);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        assert_eq!(clamped("aäb", 2), "a");
        assert_eq!(clamped("aäb", 3), "aä");
        assert_eq!(clamped("aäb", 9), "aäb");
    }
}
