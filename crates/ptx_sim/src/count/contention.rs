//! Contention: lanes of one atomic instruction that want the same address take turns.

use crate::machine::lanes::Spread;
use crate::registers::LANES;

/// Different addresses, and the most lanes at one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Contention {
    /// Different addresses.
    pub addresses: u32,
    /// Most lanes that want the same one.
    pub most: u32,
}

/// Of the lanes of one atomic instruction; `each` is told the number of lanes of every address.
pub fn contention(addresses: &[u64; LANES], mask: u32, spread: Spread, mut each: impl FnMut(u32)) -> Contention {
    let lanes = mask.count_ones();
    if lanes == 0 || spread.low == spread.high {
        (lanes > 0).then(|| each(lanes));
        return Contention { addresses: u32::from(lanes > 0), most: lanes };
    }
    if spread.stride.is_some() {
        (0..lanes).for_each(|_| each(1));
        return Contention { addresses: lanes, most: 1 };
    }
    let mut sorted = [0; LANES];
    let mut count = 0;
    crate::machine::lanes::each(mask, |lane| {
        sorted[count] = addresses[lane];
        count += 1;
    });
    let sorted = &mut sorted[..count];
    sorted.sort_unstable();
    let mut found = Contention { addresses: 0, most: 0 };
    for run in sorted.chunk_by(|a, b| a == b) {
        each(run.len() as u32);
        found.addresses += 1;
        found.most = found.most.max(run.len() as u32);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(mask: u32, address: impl Fn(u64) -> u64) -> (Contention, Vec<u32>) {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let mut runs = Vec::new();
        let found = contention(&addresses, mask, Spread::of(&addresses, mask), |lanes| runs.push(lanes));
        assert_eq!(runs.iter().sum::<u32>(), mask.count_ones());
        (found, runs)
    }

    #[test]
    fn lanes_are_counted_by_address() {
        assert_eq!(of(u32::MAX, |_| 64).0, Contention { addresses: 1, most: 32 });
        assert_eq!(of(u32::MAX, |lane| lane * 4).0, Contention { addresses: 32, most: 1 });
        assert_eq!(of(u32::MAX, |lane| lane / 4 * 4).0, Contention { addresses: 8, most: 4 });
        assert_eq!(of(0b111, |lane| lane % 2 * 4), (Contention { addresses: 2, most: 2 }, vec![2, 1]));
        assert_eq!(of(1 << 7, |_| 64).0, Contention { addresses: 1, most: 1 });
    }
}
