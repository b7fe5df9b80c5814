//! A launch on several workers, each with a shadow of its own.
//!
//! The blocks of most kernels cannot tell in which order they run ([`blocks_are_independent`]), and nothing orders an
//! access of one of them before one of another. If no two workers have accessed the same byte in ways that conflict,
//! and none has found a race among its own blocks, then one worker finds nothing either. Otherwise the launch is taken
//! back and runs on one worker, whose findings depend on no other thread: so the findings are the same with any number
//! of workers.
//!
//! [`blocks_are_independent`]: crate::program::independence::blocks_are_independent

use super::records::Mode;
use super::shadow::{PAGE_BYTES, Page, Shadow};
use super::view::Reach;
use crate::memory::{Memory, Undo};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

/// A launch on several workers that can be taken back.
#[derive(Debug)]
pub(crate) struct Attempt<'a> {
    pub(super) undo: Undo<'a>,
    failed: AtomicBool,
    /// Number of blocks that have ended.
    pub(super) ended: AtomicU64,
}

impl<'a> Attempt<'a> {
    pub fn new(memory: &'a Memory) -> Self {
        Self { undo: Undo::new(memory), failed: AtomicBool::new(false), ended: AtomicU64::new(0) }
    }

    /// Whether blocks of different workers may have raced.
    pub fn failed(&self) -> bool {
        self.failed.load(Relaxed)
    }

    /// Gives device memory the contents from before the launch, and returns the number of blocks that had ended.
    pub fn take_back(self) -> u64 {
        self.undo.restore();
        self.ended.into_inner()
    }

    /// Adds the accesses of a worker to those of others.
    pub(super) fn add(&self, all: &mut HashMap<usize, Box<Uses>>, worker: &Shadow) {
        for (number, page) in worker.pages() {
            let uses = Uses::of(page);
            match all.get_mut(&number) {
                None => drop(all.insert(number, Box::new(uses))),
                Some(others) => {
                    if others.conflict(&uses) {
                        self.failed.store(true, Relaxed);
                    }
                    others.join(&uses);
                }
            }
        }
    }
}

/// A bit for each byte of a page.
type Bits = [u64; PAGE_BYTES as usize / 64];

/// What workers have done with the bytes of a page.
#[derive(Debug)]
pub(super) struct Uses {
    read: Bits,
    written: Bits,
    /// Changed by atomics of 4 bytes, and of 8.
    combined: [Bits; 2],
}

/// A set of uses, by the position in [`Uses::rows`].
const READ: u8 = 1;
const WRITTEN: u8 = 2;
const COMBINED: [u8; 2] = [4, 8];

impl Uses {
    fn of(page: &Page) -> Self {
        let mut uses = Self { read: EMPTY, written: EMPTY, combined: [EMPTY; 2] };
        let bytes = 1 << page.shift();
        // Neighbouring cells mostly have the same set.
        let mut last = (0, 0);
        for cell in 0..PAGE_BYTES as usize >> page.shift() {
            let set = page.sets.id(cell);
            if set != last.0 {
                let members = page.tables.set(set);
                let kinds = members.members().iter().map(|&member| kind(page.tables.mode(member)));
                last = (set, if set == 0 { 0 } else { kinds.fold(0, |all, kind| all | kind) });
            }
            let kinds = last.1 | if page.writes.id(cell) == 0 { 0 } else { WRITTEN };
            if kinds != 0 {
                uses.mark(kinds, cell << page.shift(), bytes);
            }
        }
        uses
    }

    /// Adds uses of a cell, which lies in one word of the rows.
    fn mark(&mut self, kinds: u8, start: usize, bytes: u32) {
        let bits = (u64::MAX >> (64 - bytes)) << (start % 64);
        for (row, kind) in self.rows().into_iter().zip([READ, WRITTEN, COMBINED[0], COMBINED[1]]) {
            if kinds & kind != 0 {
                row[start / 64] |= bits;
            }
        }
    }

    fn rows(&mut self) -> [&mut Bits; 4] {
        let [words, longs] = &mut self.combined;
        [&mut self.read, &mut self.written, words, longs]
    }

    /// Whether other blocks with these uses conflict with blocks with the others'.
    fn conflict(&self, other: &Self) -> bool {
        let one_way = |a: &Self, b: &Self, at: usize| {
            let [words, longs] = b.combined.map(|row| row[at]);
            a.written[at] & (b.read[at] | b.written[at] | words | longs)
                | a.read[at] & (words | longs)
                | a.combined[0][at] & longs
        };
        (0..self.read.len()).any(|at| one_way(self, other, at) | one_way(other, self, at) != 0)
    }

    fn join(&mut self, other: &Self) {
        let others = [&other.read, &other.written, &other.combined[0], &other.combined[1]];
        for (mine, theirs) in self.rows().into_iter().zip(others) {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine |= theirs);
        }
    }
}

const EMPTY: Bits = [0; PAGE_BYTES as usize / 64];

fn kind(mode: Mode) -> u8 {
    match (mode.writes, mode.strong, mode.bytes) {
        (false, ..) => READ,
        (true, Some(Reach::Device), 4) => COMBINED[0],
        (true, Some(Reach::Device), 8) => COMBINED[1],
        // Atomics of a narrower scope conflict with those of other blocks.
        _ => WRITTEN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uses(kinds: u8, start: usize, bytes: u32) -> Uses {
        let mut uses = Uses { read: EMPTY, written: EMPTY, combined: [EMPTY; 2] };
        uses.mark(kinds, start, bytes);
        uses
    }

    #[test]
    fn uses_conflict_as_accesses_of_different_blocks_do() {
        let all = [READ, WRITTEN, COMBINED[0], COMBINED[1]];
        let expected = [[0, 1, 1, 1], [1, 1, 1, 1], [1, 1, 0, 1], [1, 1, 1, 0]];
        for (a, row) in all.into_iter().zip(expected) {
            for (b, conflict) in all.into_iter().zip(row) {
                assert_eq!(uses(a, 64, 32).conflict(&uses(b, 92, 4)), conflict == 1, "{a} {b}");
                assert!(!uses(a, 64, 32).conflict(&uses(b, 96, 4)) && !uses(a, 64, 32).conflict(&uses(b, 60, 4)));
            }
        }
    }

    #[test]
    fn joined_uses_are_kept_apart_by_byte() {
        let mut joined = uses(READ, 0, 32);
        joined.join(&uses(WRITTEN, 4095, 1));
        assert!(joined.conflict(&uses(READ, 4095, 1)) && !joined.conflict(&uses(READ, 4092, 2)));
        assert!(joined.conflict(&uses(WRITTEN, 31, 1)) && !joined.conflict(&uses(READ, 31, 1)));
    }
}
