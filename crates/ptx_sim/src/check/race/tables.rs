//! Tables that the cells of one page of shadow memory refer to: accesses by a warp, and sets of accesses. Each page has
//! its own tables, so that a reference takes two bytes. Entries without references are dropped when a table has grown
//! by half.

use super::marks::Marks;
use super::records::{Mode, Record};
use super::sets::{FEW, Growing, MOST, Set, Sets, push};
use crate::observe::Site;

/// Records of a page up to which its sets may have more than `FEW` members: then at most this number of records and
/// `FEW + 1` for every byte of the page are in use.
const ROOM_FOR_MANY: usize = 1024;
/// Entries of a table before unused ones are first searched for; `LITTLE_ROOM` applies to a page with few cells.
const ROOM: usize = 512;
const LITTLE_ROOM: usize = 128;
/// Initial number of cached answers.
const MEMO: usize = 16;
/// Maximum number of cached answers: they take as many bytes as the page has, half of the two bytes of tables per byte
/// of the page.
const MOST_MEMO: usize = 512;
/// Flag of a reference to a set with one member; the other bits are the member. With `ROOM_FOR_MANY` and 5 for every
/// byte of a page, half as many records again as are in use do not reach this bit.
const SINGLE: u16 = 1 << 15;

/// A [`Record`] in compact form: warps of a block with the same access share everything except the warp's number.
#[derive(Clone, Copy, Debug)]
struct Entry {
    act: u16,
    warp: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Act {
    block: u32,
    stamp: u32,
    site: Site,
    mode: Mode,
}

impl Act {
    #[inline(always)]
    fn of(record: &Record) -> Self {
        let Record { block, stamp, site, mode, .. } = *record;
        Self { block, stamp, site, mode }
    }
}

/// The tables of one page. Entry 0 of each means "none".
#[derive(Debug)]
pub(super) struct Tables {
    acts: Vec<Act>,
    records: Vec<Entry>,
    sets: Sets,
    /// Whether a set may have `MOST` members.
    many: bool,
    /// Index of the last record of an instruction, by a hash of the instruction.
    hints: [u16; 16],
    /// Cache of recent answers: set, record, result. Its length is a power of two and grows with the number of sets.
    memo: Vec<(u16, u16, Grown)>,
    limit: usize,
}

/// Result of adding a member to a set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grown {
    /// The new set; the old one if the access adds nothing to it.
    pub set: u16,
    /// Effect on the cells' marks.
    pub marks: Marks,
    /// Whether no member conflicts with the new one, as far as the warp's view shows.
    pub compatible: bool,
}

impl Tables {
    /// Creates empty tables. `many`: sets may have `MOST` members instead of `FEW`.
    pub fn new(many: bool) -> Self {
        let mode = Mode::LOAD;
        let nothing = Act { block: 0, stamp: 0, site: Site { function: 0, pc: 0 }, mode };
        Self {
            acts: vec![nothing],
            records: vec![Entry { act: 0, warp: 0 }],
            sets: Sets::default(),
            many,
            hints: [0; 16],
            memo: vec![Default::default(); MEMO],
            limit: 0,
        }
    }

    /// Clears the tables and keeps their memory for reuse.
    pub fn clear(&mut self) {
        self.acts.truncate(1);
        self.records.truncate(1);
        self.sets.clear();
        self.memo.fill(Default::default());
        (self.hints, self.limit) = ([0; 16], 0);
    }

    /// Returns the number of a record, and adds it if necessary.
    #[inline(always)]
    pub fn record(&mut self, record: &Record) -> u16 {
        self.recent(record).unwrap_or_else(|| self.add(record))
    }

    /// Returns the number of a record if it is the last one of its instruction.
    #[inline(always)]
    pub fn recent(&self, record: &Record) -> Option<u16> {
        let hint = self.hints[record.site.pc as usize & 15];
        let last = self.records[usize::from(hint)];
        let known = hint != 0 && last.warp == record.warp && self.acts[usize::from(last.act)] == Act::of(record);
        known.then_some(hint)
    }

