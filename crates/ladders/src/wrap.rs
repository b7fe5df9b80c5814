//! Sentences that fit a terminal.

/// Wraps a line at its spaces to at most `width` characters, `None` for any number. The lines behind the first begin
/// with `indent` spaces, and a word that is longer than a line has one of its own.
///
/// ```
/// assert_eq!(ladders::wrap::wrap("  as much as fits", Some(10), 4), "  as much\n    as\n    fits");
/// ```
pub fn wrap(line: &str, width: Option<usize>, indent: usize) -> String {
    let Some(width) = width else { return line.to_owned() };
    let text = line.trim_start();
    let mut out = line[..line.len() - text.len()].to_owned();
    let (mut used, mut is_first) = (out.chars().count(), true);
    for word in text.split(' ') {
        let length = word.chars().count();
        if !is_first {
            if used + 1 + length > width {
                out.push('\n');
                out.extend(std::iter::repeat_n(' ', indent));
                used = indent;
            } else {
                out.push(' ');
                used += 1;
            }
        }
        out += word;
        used += length;
        is_first = false;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_fits_and_every_space_that_is_not_a_break_stays() {
        let line = "  limit         12.0 us  bytes of global memory, most of them in the loop over tiles";
        assert_eq!(wrap(line, None, 4), line);
        assert_eq!(wrap(line, Some(200), 4), line);
        for width in 30..90 {
            let text = wrap(line, Some(width), 6);
            assert!(text.lines().all(|line| line.chars().count() <= width), "{width}:\n{text}");
            let words = |text: &str| text.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
            assert_eq!(words(&text), words(line));
        }
        assert_eq!(wrap("a very-long-word b", Some(6), 2), "a\n  very-long-word\n  b");
    }
}
