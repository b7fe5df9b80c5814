//! Loops over the lanes of a mask, and little-endian access to arrays of 32-bit words.

use crate::registers::LANES;

/// Calls `each` for every lane of `mask`, in order. The whole-warp case is a plain loop that the compiler unrolls.
#[inline(always)]
pub fn each(mask: u32, mut each: impl FnMut(usize)) {
    if mask == u32::MAX {
        for lane in 0..LANES {
            each(lane);
        }
    } else {
        let mut rest = mask;
        while rest != 0 {
            each(rest.trailing_zeros() as usize);
            rest &= rest - 1;
        }
    }
}

/// Returns the lanes of `mask` for which `holds` returns true.
#[inline(always)]
pub fn select(mask: u32, mut holds: impl FnMut(usize) -> bool) -> u32 {
    let mut selected = 0;
    each(mask, |lane| selected |= u32::from(holds(lane)) << lane);
    selected
}

/// Returns the first lane of a mask.
#[inline(always)]
pub fn first(mask: u32) -> usize {
    (mask.trailing_zeros() as usize).min(LANES - 1)
}

/// Iterates over the lanes of a mask, in order.
pub fn lanes_of(mask: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| mask >> lane & 1 != 0)
}

/// Range and pattern of the addresses of one instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spread {
    /// Smallest address.
    pub low: u64,
    /// Largest address.
    pub high: u64,
    /// Contains every bit that is set in any address, and possibly others: a bit that is clear here is clear in all.
    pub bits: u64,
    /// Difference between the addresses of consecutive lanes, if it is constant; computed only when the whole warp is
    /// active.
    pub stride: Option<i64>,
    /// The same difference for any mask: addresses of inactive lanes must be regular too.
    pub step: Option<i64>,
    /// If `stride` is `None` and the whole warp is active: the difference between the addresses of consecutive lanes of
    /// the lower half and of the upper half of the warp, if it is constant and the same in both.
    pub halves: Option<i64>,
}

/// Larger strides are treated as irregular, so that sums of strides cannot overflow.
const MAX_STRIDE: i64 = 1 << 32;

impl Spread {
    /// Computes the spread for the lanes of a non-empty mask.
    #[inline(always)]
    pub fn of(addresses: &[u64; LANES], mask: u32) -> Self {
        let (start, stride) = (addresses[0], addresses[1].wrapping_sub(addresses[0]));
        // The first four lanes are compared one by one, the others four at a time with the four before, by additions
        // only: 64-bit vectors have no fast multiplication, and a load that overlaps two recent stores has to wait for
        // them.
        let mut odd = addresses[2].wrapping_sub(addresses[1]) ^ stride;
        odd |= addresses[3].wrapping_sub(addresses[2]) ^ stride;
        let (fours, _) = addresses.as_chunks::<4>();
        let (mut expected, mut off, mut apart) = (fours[0], [0; 4], [0; 4]);
        // Written out, because the compiler interchanges a loop over the groups of four, which takes four times the
        // instructions.
        macro_rules! compare {
            ($off:ident: $($at:literal)*) => {$(
                for lane in 0..4 {
                    expected[lane] = expected[lane].wrapping_add(stride << 2);
                    $off[lane] |= fours[$at][lane] ^ expected[lane];
                }
            )*};
        }
        compare!(off: 1 2 3);
        compare!(apart: 4);
        expected = fours[4];
        compare!(off: 5 6 7);
        // Without the black box, the compiler would generate 32 comparisons and branches.
        let in_halves = std::hint::black_box(off).into_iter().fold(odd, |all, part| all | part);
        let off = std::hint::black_box(apart).into_iter().fold(in_halves, |all, part| all | part);
        let stride = stride as i64;
        let ends = (start, addresses[LANES - 1]);
        let in_order = if stride >= 0 { ends } else { (ends.1, ends.0) };
        if off == 0 && (-MAX_STRIDE..=MAX_STRIDE).contains(&stride) && in_order.0 <= in_order.1 && mask != 0 {
            // The smallest and largest addresses are those of the first and the last active lane.
            let ends = (addresses[first(mask)], addresses[31 - mask.leading_zeros() as usize]);
            let (low, high) = if stride >= 0 { ends } else { (ends.1, ends.0) };
            // A bit that is clear in the first address and in the stride is clear in all addresses.
            let bits = if low == high { low } else { u64::MAX << (low | stride as u64).trailing_zeros() };
            return Self {
                low,
                high,
                bits,
                stride: (mask == u32::MAX).then_some(stride),
                step: Some(stride),
                halves: None,
            };
        }
        if in_halves == 0
            && mask == u32::MAX
            && let Some(spread) = Self::of_halves(addresses, stride)
        {
            return spread;
        }
        let (mut low, mut high, mut bits) = (u64::MAX, 0, 0);
        for (lane, &address) in addresses.iter().enumerate() {
            let here = mask >> lane & 1 != 0;
            low = low.min(if here { address } else { u64::MAX });
            high = high.max(if here { address } else { 0 });
            bits |= if here { address } else { 0 };
        }
        Self { low, high, bits, stride: None, step: None, halves: None }
    }

