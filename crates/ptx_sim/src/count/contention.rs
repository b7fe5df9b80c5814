//! Contention: lanes of one atomic instruction that access the same address are serialised.

use crate::lanes::{Spread, each};
use crate::registers::LANES;

/// Slots of the hash table, of which at most half are used.
const SLOTS: usize = 2 * LANES;

/// The distinct addresses of the lanes of one atomic instruction in order of occurrence, each with its number of lanes;
/// or other keys with a number.
#[derive(Clone, Debug)]
pub struct Wanted {
    keys: [u64; LANES],
    numbers: [u32; LANES],
    count: usize,
    /// One more than the index of a key, by slot; 0 if the slot is free.
    table: [u8; SLOTS],
}

impl Wanted {
    const EMPTY: Self = Self { keys: [0; LANES], numbers: [0; LANES], count: 0, table: [0; SLOTS] };

    /// Collects the addresses of the lanes of a mask.
    pub fn addresses(addresses: &[u64; LANES], mask: u32, spread: Spread) -> Self {
        if mask != 0 && spread.low == spread.high {
            let mut wanted = Self::EMPTY;
            *wanted.number(spread.low) = mask.count_ones();
            return wanted;
        }
        if spread.stride.is_some() {
            return Self { keys: *addresses, numbers: [1; LANES], count: LANES, table: [0; SLOTS] };
        }
        let mut wanted = Self::EMPTY;
        each(mask, |lane| *wanted.number(addresses[lane]) += 1);
        wanted
    }

    /// Groups the addresses by the piece of memory that `piece` numbers; the number of a piece is that of its address
    /// with the most lanes.
    pub fn most_by(&self, piece: impl Fn(u64) -> u64) -> Self {
        let mut most = Self::EMPTY;
        for (address, lanes) in self.each() {
            let number = most.number(piece(address));
            *number = lanes.max(*number);
        }
        most
    }

    /// Returns the number of a key, initially 0.
    #[inline(always)]
    fn number(&mut self, key: u64) -> &mut u32 {
        // The upper bits of a product with an odd number depend on all bits of the key (Knuth, volume 3, section 6.4).
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - SLOTS.ilog2())) as usize;
        loop {
            let entry = &mut self.table[slot % SLOTS];
            let index = match *entry {
                0 => {
                    let index = self.count % LANES;
                    *entry = index as u8 + 1;
                    self.keys[index] = key;
                    self.count += 1;
                    index
                }
                known => usize::from(known - 1) % LANES,
            };
            if self.keys[index] == key {
                return &mut self.numbers[index];
            }
            slot += 1;
        }
    }

    /// Iterates over the keys and their numbers.
    pub fn each(&self) -> impl Iterator<Item = (u64, u32)> {
        self.keys.iter().copied().zip(self.numbers).take(self.count)
    }

    /// Returns the number of distinct keys.
    pub fn count(&self) -> u32 {
        self.count as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the number of distinct addresses, the most lanes of one, and the lanes by address.
    fn of(mask: u32, address: impl Fn(u64) -> u64) -> (u32, u32, Vec<u32>) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let wanted = Wanted::addresses(&addresses, mask, Spread::of(&addresses, mask));
        let lanes: Vec<u32> = wanted.each().map(|(_, lanes)| lanes).collect();
        assert_eq!(lanes.iter().sum::<u32>(), mask.count_ones());
        for (address, lanes) in wanted.each() {
            assert_eq!(crate::lanes::select(mask, |lane| addresses[lane] == address).count_ones(), lanes);
        }
        (wanted.count(), lanes.iter().copied().max().unwrap_or(0), lanes)
    }

    #[test]
    fn lanes_are_counted_by_address() {
        assert_eq!(of(u32::MAX, |_| 64), (1, 32, vec![32]));
        assert_eq!(of(u32::MAX, |lane| lane * 4), (32, 1, vec![1; 32]));
        assert_eq!(of(u32::MAX, |lane| lane / 4 * 4), (8, 4, vec![4; 8]));
        assert_eq!(of(0b111, |lane| lane % 2 * 4), (2, 2, vec![2, 1]));
        assert_eq!(of(1 << 7, |lane| lane * 8), (1, 1, vec![1]));
        assert_eq!(of(u32::MAX, |lane| lane * lane * 4), (32, 1, vec![1; 32]));
        assert_eq!(of(0x0fff_fffe, |lane| lane % 9 * 512).0, 9);
    }
}
