//! Special functions that `libm` lacks, in `f64`.

use core::f64::consts::{FRAC_1_SQRT_2, PI};

use super::Float;

/// `sin(πx)` and `cos(πx)`.
pub fn sincospi(x: f64) -> (f64, f64) {
    if x == 0.0 {
        return (x, 1.0);
    }
    // The nearest multiple of a half, and the distance to it: both are exact.
    let halves = Float::round_ties_even(2.0 * x);
    let (sin, cos) = libm::sincos(PI * (x - 0.5 * halves));
    // `0.0 - x`, since `-x` would make a negative zero of a positive one.
    match (halves - 4.0 * Float::floor(0.25 * halves)) as i32 {
        1 => (cos, 0.0 - sin),
        2 => (0.0 - sin, -cos),
        3 => (-cos, sin),
        _ => (sin, cos),
    }
}

/// `e^(x^2) erfc(x)`.
pub fn erfcx(x: f64) -> f64 {
    if x < 25.0 {
        // The square in two parts, since the error of the exponent is an error of the result.
        let square = x * x;
        let rest = Float::mul_add(x, x, -square);
        let power = libm::exp(square);
        // Beyond the largest number the rest is no number.
        let power = if power < f64::INFINITY { power + power * rest } else { power };
        return power * libm::erfc(x);
    }
    // The asymptotic series; its next term is below 3e-17.
    let u = 0.5 / (x * x);
    let mut sum = 1.0;
    for odd in [13.0, 11.0, 9.0, 7.0, 5.0, 3.0, 1.0] {
        sum = 1.0 - odd * u * sum;
    }
    FRAC_1_SQRT_PI / x * sum
}

const FRAC_1_SQRT_PI: f64 = 0.564_189_583_547_756_3;

/// The inverse of `erfc`.
pub fn erfcinv(x: f64) -> f64 {
    // Not `-normcdfinv`: the result for 1 is a positive zero.
    0.0 - normcdfinv(0.5 * x) * FRAC_1_SQRT_2
}

/// The cumulative distribution function of the standard normal distribution.
pub fn normcdf(x: f64) -> f64 {
    0.5 * libm::erfc(-x * FRAC_1_SQRT_2)
}

/// The inverse of [`normcdf`]: algorithm AS 241 (PPND16), M. J. Wichura, Applied Statistics 37 (1988).
pub fn normcdfinv(p: f64) -> f64 {
    let centred = p - 0.5;
    if centred.abs() <= 0.425 {
        return centred * ratio(&CENTRE, 0.180_625 - centred * centred);
    }
    let tail = if centred < 0.0 { p } else { 1.0 - p };
    if tail <= 0.0 || tail.is_nan() {
        return if tail == 0.0 { f64::INFINITY.copysign(centred) } else { f64::NAN };
    }
    let r = Float::sqrt(-libm::log(tail));
    let x = if r <= 5.0 { ratio(&MIDDLE, r - 1.6) } else { ratio(&FAR, r - 5.0) };
    x.copysign(centred)
}

/// Quotient of two polynomials of degree 7, each with its coefficients in ascending order.
fn ratio([above, below]: &[[f64; 8]; 2], x: f64) -> f64 {
    let at = |polynomial: &[f64; 8]| polynomial.iter().rev().fold(0.0, |sum, c| sum * x + c);
    at(above) / at(below)
}

/// Probabilities from 0.075 to 0.925.
#[rustfmt::skip]
const CENTRE: [[f64; 8]; 2] = [
    [ 3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
      45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227],
    [ 1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
      21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854],
];

/// Probabilities down to `e^-25`.
#[rustfmt::skip]
const MIDDLE: [[f64; 8]; 2] = [
    [ 1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045,
      1.2704582524523684, 0.2417807251774506, 0.022723844989269184, 0.0007745450142783414],
    [ 1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851,
      0.14810397642748008, 0.015198666563616457, 0.0005475938084995345, 1.0507500716444169e-09],
];

