//! Products of matrices that are parts of larger ones, as they are and added to what is there, on the simulator.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use half::f16;
use rustwarp::accuracy::Accuracy;
use rustwarp::matmul::{Batch, Sizes, gemm, matmul_batched_into, matmul_into};
use rustwarp::matvec::{self, gemv};
use rustwarp::mixed_matmul::mixed_matmul;
use rustwarp::{Device, Error, emulated};
use tests::gemm::{self as shared, Types, layouts};
use tests::storage::factor;

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

#[test]
fn every_tile_of_f32() {
    shared::every_tile_of_f32(&sim());
}

#[test]
fn every_tile_of_f64() {
    shared::every_tile_of_f64(&sim());
}

#[test]
fn products_of_16_bits() {
    shared::products_of_16_bits(&sim());
}

#[test]
fn products_of_tf32() {
    shared::products_of_tf32(&sim());
}

#[test]
fn products_of_8_bits() {
    shared::products_of_8_bits(&sim());
}

#[test]
fn matrices_times_vectors() {
    shared::matrices_times_vectors(&sim());
}

#[test]
fn emulated_products() {
    shared::emulated_products(&sim());
}

/// Elements that have no slices are multiplied as they are stored.
#[test]
fn infinities_in_parts_of_matrices() {
    let device = sim();
    let sizes = Sizes { m: 3, n: 5, k: 70, transposed: [true, false], leading_dimensions: [6, 8, 7] };
    let mut a = factor(sizes, Batch::SINGLE, 0, 1e30);
    let b: Vec<f32> = vec![1.0; sizes.spans().expect("it is small")[1]];
    a[64 * 6 + 1] = f32::INFINITY;
    let (on_a, on_b) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
    let mut c = device.zeros::<f32>(2 * 7 + 5).expect("memory");
    emulated::Plan::new(&device, sizes).and_then(|plan| plan.launch([&on_a, &on_b], &mut c)).expect("a product");
    let c = c.download().expect("elements");
    assert_eq!(c[7..12], [f32::INFINITY; 5], "the row of the infinity");
    assert!(c[..7].iter().chain(&c[12..]).all(|x| x.is_finite()), "{c:?}");
    assert_eq!([c[5], c[6], c[12], c[13]], [0.0; 4], "between rows");
}

#[test]
fn functions_of_the_library() {
    let (device, types) = (sim(), Types { factor: |x| x, product: |x| x, gap: f32::NAN });
    for (sizes, batch) in layouts(Sizes { m: 40, n: 30, k: 20, transposed: [true, true], ..Sizes::default() }) {
        types.check(&device, (sizes, batch), [1.0, 0.0], "matmul", |[a, b], product| match batch.count {
            1 => matmul_into(a, b, sizes, product),
            _ => matmul_batched_into(a, b, sizes, batch, product),
        });
        types.check(&device, (sizes, batch), [-2.0, 1.0], "gemm", |[a, b], product| {
            gemm(-2.0, a, b, 1.0, product, sizes, batch)
        });
    }
}

