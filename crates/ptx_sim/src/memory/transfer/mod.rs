//! Transfer of values between registers and memory, after an access has been checked.
//!
//! Compiled once per level of the host's vector instructions, not per set of observers: see [`Task`]. Accesses of whole
//! warps to adjacent addresses, or to one address, are transferred as rows; all others lane by lane.
//!
//! The memories: `device`, `local` and `words` (shared memory and kernel parameters).

mod device;
mod local;
#[cfg(test)]
mod tests;
mod words;

pub use device::Allocated;

use crate::isa::lift::blend;
use crate::lanes::{Spread, each};
use crate::level::{Host, Task};
use crate::program::Access;
use crate::registers::{LANES, NO_SLOT, Registers};

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
    /// Whether all lanes find the same at an address.
    const COMMON: bool = true;
    /// Reads 1, 2 or 4 bytes, zero-extended.
    fn narrow(&self, lane: usize, address: u64, bytes: u8) -> u32;
    /// Reads 4 bytes.
    fn word(&self, lane: usize, address: u64) -> u32;
    /// Reads 8 bytes.
    fn long(&self, lane: usize, address: u64) -> u64;
    /// Reads adjacent 4-byte words for a whole warp, or a part of it; returns false if that is not possible at once.
    fn words<const N: usize>(&self, first: u64, row: &mut [u32; N]) -> bool;
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
    } else if !(spread.stride == Some(4) && source.words(spread.low + extra, row)
        || spread.halves.is_some_and(|stride| half_warps(row, lanes, source, extra, stride)))
    {
        each(mask, |lane| row[lane] = source.word(lane, addresses[lane] + extra));
    }
}

/// Reads words for two half warps, each of one address or of adjacent words: rows of a block that is 16 threads wide.
/// Returns false if that is not possible at once.
#[inline(always)]
fn half_warps<S: Source>(row: &mut [u32; LANES], lanes: &Lanes<'_>, source: &S, extra: u64, stride: i64) -> bool {
    let starts = [lanes.addresses[0] + extra, lanes.addresses[LANES / 2] + extra];
    let (halves, _) = row.as_chunks_mut::<{ LANES / 2 }>();
    let mut parts = halves.iter_mut().zip(starts);
    match stride {
        0 if S::COMMON => parts.for_each(|(half, start)| *half = [source.word(0, start); LANES / 2]),
        4 => return parts.all(|(half, start)| source.words(start, half)),
        _ => return false,
    }
    true
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