    #[inline(never)]
    fn add(&mut self, record: &Record) -> u16 {
        let hint = &mut self.hints[record.site.pc as usize & 15];
        let mut act = self.records[usize::from(*hint)].act;
        if *hint == 0 || self.acts[usize::from(act)] != Act::of(record) {
            push(&mut self.acts, Act::of(record));
            act = (self.acts.len() - 1) as u16;
        }
        push(&mut self.records, Entry { act, warp: record.warp });
        *hint = (self.records.len() - 1) as u16;
        *hint
    }

    /// Returns the record with a number.
    #[inline]
    pub fn get(&self, record: u16) -> Record {
        let Entry { act, warp } = self.records[usize::from(record)];
        let Act { block, stamp, site, mode } = self.acts[usize::from(act)];
        Record { block, stamp, site, warp, mode }
    }

    /// Returns the mode of a record's access.
    #[inline]
    pub fn mode(&self, record: u16) -> Mode {
        self.acts[usize::from(self.records[usize::from(record)].act)].mode
    }

    /// Returns the members of a set, the latest last.
    #[inline]
    pub fn set(&self, set: u16) -> Set<'_> {
        match set & SINGLE {
            0 => Set::Many(self.sets.get(set)),
            _ => Set::One([set & !SINGLE]),
        }
    }

    /// Returns the latest member of a set; 0 when it is empty.
    #[inline]
    pub fn latest(&self, set: u16) -> u16 {
        self.set(set).members().last().copied().unwrap_or_default()
    }

    /// Returns the set with `record` as the latest member, if the answer is cached.
    #[inline(always)]
    pub fn known(&self, set: u16, record: u16) -> Option<Grown> {
        let (from, with, grown) = *self.memo.get(self.slot(set, record))?;
        ((from, with) == (set, record) && grown.set != 0).then_some(grown)
    }

    /// Returns the set with `record` as the latest member. Members that `settled` reports as ordered before it are
    /// dropped if the record covers them, and so are those that it observed. `compatible`: no member conflicts with it.
    #[inline(never)]
    pub fn grow(
        &mut self,
        set: u16,
        record: u16,
        compatible: bool,
        settled: impl Fn(&Record) -> bool,
        observed: impl Fn(&Record) -> bool,
    ) -> Grown {
        let mut grown = match self.known(set, record) {
            Some(grown) => grown,
            None if self.latest(set) == record => {
                let marks = if self.mode(record).observes { Marks::Replace } else { Marks::Merge };
                Grown { set, marks, compatible }
            }
            None => self.grow_anew(set, record, settled, observed),
        };
        grown.compatible |= compatible;
        if self.sets.len() > 2 * self.memo.len() && self.memo.len() < MOST_MEMO {
            self.memo = vec![Default::default(); (4 * self.memo.len()).min(MOST_MEMO)];
        }
        let slot = self.slot(set, record);
        self.memo[slot] = (set, record, grown);
        grown
    }

    #[inline(always)]
    fn slot(&self, set: u16, record: u16) -> usize {
        usize::from(set ^ record) & (self.memo.len() - 1)
    }

    /// Whether a set is full of ordinary loads by different blocks, all of which precede this block.
    #[inline(always)]
    pub fn earlier_blocks_read(&self, set: u16, block: u32) -> bool {
        let readers = self.sets.readers(set);
        readers != 0 && readers <= block
    }

    fn grow_anew(
        &mut self,
        set: u16,
        record: u16,
        settled: impl Fn(&Record) -> bool,
        observed: impl Fn(&Record) -> bool,
    ) -> Grown {
        let new = self.get(record);
        let mut grown = Growing::new(self.most());
        let mut marks = Marks::Replace;
        let (old_set, latest) = (self.set(set), self.latest(set));
        for &member in old_set.members() {
            let old = self.get(member);
            if new.mode.covers(old.mode) {
                if settled(&old) || observed(&old) {
                    continue;
                }
                if (old.block, old.warp) == (new.block, new.warp) {
                    let exact = member == latest && old.stamp == new.stamp;
                    marks = marks.max(if exact { Marks::Merge } else { Marks::Lose });
                    continue;
                }
            }
            grown.keep(member);
        }
        // Of atomics, which seldom precede an ordinary access, a few stand for all.
        let most = if new.mode.writes { FEW } else { self.most() };
        if grown.members().len() >= most && !self.make_room(&mut grown, &new) {
            return Grown { set, marks: Marks::Keep, compatible: false };
        }
        grown.push(record);
        if let [one] = grown.members() {
            return Grown { set: SINGLE | one, marks, compatible: false };
        }
        let readers = if grown.is_full() { self.readers(grown.members()) } else { 0 };
        let set = self.sets.add(grown.members().iter().copied(), readers);
        Grown { set, marks, compatible: false }
    }

    /// Maximum members of a set.
    fn most(&self) -> usize {
        if self.many && self.records.len() <= ROOM_FOR_MANY { MOST } else { FEW }
    }

    /// Returns one more than the last block of a full set, if its members are ordinary loads by different blocks;
    /// otherwise 0.
    fn readers(&self, members: &[u16]) -> u32 {
        let block = |member: &u16| self.get(*member).block;
        let different =
            (1..members.len()).all(|at| members[..at].iter().all(|other| block(other) != block(&members[at])));
        let full = different && members.iter().all(|&member| self.mode(member).is_plain_load());
        let last = members.iter().map(block).max().unwrap_or_default();
        if full { last.saturating_add(1) } else { 0 }
    }

    /// Makes room in a set with enough members for an access that adds information, by removing a member whose block
    /// has another one.
    fn make_room(&self, set: &mut Growing, new: &Record) -> bool {
        let members = set.members();
        let block = |at: usize| self.get(members[at]).block;
        let stands_for = |member: &u16| self.get(*member).mode.covers(new.mode);
        if !members.iter().any(stands_for) {
            return true;
        }
        let known = |block_of: u32, before: usize| (0..before).any(|at| block(at) == block_of);
        let twice = (1..members.len()).rev().find(|&at| known(block(at), at));
        let Some(at) = twice.filter(|_| !known(new.block, members.len())) else { return false };
        set.remove(at);
        true
    }

    /// Whether the tables have grown enough to drop entries without references. `few`: the page has few, large cells.
    #[inline]
    pub fn full(&self, few: bool) -> bool {
        let limit = self.limit.max(if few { LITTLE_ROOM } else { ROOM });
        self.records.len() > limit || self.sets.len() > limit
    }

    /// Drops the entries without references, and renumbers the references to the others.
    #[cold]
    pub fn compact(&mut self, writes: &mut [u16], sets: &mut [u16]) {
        let old = std::mem::replace(self, Self::new(self.many));
        let mut new_acts = vec![0_u16; old.acts.len()];
        let mut new_records = vec![0_u16; old.records.len()];
        let mut new_sets = vec![0_u16; old.sets.len()];
        let mut moved = |tables: &mut Self, record: u16| {
            let new = &mut new_records[usize::from(record)];
            if *new == 0 && record != 0 {
                let Entry { act, warp } = old.records[usize::from(record)];
                let new_act = &mut new_acts[usize::from(act)];
                if *new_act == 0 {
                    tables.acts.push(old.acts[usize::from(act)]);
                    *new_act = (tables.acts.len() - 1) as u16;
                }
                tables.records.push(Entry { act: *new_act, warp });
                *new = (tables.records.len() - 1) as u16;
            }
            *new
        };
        for write in writes.iter_mut() {
            *write = moved(self, *write);
        }
        for set in sets.iter_mut().filter(|set| **set != 0) {
            if *set & SINGLE != 0 {
                *set = SINGLE | moved(self, *set & !SINGLE);
                continue;
            }
            let new = &mut new_sets[usize::from(*set)];
            if *new == 0 {
                let members: Vec<u16> = old.sets.get(*set).iter().map(|&member| moved(self, member)).collect();
                *new = self.sets.add(members.into_iter(), old.sets.readers(*set));
            }
            *set = *new;
        }
        let used = self.records.len().max(self.sets.len());
        self.limit = used + used / 2;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(block: u32, warp: u8, pc: u32) -> Record {
        let mode = Mode::LOAD;
        Record { block, stamp: 1, site: Site { function: 0, pc }, warp, mode }
    }

    #[test]
    fn warps_share_equal_accesses() {
        let mut tables = Tables::new(false);
        let ids: Vec<u16> = (0..8).map(|warp| tables.record(&record(3, warp, 5))).collect();
        assert_eq!((tables.acts.len(), tables.records.len()), (2, 9));
        assert_eq!(tables.record(&record(3, 7, 5)), ids[7]);
        for (warp, id) in ids.iter().enumerate() {
            assert_eq!(tables.get(*id), record(3, warp as u8, 5));
        }
    }

    #[test]
    fn referenced_entries_survive() {
        let mut tables = Tables::new(false);
        let never = |_: &Record| false;
        let [a, b, c] = [1, 2, 3].map(|block| tables.record(&record(block, 0, block)));
        let one = tables.grow(0, a, false, never, never).set;
        let two = tables.grow(one, b, false, never, never).set;
        assert_eq!((tables.set(one).members(), tables.set(two).members()), (&[a][..], &[a, b][..]));
        let (mut writes, mut sets) = ([0, c], [two, one]);
        tables.record(&record(4, 0, 4));
        tables.compact(&mut writes, &mut sets);
        assert_eq!((tables.records.len(), tables.acts.len(), tables.sets.len()), (4, 4, 2));
        assert_eq!((writes[0], tables.get(writes[1])), (0, record(3, 0, 3)));
        let blocks = |set: u16| tables.set(set).members().iter().map(|id| tables.get(*id).block).collect::<Vec<_>>();
        assert_eq!((blocks(sets[0]), blocks(sets[1])), (vec![1, 2], vec![1]));
    }

    #[test]
    fn many_readers_are_kept_where_some_may_be_ordered() {
        for (many, most) in [(false, FEW), (true, MOST)] {
            let mut tables = Tables::new(many);
            let never = |_: &Record| false;
            let ids: Vec<u16> = (0..=MOST as u32).map(|block| tables.record(&record(block, 0, block))).collect();
            let mut set = 0;
            for (at, &id) in ids.iter().enumerate() {
                assert!(!tables.earlier_blocks_read(set, MOST as u32 + 1) || at >= most);
                set = tables.grow(set, id, false, never, never).set;
            }
            assert_eq!(tables.set(set).members(), &ids[..most]);
            assert!(tables.earlier_blocks_read(set, most as u32) && !tables.earlier_blocks_read(set, most as u32 - 1));
        }
    }

    #[test]
    fn the_cache_stays_within_its_bound() {
        let mut tables = Tables::new(false);
        let never = |_: &Record| false;
        let ids: Vec<u16> = (0..200).map(|block| tables.record(&record(block, 0, block))).collect();
        let mut grown = Vec::new();
        for &a in &ids[..100] {
            let one = tables.grow(0, a, false, never, never).set;
            for &b in &ids[100..] {
                let two = tables.grow(one, b, false, never, never);
                assert!(tables.known(one, b) == Some(two), "not cached");
                grown.push((two.set, [a, b]));
            }
        }
        assert!(tables.sets.len() > 4096, "{} sets", tables.sets.len());
        assert!(tables.memo.len() * size_of::<(u16, u16, Grown)>() <= 4096, "{} answers", tables.memo.len());
        assert!(grown.iter().all(|(set, members)| tables.set(*set).members() == members));
    }
}