/// Smaller probabilities.
#[rustfmt::skip]
const FAR: [[f64; 8]; 2] = [
    [ 6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487,
      0.026532189526576124, 0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07],
    [ 1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615,
      0.0007868691311456133, 1.8463183175100548e-05, 1.421511758316446e-07, 2.0442631033899397e-15],
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks results against the values that mpmath computes with 60 digits.
    fn near(name: &str, function: fn(f64) -> f64, table: &[(f64, f64)], relative: f64) {
        for &(x, expected) in table {
            let found = function(x);
            let close = found == expected || (found - expected).abs() <= relative * expected.abs();
            assert!(close, "{name}({x:?}) is {found:?} instead of {expected:?}");
        }
    }

    #[test]
    fn sinpi_agrees_with_mpmath() {
        let table = [
            (-1234567.125, 0.3826834323650898),
            (-3.3, 0.8090169943749471),
            (-1.5, 1.0),
            (-0.75, -FRAC_1_SQRT_2),
            (-1e-20, -3.141592653589793e-20),
            (0.1, 0.30901699437494745),
            (0.24, 0.6845471059286886),
            (0.26, 0.7289686274214116),
            (0.5, 1.0),
            (0.7, 0.8090169943749475),
            (1.0, 0.0),
            (1.3, -0.8090169943749475),
            (2.0, 0.0),
            (123456.78125, 0.6343932841636455),
        ];
        near("sinpi", |x| sincospi(x).0, &table, 4.5e-16);
    }

    #[test]
    fn cospi_agrees_with_mpmath() {
        let table = [
            (-1234567.125, -0.9238795325112867),
            (-3.3, -0.5877852522924736),
            (-1.5, 0.0),
            (-0.75, -FRAC_1_SQRT_2),
            (-1e-20, 1.0),
            (0.1, 0.9510565162951535),
            (0.24, 0.7289686274214116),
            (0.26, 0.6845471059286886),
            (0.5, 0.0),
            (0.7, -0.587785252292473),
            (1.0, -1.0),
            (1.3, -0.587785252292473),
            (2.0, 1.0),
            (123456.78125, -0.773010453362737),
        ];
        near("cospi", |x| sincospi(x).1, &table, 4.5e-16);
    }

    #[test]
    fn erfcx_agrees_with_mpmath() {
        let table = [
            (-5.0, 144009798674.66104),
            (-1.0, 5.008980080762283),
            (0.0, 1.0),
            (0.3, 0.7345993345676551),
            (1.0, 0.427583576155807),
            (5.0, 0.11070463773306863),
            (12.5, 0.04499209900102792),
            (24.9, 0.022639987776049506),
            (25.0, 0.02254957243264136),
            (30.0, 0.01879588886141675),
            (1000.0, 0.0005641893014533876),
            (10000000000.0, 5.641895835477563e-11),
        ];
        near("erfcx", erfcx, &table, 1e-14);
    }

    #[test]
    fn normcdf_agrees_with_mpmath() {
        let table = [
            (-10.0, 7.619853024160525e-24),
            (-5.0, 2.866515718791939e-07),
            (-1.0, 0.15865525393145705),
            (-0.1, 0.460172162722971),
            (0.0, 0.5),
            (0.5, 0.6914624612740131),
            (3.0, 0.9986501019683699),
            (8.0, 0.9999999999999993),
        ];
        near("normcdf", normcdf, &table, 1e-13);
    }

    #[test]
    fn normcdfinv_agrees_with_mpmath() {
        let table = [
            (1e-300, -37.0470962993612),
            (1e-30, -11.464024688443615),
            (1e-11, -6.706023155495136),
            (1e-05, -4.264890793922825),
            (0.01, -2.326347874040841),
            (0.075, -1.439531470938456),
            (0.3, -0.5244005127080408),
            (0.49, -0.025068908258711057),
            (0.6, 0.2533471031357997),
            (0.93, 1.475791028179171),
            (0.999, 3.090232306167813),
        ];
        near("normcdfinv", normcdfinv, &table, 1e-14);
    }

    #[test]
    fn erfcinv_agrees_with_mpmath() {
        let table = [
            (1e-300, 26.209469960516124),
            (1e-05, 3.123413274340875),
            (0.1, 1.163087153676674),
            (0.5, 0.4769362762044699),
            (0.99, 0.008862501280950607),
            (1.3, -0.2724627147267544),
            (1.999, -2.3267537655135464),
        ];
        near("erfcinv", erfcinv, &table, 1e-14);
    }

    #[test]
    fn the_ends_of_the_domains() {
        assert_eq!(normcdfinv(0.0), f64::NEG_INFINITY);
        assert_eq!(normcdfinv(1.0), f64::INFINITY);
        assert!(normcdfinv(-0.1).is_nan() && normcdfinv(1.1).is_nan() && normcdfinv(f64::NAN).is_nan());
        assert_eq!((erfcinv(0.0), erfcinv(2.0)), (f64::INFINITY, f64::NEG_INFINITY));
        assert_eq!(erfcinv(1.0).to_bits(), 0.0_f64.to_bits());
        assert_eq!((erfcx(-30.0), erfcx(f64::INFINITY)), (f64::INFINITY, 0.0));
        assert!(sincospi(f64::INFINITY).0.is_nan() && sincospi(f64::NAN).1.is_nan());
        assert!(sincospi(-0.0).0.is_sign_negative() && sincospi(0.5).1.is_sign_positive());
        assert_eq!(sincospi(1e300), (0.0, 1.0));
    }
}
