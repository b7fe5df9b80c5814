//! Transfer of values between registers and memory, after an access has been checked.
//!
//! Compiled once per level of the host's vector instructions, not per set of observers: see [`Task`]. Accesses of whole
//! warps to adjacent addresses, or to one address, are transferred as rows; all others lane by lane.

use super::storage::Storage;
use super::{Snapshot, View};
use crate::isa::lift::{blend, every};
use crate::lanes::{self, Spread, each};
use crate::level::{Host, Task};
use crate::program::Access;
use crate::registers::{LANES, NO_SLOT, Registers};
use std::sync::atomic::Ordering::Relaxed;

/// The lanes of a load or store, in one state space.
#[derive(Clone, Copy)]
pub struct Lanes<'a> {
    pub access: &'a Access,
    pub addresses: &'a [u64; LANES],
    pub mask: u32,
    pub spread: &'a Spread,
}

/// Memory to read from. Addresses are aligned and in range.
pub trait Source {
    /// Reads 1, 2 or 4 bytes, zero-extended.
    fn narrow(&self, lane: usize, address: u64, bytes: u8) -> u32;
    /// Reads 4 bytes.
    fn word(&self, lane: usize, address: u64) -> u32;
    /// Reads 8 bytes.
    fn long(&self, lane: usize, address: u64) -> u64;
    /// Reads adjacent 4-byte words for a whole warp; returns false if that is not possible at once.
    fn words(&self, first: u64, row: &mut [u32; LANES]) -> bool;
    /// Reads adjacent 8-byte words for a whole warp; returns false if that is not possible at once.
    fn longs(&self, first: u64, row: &mut [u64; LANES]) -> bool;
    /// Reads one 4-byte word for all lanes.
    fn same_word(&self, address: u64) -> [u32; LANES] {
        [self.word(0, address); LANES]
    }
    /// Reads one 8-byte word for all lanes.
    fn same_long(&self, address: u64) -> [u64; LANES] {
        [self.long(0, address); LANES]
    }
}

/// Memory to write to. Addresses are aligned and in range.
pub trait Sink {
    /// Writes the low 1, 2, 4 or 8 bytes of a value.
    fn put(&mut self, lane: usize, address: u64, bytes: u8, value: u64);
    /// Writes adjacent 4-byte words of a whole warp; returns false if that is not possible at once.
    fn put_words(&mut self, first: u64, values: &[u32; LANES]) -> bool;
    /// Writes adjacent 8-byte words of a whole warp; returns false if that is not possible at once.
    fn put_longs(&mut self, first: u64, values: &[u64; LANES]) -> bool;
    /// Writes the words of the lanes of `mask` to one address; returns false if that is not possible at once.
    fn put_same(&mut self, _address: u64, _mask: u32, _values: &[u32; LANES]) -> bool {
        false
    }
}

/// Performs a load.
pub struct Fill<'a, S> {
    pub lanes: Lanes<'a>,
    pub registers: &'a mut Registers,
    pub source: S,
}

impl<S: Source> Task for Fill<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run<H: Host>(&mut self, _: H) {
        fill(self.registers, &self.lanes, &self.source);
    }
}

/// Performs a store.
pub struct Drain<'a, S> {
    pub lanes: Lanes<'a>,
    pub registers: &'a Registers,
    pub sink: S,
}

impl<S: Sink> Task for Drain<'_, S> {
    type Output = ();
    #[inline(always)]
    fn run<H: Host>(&mut self, _: H) {
        drain(self.registers, &self.lanes, &mut self.sink);
    }
}

