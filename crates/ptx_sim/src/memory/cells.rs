//! Shadow of memory: one byte per four bytes, two bits for each of them.
//!
//! Zero, the state of fresh memory, means that the byte was never written. Bit `i` is set if byte `i` is defined; bit
//! `4 + i` if it was written with an undefined value.

use super::storage::Storage;
use crate::registers::LANES;
use std::sync::atomic::Ordering::Relaxed;

/// All four bytes are defined.
pub const DEFINED: u8 = 0x0f;

/// State of the bytes of one access, one bit per byte in address order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Bytes {
    /// Bytes without a defined value.
    pub undefined: u64,
    /// Bytes among them that were written with an undefined value.
    pub written: u64,
}

/// The cells of a piece of memory that starts at a multiple of 4.
pub trait Cells {
    /// Returns the state of a word.
    fn get(&self, word: usize) -> u8;
    /// Marks bytes of a word (bits 0 to 3) as written; those in `undefined` with an undefined value.
    fn mark(&mut self, word: usize, bytes: u8, undefined: u8);
}

fn marked(state: u8, bytes: u8, undefined: u8) -> u8 {
    state & !(bytes | bytes << 4) | bytes & !undefined | (bytes & undefined) << 4
}

/// Shared memory.
impl Cells for Vec<u8> {
    fn get(&self, word: usize) -> u8 {
        self.as_slice().get(word).copied().unwrap_or(DEFINED)
    }
    fn mark(&mut self, word: usize, bytes: u8, undefined: u8) {
        if let Some(state) = self.get_mut(word) {
            *state = marked(*state, bytes, undefined);
        }
    }
}

/// One lane of local memory.
pub struct Lane<'a>(pub &'a mut [[u8; LANES]], pub usize);

impl Cells for Lane<'_> {
    fn get(&self, word: usize) -> u8 {
        self.0.get(word).map_or(DEFINED, |row| row[self.1])
    }
    fn mark(&mut self, word: usize, bytes: u8, undefined: u8) {
        if let Some(row) = self.0.get_mut(word) {
            row[self.1] = marked(row[self.1], bytes, undefined);
        }
    }
}

/// One allocation of device memory; several workers may mark the same word.
pub struct Device<'a>(pub &'a Storage);

impl Cells for Device<'_> {
    fn get(&self, word: usize) -> u8 {
        self.0.u8().get(word).map_or(DEFINED, |cell| cell.load(Relaxed))
    }
    fn mark(&mut self, word: usize, bytes: u8, undefined: u8) {
        let Some(cell) = self.0.u8().get(word) else { return };
        let wanted = marked(cell.load(Relaxed), bytes, undefined);
        if bytes == DEFINED {
            cell.store(wanted, Relaxed);
        } else if wanted != cell.load(Relaxed) {
            self.0.update(word as u64, 1, |state| u64::from(marked(state as u8, bytes, undefined)));
        }
    }
}

/// Returns word index, byte mask, and number of preceding bytes, for the part of an access in its `index`-th word.
fn piece(offset: u64, bytes: u32, index: u32) -> (usize, u8, u32) {
    let head = (offset & 3) as u32;
    let start = index * 4;
    let whole = (((1_u128 << bytes.min(64)) - 1) << head >> start) as u64;
    ((offset / 4) as usize + index as usize, (whole & 0xf) as u8, head)
}

/// Returns the state of bytes of one lane of local memory.
pub fn read_lane(rows: &[[u8; LANES]], lane: usize, offset: u64, bytes: u32) -> Bytes {
    read(&ReadLane(rows, lane), offset, bytes)
}

struct ReadLane<'a>(&'a [[u8; LANES]], usize);

impl Cells for ReadLane<'_> {
    fn get(&self, word: usize) -> u8 {
        self.0.get(word).map_or(DEFINED, |row| row[self.1])
    }
    fn mark(&mut self, _: usize, _: u8, _: u8) {}
}

fn words(offset: u64, bytes: u32) -> u32 {
    ((offset & 3) as u32 + bytes).div_ceil(4)
}

/// Returns the state of `bytes` bytes (at most 64) at `offset`.
pub fn read(cells: &impl Cells, offset: u64, bytes: u32) -> Bytes {
    let mut found = Bytes::default();
    for index in 0..words(offset, bytes) {
        let (word, here, head) = piece(offset, bytes, index);
        let state = cells.get(word);
        let place = |bits: u8| (u128::from(bits) << (index * 4) >> head) as u64;
        found.undefined |= place(here & !state);
        found.written |= place(here & !state & state >> 4);
    }
    found
}

/// Marks `bytes` bytes (at most 64) at `offset` as written; those in `undefined` with an undefined value.
pub fn write(cells: &mut impl Cells, offset: u64, bytes: u32, undefined: u64) {
    for index in 0..words(offset, bytes) {
        let (word, here, head) = piece(offset, bytes, index);
        let bad = (u128::from(undefined) << head >> (index * 4)) as u8 & 0xf;
        cells.mark(word, here, bad);
    }
}

