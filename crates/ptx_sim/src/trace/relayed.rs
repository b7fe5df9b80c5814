//! Words of global memory by which blocks hand results to each other while they run: a chain of blocks is no faster
//! than such words are passed on.

use crate::observe::{AccessKind, Touch};
use crate::program::Order;
use std::collections::HashMap;

/// Words that blocks write and read by accesses with a memory order, each with the block that does so.
#[derive(Debug, Default)]
pub(super) struct Relayed {
    published: HashMap<u64, u64>,
    awaited: HashMap<u64, u64>,
}

/// In place of a block's number: several blocks.
const SEVERAL: u64 = u64::MAX;

impl Relayed {
    /// Adds an access to global memory.
    pub fn touch(&mut self, touch: &Touch<'_>) {
        if touch.order == Order::Weak {
            return;
        }
        let words = match touch.kind {
            AccessKind::Load => &mut self.awaited,
            AccessKind::Store => &mut self.published,
            _ => return,
        };
        crate::lanes::each(touch.mask, |lane| note(words, touch.addresses[lane], touch.owner));
    }

    /// Adds what another worker saw.
    pub fn absorb(&mut self, other: Self) {
        other.published.into_iter().for_each(|(word, block)| note(&mut self.published, word, block));
        other.awaited.into_iter().for_each(|(word, block)| note(&mut self.awaited, word, block));
    }

    /// Number of words that a block reads and another one writes.
    pub fn words(&self) -> u64 {
        let by_another = |word: &u64, reader: u64| {
            self.published.get(word).is_some_and(|&writer| writer != reader || reader == SEVERAL)
        };
        self.awaited.iter().filter(|&(word, &reader)| by_another(word, reader)).count() as u64
    }
}

fn note(words: &mut HashMap<u64, u64>, word: u64, block: u64) {
    words.entry(word).and_modify(|known| *known = if *known == block { block } else { SEVERAL }).or_insert(block);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_one_block_writes_and_another_one_reads_are_counted() {
        let mut relayed = Relayed::default();
        for (word, writer, reader) in [(8, 0, 1), (16, 1, 1), (24, 2, 3)] {
            note(&mut relayed.published, word, writer);
            note(&mut relayed.awaited, word, reader);
        }
        note(&mut relayed.awaited, 32, 5);
        assert_eq!(relayed.words(), 2);
        // The second word, read by another worker's block.
        let mut other = Relayed::default();
        note(&mut other.awaited, 16, 2);
        relayed.absorb(other);
        assert_eq!(relayed.words(), 3);
    }
}