#[inline(always)]
fn fill(registers: &mut Registers, lanes: &Lanes<'_>, source: &impl Source) {
    let Lanes { access, addresses, mask, .. } = *lanes;
    let bytes = access.bytes;
    // A single word without conversion is the usual case. It is separate from the loop, whose setup is for all other
    // cases.
    if let (4, false, &[slot]) = (bytes, access.wide, access.registers.as_slice())
        && slot != NO_SLOT
    {
        return words(&mut registers.w32[slot as usize], lanes, source, 0);
    }
    for (index, &slot) in access.registers.iter().enumerate() {
        let (extra, slot) = (index as u64 * u64::from(bytes), slot as usize);
        if slot == NO_SLOT as usize {
            continue;
        }
        if bytes >= 8 {
            longs(&mut registers.w64[slot], lanes, source, extra);
            if bytes == 16 {
                longs(&mut registers.w64[slot + 1], lanes, source, extra + 8);
            }
            continue;
        }
        if bytes == 4 && !access.wide {
            words(&mut registers.w32[slot], lanes, source, extra);
            continue;
        }
        let unused = 32 - 8 * u32::from(bytes);
        let kept = u64::MAX >> (64 - u32::from(access.sign_extend.clamp(1, 64)));
        let value = |lane: usize| source.narrow(lane, addresses[lane] + extra, bytes);
        let signed = |lane: usize| i64::from((value(lane) << unused) as i32 >> unused) as u64 & kept;
        match (access.wide, access.sign_extend != 0) {
            (false, false) => each(mask, |lane| registers.w32[slot][lane] = value(lane)),
            (false, true) => each(mask, |lane| registers.w32[slot][lane] = signed(lane) as u32),
            (true, false) => each(mask, |lane| registers.w64[slot][lane] = u64::from(value(lane))),
            (true, true) => each(mask, |lane| registers.w64[slot][lane] = signed(lane)),
        }
    }
}

#[inline(always)]
fn words(row: &mut [u32; LANES], lanes: &Lanes<'_>, source: &impl Source, extra: u64) {
    let Lanes { addresses, mask, spread, .. } = *lanes;
    if spread.low == spread.high {
        blend(row, mask, &source.same_word(spread.low + extra));
    } else if spread.stride != Some(4) || !source.words(spread.low + extra, row) {
        each(mask, |lane| row[lane] = source.word(lane, addresses[lane] + extra));
    }
}

#[inline(always)]
fn longs(row: &mut [u64; LANES], lanes: &Lanes<'_>, source: &impl Source, extra: u64) {
    if lanes.spread.low == lanes.spread.high {
        blend(row, lanes.mask, &source.same_long(lanes.spread.low + extra));
    } else if lanes.spread.stride != Some(8) || !source.longs(lanes.spread.low + extra, row) {
        each(lanes.mask, |lane| row[lane] = source.long(lane, lanes.addresses[lane] + extra));
    }
}

#[inline(always)]
pub fn drain(registers: &Registers, lanes: &Lanes<'_>, sink: &mut impl Sink) {
    let Lanes { access, addresses, mask, spread } = *lanes;
    let bytes = access.bytes;
    for (index, &slot) in access.registers.iter().enumerate() {
        let (extra, slot) = (index as u64 * u64::from(bytes), slot as usize);
        if slot == NO_SLOT as usize {
            continue;
        }
        if access.wide || bytes == 16 {
            let halves = if bytes == 16 { 2 } else { 1 };
            for (row, extra) in registers.w64[slot..slot + halves].iter().zip([extra, extra + 8]) {
                let bytes = bytes.min(8);
                if (bytes, spread.stride) != (8, Some(8)) || !sink.put_longs(spread.low + extra, row) {
                    each(mask, |lane| sink.put(lane, addresses[lane] + extra, bytes, row[lane]));
                }
            }
        } else {
            let row = &registers.w32[slot];
            let done = bytes == 4
                && (spread.stride == Some(4) && sink.put_words(spread.low + extra, row)
                    || spread.low == spread.high && sink.put_same(spread.low + extra, mask, row));
            if !done {
                each(mask, |lane| sink.put(lane, addresses[lane] + extra, bytes, u64::from(row[lane])));
            }
        }
    }
}

