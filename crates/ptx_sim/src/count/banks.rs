//! Bank conflicts: shared memory has 32 banks of 4 bytes, and one pass (wavefront) reads or writes one word of each.
//!
//! - Accesses of up to 4 bytes per lane are served for the whole warp together, 8 bytes by half warps, 16 bytes by
//!   quarter warps.
//! - Lanes that access the same word never conflict, in loads and in stores.
//! - Loads of 8 and 16 bytes serve twice as many lanes together when neighbours access the same address: when lane `n`
//!   and lane `n ^ 1` have equal addresses for every `n`, or lane `n` and lane `n ^ 2` do. Inactive lanes match any
//!   address. This applies neither to stores nor to `ldmatrix`: each 8x8 matrix takes the passes of its own eight rows.
//! - An atomic serves one lane per bank and pass, even if lanes access the same word.
//!
//! These rules were derived from readings of Nsight Compute on an H200: `tests/golden/micro.csv`.

use super::contention::Wanted;
use crate::lanes::Spread;
use crate::observe::{AccessKind, Touch};
use crate::registers::LANES;

/// Whether neighbours with equal addresses may be served together.
#[inline(always)]
pub fn pairs(touch: &Touch<'_>) -> bool {
    touch.kind == AccessKind::Load && !touch.matrix_rows
}

/// Returns the passes over the banks of a load or store, and the passes without conflicts; see [`pairs`].
#[inline(always)]
pub fn wavefronts(addresses: &[u64; LANES], mask: u32, bytes: u32, spread: Spread, pairs: bool) -> (u32, u32) {
    if let (4, Some(stride)) = (bytes, spread.stride) {
        // A stride of w words hits 32 / gcd(w, 32) banks, each with the same number of distinct words.
        let words = stride.unsigned_abs() / 4;
        let passes = if words == 0 { 1 } else { 1 << words.trailing_zeros().min(5) };
        return (passes, 1);
    }
    // All words are in one row of the banks, so no conflict is possible.
    if bytes <= 4 && spread.low >> 7 == spread.high >> 7 {
        return (1, 1);
    }
    grouped(addresses, mask, bytes, pairs)
}

fn grouped(addresses: &[u64; LANES], mask: u32, bytes: u32, pairs: bool) -> (u32, u32) {
    let group = match bytes {
        0..=4 => 32,
        8 if pairs && neighbours_agree(addresses, mask) => 32,
        8 => 16,
        16 if pairs && neighbours_agree(addresses, mask) => 16,
        _ => 8,
    };
    let words = (bytes / 4).max(1);
    let (mut passes, mut ideal) = (0, 0);
    for start in (0..LANES as u32).step_by(group as usize) {
        let lanes = mask & (u32::MAX >> (32 - group)) << start;
        if lanes != 0 {
            ideal += 1;
            passes += if one_row(addresses, lanes, words) { 1 } else { distinct_words(addresses, lanes, words) };
        }
    }
    (passes, ideal)
}

/// Whether lane `n` and lane `n ^ 1` have equal addresses for every `n`, or lane `n` and lane `n ^ 2`.
fn neighbours_agree(addresses: &[u64; LANES], mask: u32) -> bool {
    let apart = |distance: usize| {
        let differ = |lane: usize| addresses[lane] != addresses[lane ^ distance];
        (0..LANES).fold(0_u32, |lanes, lane| lanes | u32::from(differ(lane)) << lane)
    };
    let both = |distance: u32| match distance {
        1 => mask & ((mask >> 1 & 0x5555_5555) | (mask & 0x5555_5555) << 1),
        _ => mask & ((mask >> 2 & 0x3333_3333) | (mask & 0x3333_3333) << 2),
    };
    apart(1) & both(1) == 0 || apart(2) & both(2) == 0
}

/// Returns the passes over the banks of an atomic instruction: lanes that access the same word cannot share a pass.
pub fn atomic_wavefronts(wanted: &Wanted, bytes: u32) -> u32 {
    let mut passes = [0_u32; 32];
    let words = u64::from((bytes / 4).max(1));
    for (address, lanes) in wanted.each() {
        (0..words).for_each(|word| passes[((address >> 2) + word) as usize & 31] += lanes);
    }
    passes.into_iter().max().unwrap_or(0)
}

/// Returns the largest number of distinct words in one bank, for accesses of 4 bytes.
pub fn different_words(wanted: &Wanted) -> u32 {
    let mut passes = [0_u32; 32];
    wanted.each().for_each(|(address, _)| passes[(address >> 2) as usize & 31] += 1);
    passes.into_iter().max().unwrap_or(0)
}

