//! Products of narrow types on tensor cores, on the simulator: exact where they can be, within the bound elsewhere, and
//! as IEEE says for infinities and NaN.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use float8::F8E4M3;
use half::{bf16, f16};
use rustwarp::Scalar;
use rustwarp::accuracy::Accuracy;
use rustwarp::backend::View;
use rustwarp::matmul::Sizes;
use rustwarp::mixed_matmul::{self, Factor, mixed_matmul_into};
use rustwarp::{Device, Error};
use tests::ieee;
use tests::mixed::{STORED, plans, value};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// The element of row `i` and column `j` of a matrix that may be stored transposed.
fn at<T: Scalar>(matrix: &[T], [rows, columns]: [usize; 2], transposed: bool, i: usize, j: usize) -> f64 {
    value(matrix[if transposed { j * rows + i } else { i * columns + j }])
}

/// The product in f64, and the sums of absolute values.
fn exact<T: Scalar>(a: &[T], b: &[T], sizes: Sizes) -> Vec<(f64, f64)> {
    let Sizes { m, n, k, transposed, .. } = sizes;
    let element = |i: usize| {
        let terms = (0..k).map(|l| at(a, [m, k], transposed[0], i / n, l) * at(b, [k, n], transposed[1], l, i % n));
        terms.fold((0.0, 0.0), |(sum, absolute), term| (sum + term, absolute + term.abs()))
    };
    (0..m * n).map(element).collect()
}

fn product<T: Factor<O>, O: Scalar>(device: &Device, a: &[T], b: &[T], sizes: Sizes) -> Vec<O> {
    let (a, b) = (device.upload(a).expect("memory"), device.upload(b).expect("memory"));
    device.mixed_matmul::<T, O>(&a, &b, sizes).and_then(|c| c.download()).expect("a product")
}

/// Multiples of 2^-8 in [-1, 1): they and their products are exact.
fn random(n: usize, seed: u32) -> impl Iterator<Item = f32> {
    let mut state = seed;
    let next = move || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        (state >> 23) as f32 / 256.0 - 1.0
    };
    std::iter::repeat_with(next).take(n)
}

/// Every size of the tile, rows that need a copy and rows that do not. The bound: `of_sums`, which takes `k`, times the
/// sum of magnitudes, and the rounding to the type of the product.
fn within_the_bound<T: Factor<O>, O: Scalar>(round: fn(f32) -> T, of_sums: fn(usize) -> f64, rounding: f64) {
    let device = sim();
    for (m, n, k) in [(130, 72, 200), (67, 70, 131), (9, 16900, 16), (129, 12680, 8), (40, 8456, 24)] {
        let (a, b): (Vec<T>, Vec<T>) = (random(m * k, 1).map(round).collect(), random(k * n, 2).map(round).collect());
        for transposed in if m * n > 1 << 17 { &STORED[1..2] } else { &STORED[..] } {
            let sizes = Sizes { m, n, k, transposed: *transposed, ..Sizes::default() };
            let exact = exact(&a, &b, sizes);
            let (a, b) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
            for plan in plans::<T, O>(&device, sizes) {
                let mut result = device.zeros::<O>(m * n).expect("memory");
                plan.launch([&a, &b], &mut result).expect("a product");
                let result = result.download().expect("elements");
                for (i, (&c, (sum, absolute))) in result.iter().zip(&exact).enumerate() {
                    let of_sum = of_sums(k) * absolute;
                    let bound = of_sum + rounding * (sum.abs() + of_sum);
                    let place = format!("{m}x{n}x{k} {transposed:?}, row {}, column {}", i / n, i % n);
                    assert!((value(c) - sum).abs() <= bound, "{place}: {} instead of {sum}", value(c));
                }
            }
        }
    }
}

/// The bound of sums in f32.
fn of_f32(k: usize) -> f64 {
    (k + 16) as f64 * f64::from(f32::EPSILON)
}

