//! The text that a program was decoded from.

use crate::hash::Hash;
use std::hash::Hasher;
use std::ops::Range;
use std::sync::Arc;

/// A PTX text by lines, with its hash. The hash is computed where the text is set, and neither can change afterwards,
/// so that two sources are equal only if their lines are.
#[derive(Clone, Debug)]
pub struct Source {
    text: Arc<str>,
    /// Where each line is.
    lines: Arc<[Range<usize>]>,
    digest: u64,
}

impl Source {
    /// Returns a line without its end, counted from 0.
    pub fn line(&self, index: usize) -> Option<&str> {
        self.lines.get(index).map(|range| &self.text[range.clone()])
    }

    /// Iterates over the lines without their ends.
    pub fn lines(&self) -> impl DoubleEndedIterator<Item = &str> + ExactSizeIterator {
        self.lines.iter().map(|range| &self.text[range.clone()])
    }
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        let (mut lines, mut start, mut hash) = (Vec::new(), 0, Hash::default());
        for with_end in text.split_inclusive('\n') {
            let line = with_end.strip_suffix('\n').map_or(with_end, |line| line.strip_suffix('\r').unwrap_or(line));
            lines.push(start..start + line.len());
            hash.write(line.as_bytes());
            start += with_end.len();
        }
        Self { text: text.into(), lines: lines.into(), digest: hash.finish() }
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::from("")
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        // Clones share their text, so that the usual comparison does not read it.
        self.digest == other.digest && (Arc::ptr_eq(&self.text, &other.text) || self.lines().eq(other.lines()))
    }
}

impl Eq for Source {}

/// Whether a source is that of a text.
impl PartialEq<str> for Source {
    fn eq(&self, text: &str) -> bool {
        *self.text == *text
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn sources_are_equal_when_their_lines_are() {
        assert_eq!(Source::from("a\nb"), Source::from("a\r\nb\n"));
        assert_ne!(Source::from("a\nb"), Source::from("ab"));
        assert_ne!(Source::from("a\nb"), Source::default());
        let known = Source::from("a");
        assert_eq!(known, known.clone());
        assert!(known == *"a" && known != *"b");
        let same_hash = Source { digest: known.digest, ..Source::from("b") };
        assert_ne!(known, same_hash);
    }

    #[test]
    fn lines_are_those_of_the_text() {
        for text in ["", "a", "a\n", "\n\nb\r\n c\r", "ä\n\r\n"] {
            let source = Source::from(text);
            assert!(source.lines().eq(text.lines()), "{text:?}");
            assert_eq!(source.lines().len(), text.lines().count());
            assert_eq!(source.line(0), text.lines().next());
        }
    }
}