    /// Returns the spread of two half warps with the same stride; `None` if they are not that. All groups of four lanes
    /// but the first of the upper half are known to be.
    #[inline(always)]
    fn of_halves(addresses: &[u64; LANES], stride: i64) -> Option<Self> {
        const UPPER: usize = LANES / 2;
        let regular = |lane: usize| addresses[lane].wrapping_sub(addresses[lane - 1]) as i64 == stride;
        let ends = |first: usize, last: usize| {
            let [a, b] = [addresses[first], addresses[last]];
            if stride >= 0 { (a, b) } else { (b, a) }
        };
        let (lower, upper) = (ends(0, UPPER - 1), ends(UPPER, LANES - 1));
        let fits = (-MAX_STRIDE..=MAX_STRIDE).contains(&stride) && lower.0 <= lower.1 && upper.0 <= upper.1;
        if !fits || !(UPPER + 1..UPPER + 4).all(regular) {
            return None;
        }
        // As above, with the first addresses of both halves.
        let bits = u64::MAX << (lower.0 | upper.0 | stride as u64).trailing_zeros().min(63);
        let (low, high) = (lower.0.min(upper.0), lower.1.max(upper.1));
        Some(Self { low, high, bits, stride: None, step: None, halves: Some(stride) })
    }
}

/// Formats lanes: `lane 3`, `lanes 0-15, 17`.
pub fn describe(mask: u32) -> String {
    let mut parts = Vec::new();
    let mut lane = 0;
    while lane < LANES as u32 {
        if mask >> lane & 1 == 0 {
            lane += 1;
            continue;
        }
        let run = (mask >> lane).trailing_ones();
        parts.push(if run == 1 { lane.to_string() } else { format!("{lane}-{}", lane + run - 1) });
        lane += run;
    }
    let plural = if mask.count_ones() == 1 { "" } else { "s" };
    format!("lane{plural} {}", parts.join(", "))
}

/// Reads 1, 2, 4 or 8 bytes at an aligned offset in range.
#[inline(always)]
pub fn load_words(words: &[u32], offset: u64, bytes: u8) -> u64 {
    let at = (offset >> 2) as usize;
    match bytes {
        8 => u64::from(words[at]) | u64::from(words[at + 1]) << 32,
        4 => u64::from(words[at]),
        _ => u64::from(words[at] >> ((offset & 3) * 8)) & low_bytes(bytes),
    }
}

/// Writes 1, 2, 4 or 8 bytes at an aligned offset in range.
#[inline(always)]
pub fn store_words(words: &mut [u32], offset: u64, bytes: u8, value: u64) {
    let at = (offset >> 2) as usize;
    match bytes {
        8 => {
            words[at] = value as u32;
            words[at + 1] = (value >> 32) as u32;
        }
        4 => words[at] = value as u32,
        _ => words[at] = merged(words[at], offset, bytes, value),
    }
}

/// Reads a lane's bytes of local memory.
#[inline(always)]
pub fn load_local(rows: &[[u32; LANES]], lane: usize, offset: u64, bytes: u8) -> u64 {
    let at = (offset >> 2) as usize;
    match bytes {
        8 => u64::from(rows[at][lane]) | u64::from(rows[at + 1][lane]) << 32,
        4 => u64::from(rows[at][lane]),
        _ => u64::from(rows[at][lane] >> ((offset & 3) * 8)) & low_bytes(bytes),
    }
}

/// Writes a lane's bytes of local memory.
#[inline(always)]
pub fn store_local(rows: &mut [[u32; LANES]], lane: usize, offset: u64, bytes: u8, value: u64) {
    let at = (offset >> 2) as usize;
    match bytes {
        8 => {
            rows[at][lane] = value as u32;
            rows[at + 1][lane] = (value >> 32) as u32;
        }
        4 => rows[at][lane] = value as u32,
        _ => rows[at][lane] = merged(rows[at][lane], offset, bytes, value),
    }
}

fn low_bytes(bytes: u8) -> u64 {
    if bytes == 1 { 0xff } else { 0xffff }
}

