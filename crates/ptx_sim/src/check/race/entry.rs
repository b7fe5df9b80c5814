//! One component of a vector clock: the accesses of one block that happen before a thread's next access.
//!
//! A block counts its synchronisations. Every access carries the count (its *stamp*) of its warp at that time. If a
//! lane is covered up to time `t`, its accesses with a stamp below `t` are ordered. Blocks usually synchronise as a
//! whole, so one number per block suffices in most cases; lanes that are covered to a later time are exceptions.

use std::sync::Arc;

/// Numbers from this one on stand for asynchronous accesses instead of warps, of which a block has at most 32.
pub(super) const FIRST_AGENT: u8 = 32;

/// Most times to which an entry covers lanes of one warp. Of more, the latest stands for all, which orders more than
/// the program does.
const TIMES: usize = 4;

/// Lanes of a warp that are covered to a later time than their block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Known {
    warp: u8,
    lanes: u32,
    time: u32,
}

/// Component for one block; initially it covers nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Entry {
    /// Time up to which every thread of the block is covered.
    all: u32,
    /// Exceptions; no lane occurs twice.
    known: Vec<Known>,
}

impl Entry {
    /// Covers the asynchronous accesses that complete together, up to `time`: see [`super::asynchronous`].
    pub fn completed(agent: u8, time: u32) -> Self {
        Self { all: 0, known: vec![Known { warp: agent, lanes: u32::MAX, time }] }
    }

    /// Covers the asynchronous accesses that `other` covers.
    pub fn keep_completed(&mut self, other: &Self) {
        for known in other.known.iter().filter(|known| known.warp >= FIRST_AGENT) {
            self.cover(known.warp, known.lanes, known.time);
        }
    }

    /// Covers all threads of the block up to `time`.
    pub fn whole(time: u32) -> Self {
        Self { all: time, known: Vec::new() }
    }

    /// Returns the time up to which every thread of the block is covered.
    #[inline(always)]
    pub fn all(&self) -> u32 {
        self.all
    }

    /// Whether an access with this stamp is covered for any of the lanes.
    #[inline]
    pub fn covers_any(&self, warp: u8, lanes: u32, stamp: u32) -> bool {
        let later = |known: &Known| known.warp == warp && known.lanes & lanes != 0 && stamp < known.time;
        stamp < self.all || self.known.iter().any(later)
    }

    /// Whether an access with this stamp is covered for every lane of the warp.
    #[inline]
    pub fn covers_warp(&self, warp: u8, stamp: u32) -> bool {
        let later = |known: &Known| known.warp == warp && known.lanes == u32::MAX && stamp < known.time;
        stamp < self.all || self.known.iter().any(later)
    }

    /// Covers lanes of a warp up to `time`.
    pub fn cover(&mut self, warp: u8, mut lanes: u32, time: u32) {
        if time <= self.all {
            return;
        }
        for known in self.known.iter_mut().filter(|known| known.warp == warp) {
            if known.time >= time {
                lanes &= !known.lanes;
            } else {
                known.lanes &= !lanes;
            }
        }
        self.known.retain(|known| known.lanes != 0);
        if lanes == 0 {
            return;
        }
        match self.known.iter_mut().find(|known| (known.warp, known.time) == (warp, time)) {
            Some(known) => known.lanes |= lanes,
            None => self.add(Known { warp, lanes, time }),
        }
    }

    fn add(&mut self, mut new: Known) {
        if self.known.iter().filter(|known| known.warp == new.warp).count() == TIMES {
            for known in self.known.iter().filter(|known| known.warp == new.warp) {
                (new.lanes, new.time) = (new.lanes | known.lanes, new.time.max(known.time));
            }
            self.known.retain(|known| known.warp != new.warp);
        }
        self.known.push(new);
    }

    /// Whether this entry covers everything that `other` covers.
    fn includes(&self, other: &Self) -> bool {
        let holds = |wanted: &Known| {
            let later = self.known.iter().filter(|known| known.warp == wanted.warp && known.time >= wanted.time);
            wanted.time <= self.all || wanted.lanes & !later.fold(0, |lanes, known| lanes | known.lanes) == 0
        };
        self.all >= other.all && other.known.iter().all(holds)
    }

    /// Returns the union. If one of the two covers the other, it is returned itself, so that equal entries stay shared.
    pub fn join(a: &Arc<Self>, b: &Arc<Self>) -> Arc<Self> {
        if Arc::ptr_eq(a, b) || a.includes(b) {
            return a.clone();
        }
        if b.includes(a) {
            return b.clone();
        }
        let mut joined = Self::whole(a.all.max(b.all));
        for known in a.known.iter().chain(&b.known) {
            joined.cover(known.warp, known.lanes, known.time);
        }
        Arc::new(joined)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lane_is_covered_to_its_latest_time() {
        let mut entry = Entry::whole(5);
        entry.cover(2, 0b0011, 9);
        entry.cover(2, 0b0110, 7);
        assert!(entry.covers_any(2, 0b0010, 8) && !entry.covers_any(2, 0b0100, 8) && entry.covers_any(2, 0b0100, 6));
        assert!(entry.covers_any(7, 1, 4) && !entry.covers_any(7, 1, 5));
        entry.cover(2, u32::MAX, 12);
        assert!(entry.covers_warp(2, 11) && !entry.covers_warp(2, 12));
        entry.cover(2, u32::MAX, 3);
        assert!(entry.covers_warp(2, 11));
    }

    #[test]
    fn many_times_of_a_warp_become_the_latest() {
        let mut entry = Entry::default();
        (0..TIMES as u32).for_each(|lane| entry.cover(1, 1 << lane, 10 + lane));
        assert!(entry.covers_any(1, 0b0001, 9) && !entry.covers_any(1, 0b0001, 10));
        entry.cover(0, 1, 5);
        entry.cover(1, 1 << TIMES, 7);
        assert!(entry.covers_any(1, 0b0001, 12) && entry.covers_any(1, 1 << TIMES, 12) && entry.covers_any(0, 1, 4));
        assert!(!entry.covers_any(1, 0b0001, 13) && !entry.covers_any(1, 1 << 31, 0) && !entry.covers_any(0, 1, 5));
    }

    #[test]
    fn the_covering_entry_is_shared() {
        let (mut a, mut b) = (Entry::whole(5), Entry::whole(3));
        b.cover(0, 1, 4);
        let (wide, narrow) = (Arc::new(a.clone()), Arc::new(b.clone()));
        assert!(Arc::ptr_eq(&Entry::join(&wide, &narrow), &wide) && Arc::ptr_eq(&Entry::join(&narrow, &wide), &wide));
        a.cover(1, 2, 9);
        b.cover(0, 1, 8);
        let joined = Entry::join(&Arc::new(a), &Arc::new(b));
        assert!(joined.covers_any(1, 2, 8) && joined.covers_any(0, 1, 7) && !joined.covers_any(0, 2, 7));
    }
}
