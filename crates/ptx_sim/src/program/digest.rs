//! What a program's text is called for short.

/// A hash of a program's text, for [`super::Program::digest`]; never 0.
pub fn digest(source: &[String]) -> u64 {
    let mut hash = Hash::default();
    source.iter().for_each(|line| hash.add(line.as_bytes()));
    hash.0.max(1)
}

/// Word by word.
pub struct Hash(pub u64);

impl Default for Hash {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Hash {
    /// One part more.
    pub fn add(&mut self, bytes: &[u8]) {
        let chunks = bytes.chunks_exact(8);
        let tail = chunks.remainder().iter().fold(bytes.len() as u64, |value, byte| value << 8 | u64::from(*byte));
        for word in chunks.map(|chunk| chunk.iter().fold(0, |value, byte| value << 8 | u64::from(*byte))).chain([tail])
        {
            self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29);
        }
    }
}
