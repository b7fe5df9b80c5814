//! Products of f32 on tensor cores, on the simulator: exact where they can be, as IEEE says for infinities and NaN, and
//! closer to the exact product than a chain of f32 additions. And products at every accuracy, as batches and with
//! epilogues.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::accuracy::{Accuracy, Plan};
use rustwarp::matmul::{Batch, Epilogue, Sizes};
use rustwarp::{Device, Error, View, emulated};
use tests::accuracy as shared;

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// The element of row `i` and column `j` of a matrix that may be stored transposed.
fn at(matrix: &[f32], [rows, columns]: [usize; 2], transposed: bool, i: usize, j: usize) -> f32 {
    matrix[if transposed { j * rows + i } else { i * columns + j }]
}

/// The product by fused multiply-adds in order, in f32, in f64, and the sums of absolute values.
fn plain(a: &[f32], b: &[f32], sizes: Sizes) -> (Vec<f32>, Vec<f64>, Vec<f64>) {
    let Sizes { m, n, k, transposed, .. } = sizes;
    let (mut single, mut double, mut absolute) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..m {
        for j in 0..n {
            let (mut s, mut d, mut t) = (0.0_f32, 0.0_f64, 0.0_f64);
            for l in 0..k {
                let (x, y) = (at(a, [m, k], transposed[0], i, l), at(b, [k, n], transposed[1], l, j));
                s = x.mul_add(y, s);
                d += f64::from(x) * f64::from(y);
                t += (f64::from(x) * f64::from(y)).abs();
            }
            single.push(s);
            double.push(d);
            absolute.push(t);
        }
    }
    (single, double, absolute)
}

/// The product on tensor cores, however small it is.
fn product(device: &Device, a: &[f32], b: &[f32], sizes: Sizes) -> Vec<f32> {
    let (a, b) = (device.upload(a).expect("memory"), device.upload(b).expect("memory"));
    let mut c = device.zeros::<f32>(sizes.m * sizes.n).expect("memory");
    emulated::Plan::new(device, sizes).and_then(|plan| plan.launch([&a, &b], &mut c)).expect("a launch");
    c.download().expect("a product")
}

#[test]
fn products_of_integers_are_exact_in_every_storage_order() {
    let device = sim();
    let (m, n, k) = (67, 70, 131);
    let a: Vec<f32> = (0..m * k).map(|i| (i * 7 % 8191) as f32 - 4000.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i * 5 % 17) as f32 - 8.0).collect();
    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
        let sizes = Sizes { m, n, k, transposed, ..Sizes::default() };
        let expected = plain(&a, &b, sizes).0;
        assert_eq!(product(&device, &a, &b, sizes), expected, "{transposed:?}");
        for accuracy in [Accuracy::F32, Accuracy::F32Emulated] {
            let (a, b) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
            let c = device.matmul_with(&a, &b, sizes, accuracy).and_then(|c| c.download()).expect("a product");
            assert_eq!(c, expected, "{transposed:?}, {accuracy:?}");
        }
    }
}

#[test]
fn errors_are_below_those_of_f32_additions() {
    let device = sim();
    let sizes = Sizes { m: 24, n: 20, k: 1024, ..Sizes::default() };
    let (a, b) = (shared::fractions(24 * 1024, 1), shared::fractions(1024 * 20, 2));
    // Exponents over 2^±20, of both signs.
    let wide = |values: &[f32], seed| -> Vec<f32> {
        let powers = shared::fractions(values.len(), seed);
        values.iter().zip(powers).map(|(x, p)| (x - 0.5) * f32::powi(2.0, (p * 41.0) as i32 - 20)).collect()
    };
    let signed = |values: &[f32]| -> Vec<f32> { values.iter().map(|x| x - 0.5).collect() };
    for (name, a, b) in
        [("positive", a.clone(), b.clone()), ("uniform", signed(&a), signed(&b)), ("wide", wide(&a, 3), wide(&b, 4))]
    {
        let (single, exact, absolute) = plain(&a, &b, sizes);
        let emulated = product(&device, &a, &b, sizes);
        let errors = |result: &[f32]| -> Vec<f64> {
            result.iter().zip(exact.iter().zip(&absolute)).map(|(&c, (d, t))| (f64::from(c) - d).abs() / t).collect()
        };
        let rms = |errors: &[f64]| (errors.iter().map(|e| e * e).sum::<f64>() / errors.len() as f64).sqrt();
        let (ours, chain) = (errors(&emulated), errors(&single));
        let bound = (1024.0 / 64.0 + 110.0) * f64::from(f32::EPSILON);
        assert!(ours.iter().all(|&error| error <= bound), "{name}");
        assert!(rms(&ours) <= rms(&chain), "{name}: {:e}, and f32 has {:e}", rms(&ours), rms(&chain));
    }
}

