//! Shadow of a frame's registers: their undefined bits.
//!
//! One mask of lanes per row suffices in nearly all cases; bits and origins are kept only for rows that have held an
//! undefined value which was not simply "never written".

use super::{File, LANES, Rows, Slot};
use std::hash::{Hash, Hasher};

/// The origin of a register that has never been written.
pub const NEVER_WRITTEN: u32 = 0;

/// State of a frame's registers when its function is entered.
#[derive(Clone, Debug, Default)]
pub struct Entry {
    pub rows: Rows,
    /// Undefined lanes by row: all lanes, or none if the row is preset or settled.
    pub undefined: Vec<u32>,
    /// One bit per instruction all of whose registers are known to be defined.
    pub clean: Vec<u64>,
}

/// Bits and origins of one row; entries of defined lanes are meaningless.
#[derive(Clone, Debug)]
struct Detail {
    bits: [u64; LANES],
    origin: [u32; LANES],
}

/// Shadow of one frame's registers. Rows of the three files are numbered consecutively: `w32`, `w64`, `pred`.
#[derive(Clone, Debug, Default)]
pub struct RegisterShadow {
    undefined: Vec<u32>,
    detail: Vec<Option<Box<Detail>>>,
    /// Whether any row has details.
    detailed: bool,
    rows: Rows,
    /// One bit per instruction all of whose registers are defined in every lane; cleared as soon as any bit of any
    /// register becomes undefined.
    clean: Vec<u64>,
}

/// Origins are not hashed: they do not affect whether a thread polls.
impl Hash for RegisterShadow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.undefined.hash(state);
    }
}

/// Returns the index of a row in a shadow.
#[inline(always)]
pub fn row(rows: Rows, file: File, slot: Slot) -> u32 {
    rows.number(file, slot)
}

impl RegisterShadow {
    /// Initialises the shadow on entry to a function, from `entry` if `tracked`.
    pub fn enter(&mut self, entry: &Entry, tracked: bool) {
        self.undefined.clone_from(&entry.undefined);
        if !tracked {
            self.undefined.fill(0);
        }
        if std::mem::take(&mut self.detailed) {
            self.detail.clear();
        }
        self.detail.resize(self.undefined.len(), None);
        self.rows = entry.rows;
        self.clean.clone_from(&entry.clean);
    }

    /// Returns the index of a row.
    #[inline(always)]
    pub fn row(&self, file: File, slot: Slot) -> u32 {
        row(self.rows, file, slot)
    }

    /// Returns the lanes in which any bit of a row is undefined.
    #[inline(always)]
    pub fn undefined(&self, row: u32) -> u32 {
        self.undefined.get(row as usize).copied().unwrap_or(0)
    }

    /// Marks the lanes of `mask` as defined.
    #[inline(always)]
    pub fn define(&mut self, row: u32, mask: u32) {
        if let Some(undefined) = self.undefined.get_mut(row as usize) {
            *undefined &= !mask;
        }
    }

    /// Whether every register of an instruction is known to be defined, so that its execution does not change the
    /// shadow.
    #[inline(always)]
    pub fn clean(&self, pc: u32) -> bool {
        self.clean.get(pc as usize / 64).is_some_and(|bits| bits >> (pc % 64) & 1 != 0)
    }

    /// Records that every register of an instruction is defined in every lane.
    pub fn set_clean(&mut self, pc: u32) {
        let word = pc as usize / 64;
        if self.clean.len() <= word {
            self.clean.resize(word + 1, 0);
        }
        self.clean[word] |= 1 << (pc % 64);
    }

    /// Returns the undefined bits of a lane, and their origin.
    pub fn get(&self, row: u32, lane: usize) -> (u64, u32) {
        if self.undefined(row) >> lane & 1 == 0 {
            return (0, NEVER_WRITTEN);
        }
        match self.detail.get(row as usize) {
            Some(Some(detail)) => (detail.bits[lane], detail.origin[lane]),
            _ => (u64::MAX, NEVER_WRITTEN),
        }
    }

    /// Sets the undefined bits of a lane, limited to the bits of the row.
    pub fn set(&mut self, row: u32, lane: usize, bits: u64, origin: u32) {
        let Some(undefined) = self.undefined.get_mut(row as usize) else { return };
        if bits == 0 {
            *undefined &= !(1 << lane);
            return;
        }
        *undefined |= 1 << lane;
        self.clean.clear();
        if let Some(detail) = self.detail.get_mut(row as usize) {
            let new = || Box::new(Detail { bits: [u64::MAX; LANES], origin: [NEVER_WRITTEN; LANES] });
            let detail = detail.get_or_insert_with(new);
            self.detailed = true;
            (detail.bits[lane], detail.origin[lane]) = (bits, origin);
        }
    }

    /// Copies the state of a lane's register, for instructions that compute on a copy of the registers.
    pub fn copy_lane(&mut self, to: u32, from: &Self, source: u32, lane: usize) {
        let (bits, origin) = from.get(source, lane);
        self.set(to, lane, bits, origin);
    }

    /// Returns every row that a slot may refer to, in any file.
    pub fn any_file(&self, slot: Slot) -> impl Iterator<Item = u32> {
        let rows = self.rows;
        let files = [(File::Word, rows.w32), (File::Long, rows.w64), (File::Pred, rows.pred)];
        files.into_iter().filter(move |(_, count)| slot < *count).map(move |(file, _)| row(rows, file, slot))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_and_bits() {
        let mut shadow = RegisterShadow::default();
        let rows = Rows { w32: 2, w64: 1, pred: 1 };
        shadow.enter(&Entry { rows, undefined: vec![u32::MAX, u32::MAX, 0, u32::MAX], clean: Vec::new() }, true);
        assert_eq!(shadow.undefined(row(rows, File::Long, 0)), 0);
        assert_eq!(shadow.get(1, 5), (u64::MAX, NEVER_WRITTEN));
        shadow.define(1, 0xff);
        assert_eq!((shadow.get(1, 5).0, shadow.undefined(1)), (0, 0xffff_ff00));
        shadow.set(1, 5, 0xff00, 9);
        assert_eq!(shadow.get(1, 5), (0xff00, 9));
        shadow.set(1, 5, 0, 9);
        assert_eq!(shadow.undefined(1), 0xffff_ff00);
        assert_eq!(shadow.get(1, 20), (u64::MAX, NEVER_WRITTEN));
        shadow.set_clean(70);
        assert!(shadow.clean(70) && !shadow.clean(6) && !shadow.clean(200));
        shadow.set(1, 5, 0, 9);
        assert!(shadow.clean(70));
        shadow.set(1, 5, 1, 9);
        assert!(!shadow.clean(70));
        shadow.set(1, 5, 0, 9);
        assert_eq!(shadow.any_file(0).collect::<Vec<_>>(), [0, 2, 3]);
    }
}
