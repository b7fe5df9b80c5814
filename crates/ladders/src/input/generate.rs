//! Generated input: the same numbers on every machine, for every element by itself.

use rustwarp::element::{Element, Scalar};

/// Element `i` is made of the `i`-th output of SplitMix64 seeded with `seed`. Floats are multiples of 2^-23, uniform in
/// [-1, 1); integers are uniform over their whole range, so that their sums wrap.
///
/// (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number Generators", OOPSLA 2014.)
pub fn generate<T: Element>(len: usize, seed: u64) -> Vec<T> {
    generate_with(len, seed, T::from_random)
}

/// Element `i` is what `make` makes of the `i`-th output of SplitMix64 seeded with `seed`.
pub fn generate_with<T: Scalar>(len: usize, seed: u64, make: impl Fn(u64) -> T + Sync) -> Vec<T> {
    let mut values = vec![T::zeroed(); len];
    let make = &make;
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let part = len.div_ceil(workers).max(1 << 16);
    std::thread::scope(|scope| {
        for (number, part_values) in values.chunks_mut(part).enumerate() {
            scope.spawn(move || {
                for (i, value) in part_values.iter_mut().enumerate() {
                    *value = make(split_mix(seed, (number * part + i) as u64));
                }
            });
        }
    });
    values
}

/// Output `i` of SplitMix64.
pub(crate) fn split_mix(seed: u64, i: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15_u64.wrapping_mul(i.wrapping_add(1)));
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_sequence() {
        // First outputs for seed 1234567, as in the reference implementation's test vectors.
        let expected = [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423];
        assert_eq!(std::array::from_fn(|i| split_mix(1_234_567, i as u64)), expected);
    }

    #[test]
    fn a_prefix_does_not_depend_on_the_length() {
        let long = generate::<u32>(300_000, 42);
        assert_eq!(generate::<u32>(1000, 42), long[..1000]);
        assert_ne!(generate::<u32>(1000, 43), long[..1000]);
    }
}
