//! Products of matrices that are parts of larger ones, by every kernel, on the simulator. Factors are small integers,
//! so that products are exact; between their rows are numbers that no product can have read, and what is between the
//! rows of a product stays.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use float8::F8E4M3;
use half::{bf16, f16};
use rustwarp::matmul::{Batch, Plan, Real, Sizes, matmul_batched_into, matmul_into};
use rustwarp::mixed_matmul::{self, Epilogue, Factor, Forced, mixed_matmul};
use rustwarp::{Buffer, Device, Error, Scalar, emulated};
use tests::mixed::{STORED, value, ways};
use tests::storage::{factor, pitches, products};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// Sizes and batches: rows apart by whole cache lines, and by odd numbers of elements, of all matrices and of one;
/// several products below each other, and side by side.
fn layouts(sizes: Sizes) -> Vec<(Sizes, Batch)> {
    let tight = pitches(sizes);
    let with = |leading_dimensions| Sizes { leading_dimensions, ..sizes };
    let (wide, odd) = (tight.map(|pitch| pitch.next_multiple_of(128) + 128), tight.map(|pitch| pitch + 3));
    let single = [wide, odd, [wide[0], 0, 0], [0, odd[1], 0], [0, wide[1], odd[2]], [odd[0], 0, wide[2]]];
    let below = with([wide[0], odd[1], odd[2]]);
    let beside = with(tight.map(|pitch| 3 * pitch + 5));
    let below = (below, Batch::contiguous(2, below).expect("it is small"));
    single
        .map(|leading_dimensions| (with(leading_dimensions), Batch::SINGLE))
        .into_iter()
        .chain([below, (beside, Batch::new(3, tight))])
        .collect()
}

/// Types of factors and products, which have small integers, and what is between rows.
struct Types<T, O> {
    factor: fn(f32) -> T,
    product: fn(f32) -> O,
    gap: f32,
}

impl<T: Scalar, O: Scalar> Types<T, O> {
    /// Compares all memory of the products that `launch` computes with `scales[0] * sum + scales[1] * before`.
    fn check(
        &self,
        device: &Device,
        (sizes, batch): (Sizes, Batch),
        scales: [f32; 2],
        what: &str,
        launch: impl FnOnce([&Buffer<T>; 2], &mut Buffer<O>) -> rustwarp::Result<()>,
    ) {
        let [a, b] = [0, 1].map(|matrix| factor(sizes, batch, matrix, self.gap));
        let [.., span] = batch.spans(sizes).expect("products that do not overlap");
        let before: Vec<f32> = (0..span).map(|i| (i % 7) as f32 - 3.0).collect();
        let expected = products([&a, &b], &before, sizes, batch, scales);
        let upload = |x: &[f32]| device.upload(&x.iter().map(|x| (self.factor)(*x)).collect::<Vec<_>>());
        let (on_a, on_b) = (upload(&a).expect("memory"), upload(&b).expect("memory"));
        let old: Vec<O> = before.iter().map(|x| (self.product)(*x)).collect();
        let mut memory = device.upload(&old).expect("memory");
        launch([&on_a, &on_b], &mut memory).expect("products");
        let memory = memory.download().expect("elements");
        let wrong = memory.iter().zip(&expected).position(|(have, want)| value(*have) != f64::from(*want));
        assert_eq!(wrong, None, "{} to {}: {sizes:?} {batch:?} {what}", T::DTYPE, O::DTYPE);
    }
}

/// Every tile of `matmul`, with a pipeline of copies and without.
fn tiles<T: Real>(types: &Types<T, T>) {
    let device = sim();
    for tile in T::tiles() {
        let size = tile.size();
        let [rows, columns] = [size.rows, size.columns].map(|side| side as usize + 4);
        for ([m, n, k], transposed) in [[rows, columns, size.least_depth as usize + 8], [13, 18, 9]]
            .into_iter()
            .flat_map(|s| STORED.map(|t| (s, t)))
        {
            for (sizes, batch) in layouts(Sizes { m, n, k, transposed, ..Sizes::default() }) {
                types.check(&device, (sizes, batch), [1.0, 0.0], tile.name(), |factors, product| {
                    Plan::batched(&device, sizes, batch, Some(&tile))?.launch(factors, product)
                });
            }
        }
    }
}

