//! Sectors: global memory is transferred in aligned pieces of 32 bytes; the cost of an instruction is the number of
//! sectors that its lanes access.

use super::contention::Wanted;
use crate::lanes::Spread;
use crate::registers::LANES;

const SECTOR_BITS: u32 = 5;

/// Returns the number of distinct sectors that the lanes of one instruction access.
#[inline(always)]
pub fn sectors(addresses: &[u64; LANES], mask: u32, bytes: u32, spread: Spread) -> u32 {
    let size = u64::from(bytes.max(1));
    let first = spread.low >> SECTOR_BITS;
    let last = (spread.high + (size - 1)) >> SECTOR_BITS;
    if spread.stride.is_some_and(|stride| stride.unsigned_abs() <= size.max(1 << SECTOR_BITS)) {
        // No gap is as large as a sector, so every sector between the ends is accessed.
        return (last - first + 1) as u32;
    }
    // An access of up to a sector that is aligned to its size lies in one sector.
    let alone = size.is_power_of_two() && size <= 1 << SECTOR_BITS && spread.bits & (size - 1) == 0;
    if first == last {
        return 1;
    }
    if alone && last - first < 64 {
        return marked(addresses, mask, spread.low, SECTOR_BITS).count_ones();
    }
    one_by_one(addresses, mask, size)
}

/// Counts the sectors of arbitrary addresses.
#[inline(never)]
fn one_by_one(addresses: &[u64; LANES], mask: u32, size: u64) -> u32 {
    let span = |address: u64| (address >> SECTOR_BITS, (address + (size - 1)) >> SECTOR_BITS);
    // Addresses usually ascend with the lanes: then a sector is new exactly when it follows the last one.
    let (mut count, mut last, mut ascending) = (0, None, true);
    crate::lanes::each(mask, |lane| {
        let (start, end) = span(addresses[lane]);
        let new = last.map_or(start, |last: u64| start.max(last + 1));
        ascending &= last.is_none_or(|last| start >= last);
        count += (end + 1).saturating_sub(new);
        last = Some(last.map_or(end, |last| last.max(end)));
    });
    if ascending {
        return count as u32;
    }
    let mut seen: Vec<u64> = Vec::with_capacity(2 * LANES);
    crate::lanes::each(mask, |lane| {
        let (start, end) = span(addresses[lane]);
        seen.extend(start..=end);
    });
    seen.sort_unstable();
    seen.dedup();
    seen.len() as u32
}

/// Returns the number of distinct bytes that the lanes of one instruction access.
#[inline(always)]
pub fn different_bytes(addresses: &[u64; LANES], mask: u32, bytes: u32, spread: Spread) -> u64 {
    let (size, lanes) = (u64::from(bytes), u64::from(mask.count_ones()));
    match spread.step.map(i64::unsigned_abs) {
        Some(0) => return size,
        Some(step) if step >= size => return lanes * size,
        _ => {}
    }
    // Aligned elements are equal or apart.
    if size.is_power_of_two() && spread.bits & (size - 1) == 0 {
        let shift = size.trailing_zeros();
        if (spread.high - spread.low) >> shift < 64 {
            return size * u64::from(marked(addresses, mask, spread.low, shift).count_ones());
        }
    }
    let lanes = if mask == u32::MAX { starts_of_runs(addresses) } else { mask };
    different_bytes_of_any(addresses, lanes, size)
}

/// Returns a bit for each of 64 pieces of 1 << `shift` bytes from that of `low` on: whether a lane's address is there.
#[inline(always)]
fn marked(addresses: &[u64; LANES], mask: u32, low: u64, shift: u32) -> u64 {
    let (mut seen, first) = (0, low >> shift);
    for (lane, address) in addresses.iter().enumerate() {
        let bit = 1_u64 << ((address >> shift).wrapping_sub(first) & 63);
        seen |= if mask >> lane & 1 != 0 { bit } else { 0 };
    }
    seen
}

/// Returns the lanes whose address is not that of the lane before: neighbouring lanes often have the same.
#[inline(always)]
fn starts_of_runs(addresses: &[u64; LANES]) -> u32 {
    (1..LANES).fold(1, |starts, lane| starts | u32::from(addresses[lane] != addresses[lane - 1]) << lane)
}

#[inline(never)]
fn different_bytes_of_any(addresses: &[u64; LANES], mask: u32, size: u64) -> u64 {
    let (mut starts, mut count) = ([0; LANES], 0);
    crate::lanes::each(mask, |lane| {
        starts[count] = addresses[lane];
        count += 1;
    });
    let starts = &mut starts[..count];
    if !starts.is_sorted() {
        starts.sort_unstable();
    }
    let (mut different, mut end) = (0, 0);
    for start in starts.iter() {
        different += (start + size).saturating_sub(end.max(*start));
        end = start + size;
    }
    different
}

/// Returns the sectors of a copy that bypasses L1 (`cp.async.cg`): a line of 128 bytes is requested once for each
/// sector of shared memory that receives bytes of it.
pub fn bypassing_sectors(from: &[u64; LANES], to: &[u64; LANES], mask: u32) -> u32 {
    const LINE_BITS: u32 = 7;
    let mut pairs = Vec::with_capacity(LANES);
    crate::lanes::each(mask, |lane| pairs.push((to[lane] >> SECTOR_BITS, from[lane] >> LINE_BITS)));
    pairs.sort_unstable();
    pairs.dedup();
    pairs.len() as u32
}

