//! The reference: big integers, and the standard library's conversion of decimal text, which rounds correctly.

use num_bigint::{BigInt, BigUint};
use rustwarp::element::{Element, Value};
use std::str::FromStr;

/// The correctly rounded sum.
pub fn sum<T: Element>(input: &[T]) -> T {
    // Sums of the mantissas at each exponent: 2^64 of them fit.
    let mut mantissas = vec![0_i128; 0x7ff];
    let mut special = 0.0;
    for x in input {
        let x = match x.value() {
            Value::Float(x) => x,
            Value::Int(_) => f64::NAN,
        };
        if !x.is_finite() {
            special += x;
            continue;
        }
        let exponent = (x.to_bits() >> 52 & 0x7ff) as usize;
        let hidden = if exponent == 0 { 0 } else { 1 << 52 };
        let mantissa = i128::from(x.to_bits() & ((1 << 52) - 1) | hidden);
        mantissas[exponent.max(1)] += if x.is_sign_negative() { -mantissa } else { mantissa };
    }
    if special != 0.0 {
        return T::round(Value::Float(special));
    }
    // In units of 2^-1074, which are 5^1074 units of 10^-1074.
    let exact: BigInt = mantissas.iter().zip(0_usize..).skip(1).map(|(&sum, e)| BigInt::from(sum) << (e - 1)).sum();
    let decimal = format!("{}e-1074", exact * BigInt::from(BigUint::from(5_u32).pow(1074)));
    let rounded = match size_of::<T>() {
        4 => f32::from_str(&decimal).map(f64::from),
        _ => f64::from_str(&decimal),
    };
    T::round(Value::Float(rounded.unwrap_or(f64::NAN)))
}

#[cfg(test)]
mod tests {
    use super::super::spread;
    use super::*;
    use rustwarp::element::{Array, Dtype};
    use rustwarp::exact_sum::on_cpu;

    #[test]
    fn sums_are_rounded_once() {
        assert_eq!(sum::<f32>(&[1e8, 1.0, -1e8]), 1.0);
        assert_eq!(sum(&[1e300, f64::MIN_POSITIVE, -1e300]), f64::MIN_POSITIVE);
        // Halfway between two numbers the even one, and a little more decides.
        assert_eq!(sum::<f32>(&[16_777_216.0, 1.0]), 16_777_216.0);
        assert_eq!(sum::<f32>(&[16_777_216.0, 1.0, f32::from_bits(1)]), 16_777_218.0);
        assert_eq!(sum(&[f64::MAX, f64::MAX, -f64::MAX]), f64::MAX);
        assert_eq!(sum(&[f64::MAX, f64::MAX]), f64::INFINITY);
        assert_eq!(sum(&[-f64::from_bits(3), f64::from_bits(1)]), -f64::from_bits(2));
    }

    #[test]
    fn special_values() {
        assert!(sum(&[f64::INFINITY, f64::NEG_INFINITY]).is_nan() && sum(&[f32::NAN, 1.0]).is_nan());
        assert_eq!(sum(&[f32::NEG_INFINITY, f32::MAX]), f32::NEG_INFINITY);
        assert!(sum(&[-0.0_f64]).is_sign_positive() && sum::<f32>(&[]) == 0.0);
    }

    #[test]
    fn the_cpu_gives_the_same_bits() {
        for (n, cancelling) in [1, 2, 3, 1000].into_iter().flat_map(|n| [(n, false), (n, true)]) {
            for dtype in [Dtype::F32, Dtype::F64] {
                let [on_cpu, exact] = match spread(dtype, n, n as u64, cancelling) {
                    Array::F32(x) => [on_cpu(&x), sum(&x)].map(|sum| u64::from(sum.to_bits())),
                    Array::F64(x) => [on_cpu(&x), sum(&x)].map(f64::to_bits),
                    other => panic!("{other:?}"),
                };
                assert_eq!(on_cpu, exact, "{n} {dtype}, cancelling: {cancelling}");
            }
        }
    }
}
