//! Origins of undefined values: the instruction that read them, and its source.

use crate::observe::Site;
use crate::registers::LANES;
use crate::registers::shadow::NEVER_WRITTEN;
use std::collections::{BTreeMap, HashMap};

/// Maximum number of origins of one instruction; later ones are merged with its first.
const MOST_PER_SITE: u32 = 64;
/// Maximum number of origins.
const MOST: usize = 1 << 14;
/// Maximum number of undefined values in memory whose origin is kept.
const MOST_STORED: usize = 1 << 14;

/// Flag: the value was computed from an undefined one, not merely copied.
pub const COMPUTED: u32 = 1 << 31;

/// Source of an undefined value.
#[derive(Clone, Debug)]
pub enum Birth {
    /// An uninitialised register.
    Register,
    /// Memory, with the addresses by lane.
    Memory {
        space: crate::program::Space,
        addresses: Box<[u64; LANES]>,
        bytes: u32,
        /// Lanes that read an undefined value which had been stored.
        stored: u32,
        /// Origin of one of these stored values.
        earlier: Option<u32>,
    },
    /// `discard`, which made memory undefined.
    Discard,
}

/// An instruction of a warp that read undefined values.
#[derive(Clone, Debug)]
pub struct Origin {
    pub site: Site,
    pub block: [u32; 3],
    pub warp: u32,
    pub birth: Birth,
}

/// The origins that one worker has recorded. An id consists of an index, the lane in the low five bits, and
/// [`COMPUTED`].
#[derive(Debug, Default)]
pub struct Origins {
    list: Vec<Origin>,
    by_site: HashMap<Site, (u32, u32)>,
    /// Origins of undefined values in global memory, by word.
    pub stored: BTreeMap<u64, u32>,
}

impl Origins {
    /// Adds an origin; the caller adds the lane to the id.
    pub fn add(&mut self, origin: Origin) -> u32 {
        let next = self.list.len() as u32 + 1;
        let (count, first) = self.by_site.entry(origin.site).or_insert((0, next));
        if *count >= MOST_PER_SITE || self.list.len() >= MOST {
            return if *first < next { *first << 5 } else { NEVER_WRITTEN };
        }
        *count += 1;
        self.list.push(origin);
        next << 5
    }

    /// Returns the origin and lane of an id.
    pub fn get(&self, id: u32) -> Option<(&Origin, usize)> {
        let id = id & !COMPUTED;
        let index = (id >> 5).checked_sub(1)?;
        Some((self.list.get(index as usize)?, (id & 31) as usize))
    }
}

/// Records the origin of an undefined value in memory, if there is room.
pub fn record<K: Ord>(stored: &mut BTreeMap<K, u32>, key: K, origin: u32) {
    if stored.len() < MOST_STORED || stored.contains_key(&key) {
        stored.insert(key, origin & !COMPUTED);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn origins_are_bounded() {
        let mut origins = Origins::default();
        let at = |pc| Origin { site: Site { function: 0, pc }, block: [0; 3], warp: 0, birth: Birth::Register };
        let first = origins.add(at(1));
        for _ in 0..1000 {
            origins.add(at(1));
        }
        assert_eq!(origins.add(at(1)), first);
        let second = origins.add(at(2));
        assert!(second != first && origins.list.len() == MOST_PER_SITE as usize + 1);
        let found = origins.get(second | 7 | COMPUTED).map(|(origin, lane)| (origin.site.pc, lane));
        assert_eq!(found, Some((2, 7)));
        assert!(origins.get(NEVER_WRITTEN).is_none());
    }
}