/// That of factors cut to tf32.
fn of_tf32(k: usize) -> f64 {
    f64::powi(2.0, -9) + (k + 24) as f64 * f64::from(f32::EPSILON)
}

/// That of factors of 8 bits.
fn of_f8(k: usize) -> f64 {
    33.0 * k.div_ceil(32) as f64 * f64::powi(2.0, -13)
}

#[test]
fn products_of_f16_are_within_the_bound() {
    within_the_bound::<f16, f16>(f16::from_f32, of_f32, f64::powi(2.0, -11));
}

#[test]
fn products_of_bf16_are_within_the_bound() {
    within_the_bound::<bf16, bf16>(bf16::from_f32, of_f32, f64::powi(2.0, -8));
}

#[test]
fn products_of_bf16_in_f32_are_within_the_bound() {
    within_the_bound::<bf16, f32>(bf16::from_f32, of_f32, 0.0);
}

#[test]
fn products_of_tf32_are_within_the_bound() {
    within_the_bound::<f32, f32>(|x| x + x * 1e-4, of_tf32, 0.0);
}

#[test]
fn products_of_f8_are_within_the_bound() {
    within_the_bound::<F8E4M3, bf16>(F8E4M3::from_f32, of_f8, f64::powi(2.0, -8));
}

#[test]
fn products_of_f8_in_f32_are_within_the_bound() {
    within_the_bound::<F8E4M3, f32>(F8E4M3::from_f32, of_f8, 0.0);
}

#[test]
fn products_of_i8_are_exact() {
    within_the_bound::<i8, i32>(|x| (x * 128.0) as i8, |_| 0.0, 0.0);
}

#[test]
fn an_accuracy_of_tf32_uses_tensor_cores() {
    let device = sim();
    let sizes = Sizes { m: 3, n: 5, k: 7, ..Sizes::default() };
    // 1 + 2^-12 is cut to 1.
    let ones = |len: usize| device.upload(&vec![1.0 + f32::EPSILON * 2048.0; len]).expect("memory");
    let (a, b) = (ones(21), ones(35));
    let product = |accuracy| device.matmul_with(&a, &b, sizes, accuracy).and_then(|c| c.download()).expect("a product");
    assert_eq!(product(Accuracy::Tf32), [7.0; 15]);
    assert!(product(Accuracy::F32).iter().all(|c| *c > 7.0));
}

#[test]
fn small_integers_are_exact_and_ties_go_to_even() {
    let device = sim();
    // A row of 256 and a 1, 2 or 3: sums of 257 to 259 lie between two bf16, 256 and 258 or 258 and 260.
    let (a, b) = ([bf16::ONE; 16], [[256.0; 8], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]]);
    let b: Vec<bf16> = b.as_flattened().iter().map(|x| bf16::from_f32(*x)).collect();
    let c = product::<bf16, bf16>(&device, &a, &b, Sizes { m: 8, n: 8, k: 2, ..Sizes::default() });
    let rounded = [256.0, 258.0, 260.0, 260.0, 260.0, 262.0, 264.0, 264.0];
    assert_eq!(c.chunks(8).next().expect("a row").iter().map(|x| x.to_f64()).collect::<Vec<_>>(), rounded);
}

#[test]
fn infinities_nan_and_overflow_are_those_of_ieee() {
    ieee::narrow_products(&sim());
}

#[test]
fn so_are_those_of_products_of_f32_and_f64() {
    ieee::products(&sim());
}