/// Shared memory and kernel parameters.
impl Source for &[u32] {
    #[inline(always)]
    fn narrow(&self, _: usize, address: u64, bytes: u8) -> u32 {
        lanes::load_words(self, address, bytes) as u32
    }
    #[inline(always)]
    fn word(&self, _: usize, address: u64) -> u32 {
        self[(address >> 2) as usize]
    }
    #[inline(always)]
    fn long(&self, _: usize, address: u64) -> u64 {
        lanes::load_words(self, address, 8)
    }
    #[inline(always)]
    fn words(&self, first: u64, row: &mut [u32; LANES]) -> bool {
        let words = self.get((first >> 2) as usize..).and_then(|words| words.first_chunk());
        words.map(|words| *row = *words).is_some()
    }
    #[inline(always)]
    fn longs(&self, first: u64, row: &mut [u64; LANES]) -> bool {
        let words = self.get((first >> 2) as usize..).and_then(|words| words.first_chunk::<{ 2 * LANES }>());
        let Some(words) = words else { return false };
        for (value, pair) in row.iter_mut().zip(words.chunks_exact(2)) {
            *value = u64::from(pair[0]) | u64::from(pair[1]) << 32;
        }
        true
    }
}

/// Shared memory.
impl Sink for &mut [u32] {
    #[inline(always)]
    fn put(&mut self, _: usize, address: u64, bytes: u8, value: u64) {
        lanes::store_words(self, address, bytes, value);
    }
    #[inline(always)]
    fn put_words(&mut self, first: u64, values: &[u32; LANES]) -> bool {
        let room = self.get_mut((first >> 2) as usize..).and_then(|words| words.first_chunk_mut());
        room.map(|room| *room = *values).is_some()
    }
    #[inline(always)]
    fn put_longs(&mut self, first: u64, values: &[u64; LANES]) -> bool {
        let room = self.get_mut((first >> 2) as usize..).and_then(|words| words.first_chunk_mut::<{ 2 * LANES }>());
        let Some(room) = room else { return false };
        for (pair, value) in room.chunks_exact_mut(2).zip(values) {
            pair.copy_from_slice(&[*value as u32, (*value >> 32) as u32]);
        }
        true
    }
}

