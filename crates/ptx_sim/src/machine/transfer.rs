//! Values between registers and memory, once an access has been checked.

use super::grid::Worker;
use super::lanes::{Spread, each};
use crate::observe::Observer;
use crate::program::Access;
use crate::registers::{LANES, NO_SLOT, Registers};
use std::sync::atomic::Ordering::Relaxed;

impl<O: Observer> Worker<'_, O> {
    /// From device memory.
    #[inline(always)]
    pub fn load_global(
        &mut self,
        registers: &mut Registers,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        spread: Spread,
    ) {
        let bytes = u64::from(access.bytes) * access.registers.len() as u64;
        let Some(view) = self.snapshot.find(spread.low).filter(|view| view.holds(spread.high, bytes)) else {
            // Lanes in several allocations.
            let snapshot = &mut self.snapshot;
            fill(registers, access, mask, |lane, extra, bytes| {
                let view = snapshot.find(addresses[lane]);
                view.map_or(0, |view| view.storage.load(addresses[lane] - view.base + extra, bytes))
            });
            return;
        };
        let plain = access.bytes == 4 && !access.wide && access.sign_extend == 0;
        let ([slot], true) = (access.registers.as_slice(), plain) else {
            let (storage, base) = (&view.storage, view.base);
            fill(registers, access, mask, |lane, extra, bytes| storage.load(addresses[lane] - base + extra, bytes));
            return;
        };
        if *slot == NO_SLOT {
            return;
        }
        let (cells, row) = (view.storage.u32(), &mut registers.w32[*slot as usize]);
        let first = ((spread.low - view.base) >> 2) as usize;
        match (spread.stride, cells.get(first..first + LANES)) {
            (Some(0), _) => *row = [cells[first].load(Relaxed); LANES],
            (Some(4), Some(cells)) => {
                for (value, cell) in row.iter_mut().zip(cells) {
                    *value = cell.load(Relaxed);
                }
            }
            _ => each(mask, |lane| row[lane] = cells[((addresses[lane] - view.base) >> 2) as usize].load(Relaxed)),
        }
    }

    /// To device memory.
    #[inline(always)]
    pub fn store_global(
        &mut self,
        registers: &Registers,
        access: &Access,
        addresses: &[u64; LANES],
        mask: u32,
        spread: Spread,
    ) {
        let bytes = u64::from(access.bytes) * access.registers.len() as u64;
        match self.snapshot.find(spread.low).filter(|view| view.holds(spread.high, bytes)) {
            Some(view) => {
                let (storage, base) = (&view.storage, view.base);
                drain(registers, access, mask, |lane, extra, bytes, value| {
                    storage.store(addresses[lane] - base + extra, bytes, value);
                });
            }
            None => {
                let snapshot = &mut self.snapshot;
                drain(registers, access, mask, |lane, extra, bytes, value| {
                    if let Some(view) = snapshot.find(addresses[lane]) {
                        view.storage.store(addresses[lane] - view.base + extra, bytes, value);
                    }
                });
            }
        }
    }
}

/// Writes what `read(lane, byte offset in the access, bytes)` gives into the destinations of a load.
#[inline(always)]
pub fn fill(registers: &mut Registers, access: &Access, mask: u32, mut read: impl FnMut(usize, u64, u8) -> u64) {
    let bytes = access.bytes;
    for (index, &slot) in access.registers.iter().enumerate() {
        let (extra, slot) = (index as u64 * u64::from(bytes), slot as usize);
        if slot == NO_SLOT as usize {
            continue;
        }
        if bytes == 16 {
            each(mask, |lane| registers.w64[slot][lane] = read(lane, extra, 8));
            each(mask, |lane| registers.w64[slot + 1][lane] = read(lane, extra + 8, 8));
        } else if access.wide {
            let row = &mut registers.w64[slot];
            match access.sign_extend {
                0 => each(mask, |lane| row[lane] = read(lane, extra, bytes)),
                to => each(mask, |lane| row[lane] = extend(read(lane, extra, bytes), bytes, to)),
            }
        } else {
            let row = &mut registers.w32[slot];
            match access.sign_extend {
                0 => each(mask, |lane| row[lane] = read(lane, extra, bytes) as u32),
                to => each(mask, |lane| row[lane] = extend(read(lane, extra, bytes), bytes, to) as u32),
            }
        }
    }
}

/// Gives the sources of a store to `write(lane, byte offset in the access, bytes, value)`.
#[inline(always)]
pub fn drain(registers: &Registers, access: &Access, mask: u32, mut write: impl FnMut(usize, u64, u8, u64)) {
    let bytes = access.bytes;
    for (index, &slot) in access.registers.iter().enumerate() {
        let (extra, slot) = (index as u64 * u64::from(bytes), slot as usize);
        if slot == NO_SLOT as usize {
            continue;
        }
        if bytes == 16 {
            each(mask, |lane| write(lane, extra, 8, registers.w64[slot][lane]));
            each(mask, |lane| write(lane, extra + 8, 8, registers.w64[slot + 1][lane]));
        } else if access.wide {
            let row = &registers.w64[slot];
            each(mask, |lane| write(lane, extra, bytes, row[lane]));
        } else {
            let row = &registers.w32[slot];
            each(mask, |lane| write(lane, extra, bytes, u64::from(row[lane])));
        }
    }
}

/// Sign-extends the low `bytes` to `bits`, and clears what is above.
fn extend(value: u64, bytes: u8, bits: u8) -> u64 {
    let unused = 64 - u32::from(bytes) * 8;
    let extended = ((value << unused) as i64 >> unused) as u64;
    if bits >= 64 { extended } else { extended & ((1 << bits) - 1) }
}

/// The 32-bit words that a store writes; narrower elements are packed as they will lie in memory. Gives their number.
pub fn words_of(registers: &Registers, access: &Access, mask: u32, words: &mut [[u32; LANES]; 8]) -> usize {
    let mut end = 0;
    drain(registers, access, mask, |lane, extra, bytes, value| {
        let at = (extra >> 2) as usize & 7;
        words[at][lane] |= (value << ((extra & 3) * 8)) as u32;
        end = end.max(at + 1);
        if bytes == 8 {
            words[(at + 1) & 7][lane] = (value >> 32) as u32;
            end = end.max(at + 2);
        }
    });
    end.min(8)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sign_extension_keeps_the_bits_asked_for() {
        assert_eq!(extend(0x80, 1, 16), 0xff80);
        assert_eq!(extend(0x80, 1, 32), 0xffff_ff80);
        assert_eq!(extend(0x8000_0000, 4, 64), 0xffff_ffff_8000_0000);
        assert_eq!(extend(0x7f, 1, 64), 0x7f);
    }
}
