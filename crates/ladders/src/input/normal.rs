//! Generated numbers of a normal distribution.

use super::generate::generate_with;
use crate::error::{Error, Result};
use rustwarp::element::{Array, Dtype};
use std::f64::consts::TAU;

/// Numbers per unit: each is a multiple of `1 / STEPS`.
const STEPS: f64 = (1 << 20) as f64;

/// Standard deviation of normal integers of 8 bits.
const DEVIATION: f64 = 32.0;

/// A number of the standard normal distribution, made of 64 random bits (Box and Muller 1958): 40 bits are the radius,
/// of at most 7.45, and 24 the angle.
///
/// It is rounded to a multiple of 2^-20. Logarithms and cosines of two mathematical libraries differ in their last bit,
/// and give the same multiple but for about one number in 2^30; f32 holds each exactly.
pub fn normal(random: u64) -> f64 {
    let radius = (-2.0 * (((random >> 24) + 1) as f64 / (1_u64 << 40) as f64).ln()).sqrt();
    let turns = (random & 0xff_ffff) as f64 / (1 << 24) as f64;
    (radius * (TAU * turns).cos() * STEPS).round_ties_even() / STEPS
}

/// Elements of which number `i` is made of the `i`-th output of SplitMix64 seeded with `seed`: floats are those of
/// [`normal`], rounded to their type; i8 are 32 times these, rounded, and -128 or 127 beyond their range.
///
/// # Errors
/// [`Error::Usage`] for other types.
pub fn normals(dtype: Dtype, len: usize, seed: u64) -> Result<Array> {
    let float = |random| normal(random) as f32;
    Ok(match dtype {
        Dtype::F32 => Array::F32(generate_with(len, seed, float)),
        Dtype::F64 => Array::F64(generate_with(len, seed, normal)),
        Dtype::F16 => Array::F16(generate_with(len, seed, |random| half::f16::from_f32(float(random)))),
        Dtype::Bf16 => Array::Bf16(generate_with(len, seed, |random| half::bf16::from_f32(float(random)))),
        Dtype::F8 => Array::F8(generate_with(len, seed, |random| float8::F8E4M3::from_f32(float(random)))),
        // The conversion from f64 ends at the limits of the type.
        Dtype::I8 => Array::I8(generate_with(len, seed, |random| (normal(random) * DEVIATION).round_ties_even() as i8)),
        other => {
            return Err(Error::Usage(format!("no normal numbers of {other} are generated: use a float type or i8")));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use rustwarp::element::Scalar;

    const LEN: usize = 1 << 20;

    /// The numbers of a type, as f64.
    fn numbers(dtype: Dtype) -> Vec<f64> {
        fn all<T: Scalar>(values: &[T]) -> Vec<f64> {
            values.iter().map(|x| x.value().to_f64()).collect()
        }
        match normals(dtype, LEN, 42).expect("a type with normal numbers") {
            Array::F32(values) => all(&values),
            Array::F64(values) => all(&values),
            Array::F16(values) => all(&values),
            Array::Bf16(values) => all(&values),
            Array::F8(values) => all(&values),
            Array::I8(values) => all(&values),
            other => panic!("{}", other.dtype()),
        }
    }

    /// Mean of a power of the numbers.
    fn moment(numbers: &[f64], power: i32) -> f64 {
        numbers.iter().map(|x| x.powi(power)).sum::<f64>() / numbers.len() as f64
    }

    /// Each bound is 5 standard errors of the moment of 2^20 normal numbers, or more.
    #[test]
    fn the_moments_are_those_of_the_normal_distribution() {
        for (dtype, deviation) in [
            (Dtype::F32, 1.0),
            (Dtype::F64, 1.0),
            (Dtype::F16, 1.0),
            (Dtype::Bf16, 1.0),
            (Dtype::F8, 1.0),
            (Dtype::I8, DEVIATION),
        ] {
            let numbers: Vec<f64> = numbers(dtype).iter().map(|x| x / deviation).collect();
            let [mean, variance, skew, kurtosis] = [1, 2, 3, 4].map(|power| moment(&numbers, power));
            assert!(mean.abs() < 0.005, "{dtype}: mean {mean}");
            assert!((variance - 1.0).abs() < 0.007, "{dtype}: variance {variance}");
            assert!(skew.abs() < 0.02, "{dtype}: third moment {skew}");
            assert!((kurtosis - 3.0).abs() < 0.05, "{dtype}: fourth moment {kurtosis}");
        }
    }

    #[test]
    fn as_many_are_far_from_the_mean_as_in_the_normal_distribution() {
        let numbers = numbers(Dtype::F64);
        for (distance, share) in [(0.5, 0.617_075), (1.0, 0.317_311), (2.0, 0.045_500), (3.0, 0.002_700)] {
            let beyond = numbers.iter().filter(|x| x.abs() > distance).count() as f64 / LEN as f64;
            let error = 5.0 * (share * (1.0 - share) / LEN as f64).sqrt();
            assert!((beyond - share).abs() < error, "{beyond} of the numbers are beyond {distance}, not {share}");
        }
    }

    #[test]
    fn every_number_is_a_multiple_and_finite() {
        let least = normal(0);
        assert!((least - 7.446).abs() < 1e-3, "{least}");
        assert_eq!(normal(1 << 23), -least, "half a turn");
        assert_eq!((normal(1 << 22), normal(u64::MAX)), (0.0, 0.0), "a quarter of a turn, and no radius");
        assert!(numbers(Dtype::F32).iter().all(|x| (x * STEPS).fract() == 0.0 && x.abs() <= least));
        let integers = numbers(Dtype::I8);
        assert!(integers.contains(&127.0) && integers.contains(&-128.0));
    }

    #[test]
    fn neighbours_are_independent() {
        let numbers = numbers(Dtype::F64);
        for distance in [1, 2, 64, 1024] {
            let products: f64 = numbers.iter().zip(&numbers[distance..]).map(|(x, y)| x * y).sum();
            let correlation = products / (LEN - distance) as f64;
            assert!(correlation.abs() < 0.005, "{correlation} at the distance {distance}");
        }
    }

    #[test]
    fn types_without_normal_numbers_are_refused() {
        for dtype in [Dtype::I32, Dtype::U8, Dtype::U64] {
            let refusal = normals(dtype, 1, 1).expect_err("refused").to_string();
            assert!(refusal.contains(dtype.name()) && refusal.contains("float type or i8"), "{refusal}");
        }
    }
}