/// Local memory.
impl Source for &[[u32; LANES]] {
    #[inline(always)]
    fn narrow(&self, lane: usize, address: u64, bytes: u8) -> u32 {
        lanes::load_local(self, lane, address, bytes) as u32
    }
    #[inline(always)]
    fn word(&self, lane: usize, address: u64) -> u32 {
        self[(address >> 2) as usize][lane]
    }
    #[inline(always)]
    fn long(&self, lane: usize, address: u64) -> u64 {
        lanes::load_local(self, lane, address, 8)
    }
    #[inline(always)]
    fn words(&self, _: u64, _: &mut [u32; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn longs(&self, _: u64, _: &mut [u64; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn same_word(&self, address: u64) -> [u32; LANES] {
        self[(address >> 2) as usize]
    }
    #[inline(always)]
    fn same_long(&self, address: u64) -> [u64; LANES] {
        let (low, high) = (&self[(address >> 2) as usize], &self[(address >> 2) as usize + 1]);
        every(|lane| u64::from(low[lane]) | u64::from(high[lane]) << 32)
    }
}

/// Local memory.
impl Sink for &mut [[u32; LANES]] {
    #[inline(always)]
    fn put(&mut self, lane: usize, address: u64, bytes: u8, value: u64) {
        lanes::store_local(self, lane, address, bytes, value);
    }
    #[inline(always)]
    fn put_words(&mut self, _: u64, _: &[u32; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn put_longs(&mut self, _: u64, _: &[u64; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn put_same(&mut self, address: u64, mask: u32, values: &[u32; LANES]) -> bool {
        blend(&mut self[(address >> 2) as usize], mask, values);
        true
    }
}

/// One allocation of device memory, and its address.
pub struct Allocated<'a> {
    storage: &'a Storage,
    base: u64,
}

impl<'a> Allocated<'a> {
    pub fn new(view: &'a View) -> Self {
        Self { storage: &view.storage, base: view.base }
    }
}

impl Source for Allocated<'_> {
    #[inline(always)]
    fn narrow(&self, _: usize, address: u64, bytes: u8) -> u32 {
        self.storage.load(address - self.base, bytes) as u32
    }
    #[inline(always)]
    fn word(&self, _: usize, address: u64) -> u32 {
        self.storage.u32()[((address - self.base) >> 2) as usize].load(Relaxed)
    }
    #[inline(always)]
    fn long(&self, _: usize, address: u64) -> u64 {
        self.storage.u64()[((address - self.base) >> 3) as usize].load(Relaxed)
    }
    #[inline(always)]
    fn words(&self, first: u64, row: &mut [u32; LANES]) -> bool {
        let cells = self.storage.u32().get(((first - self.base) >> 2) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<LANES>()) else { return false };
        for (value, cell) in row.iter_mut().zip(cells) {
            *value = cell.load(Relaxed);
        }
        true
    }
    #[inline(always)]
    fn longs(&self, first: u64, row: &mut [u64; LANES]) -> bool {
        let cells = self.storage.u64().get(((first - self.base) >> 3) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<LANES>()) else { return false };
        for (value, cell) in row.iter_mut().zip(cells) {
            *value = cell.load(Relaxed);
        }
        true
    }
}

impl Sink for Allocated<'_> {
    #[inline(always)]
    fn put(&mut self, _: usize, address: u64, bytes: u8, value: u64) {
        self.storage.store(address - self.base, bytes, value);
    }
    #[inline(always)]
    fn put_words(&mut self, first: u64, values: &[u32; LANES]) -> bool {
        let cells = self.storage.u32().get(((first - self.base) >> 2) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<LANES>()) else { return false };
        for (cell, value) in cells.iter().zip(values) {
            cell.store(*value, Relaxed);
        }
        true
    }
    #[inline(always)]
    fn put_longs(&mut self, first: u64, values: &[u64; LANES]) -> bool {
        let cells = self.storage.u64().get(((first - self.base) >> 3) as usize..);
        let Some(cells) = cells.and_then(|cells| cells.first_chunk::<LANES>()) else { return false };
        for (cell, value) in cells.iter().zip(values) {
            cell.store(*value, Relaxed);
        }
        true
    }
}

/// Device memory when the lanes access several allocations.
impl Source for &Snapshot {
    #[inline(always)]
    fn narrow(&self, _: usize, address: u64, bytes: u8) -> u32 {
        self.at(address).map_or(0, |view| view.storage.load(address - view.base, bytes) as u32)
    }
    #[inline(always)]
    fn word(&self, lane: usize, address: u64) -> u32 {
        self.narrow(lane, address, 4)
    }
    #[inline(always)]
    fn long(&self, _: usize, address: u64) -> u64 {
        self.at(address).map_or(0, |view| view.storage.load(address - view.base, 8))
    }
    #[inline(always)]
    fn words(&self, _: u64, _: &mut [u32; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn longs(&self, _: u64, _: &mut [u64; LANES]) -> bool {
        false
    }
}

impl Sink for &Snapshot {
    #[inline(always)]
    fn put(&mut self, _: usize, address: u64, bytes: u8, value: u64) {
        if let Some(view) = self.at(address) {
            view.storage.store(address - view.base, bytes, value);
        }
    }
    #[inline(always)]
    fn put_words(&mut self, _: u64, _: &[u32; LANES]) -> bool {
        false
    }
    #[inline(always)]
    fn put_longs(&mut self, _: u64, _: &[u64; LANES]) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::level::Level;
    use crate::program::{Address, Order, Scope, Space};

    const BYTES: usize = 8192;
    /// Initial value of registers, kept where no value is loaded.
    const KEPT: u64 = 0x1234_5678_9abc_def0;

    fn access(bytes: u8, count: u32, wide: bool, sign_extend: u8) -> Access {
        let (order, scope, space) = (Order::Weak, Scope::Gpu, Space::Global);
        let (non_coherent, used_bytes) = (false, u64::MAX);
        let address = Address { base: 0, narrow: false, offset: 0 };
        // A 16-byte element takes two rows.
        let registers = (0..count).map(|i| if bytes == 16 { 2 * i } else { i }).collect();
        Access { space, order, scope, bytes, wide, sign_extend, registers, address, non_coherent, used_bytes }
    }

    /// Elements of all sizes, alone and as vectors, for registers of both widths.
    fn accesses() -> Vec<Access> {
        let mut all = Vec::new();
        for count in [1, 2, 4] {
            for bytes in [1, 2, 4] {
                let signs = [0, 16, 32, 64].into_iter().filter(|bits| *bits == 0 || *bits >= 8 * bytes);
                for sign in signs {
                    all.push(access(bytes, count, true, sign));
                    if sign < 64 {
                        all.push(access(bytes, count, false, sign));
                    }
                }
            }
            all.push(access(8, count, true, 0));
        }
        all.extend([access(4, 8, false, 0), access(16, 1, true, 0), access(16, 2, true, 0)]);
        all
    }

    /// Adjacent at every size, equal, with gaps, descending, in two groups.
    const PATTERNS: [fn(u64) -> u64; 9] = [
        |lane| 32 + 4 * lane,
        |lane| 8 * lane,
        |lane| 64 + 16 * lane,
        |lane| 32 * lane,
        |_| 96,
        |lane| 160 * lane,
        |lane| 32 * (31 - lane),
        |lane| lane % 16 * 32 + lane / 16 * 1024,
        |lane| lane,
    ];

    fn on_each(mut test: impl FnMut(Level, &Access, &[u64; LANES], u32)) {
        for level in Level::available() {
            for access in accesses() {
                let size = u64::from(access.bytes) * access.registers.len() as u64;
                for pattern in PATTERNS {
                    let addresses = std::array::from_fn(|lane| pattern(lane as u64) / size * size);
                    for mask in [u32::MAX, 0x0000_ffff, 0x8421_7ff0, 1 << 31] {
                        test(level, &access, &addresses, mask);
                    }
                }
            }
        }
    }

    fn memory() -> Vec<u8> {
        (0..BYTES as u32).map(|i| (i.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
    }

    fn words(memory: &[u8]) -> Vec<u32> {
        memory.chunks_exact(4).map(|word| little(word) as u32).collect()
    }

    fn little(bytes: &[u8]) -> u64 {
        bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
    }

    fn registers(value: impl Fn(usize) -> u64) -> Registers {
        let w64 = (0..8).map(|row| std::array::from_fn(|lane| value(row * LANES + lane))).collect();
        let w32 = (0..8).map(|row| std::array::from_fn(|lane| value(row * LANES + lane) as u32)).collect();
        Registers { w32, w64, ..Registers::default() }
    }

    /// Computes, byte by byte, the register value of element `index` of a load.
    fn loaded(memory: &[u8], access: &Access, address: u64, index: usize) -> u64 {
        let at = address as usize + index * usize::from(access.bytes);
        let bytes = &memory[at..at + usize::from(access.bytes.min(8))];
        let value = little(bytes);
        if access.sign_extend == 0 || bytes[bytes.len() - 1] < 0x80 {
            return value;
        }
        let above = u64::MAX.checked_shl(8 * bytes.len() as u32).unwrap_or(0);
        (value | above) & u64::MAX >> (64 - access.sign_extend)
    }

    #[test]
    fn loads_of_every_shape() {
        let memory = memory();
        let (words, storage) = (words(&memory), Storage::zeroed(BYTES as u64).expect("memory"));
        storage.write(0, &memory);
        on_each(|level, access, addresses, mask| {
            let lanes = Lanes { access, addresses, mask, spread: &Spread::of(addresses, mask) };
            let (mut one, mut other) = (registers(|_| KEPT), registers(|_| KEPT));
            level.perform(&mut Fill { lanes, registers: &mut one, source: words.as_slice() });
            level.perform(&mut Fill { lanes, registers: &mut other, source: Allocated { storage: &storage, base: 0 } });
            assert!(one.w32 == other.w32 && one.w64 == other.w64, "{access:?} {mask:x} {addresses:?}");
            for (index, &slot) in access.registers.iter().enumerate() {
                for (lane, &address) in addresses.iter().enumerate() {
                    let here = mask >> lane & 1 != 0;
                    let expected = if here { loaded(&memory, access, address, index) } else { KEPT };
                    let (narrow, wide) = (one.w32[slot as usize][lane], one.w64[slot as usize][lane]);
                    match access.wide {
                        true => assert_eq!(wide, expected, "{access:?}, lane {lane} of {mask:x}, {addresses:?}"),
                        false => {
                            assert_eq!(narrow, expected as u32, "{access:?}, lane {lane} of {mask:x}, {addresses:?}")
                        }
                    }
                    if access.bytes == 16 && here {
                        let at = address as usize + 16 * index + 8;
                        assert_eq!(one.w64[slot as usize + 1][lane], little(&memory[at..at + 8]));
                    }
                }
            }
        });
    }

    #[test]
    fn stores_of_every_shape() {
        let before = memory();
        let registers = registers(|at| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
        on_each(|level, access, addresses, mask| {
            let lanes = Lanes { access, addresses, mask, spread: &Spread::of(addresses, mask) };
            let mut stored = words(&before);
            level.perform(&mut Drain { lanes, registers: &registers, sink: stored.as_mut_slice() });
            let storage = Storage::zeroed(BYTES as u64).expect("memory");
            storage.write(0, &before);
            level.perform(&mut Drain { lanes, registers: &registers, sink: Allocated { storage: &storage, base: 0 } });
            let mut expected = before.clone();
            for (index, &slot) in access.registers.iter().enumerate() {
                each(mask, |lane| {
                    let (slot, size) = (slot as usize, usize::from(access.bytes));
                    let at = addresses[lane] as usize + index * size;
                    let value = if access.wide { registers.w64[slot][lane] } else { registers.w32[slot][lane].into() };
                    let bytes = value.to_le_bytes();
                    expected[at..at + size.min(8)].copy_from_slice(&bytes[..size.min(8)]);
                    if size == 16 {
                        let upper = registers.w64[slot + 1][lane].to_le_bytes();
                        expected[at + 8..at + 16].copy_from_slice(&upper);
                    }
                });
            }
            assert!(words(&expected) == stored, "shared: {access:?}, lanes {mask:x}, {addresses:?}");
            let mut found = vec![0; BYTES];
            storage.read(0, &mut found);
            assert!(expected == found, "global: {access:?}, lanes {mask:x}, {addresses:?}");
        });
    }

    #[test]
    fn local_memory_is_by_lane() {
        on_each(|level, access, addresses, mask| {
            let lanes = Lanes { access, addresses, mask, spread: &Spread::of(addresses, mask) };
            let stored = registers(|at| (at as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
            let mut rows = vec![[0; LANES]; BYTES / 4];
            level.perform(&mut Drain { lanes, registers: &stored, sink: rows.as_mut_slice() });
            let mut loaded = registers(|_| KEPT);
            level.perform(&mut Fill { lanes, registers: &mut loaded, source: rows.as_slice() });
            let bits = 8 * u32::from(access.bytes.min(8));
            if access.sign_extend != 0 {
                return;
            }
            for &slot in &access.registers {
                for lane in 0..LANES {
                    let of = |registers: &Registers| match access.wide {
                        true => registers.w64[slot as usize][lane],
                        false => registers.w32[slot as usize][lane].into(),
                    };
                    let kept = if access.wide { KEPT } else { KEPT & 0xffff_ffff };
                    let expected = if mask >> lane & 1 != 0 { of(&stored) & u64::MAX >> (64 - bits) } else { kept };
                    assert_eq!(of(&loaded), expected, "{access:?}, lane {lane} of {mask:x}");
                }
            }
        });
    }
}
