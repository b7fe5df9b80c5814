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

/// What workers have done with the bytes of a page: read them, written them, or changed them by atomics of 4 or of 8
/// bytes.
#[derive(Debug)]
pub(super) struct Uses([Bits; 4]);

/// Sets of uses: a bit for each of the rows.
const READ: u8 = 1;
const WRITTEN: u8 = 2;
const COMBINED: [u8; 2] = [4, 8];

impl Uses {
    const NONE: Self = Self([[0; PAGE_BYTES as usize / 64]; 4]);

    fn of(page: &Page) -> Self {
        let mut uses = Self::NONE;
        let bytes = 1 << page.shift();
        // Neighbouring cells mostly have the same set.
        let mut last = (0, 0);
        for cell in 0..PAGE_BYTES as usize >> page.shift() {
            let set = page.sets.id(cell);
            if set != last.0 {
                let members = page.tables.set(set);
                let kinds = members.members().iter().map(|&member| kind(page.tables.mode(member)));
                last = (set, kinds.fold(0, |all, kind| all | kind));
            }
            let written = if page.writes.id(cell) == 0 { 0 } else { WRITTEN };
            uses.mark(last.1 | written, cell << page.shift(), bytes);
        }
        uses
    }

    /// Adds uses of a cell, which lies in one word of the rows.
    fn mark(&mut self, kinds: u8, start: usize, bytes: u32) {
        let bits = (u64::MAX >> (64 - bytes)) << (start % 64);
        for (number, row) in self.0.iter_mut().enumerate() {
            if kinds >> number & 1 != 0 {
                row[start / 64] |= bits;
            }
        }
    }

    /// Whether other blocks with these uses conflict with blocks with the others'.
    fn conflict(&self, other: &Self) -> bool {
        (0..self.0[0].len()).any(|at| {
            let [a, b] = [self, other].map(|uses| uses.0.each_ref().map(|row| row[at]));
            let one_way = |[read, written, words, _]: [u64; 4],
                           [other_read, other_written, other_words, longs]: [u64; 4]| {
                written & (other_read | other_written | other_words | longs)
                    | read & (other_words | longs)
                    | words & longs
            };
            one_way(a, b) | one_way(b, a) != 0
        })
    }

    fn join(&mut self, other: &Self) {
        let rows = self.0.as_flattened_mut().iter_mut().zip(other.0.as_flattened());
        rows.for_each(|(mine, theirs)| *mine |= theirs);
    }
}

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
        let mut uses = Uses::NONE;
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
