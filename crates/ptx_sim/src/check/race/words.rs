//! Words of memory that threads synchronise through.

use crate::observe::Touch;
use crate::program::Space;
use std::hash::Hasher;

/// Location of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Place {
    /// Address of an aligned word.
    Global(u64),
    /// Ticket of the block, and address of an aligned word.
    Shared(u64, u64),
}

/// A hasher for addresses, several times as fast as the standard one; the keys are not chosen by an adversary.
#[derive(Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0
    }
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.write_u64(u64::from(*byte)));
    }
    fn write_u64(&mut self, word: u64) {
        self.0 = (self.0.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 ^= self.0 >> 29;
    }
    fn write_isize(&mut self, word: isize) {
        self.write_u64(word as u64);
    }
}

/// Calls `each` for the words of an access, with the lanes that access a word. Lanes that access one word without being
/// consecutive get a call each.
pub(super) fn each_word(touch: &Touch<'_>, mut each: impl FnMut(u64, Place, u32)) {
    let mut rest = touch.mask;
    while rest != 0 {
        let first = rest.trailing_zeros() as usize;
        let address = touch.addresses[first];
        let mut lanes = 0;
        while rest != 0 && touch.addresses[rest.trailing_zeros() as usize] == address {
            lanes |= rest & rest.wrapping_neg();
            rest &= rest - 1;
        }
        let mut word = address & !3;
        while word < address.saturating_add(u64::from(touch.bytes)) {
            let place = match touch.space {
                Space::Shared => Place::Shared(touch.owner, word),
                _ => Place::Global(word),
            };
            each(word, place, lanes);
            word += 4;
        }
    }
}
