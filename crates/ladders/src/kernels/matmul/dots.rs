//! Sums of products, and of their magnitudes, for references.

/// Number of independent partial sums.
const LANES: usize = 8;

/// Sum of products and sum of their magnitudes.
pub fn dot(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (mut sums, mut magnitudes) = ([0.0; LANES], [0.0; LANES]);
    let mut add = |lane: usize, a: f64, b: f64| {
        let product = a * b;
        sums[lane] += product;
        magnitudes[lane] += product.abs();
    };
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    for (a, b) in a.iter().zip(b) {
        (0..LANES).for_each(|lane| add(lane, a[lane], b[lane]));
    }
    a_rest.iter().zip(b_rest).for_each(|(&a, &b)| add(0, a, b));
    (sums.iter().sum(), magnitudes.iter().sum())
}

/// [`dot`] in twice the precision. Beyond f64's range the result is that of [`dot`].
pub fn dot_precise(a: &[f64], b: &[f64]) -> (f64, f64) {
    let (mut sum, mut errors, mut magnitude) = (0.0, 0.0, 0.0_f64);
    for (&a, &b) in a.iter().zip(b) {
        let (product, rounded_away) = two_product(a, b);
        let (next, lost) = two_sum(sum, product);
        (sum, errors, magnitude) = (next, errors + (rounded_away + lost), magnitude + product.abs());
    }
    let precise = sum + errors;
    if precise.is_finite() { (precise, magnitude) } else { dot(a, b) }
}

/// `a + b` and its rounding error (Knuth).
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// `a * b` and its rounding error (Veltkamp, Dekker). `mul_add` would be slow if the host's baseline has no such
/// instruction.
fn two_product(a: f64, b: f64) -> (f64, f64) {
    let split = |x: f64| {
        let scaled = 134_217_729.0 * x; // 2^27 + 1
        let high = scaled - (scaled - x);
        (high, x - high)
    };
    let (product, (a, a_low), (b, b_low)) = (a * b, split(a), split(b));
    (product, a_low * b_low - (((product - a * b) - a_low * b) - a * b_low))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_precise_dot_keeps_what_f64_loses() {
        let (a, b) = ([1e16, 1.0, -1e16, 3.0], [1.0, 0.5, 1.0, 1.0]);
        assert_eq!(dot_precise(&a, &b), (3.5, 2e16 + 4.0));
        let third = 1.0 / 3.0;
        assert_eq!(two_product(3.0, third), (1.0, third.mul_add(3.0, -1.0)));
        assert!(dot_precise(&[f64::MAX, 1.0], &[2.0, 1.0]).0.is_infinite());
    }
}