/// Rows that consist of 16 bytes, and of which a factor or both start elsewhere.
fn views_that_start_anywhere<T: Factor<O>, O: Scalar>(round: fn(f32) -> T) {
    let device = sim();
    let (m, n, k) = (144, 80, 272);
    // Small integers, whose sums have no error in the products' types.
    let numbers = |len, seed| random(len, seed).map(|x| round((x * 2.0).trunc())).collect::<Vec<T>>();
    let (a, b) = (numbers(m * k + 1, 5), numbers(k * n + 1, 6));
    let (on_a, on_b) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
    for transposed in STORED {
        let sizes = Sizes { m, n, k, transposed, ..Sizes::default() };
        for plan in plans::<T, O>(&device, sizes) {
            for (of_a, of_b) in [(1, 0), (0, 1), (1, 1)] {
                let mut c = device.zeros::<O>(m * n).expect("memory");
                let views = [on_a.view(of_a..of_a + m * k), on_b.view(of_b..of_b + k * n)];
                let views: [View<'_, T>; 2] = views.map(|view| view.expect("a view"));
                plan.launch(views, &mut c).expect("a product");
                let expected = exact(&a[of_a..][..m * k], &b[of_b..][..k * n], sizes);
                let wrong =
                    c.download().expect("elements").iter().zip(expected).position(|(&c, (sum, _))| value(c) != sum);
                assert_eq!(wrong, None, "{} {transposed:?} from {of_a} and {of_b}", T::DTYPE);
            }
        }
    }
}

#[test]
fn views_of_every_type_start_anywhere() {
    views_that_start_anywhere::<f16, f32>(f16::from_f32);
    views_that_start_anywhere::<f32, f32>(|x| x);
    views_that_start_anywhere::<i8, i32>(|x| x as i8);
}

#[test]
fn products_without_terms_are_zero() {
    let device = sim();
    let none = Sizes { m: 3, n: 5, k: 0, ..Sizes::default() };
    let empty = device.zeros::<f16>(0).expect("memory");
    for plan in plans::<f16, f16>(&device, none) {
        let mut c = device.upload(&[f16::ONE; 15]).expect("memory");
        plan.launch([&empty, &empty], &mut c).expect("a product");
        assert_eq!(c.download().expect("elements"), [f16::ZERO; 15]);
    }
    let a: Vec<f16> = random(24, 5).map(f16::from_f32).collect();
    assert!(product::<f16, f16>(&device, &[], &a, Sizes { m: 0, n: 1, k: 24, ..Sizes::default() }).is_empty());
}

/// A product of a function, of views that start anywhere.
#[test]
fn a_product_of_views_is_written_in_place() {
    let device = sim();
    let (m, n, k) = (17, 16, 24);
    let (a, b): (Vec<f16>, Vec<f16>) =
        (random(m * k + 1, 5).map(f16::from_f32).collect(), random(k * n + 1, 6).map(f16::from_f32).collect());
    let (on_a, on_b) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
    let sizes = Sizes { m, n, k, ..Sizes::default() };
    let mut c = device.zeros::<f16>(m * n).expect("memory");
    let views: [View<'_, f16>; 2] = [on_a.view(1..).expect("a view"), on_b.view(1..).expect("a view")];
    mixed_matmul_into(views[0], views[1], sizes, &mut c).expect("a product");
    for (c, (sum, _)) in c.download().expect("elements").into_iter().zip(exact(&a[1..], &b[1..], sizes)) {
        assert!((f64::from(c) - sum).abs() <= 1e-3 * sum.abs() + 1e-4, "{c} instead of {sum}");
    }
}

#[test]
fn wrong_sizes_are_refused() {
    let device = sim();
    let a = device.zeros::<bf16>(8).expect("memory");
    let refused = |sizes| mixed_matmul::mixed_matmul::<bf16, bf16>(&a, &a, sizes).map(|_| ()).expect_err("refused");
    assert!(matches!(refused(Sizes { m: 2, n: 2, k: 5, ..Sizes::default() }), Error::Mismatch(_)));
    assert!(matches!(refused(Sizes { m: 1, n: 1, k: 1 << 31, ..Sizes::default() }), Error::Argument(_)));
}

#[test]
fn every_tile_in_parts() {
    tests::mixed::every_tile_in_parts(&sim());
}

#[test]
fn parts_in_a_graph() {
    tests::mixed::parts_in_a_graph(&sim());
}
