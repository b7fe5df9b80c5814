//! The text that a program was decoded from.

use std::ops::Deref;
use std::sync::Arc;

/// A PTX text by lines, with its hash. The hash is computed where the lines are set, and neither can change afterwards,
/// so that two sources are equal only if their texts are.
#[derive(Clone, Debug)]
pub struct Source {
    lines: Arc<[String]>,
    digest: u64,
}

impl From<&str> for Source {
    fn from(text: &str) -> Self {
        let lines: Arc<[String]> = text.lines().map(str::to_owned).collect();
        let mut hash = Hash::default();
        lines.iter().for_each(|line| hash.add(line.as_bytes()));
        Self { lines, digest: hash.0 }
    }
}

impl Default for Source {
    fn default() -> Self {
        Self::from("")
    }
}

impl PartialEq for Source {
    fn eq(&self, other: &Self) -> bool {
        // Clones share their lines, so that the usual comparison reads no text.
        self.digest == other.digest && (Arc::ptr_eq(&self.lines, &other.lines) || self.lines == other.lines)
    }
}

impl Eq for Source {}

impl Deref for Source {
    type Target = [String];

    fn deref(&self) -> &[String] {
        &self.lines
    }
}

/// A hash that reads eight bytes at a time.
struct Hash(u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// Adds a part, whose end is part of the hash.
    fn add(&mut self, bytes: &[u8]) {
        let chunks = bytes.chunks_exact(8);
        let tail = chunks.remainder().iter().fold(bytes.len() as u64, |value, byte| value << 8 | u64::from(*byte));
        for word in chunks.map(|chunk| chunk.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))).chain([tail])
        {
            self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Source;

    #[test]
    fn sources_are_equal_when_their_texts_are() {
        assert_eq!(Source::from("a\nb"), Source::from("a\nb\n"));
        assert_ne!(Source::from("a\nb"), Source::from("ab"));
        assert_ne!(Source::from("a\nb"), Source::default());
        let known = Source::from("a");
        assert_eq!(known, known.clone());
        let same_hash = Source { digest: known.digest, ..Source::from("b") };
        assert_ne!(known, same_hash);
    }
}
