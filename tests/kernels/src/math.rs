//! Mathematical functions: the exact ones compared bit by bit, the approximations within their error bound.

use cuda_std::math::{Float, fast};
use cuda_std::prelude::*;

/// Ten exact results per pair of inputs.
#[kernel(for T in [f32, f64])]
pub unsafe fn math_exact<T: Float>(x: &[T], y: &[T], out: *mut T) {
    let i = thread::global_index();
    if i >= x.len() {
        return;
    }
    let (x, y) = (x[i], y[i]);
    let row = [
        x.sqrt(),
        x.mul_add(y, x),
        x.floor(),
        x.ceil(),
        x.trunc(),
        x.round_ties_even(),
        x.maximum(y),
        x.minimum(y),
        x.max_num(y),
        x.min_num(y),
    ];
    for (k, value) in row.into_iter().enumerate() {
        // SAFETY: `out` has ten values per input.
        unsafe { *out.add(i * 10 + k) = value };
    }
}

/// Eleven approximations per input.
#[kernel]
pub unsafe fn math_fast(x: &[f32], out: *mut f32) {
    let i = thread::global_index();
    if i >= x.len() {
        return;
    }
    let x = x[i];
    let row = [
        fast::sqrt(x),
        fast::rsqrt(x),
        fast::recip(x),
        fast::div(3.0, x),
        fast::exp2(x),
        fast::exp(x),
        fast::log2(x),
        fast::ln(x),
        fast::sin(x),
        fast::cos(x),
        fast::tanh(x),
    ];
    for (k, value) in row.into_iter().enumerate() {
        // SAFETY: `out` has eleven values per input.
        unsafe { *out.add(i * 11 + k) = value };
    }
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice};
    use std::string::String;
    use std::vec::Vec;

    /// Checks that results are equal as numbers, with the sign of zero where `signed`; all NaNs count as equal.
    macro_rules! agrees {
        ($t:ident, $found:expr, $expected:expr, $signed:expr) => {
            $found.to_bits() == $expected.to_bits()
                || $found.is_nan() && $expected.is_nan()
                || !$signed && $found == $expected
        };
    }
    let mut cases = Vec::new();
    macro_rules! exact {
        ($($t:ident)*) => { $(
            let edge: [$t; 14] = [0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e10, -7.3,
                $t::NAN, $t::INFINITY, $t::NEG_INFINITY,
                $t::MIN_POSITIVE / 2.0, $t::MAX];
            let (xs, ys): (Vec<$t>, Vec<$t>) = edge.iter().flat_map(|&x| edge.iter().map(move |&y| (x, y))).unzip();
            let n = xs.len();
            let (inputs_x, inputs_y) = (xs.clone(), ys.clone());
            let accepts = move |found: &[$t]| -> Result<(), String> {
                for (i, (&x, &y)) in inputs_x.iter().zip(&inputs_y).enumerate() {
                    let maximum = if x.is_nan() || y.is_nan() { $t::NAN } else if x == y && x == 0.0 {
                        if x.is_sign_positive() { x } else { y } } else { x.max(y) };
                    let minimum = if x.is_nan() || y.is_nan() { $t::NAN } else if x == y && x == 0.0 {
                        if x.is_sign_negative() { x } else { y } } else { x.min(y) };
                    let row = [
                        ("sqrt", x.sqrt(), true), ("mul_add", x.mul_add(y, x), true), ("floor", x.floor(), true),
                        ("ceil", x.ceil(), true), ("trunc", x.trunc(), true),
                        ("round_ties_even", x.round_ties_even(), true),
                        ("maximum", maximum, true), ("minimum", minimum, true), ("max_num", x.max(y), false),
                        ("min_num", x.min(y), false),
                    ];
                    for (k, (name, expected, signed)) in row.into_iter().enumerate() {
                        let found = found[i * 10 + k];
                        if !agrees!($t, found, expected, signed) {
                            return Err(std::format!("{name}({x:?}, {y:?}) is {found:?} instead of {expected:?}"));
                        }
                    }
                }
                Ok(())
            };
            cases.push(
                Case::new(std::concat!("math_exact of ", stringify!($t)), 7, 32)
                    .input(&xs)
                    .input(&ys)
                    .holds::<$t>(n * 10, accepts)
                    .calls(move |b| math_exact::<$t>(slice(b[0], n), slice(b[1], n), out(b[2]))),
            );
        )* };
    }
    exact!(f32 f64);
    let xs: Vec<f32> = (1..64).map(|i| i as f32 * 0.05).collect();
    let expected: Vec<f32> = xs
        .iter()
        .map(|&x| f64::from(x))
        .flat_map(|x| {
            [
                x.sqrt(),
                1.0 / x.sqrt(),
                1.0 / x,
                3.0 / x,
                x.exp2(),
                x.exp(),
                x.log2(),
                x.ln(),
                x.sin(),
                x.cos(),
                x.tanh(),
            ]
        })
        .map(|y| y as f32)
        .collect();
    let n = xs.len();
    cases.push(
        Case::new("math_fast", 2, 32)
            .input(&xs)
            .near(&expected, 6e-4, 1e-6)
            .calls(move |b| math_fast(slice(b[0], n), out(b[1]))),
    );
    cases
}