#[test]
fn infinities_nan_and_extreme_elements_take_part_as_in_f32() {
    let device = sim();
    let (m, n, k) = (70, 50, 66);
    let mut a: Vec<f32> = shared::fractions(m * k, 5).iter().map(|x| x - 0.5).collect();
    let mut b: Vec<f32> = shared::fractions(k * n, 6).iter().map(|x| x - 0.5).collect();
    (a[k + 3], a[5 * k + 7], a[6 * k + 7]) = (f32::INFINITY, f32::NAN, f32::NEG_INFINITY);
    (b[2 * n + 9], b[3 * n + 4]) = (f32::NEG_INFINITY, 0.0);
    a[9 * k..10 * k].fill(1e34);
    a[10 * k..11 * k].fill(1e-42);
    a[20 * k..21 * k].fill(-0.0);
    a[11 * k..12 * k].fill(1e32);
    for i in 0..k {
        (b[i * n + 11], b[i * n + 12]) = (1e-41, 1e35);
    }
    let sizes = Sizes { m, n, k, ..Sizes::default() };
    let (single, exact, absolute) = plain(&a, &b, sizes);
    let emulated = product(&device, &a, &b, sizes);
    for (i, &result) in emulated.iter().enumerate() {
        let place = format!("row {}, column {}: {result:e}, in f32 {:e}", i / n, i % n, single[i]);
        if single[i].is_finite() {
            // Where the smallest f32 counts, a few of them.
            let bound = 112.0 * f64::from(f32::EPSILON) * absolute[i] + 8.0 * f64::from(f32::from_bits(1));
            assert!((f64::from(result) - exact[i]).abs() <= bound, "{place}");
        } else {
            assert_eq!(result.is_nan(), single[i].is_nan(), "{place}");
            assert!(result.is_nan() || result == single[i], "{place}");
        }
    }
    let again = product(&device, &a, &b, sizes);
    assert!(again.iter().zip(&emulated).all(|(x, y)| x.to_bits() == y.to_bits()), "the same bits in every run");
}

#[test]
fn small_products_leave_tensor_cores_out() {
    let sizes = |m, n, k| Sizes { m, n, k, ..Sizes::default() };
    let pays = |sizes| emulated::pays(sizes, Batch::SINGLE);
    assert!(pays(sizes(1024, 1024, 1024)) && pays(sizes(1 << 31, 1 << 31, 1 << 31)));
    assert!(!pays(sizes(1024, 1024, 1023)) && !pays(sizes(0, 1 << 31, 1 << 31)));
    assert!(pays(sizes(usize::MAX, usize::MAX, usize::MAX)));
    // Tiles that are mostly empty, and factors whose elements are used seldom.
    assert!(!pays(sizes(16, 1 << 15, 1 << 15)) && !pays(sizes(1 << 15, 1 << 15, 16)));
    assert!(!pays(sizes(128, 1 << 15, 1 << 15)) && pays(sizes(256, 1 << 15, 1 << 15)));
    let batches = |count, sizes| emulated::pays(sizes, Batch::contiguous(count, sizes).expect("it fits"));
    assert!(batches(8, sizes(512, 512, 512)) && !batches(7, sizes(512, 512, 512)));
    assert!(
        batches(32, sizes(384, 384, 384)) && !batches(64, sizes(256, 256, 256)) && !batches(0, sizes(512, 512, 512))
    );
    // The sums of the two ways differ in their last bits.
    let (m, n, k) = (24, 20, 256);
    let (device, a, b) = (sim(), shared::fractions(m * k, 1), shared::fractions(k * n, 2));
    let [x, y] = [&a, &b].map(|x| device.upload(x).expect("memory"));
    let with =
        |accuracy| device.matmul_with(&x, &y, sizes(m, n, k), accuracy).and_then(|c| c.download()).expect("a product");
    assert_eq!(with(Accuracy::F32Emulated), with(Accuracy::F32));
    assert_ne!(with(Accuracy::F32), product(&device, &a, &b, sizes(m, n, k)));
}

#[test]
fn misuse_is_refused() {
    let device = sim();
    let x = device.zeros::<f32>(12).expect("memory");
    let sizes = Sizes { m: 3, n: 3, k: 4, ..Sizes::default() };
    let product = |sizes| device.matmul_with(&x, &x, sizes, Accuracy::F32Emulated);
    assert_eq!(product(sizes).and_then(|c| c.download()).expect("a product"), [0.0; 9]);
    assert!(matches!(product(Sizes { m: 4, ..sizes }), Err(Error::Mismatch(_))));
    assert_eq!(product(Sizes { m: 0, n: 3, k: 4, ..sizes }).map(|c| c.len()).ok(), None, "A has 12 elements, not 0");
    let plan = emulated::Plan::new(&device, sizes).expect("a plan");
    let mut memory = device.zeros::<f32>(9).expect("memory");
    assert!(matches!(sim().matmul_with(&x, &x, sizes, Accuracy::F32Emulated), Err(Error::OtherDevice { .. })));
    plan.launch([&x, &x], &mut memory).expect("a launch");
    let mut short = device.zeros::<f32>(8).expect("memory");
    assert!(matches!(plan.launch([&x, &x], &mut short), Err(Error::Mismatch(_))));
}