/// Whether all words that contain any of `bytes` bytes at `offset` are defined.
#[inline(always)]
pub fn all_defined(cells: &[u8], offset: u64, bytes: u64) -> bool {
    let range = (offset / 4) as usize..(offset + bytes).div_ceil(4) as usize;
    cells.get(range).is_some_and(|cells| cells.iter().fold(DEFINED, |all, state| all & state) == DEFINED)
}

/// As [`all_defined`], for device memory.
#[inline(always)]
pub fn all_defined_on_device(storage: &Storage, offset: u64, bytes: u64) -> bool {
    let (mut word, end) = ((offset / 4) as usize, (offset + bytes).div_ceil(4) as usize);
    let (small, large) = (storage.u8(), storage.u64());
    let mut all = u64::MAX;
    while word < end {
        if word % 8 == 0 && word + 8 <= end {
            all &= large.get(word / 8).map_or(0, |cells| cells.load(Relaxed));
            word += 8;
        } else {
            all &= small.get(word).map_or(0, |cell| cell.load(Relaxed)) as u64 * 0x0101_0101_0101_0101;
            word += 1;
        }
    }
    all & 0x0f0f_0f0f_0f0f_0f0f == 0x0f0f_0f0f_0f0f_0f0f
}

/// Marks `bytes` bytes at `offset` as defined: a write by the host, or by a whole warp to adjacent addresses.
pub fn define_range(storage: &Storage, offset: u64, bytes: u64) {
    let end = offset.saturating_add(bytes);
    let mut at = offset;
    let mut cells = Device(storage);
    while at < end && !at.is_multiple_of(32) {
        let step = (4 - at % 4).min(end - at) as u32;
        write(&mut cells, at, step, 0);
        at += u64::from(step);
    }
    let large = storage.u64();
    while end - at.min(end) >= 32 {
        if let Some(cells) = large.get((at / 32) as usize) {
            cells.store(0x0f0f_0f0f_0f0f_0f0f, Relaxed);
        }
        at += 32;
    }
    while at < end {
        let step = (4 - at % 4).min(end - at) as u32;
        write(&mut cells, at, step, 0);
        at += u64::from(step);
    }
}

/// Returns the first undefined byte of `bytes` bytes at `offset`, relative to `offset`, and the number of undefined
/// bytes.
pub fn undefined_in(storage: &Storage, offset: u64, bytes: u64) -> Option<(u64, u64)> {
    let cells = Device(storage);
    let defined = |at: u64| cells.get((at / 4) as usize) >> (at % 4) & 1 != 0;
    let mut undefined = (offset..offset.saturating_add(bytes)).filter(|&at| !defined(at));
    let first = undefined.next()?;
    Some((first - offset, 1 + undefined.count() as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn undefined_bytes_are_counted() {
        let storage = Storage::zeroed(16).expect("storage");
        define_range(&storage, 1, 30);
        define_range(&storage, 33, 2);
        assert_eq!(undefined_in(&storage, 0, 40), Some((0, 8)));
        assert_eq!(undefined_in(&storage, 1, 34), Some((30, 2)));
        assert_eq!(undefined_in(&storage, 1, 30), None);
    }

    #[test]
    fn bytes_are_told_apart() {
        let mut cells = vec![0_u8; 4];
        assert_eq!(read(&cells, 1, 2), Bytes { undefined: 3, written: 0 });
        write(&mut cells, 1, 2, 0);
        assert_eq!(read(&cells, 0, 4), Bytes { undefined: 0b1001, written: 0 });
        write(&mut cells, 4, 8, 0xf0);
        assert_eq!(read(&cells, 4, 8), Bytes { undefined: 0xf0, written: 0xf0 });
        assert_eq!(read(&cells, 0, 16), Bytes { undefined: 0xff09, written: 0x0f00 });
        assert!(all_defined(&cells, 4, 4) && !all_defined(&cells, 0, 8));
        write(&mut cells, 8, 4, 0);
        assert_eq!(read(&cells, 8, 4), Bytes::default());
    }

    #[test]
    fn lanes_have_their_own() {
        let mut rows = vec![[0; LANES]; 2];
        write(&mut Lane(&mut rows, 3), 0, 8, 0);
        assert_eq!(read_lane(&rows, 3, 0, 8), Bytes::default());
        assert_eq!(read_lane(&rows, 4, 0, 8).undefined, 0xff);
    }

    #[test]
    fn ranges_on_the_device() {
        for (start, len) in [(0, 1), (1, 2), (3, 200), (32, 64), (30, 70), (5, 0)] {
            let storage = Storage::zeroed(64).expect("64 cells");
            define_range(&storage, start, len);
            for byte in 0..256 {
                let inside = (start..start + len).contains(&byte);
                assert_eq!(read(&Device(&storage), byte, 1).undefined == 0, inside, "{start} {len} {byte}");
            }
            let whole = start.next_multiple_of(4)..(start + len) / 4 * 4;
            if whole.start < whole.end {
                assert!(all_defined_on_device(&storage, whole.start, whole.end - whole.start));
                assert!(!all_defined_on_device(&storage, 0, 256));
            }
        }
    }
}
