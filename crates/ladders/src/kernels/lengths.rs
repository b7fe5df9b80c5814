//! Generated segments and runs: lengths that are equal, uniform, or as uneven as those of words, files and neighbour
//! lists of graphs.

use super::settings::{Choice, Number};
use super::{Demand, Setting};
use crate::input::generate::split_mix;

pub(super) const LENGTH: Setting<Number> = Setting {
    name: "length",
    help: "Mean length of the generated segments or runs",
    generated: true,
    kind: Number { default: 128, min: 1, max: 1 << 40 },
};

pub(super) const MIX: Setting<Choice> = Setting {
    name: "mix",
    help: "Lengths of the generated segments or runs: all equal; from 0 to twice the mean; many short, few long",
    generated: true,
    kind: Choice(&["equal", "uniform", "power"]),
};

/// Offsets of segments of `n` elements, as the settings ask for.
pub(super) fn asked(demand: &Demand<'_>, n: usize) -> Vec<u64> {
    let (mean, mix) = (demand.settings.number(&LENGTH), demand.settings.choice(&MIX));
    offsets(n as u64, mean, mix, demand.seed.wrapping_add(1))
}

/// Offsets of segments that cover `n` elements: the first is 0, the last `n`. For every mix the mean length is
///
/// - `equal`: every length is `mean`.
/// - `uniform`: any length from 0 to twice the mean.
/// - `power`: each doubling of the length halves its probability, up to twenty doublings: a uniform length around a few
///   elements, times 2 to the power of the number of heads before the first tail of a coin.
fn offsets(n: u64, mean: u64, mix: &str, seed: u64) -> Vec<u64> {
    /// Largest number of doublings.
    const DOUBLINGS: u32 = 20;
    const GROWTH: u64 = DOUBLINGS as u64 / 2 + 1;

    let length = |k: u64| {
        let random = split_mix(seed, k);
        let up_to = |most: u64| (random & u64::from(u32::MAX)) % (most + 1);
        match mix {
            "uniform" => up_to(2 * mean),
            "power" => up_to(2 * (mean / GROWTH).max(1)) << ((random >> 32) as u32).trailing_zeros().min(DOUBLINGS),
            _ => mean,
        }
    };
    let mut offsets = vec![0];
    let mut end = 0;
    while end < n {
        end = length(offsets.len() as u64 - 1).saturating_add(end).min(n);
        offsets.push(end);
    }
    offsets
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_cover_everything_and_are_as_long_as_asked() {
        for mix in ["equal", "uniform", "power"] {
            for (n, mean) in [(0, 5), (1, 1), (1000, 3), (1 << 20, 128)] {
                let offsets = offsets(n, mean, mix, 7);
                assert_eq!((offsets[0], offsets[offsets.len() - 1]), (0, n), "{mix}");
                assert!(offsets.windows(2).all(|pair| pair[0] <= pair[1]));
                let segments = offsets.len() as u64 - 1;
                assert!(n < 1 << 20 || (n / mean / 2..n / mean * 2).contains(&segments), "{mix}: {segments} segments");
            }
        }
    }

    #[test]
    fn power_has_long_and_empty_segments() {
        let lengths: Vec<_> = offsets(1 << 20, 128, "power", 7).windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(lengths.contains(&0) && lengths.iter().any(|&length| length > 20 * 128));
    }
}