#[test]
fn every_accuracy_is_within_its_bound() {
    shared::within_the_bounds(&sim());
}

#[test]
fn every_accuracy_multiplies_many_matrices() {
    shared::many_products(&sim());
}

#[test]
fn every_accuracy_takes_products_without_elements_or_terms() {
    shared::empty_products(&sim());
}

#[test]
fn every_accuracy_keeps_infinities_and_nan_in_their_products() {
    shared::infinities_and_nan(&sim());
}

#[test]
fn tf32_is_outside_of_the_other_bounds() {
    shared::tf32_is_outside_of_the_other_bounds(&sim());
}

/// A plan says how it computes: as was asked for where that is faster.
#[test]
fn plans_say_their_accuracy() {
    let device = sim();
    let planned = |count, n, accuracy| {
        let sizes = Sizes { m: n, n, k: n, ..Sizes::default() };
        let batch = Batch::contiguous(count, sizes).expect("it is small");
        Plan::batched(&device, sizes, batch, accuracy).expect("a plan").accuracy()
    };
    assert_eq!(planned(8, 512, Accuracy::F32Emulated), Accuracy::F32Emulated);
    assert_eq!(planned(7, 512, Accuracy::F32Emulated), Accuracy::F32);
    assert_eq!(planned(1, 8, Accuracy::Tf32), Accuracy::Tf32);
    assert_eq!(planned(8, 512, Accuracy::F32), Accuracy::F32);
}

/// At every accuracy: memory of other lengths, of other devices, that overlaps, and products that do.
#[test]
fn misuse_of_batches_and_epilogues_is_refused() {
    let device = sim();
    let sizes = Sizes { m: 3, n: 5, k: 4, ..Sizes::default() };
    let batch = Batch::contiguous(2, sizes).expect("it is small");
    let memory = |n: usize| device.zeros::<f32>(n).expect("memory");
    let (a, b, mut c, other) = (memory(24), memory(40), memory(30), sim());
    for accuracy in shared::ACCURACIES {
        let plan = Plan::forced(&device, sizes, batch, accuracy).expect("a plan");
        plan.launch([&a, &b], &mut c).expect("products");
        let mut refusal = |factors, epilogue: &Epilogue<'_, f32>, words: &str| {
            let error = plan.launch_with(factors, epilogue, &mut c).expect_err("a refusal").to_string();
            assert!(error.contains(words), "{accuracy:?}: {error}");
        };
        let none = Epilogue::default();
        refusal([&b, &b], &none, "A has 40 elements, and 24 are needed");
        refusal([&a, &a], &none, "B has 24 elements, and 40 are needed");
        let with = |view| Some(View::from(view));
        refusal(
            [&a, &b],
            &Epilogue { row_scales: with(&a), ..none },
            "the rows' scales has 24 elements, and 3 are needed",
        );
        refusal([&a, &b], &Epilogue { column_scales: with(&a), ..none }, "the columns' scales has 24 elements, and 5");
        refusal([&a, &b], &Epilogue { bias: with(&a), ..none }, "the bias has 24 elements, and 5 are needed");
        refusal([&a, &b], &Epilogue { addend: with(&a), beta: 1.0, ..none }, "the addend has 24 elements, and 30");
        let mut short = memory(29);
        let error = plan.launch([&a, &b], &mut short).expect_err("a refusal").to_string();
        assert!(error.contains("the output has 29 elements, and 30 are needed"), "{accuracy:?}: {error}");
        let mut elsewhere = other.zeros::<f32>(30).expect("memory");
        assert!(matches!(plan.launch([&a, &b], &mut elsewhere), Err(Error::OtherDevice { .. })), "{accuracy:?}");
        let planned = |sizes, batch| Plan::forced(&device, sizes, batch, accuracy).map(drop).expect_err("a refusal");
        let error = planned(sizes, Batch::new(2, [12, 20, 14])).to_string();
        assert!(error.contains("every 14 elements overlap"), "{accuracy:?}: {error}");
        let error = planned(Sizes { leading_dimensions: [0, 4, 0], ..sizes }, batch).to_string();
        assert!(error.contains("the leading dimension of B is 4"), "{accuracy:?}: {error}");
        let error = planned(sizes, Batch::new(1 << 33, [0, 0, 15])).to_string();
        assert!(error.contains("multiply in parts"), "{accuracy:?}: {error}");
    }
}
