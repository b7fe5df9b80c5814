//! A look at memory and registers around an access, for observers: nothing is read before one asks.

use super::allocations::Snapshot;
use super::lanes::{self, load_words};
use super::transfer::words_of;
use crate::program::{Access, Space};
use crate::registers::{LANES, Registers};

/// What memory holds before an access, and what a store is about to put there.
#[derive(Clone, Copy)]
pub struct Peek<'a> {
    pub shared: &'a [u32],
    pub snapshot: &'a Snapshot,
    /// The sources of a store.
    pub stored: Option<(&'a Registers, &'a Access)>,
}

impl Peek<'_> {
    /// 1, 2, 4 or 8 bytes at an aligned address, zero-extended, before the access.
    #[cold]
    pub fn before(&self, space: Space, address: u64, bytes: u8) -> Option<u64> {
        if space == Space::Shared {
            let end = address.checked_add(u64::from(bytes))?;
            return (end <= self.shared.len() as u64 * 4).then(|| load_words(self.shared, address, bytes));
        }
        let view = self.snapshot.at(address).filter(|view| view.holds(address, u64::from(bytes)))?;
        Some(view.storage.load(address - view.base, bytes))
    }

    /// What a store of up to 32 bytes per lane will write, as 32-bit words; `None` for other accesses.
    #[cold]
    pub fn stored(&self, lane: usize) -> Option<[u32; 8]> {
        let (registers, access) = self.stored?;
        let mut words = [[0; LANES]; 8];
        words_of(registers, access, 1 << (lane % LANES), &mut words);
        Some(words.map(|row| row[lanes::first(1 << (lane % LANES))]))
    }
}
