//! What shadow memory refers to: accesses by a warp, and sets of them. Each page has its own tables, so that a reference takes
//! two bytes; what no cell refers to any more is dropped when a table has doubled.

use super::view::{Home, Reach};
use crate::observe::Site;

/// Accesses that one warp made with one instruction between two of its synchronisations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Record {
    /// Ticket of the block.
    pub block: u32,
    pub stamp: u32,
    pub site: Site,
    pub warp: u8,
    pub mode: Mode,
}

/// What an access does, as far as conflicts go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mode {
    pub writes: bool,
    /// `None` for an ordinary (weak) access.
    pub strong: Option<Reach>,
}

/// How two accesses to the same memory get along when nothing orders them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    No,
    /// Both are strong, but a scope leaves the other one out.
    Scopes,
    Yes,
}

impl Mode {
    /// Of this access by a block and another one by another.
    #[inline]
    pub fn conflict(self, home: Home, other: Self, other_home: impl FnOnce() -> Home) -> Conflict {
        if !self.writes && !other.writes {
            return Conflict::No;
        }
        let (Some(mine), Some(theirs)) = (self.strong, other.strong) else { return Conflict::Yes };
        if mine == Reach::Device && theirs == Reach::Device {
            return Conflict::No;
        }
        let other_home = other_home();
        match home.reaches(mine, other_home) && other_home.reaches(theirs, home) {
            true => Conflict::No,
            false => Conflict::Scopes,
        }
    }

    /// Whatever conflicts with an earlier access of mode `old` that is ordered before one of this mode, and is not ordered after
    /// it, conflicts with this one too.
    fn covers(self, old: Self) -> bool {
        let weaker = match (self.strong, old.strong) {
            (None, _) => true,
            (Some(mine), Some(theirs)) => mine <= theirs,
            (Some(_), None) => false,
        };
        weaker && (self.writes || !old.writes)
    }
}

/// Accesses to one cell since its last ordinary write that nothing has made irrelevant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Set {
    members: [u16; MOST],
    len: u8,
}

/// Members of a set. Of more, the first ones are remembered, of different blocks where there are.
const MOST: usize = 4;
/// Entries of a table before it is first looked through for what is no longer used.
const ROOM: usize = 512;

/// The tables of one page. Entry 0 of each stands for nothing.
#[derive(Debug)]
pub(super) struct Tables {
    records: Vec<Record>,
    sets: Vec<Set>,
    /// By instruction: where its last record is.
    hints: [u16; 16],
    /// Recently asked: set, record, and what came out.
    memo: [(u16, u16, Grown); 16],
    limit: usize,
}

/// A set with one more member.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Grown {
    /// The one before when the access adds nothing to it.
    pub set: u16,
    /// The new member stands for an earlier access of the same warp too, whose lane may have been another.
    pub merged: bool,
}

impl Default for Tables {
    fn default() -> Self {
        let mode = Mode { writes: false, strong: None };
        let nobody = Record { block: 0, stamp: 0, site: Site { function: 0, pc: 0 }, warp: 0, mode };
        Self {
            records: vec![nobody],
            sets: vec![Set::default()],
            hints: [0; 16],
            memo: Default::default(),
            limit: ROOM,
        }
    }
}

impl Tables {
    /// Forgets everything but the memory it has.
    pub fn clear(&mut self) {
        self.records.truncate(1);
        self.sets.truncate(1);
        (self.hints, self.memo, self.limit) = ([0; 16], Default::default(), ROOM);
    }

    /// The number of a record.
    #[inline]
    pub fn record(&mut self, record: Record) -> u16 {
        let hint = &mut self.hints[record.site.pc as usize & 15];
        if *hint != 0 && self.records[usize::from(*hint)] == record {
            return *hint;
        }
        self.records.push(record);
        *hint = (self.records.len() - 1) as u16;
        *hint
    }

    /// What a number stands for.
    #[inline]
    pub fn get(&self, record: u16) -> &Record {
        &self.records[usize::from(record)]
    }