/// As BLAS has it: a factor of 0 does not read what is there, and a product without terms leaves the other summand.
#[test]
fn a_beta_of_zero_ignores_nan_and_no_terms_scale_what_is_there() {
    let device = sim();
    let sizes = Sizes { m: 3, n: 2, k: 1, ..Sizes::default() };
    let (a, b) = (device.upload(&[1.0, 2.0, 3.0]).expect("memory"), device.upload(&[1.0, -1.0]).expect("memory"));
    let mut c = device.upload(&[f64::NAN; 6]).expect("memory");
    gemm(2.0, &a, &b, 0.0, &mut c, sizes, Batch::SINGLE).expect("a product");
    assert_eq!(c.download().expect("elements"), [2.0, -2.0, 4.0, -4.0, 6.0, -6.0]);
    let none = device.zeros::<f64>(0).expect("memory");
    gemm(2.0, &none, &none, 0.5, &mut c, Sizes { k: 0, ..sizes }, Batch::SINGLE).expect("a product");
    assert_eq!(c.download().expect("elements"), [1.0, -1.0, 2.0, -2.0, 3.0, -3.0]);
    gemm(0.0, &a, &b, 1.0, &mut c, sizes, Batch::SINGLE).expect("a product");
    assert_eq!(c.download().expect("elements"), [1.0, -1.0, 2.0, -2.0, 3.0, -3.0]);

    let sizes = matvec::Sizes { rows: 3, columns: 1, ..matvec::Sizes::default() };
    let (x, mut y) = (device.upload(&[2.0]).expect("memory"), device.upload(&[f64::NAN; 3]).expect("memory"));
    gemv(-1.0, &a, &x, 0.0, &mut y, sizes).expect("a product");
    assert_eq!(y.download().expect("elements"), [-2.0, -4.0, -6.0]);
    gemv(1.0, &none, &none, 0.5, &mut y, matvec::Sizes { columns: 0, ..sizes }).expect("a product");
    assert_eq!(y.download().expect("elements"), [-1.0, -2.0, -3.0]);
}

#[test]
fn wrong_leading_dimensions_are_refused() {
    let device = sim();
    let sizes = |leading_dimensions| Sizes { m: 4, n: 3, k: 5, leading_dimensions, ..Sizes::default() };
    let (x, y) = (device.zeros::<f32>(3 * 8 + 5).expect("memory"), device.zeros::<f32>(15).expect("memory"));
    let refusal = |leading| device.matmul(&x, &y, sizes(leading)).map(drop).expect_err("a refusal").to_string();
    device.matmul(&x, &y, sizes([8, 0, 0])).map(drop).expect("a product");
    assert!(refusal([7, 0, 0]).contains("A has 29 elements"), "{}", refusal([7, 0, 0]));
    assert!(refusal([8, 2, 0]).contains("the leading dimension of B is 2"), "{}", refusal([8, 2, 0]));
    assert!(refusal([8, 0, 4]).contains("gaps between them"), "{}", refusal([8, 0, 4]));
    let error = device.matmul_with(&x, &y, sizes([8, 0, 4]), Accuracy::Tf32).map(drop).expect_err("gaps").to_string();
    assert!(error.contains("gaps between them"), "{error}");
    let mut product = device.zeros::<f32>(12).expect("memory");
    assert!(matches!(matmul_into(&x, &y, sizes([8, 0, 4]), &mut product), Err(Error::Mismatch(_))));
    let far = Sizes { m: 1, ..sizes([1 << 32, 0, 0]) };
    let row = device.zeros::<f32>(5).expect("memory");
    let error = device.matmul(&row, &y, far).map(drop).expect_err("too far apart").to_string();
    assert!(error.contains("at most 2^32 - 1"), "{error}");
    let of_vector = |leading_dimension| matvec::Sizes { rows: 4, columns: 5, transposed: false, leading_dimension };
    let vector = device.zeros::<f32>(5).expect("memory");
    device.matvec(&x, &vector, of_vector(8)).map(drop).expect("a product");
    let refusal = |sizes| device.matvec(&x, &vector, sizes).map(drop).expect_err("a refusal").to_string();
    assert!(refusal(of_vector(0)).contains("29 elements are not a matrix of 4x5"), "{}", refusal(of_vector(0)));
    assert!(refusal(of_vector(4)).contains("leading dimension of A is 4"), "{}", refusal(of_vector(4)));
    let half = device.zeros::<f16>(3 * 8 + 5).expect("memory");
    let other = device.zeros::<f16>(15).expect("memory");
    let error = mixed_matmul::<f16, f16>(&half, &other, sizes([8, 0, 4])).map(drop).expect_err("gaps").to_string();
    assert!(error.contains("gaps between them"), "{error}");
}
