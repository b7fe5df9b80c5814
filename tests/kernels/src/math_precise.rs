//! The functions of `Float` and `FloatExt` that `libm` computes, within their error bounds.

use cuda_std::math::{Float, FloatExt};
use cuda_std::prelude::*;

/// Results per pair of inputs.
const ELEMENTARY: usize = 34;

/// The elementary functions of `x`, or of `x` and `y`.
#[kernel(for T in [f32, f64])]
pub unsafe fn math_elementary<T: Float>(x: &[T], y: &[T], out: *mut T) {
    let i = thread::global_index();
    if i >= x.len() {
        return;
    }
    let (x, y) = (x[i], y[i]);
    let (sin, cos) = x.sin_cos();
    let row: [T; ELEMENTARY] = [
        x.round(),
        x.fract(),
        x.abs(),
        x.signum(),
        x.copysign(y),
        x.div_euclid(y),
        x.rem_euclid(y),
        x.powi(3),
        x.powf(y),
        x.exp(),
        x.exp2(),
        x.exp_m1(),
        x.ln(),
        x.ln_1p(),
        x.log(y),
        x.log2(),
        x.log10(),
        x.cbrt(),
        x.hypot(y),
        x.sin(),
        x.cos(),
        x.tan(),
        sin,
        cos,
        x.asin(),
        x.acos(),
        x.atan(),
        x.atan2(y),
        x.sinh(),
        x.cosh(),
        x.tanh(),
        x.asinh(),
        x.acosh(),
        x.atanh(),
    ];
    for (k, value) in row.into_iter().enumerate() {
        // SAFETY: `out` has a row per input.
        unsafe { *out.add(i * ELEMENTARY + k) = value };
    }
}

/// Results per input.
const SPECIAL: usize = 26;

/// The special functions of `x`, as far as they return floats; `frexp` gives two numbers.
#[kernel(for T in [f32, f64])]
pub unsafe fn math_special<T: FloatExt + Copy + 'static>(x: &[T], out: *mut T, exponents: *mut i32) {
    let i = thread::global_index();
    if i >= x.len() {
        return;
    }
    let x = x[i];
    let (row, integers) = special(x);
    for (k, value) in row.into_iter().enumerate() {
        // SAFETY: `out` has a row per input.
        unsafe { *out.add(i * SPECIAL + k) = value };
    }
    // SAFETY: `exponents` has two values per input.
    unsafe { exponents.cast::<[i32; 2]>().add(i).write(integers) };
}