#[test]
fn every_tile_of_f32() {
    tiles(&Types { factor: |x| x, product: |x| x, gap: f32::NAN });
}

#[test]
fn every_tile_of_f64() {
    tiles(&Types { factor: f64::from, product: f64::from, gap: f32::NAN });
}

/// Every kernel for tensor cores: sums as they are, and with the product's old contents added.
fn mixed<T: Factor<O>, O: Scalar>(types: &Types<T, O>) {
    let device = sim();
    for [m, n, k] in [[140, 72, 96], [33, 18, 35]] {
        for transposed in STORED {
            for (sizes, batch) in layouts(Sizes { m, n, k, transposed, ..Sizes::default() }) {
                for way in ways::<T, O>() {
                    // Sums of i32 have no epilogue.
                    let scales = if O::DTYPE.is_float() { &[[1.0, 0.0], [2.0, 4.0]][..] } else { &[[1.0, 0.0]] };
                    for &[alpha, beta] in scales {
                        types.check(&device, (sizes, batch), [alpha, beta], &format!("{way:?}"), |factors, product| {
                            let plan = mixed_matmul::Plan::<T, O>::forced(&device, sizes, batch, way)?;
                            plan.launch_with(factors, &Epilogue { alpha, beta, ..Epilogue::default() }, product)
                        });
                    }
                }
            }
        }
    }
    // A divided depth, whose sums are written by another kernel.
    let part = Some(128 / size_of::<T>() as u32);
    let k = 3 * 128 / size_of::<T>();
    for (sizes, batch) in layouts(Sizes { m: 40, n: 24, k, ..Sizes::default() }) {
        for way in ways::<T, O>().into_iter().filter(|_| batch.count == 1) {
            types.check(&device, (sizes, batch), [1.0, 0.0], "in parts", |factors, product| {
                let forced = Forced { part, ..way };
                mixed_matmul::Plan::<T, O>::forced(&device, sizes, batch, forced)?.launch(factors, product)
            });
        }
    }
}

#[test]
fn products_of_16_bits() {
    mixed(&Types { factor: f16::from_f32, product: f16::from_f32, gap: f32::NAN });
    mixed::<bf16, f32>(&Types { factor: bf16::from_f32, product: |x| x, gap: f32::NAN });
}

#[test]
fn products_of_tf32() {
    mixed::<f32, f32>(&Types { factor: |x| x, product: |x| x, gap: f32::NAN });
}

#[test]
fn products_of_8_bits() {
    mixed::<F8E4M3, bf16>(&Types { factor: F8E4M3::from_f32, product: bf16::from_f32, gap: f32::NAN });
    mixed::<i8, i32>(&Types { factor: |x| x as i8, product: |x| x as i32, gap: 99.0 });
}

/// Numbers between rows would change the scale of a piece, and so its sums.
#[test]
fn emulated_products_of_f32() {
    let (device, types) = (sim(), Types { factor: |x| x, product: |x| x, gap: 1e30_f32 });
    for ([m, n, k], transposed) in [[140, 50, 70], [33, 18, 35]].into_iter().flat_map(|s| STORED.map(|t| (s, t))) {
        for (sizes, batch) in layouts(Sizes { m, n, k, transposed, ..Sizes::default() }) {
            if batch.count == 1 {
                types.check(&device, (sizes, batch), [1.0, 0.0], "emulated", |factors, product| {
                    emulated::Plan::new(&device, sizes)?.launch(factors, product)
                });
            }
        }
    }
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
    }
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
    let mut product = device.zeros::<f32>(12).expect("memory");
    assert!(matches!(matmul_into(&x, &y, sizes([8, 0, 4]), &mut product), Err(Error::Mismatch(_))));
    let far = Sizes { m: 1, ..sizes([1 << 32, 0, 0]) };
    let row = device.zeros::<f32>(5).expect("memory");
    let error = device.matmul(&row, &y, far).map(drop).expect_err("too far apart").to_string();
    assert!(error.contains("at most 2^32 - 1"), "{error}");
    let half = device.zeros::<f16>(3 * 8 + 5).expect("memory");
    let other = device.zeros::<f16>(15).expect("memory");
    let error = mixed_matmul::<f16, f16>(&half, &other, sizes([8, 0, 4])).map(drop).expect_err("gaps").to_string();
    assert!(error.contains("gaps between them"), "{error}");
}
