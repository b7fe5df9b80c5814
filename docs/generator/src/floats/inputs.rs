//! The numbers that are added, of f32 or f64, with their exact sums.

use ladders::input::generate::generate;
use rustwarp::element::{Array, Dtype};
use rustwarp::exact_sum::on_cpu;

/// About the number of elements of all inputs but those of different lengths.
pub const ELEMENTS: usize = 4096;

/// The type of the numbers.
pub struct Precision {
    /// The type.
    pub dtype: Dtype,
    /// Bits of its mantissa.
    pub digits: i32,
    /// Exponents of the largest elements of sums with different condition numbers: beyond twice the digits.
    pub ranges: [i32; 8],
}

impl Precision {
    /// The relative error of a rounding.
    pub fn unit(&self) -> f64 {
        f64::powi(2.0, -self.digits)
    }

    /// Numbers between 0 and 1.
    pub fn positive(&self, n: usize, seed: u64) -> Input {
        Input::new(self.dtype, self.fractions(n, seed))
    }

    /// Numbers from -1 to 1.
    pub fn both_signs(&self, seed: u64) -> Input {
        Input::new(self.dtype, self.fractions(ELEMENTS, seed).into_iter().map(|x| 2.0 * x - 1.0).collect())
    }

    /// A number, and others that are half a unit of its last place, each of which a loop rounds away.
    pub fn halves(&self) -> Input {
        let mut values = vec![self.unit(); ELEMENTS];
        values[0] = 1.0;
        Input::new(self.dtype, values)
    }

    /// Numbers of both signs, up to 2^`range`, most of which cancel: of three numbers with similar exponents the third
    /// is the negative sum of the others. The order is random.
    pub fn cancelling(&self, range: i32, seed: u64) -> Input {
        let numbers = self.fractions(3 * ELEMENTS, seed);
        let (values, random) = numbers.split_at(2 * ELEMENTS);
        let threes = (ELEMENTS - ELEMENTS / 32) / 3;
        let (pairs, rest) = values.split_at(2 * threes);
        // The sum of two numbers below 1 is a float of the same type.
        let three = |(pair, power): (&[f64], &f64)| {
            let scale = f64::powi(2.0, (power * f64::from(range + 1)) as i32);
            let [x, y] = [pair[0] * scale, pair[1] * scale];
            [x, y, -(x + y)]
        };
        let mut all: Vec<f64> = pairs.chunks_exact(2).zip(random).flat_map(three).collect();
        all.extend(&rest[..ELEMENTS - all.len()]);
        for i in (1..all.len()).rev() {
            all.swap(i, (random[i] * (i + 1) as f64) as usize % (i + 1));
        }
        Input::new(self.dtype, all)
    }

    /// Random numbers from 0 to 1, with a bit less than the type has, so that sums of two of them are exact.
    fn fractions(&self, n: usize, seed: u64) -> Vec<f64> {
        let bits = self.digits - 1;
        generate::<u64>(n, seed).into_iter().map(|x| (x >> (64 - bits)) as f64 * f64::powi(2.0, -bits)).collect()
    }
}

/// Numbers to add.
pub struct Input {
    dtype: Dtype,
    values: Vec<f64>,
    /// The exact sum, rounded to f64.
    pub sum: f64,
    /// The sum of absolute values.
    pub magnitude: f64,
}

impl Input {
    fn new(dtype: Dtype, values: Vec<f64>) -> Self {
        let (sum, magnitude) = (on_cpu(&values), on_cpu(&values.iter().map(|x| x.abs()).collect::<Vec<_>>()));
        Self { dtype, values, sum, magnitude }
    }

    /// The elements.
    pub fn array(&self) -> Array {
        match self.dtype {
            Dtype::F64 => Array::F64(self.values.clone()),
            _ => Array::F32(self.values.iter().map(|&x| x as f32).collect()),
        }
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.values.len()
    }

    /// The sum that a loop computes.
    pub fn one_by_one(&self) -> f64 {
        match self.dtype {
            Dtype::F64 => self.values.iter().fold(0.0, |sum, x| sum + x),
            _ => self.values.iter().fold(0.0_f32, |sum, &x| sum + x as f32).into(),
        }
    }

    /// Distance of a result from the exact sum: as a sum, too, since of f64 the rounded sum may be as far away.
    pub fn error(&self, result: f64) -> f64 {
        on_cpu(&[&self.values[..], &[-result]].concat()).abs()
    }

    /// The sum of absolute values, divided by the absolute value of the sum.
    pub fn condition(&self) -> f64 {
        self.magnitude / self.sum.abs()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inputs_are_of_their_type_and_cancel_more_and_more() {
        for (dtype, digits) in [(Dtype::F32, 24), (Dtype::F64, 53)] {
            let of = Precision { dtype, digits, ranges: [0; 8] };
            let mut last = 0.0;
            for range in [0, 20, 40, 60] {
                let input = of.cancelling(range, 1);
                assert_eq!(input.len(), ELEMENTS);
                assert!(input.condition() > 1000.0 * last, "{} after {last}", input.condition());
                last = input.condition();
                if let Array::F32(values) = input.array() {
                    assert!(values.iter().zip(&input.values).all(|(x, value)| f64::from(*x) == *value));
                }
            }
            assert!(of.both_signs(1).condition() > 2.0 && of.positive(9, 1).condition() == 1.0);
            // A loop loses all numbers but the first.
            let halves = of.halves();
            assert_eq!((halves.one_by_one(), halves.error(1.0)), (1.0, (ELEMENTS - 1) as f64 * of.unit()));
        }
    }

    #[test]
    fn errors_are_smaller_than_the_last_place_of_the_sum() {
        let half = f64::EPSILON / 2.0;
        let input = Input::new(Dtype::F64, vec![1.0, half, half / 8.0]);
        assert_eq!((input.sum, input.error(input.sum)), (1.0 + f64::EPSILON, half - half / 8.0));
    }
}