/// Returns the sectors of an atomic instruction: lanes with the same address are serialised, and each of them accesses
/// its sectors again.
pub fn atomic_sectors(wanted: &Wanted, bytes: u32) -> u32 {
    let size = u64::from(bytes.max(1));
    let sector = |address: u64| (address + size - 1) >> SECTOR_BITS;
    wanted.most_by(sector).each().map(|(_, turns)| turns).sum()
}

/// Returns the sectors of an access to local memory: word `w` of the 32 lanes occupies 128 contiguous bytes, so eight
/// neighbouring lanes share a sector for every word on which they agree.
pub fn local_sectors(addresses: &[u64; LANES], mask: u32, bytes: u32, spread: Spread) -> u32 {
    let words = u64::from(bytes.div_ceil(4).max(1));
    if spread.low == spread.high {
        let groups = (0..4).filter(|group| mask >> (8 * group) & 0xff != 0).count() as u32;
        return groups * words as u32;
    }
    let mut seen: Vec<u64> = Vec::with_capacity(4 * LANES);
    crate::lanes::each(mask, |lane| {
        let first = addresses[lane] >> 2;
        seen.extend((first..first + words).map(|word| word * 4 + lane as u64 / 8));
    });
    seen.sort_unstable();
    seen.dedup();
    seen.len() as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u32, address: impl Fn(u64) -> u64) -> u32 {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let spread = Spread::of(&addresses, u32::MAX);
        let count = sectors(&addresses, u32::MAX, bytes, spread);
        assert_eq!(count, sectors(&addresses, u32::MAX, bytes, Spread { stride: None, ..spread }));
        count
    }

    #[test]
    fn coalesced_and_strided() {
        assert_eq!(of(4, |lane| lane * 4), 4);
        assert_eq!(of(4, |lane| 4 + lane * 4), 5);
        assert_eq!(of(8, |lane| lane * 8), 8);
        assert_eq!(of(16, |lane| lane * 16), 16);
        assert_eq!(of(4, |lane| lane * 32), 32);
        assert_eq!(of(4, |lane| lane * 36), 32);
        assert_eq!(of(16, |lane| lane * 32), 32);
        assert_eq!(of(4, |_| 100), 1);
        assert_eq!(of(4, |lane| (31 - lane) * 4), 4);
        assert_eq!(of(1, |lane| (lane % 2) * 64), 2);
    }

    #[test]
    fn bytes_that_lanes_share_count_once() {
        let of = |bytes, mask, address: fn(u64) -> u64| {
            let addresses = std::array::from_fn(|lane| address(lane as u64));
            different_bytes(&addresses, mask, bytes, Spread::of(&addresses, mask))
        };
        assert_eq!(of(4, u32::MAX, |lane| lane * 4), 128);
        assert_eq!(of(4, 0xff, |lane| lane * 4), 32);
        assert_eq!(of(4, u32::MAX, |_| 64), 4);
        assert_eq!(of(4, u32::MAX, |lane| lane / 16 * 512), 8);
        assert_eq!(of(4, u32::MAX, |lane| lane ^ 5), 35);
        assert_eq!(of(16, u32::MAX, |lane| lane * 4), 140);
        assert_eq!(of(16, u32::MAX, |lane| 124 - lane * 4), 140);
        assert_eq!(of(8, u32::MAX, |lane| lane % 4 * 8), 32);
        assert_eq!(of(1, 1, |lane| lane), 1);
        // Within 64 elements, and beyond: repeated, out of order, and with lanes left out.
        assert_eq!(of(4, u32::MAX, |lane| lane % 16 * 4), 64);
        assert_eq!(of(4, 0xff00_000f, |lane| lane % 16 * 4), 48);
        assert_eq!(of(4, u32::MAX, |lane| lane * 7 % 32 / 2 * 400), 64);
        assert_eq!(of(8, u32::MAX, |lane| ((lane / 4) ^ 1) * 4096), 64);
        assert_eq!(of(4, 0x7fff_ffff, |lane| ((lane / 4) ^ 1) * 4096), 32);
    }

    #[test]
    fn local_words_are_interleaved() {
        let of = |mask: u32, bytes, address: fn(u64) -> u64| {
            let addresses = std::array::from_fn(|lane| address(lane as u64));
            local_sectors(&addresses, mask, bytes, Spread::of(&addresses, mask))
        };
        assert_eq!(of(u32::MAX, 4, |_| 64), 4);
        assert_eq!(of(u32::MAX, 8, |_| 64), 8);
        assert_eq!(of(0xff, 4, |_| 64), 1);
        assert_eq!(of(u32::MAX, 1, |lane| 64 + lane % 4), 4);
        assert_eq!(of(u32::MAX, 4, |lane| lane * 4), 32);
        assert_eq!(of(u32::MAX, 4, |lane| lane % 2 * 64), 8);
    }

    #[test]
    fn atomics_on_one_address_are_serialised() {
        let of = |bytes, address: fn(u64) -> u64| {
            let addresses = std::array::from_fn(|lane| address(lane as u64));
            atomic_sectors(&Wanted::addresses(&addresses, u32::MAX, Spread::of(&addresses, u32::MAX)), bytes)
        };
        assert_eq!(of(4, |lane| lane * 4), 4);
        assert_eq!(of(4, |_| 64), 32);
        assert_eq!(of(4, |lane| lane / 4 * 4), 4);
        assert_eq!(of(4, |lane| lane / 2 * 4), 4);
        assert_eq!(of(8, |lane| lane / 4 * 8), 8);
        assert_eq!(of(4, |lane| lane * 32), 32);
    }
}