    /// The members of a set, the latest last.
    #[inline]
    pub fn members(&self, set: u16) -> &[u16] {
        let set = &self.sets[usize::from(set)];
        &set.members[..usize::from(set.len)]
    }

    /// The latest member of a set; 0 when it is empty.
    #[inline]
    pub fn latest(&self, set: u16) -> u16 {
        self.members(set).last().copied().unwrap_or_default()
    }

    /// The set with `record` as the latest member. Members that `settled` says are ordered before it go when it stands for them.
    #[inline]
    pub fn grow(&mut self, set: u16, record: u16, settled: impl Fn(&Record) -> bool) -> Grown {
        let slot = usize::from(set ^ record) & 15;
        match self.memo[slot] {
            (from, with, grown) if (from, with) == (set, record) && grown.set != 0 => grown,
            _ => {
                let grown = self.grow_anew(set, record, settled);
                self.memo[slot] = (set, record, grown);
                grown
            }
        }
    }

    fn grow_anew(&mut self, set: u16, record: u16, settled: impl Fn(&Record) -> bool) -> Grown {
        let new = *self.get(record);
        let mut grown = Set::default();
        let mut merged = false;
        for &member in self.members(set) {
            let old = self.get(member);
            let same_warp = (old.block, old.warp) == (new.block, new.warp);
            if new.mode.covers(old.mode) && (same_warp || settled(old)) {
                merged |= same_warp && !settled(old);
                continue;
            }
            grown.push(member);
        }
        if usize::from(grown.len) == MOST && !self.make_room(&mut grown, &new) {
            return Grown { set, merged };
        }
        grown.push(record);
        self.sets.push(grown);
        Grown { set: (self.sets.len() - 1) as u16, merged }
    }

    /// Does an access add to what a full set remembers? Then a member goes: one of a block that has another one.
    fn make_room(&self, set: &mut Set, new: &Record) -> bool {
        let blocks = set.members.map(|member| self.get(member).block);
        let stands_for = |member: &u16| self.get(*member).mode.covers(new.mode);
        if !set.members.iter().any(stands_for) {
            return true;
        }
        let twice = (1..MOST).rev().find(|&at| blocks[..at].contains(&blocks[at]));
        let Some(at) = twice.filter(|_| !blocks.contains(&new.block)) else { return false };
        set.members.copy_within(at + 1.., at);
        set.len -= 1;
        true
    }

    /// Is it time to drop what `cells` don't refer to?
    #[inline]
    pub fn full(&self) -> bool {
        self.records.len() > self.limit || self.sets.len() > self.limit
    }

    /// Drops what no cell refers to, and renumbers what they refer to.
    #[cold]
    pub fn compact(&mut self, writes: &mut [u16], sets: &mut [u16]) {
        let mut old = std::mem::take(self);
        let mut new_records = vec![0_u16; old.records.len()];
        let mut new_sets = vec![0_u16; old.sets.len()];
        let mut moved = |tables: &mut Self, record: u16| {
            let new = &mut new_records[usize::from(record)];
            if *new == 0 && record != 0 {
                tables.records.push(old.records[usize::from(record)]);
                *new = (tables.records.len() - 1) as u16;
            }
            *new
        };
        for write in writes.iter_mut() {
            *write = moved(self, *write);
        }
        for set in sets.iter_mut().filter(|set| **set != 0) {
            let new = &mut new_sets[usize::from(*set)];
            if *new == 0 {
                let mut copy = old.sets[usize::from(*set)];
                for member in &mut copy.members[..usize::from(copy.len)] {
                    *member = moved(self, *member);
                }
                self.sets.push(copy);
                *new = (self.sets.len() - 1) as u16;
            }
            *set = *new;
        }
        old.sets.clear();
        self.limit = (2 * self.records.len().max(self.sets.len())).max(ROOM);
    }
}

impl Set {
    fn push(&mut self, record: u16) {
        let at = usize::from(self.len).min(MOST - 1);
        self.members[at] = record;
        self.len = (at + 1) as u8;
    }
}