/// The same on device and host.
fn special<T: FloatExt + Copy>(x: T) -> ([T; SPECIAL], [i32; 2]) {
    let (fraction, exponent) = x.frexp();
    let (sin, cos) = x.sincospi();
    let row = [
        x.cospi(),
        x.sinpi(),
        sin,
        cos,
        x.error_function(),
        x.complementary_error_function(),
        x.inv_complementary_error_function(),
        x.scaled_complementary_error_function(),
        x.norm_cdf(),
        x.inv_norm_cdf(),
        fraction,
        x.ldexp(3),
        x.scale_by_n(-2),
        x.log_gamma(),
        x.gamma(),
        x.log1p(),
        x.rcbrt(),
        x.saturate(),
        x.j0(),
        x.j1(),
        x.jn(3),
        x.y0(),
        x.y1(),
        x.yn(3),
        x.ldexp(-2000),
        x.scale_by_n(2000),
    ];
    (row, [exponent, x.unbiased_exp()])
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice};
    use std::string::{String, ToString};

    /// The standard library's results in `f64`, with the allowed error in units in the last place of the type.
    fn expected(x: f64, y: f64) -> [(&'static str, f64, f64); ELEMENTARY] {
        [
            ("round", x.round(), 0.0),
            ("fract", x.fract(), 0.0),
            ("abs", x.abs(), 0.0),
            ("signum", x.signum(), 0.0),
            ("copysign", x.copysign(y), 0.0),
            ("div_euclid", x.div_euclid(y), 0.0),
            ("rem_euclid", x.rem_euclid(y), 1.0),
            ("powi", x * x * x, 1.5),
            ("powf", x.powf(y), 1.0),
            ("exp", x.exp(), 1.0),
            ("exp2", x.exp2(), 1.0),
            ("exp_m1", x.exp_m1(), 1.0),
            ("ln", x.ln(), 1.0),
            ("ln_1p", x.ln_1p(), 1.0),
            ("log", x.ln() / y.ln(), 3.0),
            ("log2", x.log2(), 1.0),
            ("log10", x.log10(), 1.0),
            ("cbrt", x.cbrt(), 0.5),
            ("hypot", x.hypot(y), 1.0),
            ("sin", x.sin(), 1.0),
            ("cos", x.cos(), 1.0),
            ("tan", x.tan(), 1.0),
            ("sin_cos", x.sin(), 1.0),
            ("sin_cos", x.cos(), 1.0),
            ("asin", x.asin(), 1.0),
            ("acos", x.acos(), 1.0),
            ("atan", x.atan(), 1.0),
            ("atan2", x.atan2(y), 2.0),
            ("sinh", x.sinh(), 2.0),
            ("cosh", x.cosh(), 1.0),
            ("tanh", x.tanh(), 2.0),
            ("asinh", x.asinh(), 2.0),
            ("acosh", x.acosh(), 4.0),
            ("atanh", x.atanh(), 2.0),
        ]
    }

    /// Whether `found` is within `allowed` units in the last place of `exact`, as numbers of precision `epsilon`.
    fn within(found: f64, exact: f64, allowed: f64, epsilon: f64, largest: f64) -> bool {
        if exact.is_nan() || found.is_nan() {
            return exact.is_nan() && found.is_nan();
        }
        if exact.abs() > largest {
            return found == f64::INFINITY.copysign(exact);
        }
        // A unit in the last place is at most epsilon times the value, and at least half of that.
        found == exact || (found - exact).abs() <= allowed * epsilon * exact.abs()
    }

    let mut cases = Vec::new();
    macro_rules! both {
        ($($t:ident)*) => { $(
            let edge: [$t; 16] = [0.3, -0.3, 0.5, 1.0, -1.0, 1.5, 2.5, -2.5, 10.25, 50.5, 1e-3, -1e-6, 1e5, -1e7,
                $t::NAN, $t::INFINITY];
            let other: [$t; 3] = [0.7, -2.0, 3.5];
            let (xs, ys): (Vec<$t>, Vec<$t>) = edge.iter().flat_map(|&x| other.iter().map(move |&y| (x, y))).unzip();
            let n = xs.len();
            let (inputs_x, inputs_y) = (xs.clone(), ys.clone());
            let epsilon = f64::from($t::EPSILON);
            // For `f64` the standard library's own error counts, too, and contraction to fused operations.
            let slack = if $t::EPSILON as f64 == f64::EPSILON { 1.0 } else { 0.5 };
            let accepts = move |found: &[$t]| -> Result<(), String> {
                for (i, (&x, &y)) in inputs_x.iter().zip(&inputs_y).enumerate() {
                    let row = expected(f64::from(x), f64::from(y));
                    for (k, (name, exact, ulp)) in row.into_iter().enumerate() {
                        let found = f64::from(found[i * ELEMENTARY + k]);
                        let allowed = if ulp == 0.0 { 0.0 } else { ulp + slack };
                        if !within(found, exact, allowed, epsilon, f64::from($t::MAX)) {
                            return Err(std::format!("{name}({x:?}, {y:?}) is {found:?} instead of {exact:?}"));
                        }
                    }
                }
                Ok(())
            };
            cases.push(
                Case::new(std::concat!("math_elementary of ", stringify!($t)), 2, 32)
                    .input(&xs)
                    .input(&ys)
                    .holds::<$t>(n * ELEMENTARY, accepts)
                    .calls(move |b| math_elementary::<$t>(slice(b[0], n), slice(b[1], n), out(b[2]))),
            );

            let xs: Vec<$t> = std::vec![0.001, 0.1, 0.25, 0.5, 0.75, 0.99, 1.0, 1.3, 1.9, 2.5, 6.0, 20.25, -0.3, -1.5];
            let n = xs.len();
            let exponents: Vec<i32> = xs.iter().flat_map(|&x| special(x).1).collect();
            let inputs = xs.clone();
            // The host's values are checked against 60 digits by the library's own tests.
            let accepts = move |found: &[$t]| -> Result<(), String> {
                for (i, &x) in inputs.iter().enumerate() {
                    for (k, exact) in special(x).0.into_iter().enumerate() {
                        let found = found[i * SPECIAL + k];
                        let near = (found - exact).abs() <= 1e-30 + 16.0 * $t::EPSILON * (1.0 + exact.abs());
                        if !(found == exact || near || found.is_nan() && exact.is_nan()) {
                            return Err(std::format!("function {k} of {x:?} is {found:?} instead of {exact:?}"));
                        }
                    }
                }
                Ok(())
            };
            cases.push(
                Case::new(&("math_special of ".to_string() + stringify!($t)), 1, 32)
                    .input(&xs)
                    .holds::<$t>(n * SPECIAL, accepts)
                    .output(&exponents)
                    .calls(move |b| math_special::<$t>(slice(b[0], n), out(b[1]), out(b[2]))),
            );
        )* };
    }
    both!(f32 f64);
    cases
}