/// Whether all words are in one aligned row of the 32 banks, so that no conflict is possible.
#[inline(always)]
fn one_row(addresses: &[u64; LANES], lanes: u32, words: u32) -> bool {
    let row = |lane: usize| addresses[lane] >> 7;
    let first = row(lanes.trailing_zeros() as usize);
    let mut off = 0;
    for lane in 0..LANES {
        off |= if lanes >> lane & 1 != 0 { row(lane) ^ first } else { 0 };
    }
    words <= 32 && off == 0
}

/// Returns the largest number of distinct words in one bank.
#[inline(never)]
fn distinct_words(addresses: &[u64; LANES], lanes: u32, words: u32) -> u32 {
    // For each bank, the first word and the number of words; further words of all banks are in a list, which is usually
    // short. A group of lanes accesses at most two rows of the banks.
    let mut first = [u64::MAX; 32];
    let mut count = [0_u32; 32];
    let (mut more, mut len) = ([0; 2 * LANES], 0);
    crate::lanes::each(lanes, |lane| {
        for word in 0..u64::from(words) {
            let word = (addresses[lane] >> 2) + word;
            let bank = (word & 31) as usize;
            if first[bank] == word {
                continue;
            }
            if first[bank] == u64::MAX {
                first[bank] = word;
                count[bank] = 1;
            } else if !more[..len].contains(&word) && len < more.len() {
                more[len] = word;
                len += 1;
                count[bank] += 1;
            }
        }
    });
    count.into_iter().max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(bytes: u32, address: impl Fn(u64) -> u64) -> (u32, u32) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let spread = Spread::of(&addresses, u32::MAX);
        let result = wavefronts(&addresses, u32::MAX, bytes, spread, true);
        assert_eq!(result, wavefronts(&addresses, u32::MAX, bytes, Spread { stride: None, ..spread }, true));
        result
    }

    #[test]
    fn strides() {
        assert_eq!(of(4, |lane| lane * 4), (1, 1));
        assert_eq!(of(4, |lane| lane * 8), (2, 1));
        assert_eq!(of(4, |lane| lane * 128), (32, 1));
        assert_eq!(of(4, |lane| lane * 132), (1, 1));
        assert_eq!(of(4, |lane| lane * 24), (2, 1));
        assert_eq!(of(4, |lane| (31 - lane) * 48), (4, 1));
        assert_eq!(of(4, |_| 64), (1, 1));
        assert_eq!(of(1, |lane| lane), (1, 1));
    }

    #[test]
    fn wide_accesses_are_served_in_groups() {
        assert_eq!(of(8, |lane| lane * 8), (2, 2));
        assert_eq!(of(8, |_| 64), (1, 1));
        assert_eq!(of(8, |lane| lane / 2 * 8), (1, 1));
        assert_eq!(of(8, |lane| (lane & 1 | lane >> 2 << 1) * 128), (16, 1));
        assert_eq!(of(16, |_| 64), (2, 2));
        assert_eq!(of(16, |lane| lane * 16), (4, 4));
        assert_eq!(of(16, |lane| lane * 128), (32, 4));
        let addresses = std::array::from_fn(|lane| lane as u64 * 16);
        let spread = Spread::of(&addresses, 0xff);
        assert_eq!(wavefronts(&addresses, 0xff, 16, spread, true), (1, 1));
    }

    #[test]
    fn stores_have_no_pairs_and_atomics_no_shared_words() {
        let addresses = [64; LANES];
        let spread = Spread::of(&addresses, u32::MAX);
        assert_eq!(wavefronts(&addresses, u32::MAX, 16, spread, false), (4, 4));
        assert_eq!(wavefronts(&addresses, u32::MAX, 4, spread, false), (1, 1));
        let wanted = Wanted::addresses(&addresses, u32::MAX, spread);
        assert_eq!((atomic_wavefronts(&wanted, 4), different_words(&wanted)), (32, 1));
        let unit = std::array::from_fn(|lane| lane as u64 * 4);
        let wanted = Wanted::addresses(&unit, u32::MAX, Spread::of(&unit, u32::MAX));
        assert_eq!((atomic_wavefronts(&wanted, 4), different_words(&wanted)), (1, 1));
        let columns = std::array::from_fn(|lane| lane as u64 / 2 * 128);
        let wanted = Wanted::addresses(&columns, u32::MAX, Spread::of(&columns, u32::MAX));
        assert_eq!((atomic_wavefronts(&wanted, 4), different_words(&wanted)), (32, 16));
    }
}
