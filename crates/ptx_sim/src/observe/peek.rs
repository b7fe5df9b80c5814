//! Lazy access to memory and registers for observers: values are read only on request.

use crate::lanes::{Spread, load_words};
use crate::memory::Snapshot;
use crate::memory::transfer::{Lanes, Sink, drain};
use crate::program::{Access, Space};
use crate::registers::{LANES, Registers};

/// The contents of memory before an access, and the values that a store writes.
#[derive(Clone, Copy)]
pub struct Peek<'a> {
    pub shared: &'a [u32],
    pub snapshot: &'a Snapshot,
    /// Registers and operands of a store.
    pub stored: Option<(&'a Registers, &'a Access)>,
}

impl Peek<'_> {
    /// Returns 1, 2, 4 or 8 bytes at an aligned address, zero-extended, before the access.
    #[cold]
    pub fn before(&self, space: Space, address: u64, bytes: u8) -> Option<u64> {
        if space == Space::Shared {
            let end = address.checked_add(u64::from(bytes))?;
            return (end <= self.shared.len() as u64 * 4).then(|| load_words(self.shared, address, bytes));
        }
        let view = self.snapshot.at(address).filter(|view| view.holds(address, u64::from(bytes)))?;
        Some(view.storage.load(address - view.base, bytes))
    }

    /// Returns the values that a store of up to 32 bytes per lane writes, as 32-bit words; `None` for other accesses.
    #[cold]
    pub fn stored(&self, lane: usize) -> Option<[u32; 8]> {
        let (registers, access) = self.stored?;
        let mask = 1 << (lane % LANES);
        let addresses = &[0; LANES];
        let mut words = Words([0; 8]);
        drain(registers, &Lanes { access, addresses, mask, spread: &Spread::of(addresses, mask) }, &mut words);
        Some(words.0)
    }
}

/// Collects the values of one lane's store from address 0 on; narrow elements are packed as in memory.
struct Words([u32; 8]);

impl Sink for Words {
    fn put(&mut self, _: usize, address: u64, bytes: u8, value: u64) {
        let at = (address >> 2) as usize & 7;
        let kept = u64::MAX >> (64 - 8 * u32::from(bytes));
        self.0[at] |= ((value & kept) << ((address & 3) * 8)) as u32;
        if bytes == 8 {
            self.0[(at + 1) & 7] = (value >> 32) as u32;
        }
    }
    fn put_words(&mut self, _: u64, _: &[u32; LANES]) -> bool {
        false
    }
    fn put_longs(&mut self, _: u64, _: &[u64; LANES]) -> bool {
        false
    }
}