fn merged(old: u32, offset: u64, bytes: u8, value: u64) -> u32 {
    let shift = (offset & 3) * 8;
    let mask = (low_bytes(bytes) as u32) << shift;
    old & !mask | (value as u32) << shift & mask
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words() {
        let mut words = vec![0; 4];
        store_words(&mut words, 8, 8, 0x1122_3344_5566_7788);
        assert_eq!(load_words(&words, 8, 8), 0x1122_3344_5566_7788);
        assert_eq!(load_words(&words, 9, 1), 0x77);
        store_words(&mut words, 10, 2, 0xaaaa);
        assert_eq!(load_words(&words, 8, 4), 0xaaaa_7788);
        let mut rows = vec![[0; LANES]; 2];
        store_local(&mut rows, 3, 5, 1, 0xee);
        assert_eq!(load_local(&rows, 3, 0, 8), 0xee00_0000_0000);
        assert_eq!(load_local(&rows, 2, 0, 8), 0);
    }

    #[test]
    fn spreads() {
        let rising = std::array::from_fn(|lane| 100 + lane as u64 * 4);
        assert_eq!(
            Spread::of(&rising, u32::MAX),
            Spread { low: 100, high: 224, bits: u64::MAX << 2, stride: Some(4), step: Some(4), halves: None }
        );
        let falling = std::array::from_fn(|lane| 224 - lane as u64 * 4);
        assert_eq!(Spread::of(&falling, u32::MAX).stride, Some(-4));
        assert_eq!((Spread::of(&falling, u32::MAX).low, Spread::of(&falling, u32::MAX).high), (100, 224));
        assert_eq!(
            Spread::of(&rising, 0b110),
            Spread { low: 104, high: 108, bits: u64::MAX << 2, stride: None, step: Some(4), halves: None }
        );
        let odd = std::array::from_fn(|lane| 64 - lane as u64);
        assert_eq!(
            Spread::of(&odd, 0x8000_0010),
            Spread { low: 33, high: 60, bits: u64::MAX, stride: None, step: Some(-1), halves: None }
        );
        assert_eq!(
            Spread::of(&rising, 1 << 9),
            Spread { low: 136, high: 136, bits: 136, stride: None, step: Some(4), halves: None }
        );
        let wrapping = std::array::from_fn(|lane| (lane as u64).wrapping_mul(4).wrapping_sub(8));
        assert_eq!(Spread::of(&wrapping, u32::MAX).high, 0xffff_ffff_ffff_fffc);
        assert_eq!(Spread::of(&wrapping, u32::MAX).low, 0);
    }

    #[test]
    fn one_odd_lane_is_noticed() {
        let rising: [u64; LANES] = std::array::from_fn(|lane| 1000 + lane as u64 * 8);
        for lane in 0..LANES {
            for change in [1, 8, u64::MAX, 1 << 40] {
                let mut addresses = rising;
                addresses[lane] = addresses[lane].wrapping_add(change);
                let spread = Spread::of(&addresses, u32::MAX);
                assert_eq!((spread.stride, spread.step, spread.halves), (None, None, None), "lane {lane}, {change:#x}");
                let ends = (addresses.iter().min().copied(), addresses.iter().max().copied());
                assert_eq!((Some(spread.low), Some(spread.high)), ends);
                assert!(addresses.iter().all(|address| address & !spread.bits == 0));
            }
        }
        assert_eq!(Spread::of(&rising, 0xf0).step, Some(8));
    }

    #[test]
    fn half_warps_are_recognised() {
        for (stride, apart) in [(0_i64, 4096_i64), (4, 1024), (8, -640), (-4, 100), (4, 60)] {
            let at = |lane: usize| 10_000 + stride * (lane as i64 % 16) + apart * (lane as i64 / 16);
            let regular: [u64; LANES] = std::array::from_fn(|lane| at(lane) as u64);
            let spread = Spread::of(&regular, u32::MAX);
            let ends = (regular.iter().min().copied(), regular.iter().max().copied());
            assert_eq!((spread.stride, spread.step, spread.halves), (None, None, Some(stride)));
            assert_eq!((Some(spread.low), Some(spread.high)), ends);
            assert!(regular.iter().all(|address| address & !spread.bits == 0), "{:#x}", spread.bits);
            assert_eq!(Spread::of(&regular, u32::MAX >> 1).halves, None);
            for lane in 0..LANES {
                let mut addresses = regular;
                addresses[lane] += 16;
                assert_eq!(Spread::of(&addresses, u32::MAX).halves, None, "lane {lane}");
            }
        }
    }

    #[test]
    fn lanes_in_words() {
        assert_eq!(describe(0b1000), "lane 3");
        assert_eq!(describe(0x0002_ffff), "lanes 0-15, 17");
    }
}
