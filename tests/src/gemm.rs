//! Products of matrices that are parts of larger ones, as they are and scaled and added to what is there, by every
//! kernel. Factors are small integers, so that products are exact; between their rows are numbers that no product can
//! have read, and what is between the rows of a product stays.

use crate::mixed::{STORED, value, ways};
use crate::storage::{factor, pitches, products};
use float8::F8E4M3;
use half::{bf16, f16};
use rustwarp::matmul::{self, Batch, Plan, Real, Sizes, gemm};
use rustwarp::matvec;
use rustwarp::mixed_matmul::{self, Epilogue, Factor, Forced};
use rustwarp::{Buffer, Device, Result, Scalar, emulated};

/// Products as they are, and with what is there.
const SCALES: [[f32; 2]; 2] = [[1.0, 0.0], [2.0, 4.0]];

/// Sizes and batches: rows apart by whole cache lines, and by odd numbers of elements, of all matrices and of one;
/// several products below each other, and side by side.
///
/// # Panics
/// If sizes are too large.
pub fn layouts(sizes: Sizes) -> Vec<(Sizes, Batch)> {
    let tight = pitches(sizes);
    let with = |leading_dimensions| (Sizes { leading_dimensions, ..sizes }, Batch::SINGLE);
    let (wide, odd) = (tight.map(|pitch| pitch.next_multiple_of(128) + 128), tight.map(|pitch| pitch + 3));
    let (below, _) = with([wide[0], odd[1], odd[2]]);
    let (beside, _) = with(tight.map(|pitch| 3 * pitch + 5));
    vec![
        with(wide),
        with(odd),
        with([wide[0], 0, 0]),
        with([0, odd[1], 0]),
        with([0, wide[1], odd[2]]),
        with([odd[0], 0, wide[2]]),
        (below, Batch::contiguous(2, below).expect("it is small")),
        (beside, Batch::new(3, tight)),
    ]
}

/// Types of factors and products, which have small integers, and what is between rows.
pub struct Types<T, O> {
    /// An element of a factor.
    pub factor: fn(f32) -> T,
    /// An element of a product.
    pub product: fn(f32) -> O,
    /// What is between the rows of factors.
    pub gap: f32,
}

impl<T: Scalar, O: Scalar> Types<T, O> {
    /// Compares all memory of the products that `launch` computes with `scales[0] * sum + scales[1] * before`.
    ///
    /// # Panics
    /// If an element is wrong.
    pub fn check(
        &self,
        device: &Device,
        (sizes, batch): (Sizes, Batch),
        scales: [f32; 2],
        what: &str,
        launch: impl FnOnce([&Buffer<T>; 2], &mut Buffer<O>) -> Result<()>,
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
        assert_eq!(wrong, None, "{} to {}: {sizes:?} {batch:?} {scales:?} {what}", T::DTYPE, O::DTYPE);
    }
}

/// Calls `check` with each layout of products of these sizes, in each storage order; each layout is scaled in half of
/// the orders.
fn each([m, n, k]: [usize; 3], mut check: impl FnMut((Sizes, Batch), [f32; 2])) {
    for (i, transposed) in STORED.into_iter().enumerate() {
        let sizes = Sizes { m, n, k, transposed, ..Sizes::default() };
        for (j, layout) in layouts(sizes).into_iter().enumerate() {
            check(layout, SCALES[(i + j) % 2]);
        }
    }
}

/// Every tile of `matmul`, with a pipeline of copies and without, and with a divided depth; and `gemm`.
fn tiles<T: Real>(device: &Device, from: fn(f32) -> T) {
    let types = Types { factor: from, product: from, gap: f32::NAN };
    for tile in T::tiles() {
        let size = tile.size();
        let [rows, columns] = [size.rows, size.columns].map(|side| side as usize + 4);
        // Deeper than the stages, so that one is used again: the shared memory has at most this many rows of both
        // tiles.
        let deep = size.shared as usize / ((rows + columns) * size_of::<T>()) + 8;
        for sizes in [[rows, columns, deep], [13, 18, 9], [13, 18, 1300]] {
            each(sizes, |(sizes, batch), scales| {
                let [alpha, beta] = scales.map(from);
                let epilogue = matmul::Epilogue { alpha, beta, ..Default::default() };
                types.check(device, (sizes, batch), scales, tile.name(), |factors, product| {
                    Plan::batched(device, sizes, batch, Some(&tile))?.launch_with(factors, &epilogue, product)
                });
            });
        }
    }
    for sizes in [[140, 72, 96], [33, 18, 35], [5, 200, 3]] {
        each(sizes, |(sizes, batch), scales| {
            let [alpha, beta] = scales.map(from);
            types.check(device, (sizes, batch), scales, "gemm", |[a, b], c| gemm(alpha, a, b, beta, c, sizes, batch));
        });
    }
}

/// Of f32.
///
/// # Panics
/// If an element is wrong.
pub fn every_tile_of_f32(device: &Device) {
    tiles::<f32>(device, |x| x);
}

/// Of f64.
///
/// # Panics
/// If an element is wrong.
pub fn every_tile_of_f64(device: &Device) {
    tiles::<f64>(device, f64::from);
}

/// Every kernel for tensor cores.
fn mixed<T: Factor<O>, O: Scalar>(device: &Device, types: &Types<T, O>) {
    // Sums of i32 have no epilogue.
    let epilogue = |[alpha, beta]: [f32; 2]| match O::DTYPE.is_float() {
        true => Epilogue { alpha, beta, ..Epilogue::default() },
        false => Epilogue::default(),
    };
    let check = |(sizes, batch), scales, forced| {
        let epilogue = epilogue(scales);
        let (scales, what) = ([epilogue.alpha, epilogue.beta], format!("{forced:?}"));
        types.check(device, (sizes, batch), scales, &what, |factors, product| {
            mixed_matmul::Plan::<T, O>::forced(device, sizes, batch, forced)?.launch_with(factors, &epilogue, product)
        });
    };
    for way in ways::<T, O>() {
        for sizes in [[140, 72, 96], [33, 18, 35]] {
            each(sizes, |layout, scales| check(layout, scales, way));
        }
        // A divided depth, whose sums are added up at the end or by another kernel.
        let stage = 128 / size_of::<T>();
        each([40, 24, 3 * stage], |layout, scales| {
            if layout.1.count == 1 {
                check(layout, scales, Forced { part: Some(stage as u32), ..way });
            }
        });
    }
}

/// Of f16 and bf16.
///
/// # Panics
/// If an element is wrong.
pub fn products_of_16_bits(device: &Device) {
    mixed(device, &Types { factor: f16::from_f32, product: f16::from_f32, gap: f32::NAN });
    mixed::<bf16, f32>(device, &Types { factor: bf16::from_f32, product: |x| x, gap: f32::NAN });
}

/// Of f32 cut to tf32.
///
/// # Panics
/// If an element is wrong.
pub fn products_of_tf32(device: &Device) {
    mixed::<f32, f32>(device, &Types { factor: |x| x, product: |x| x, gap: f32::NAN });
}

/// Of floats of 8 bits, and of bytes.
///
/// # Panics
/// If an element is wrong.
pub fn products_of_8_bits(device: &Device) {
    mixed::<F8E4M3, bf16>(device, &Types { factor: F8E4M3::from_f32, product: bf16::from_f32, gap: f32::NAN });
    mixed::<i8, i32>(device, &Types { factor: |x| x as i8, product: |x| x as i32, gap: 99.0 });
}

/// Products of a matrix and a vector: every kind of launch and of load.
fn vectors<T: matvec::Operand>(device: &Device, factor: fn(f32) -> T, product: fn(f32) -> T::Output) {
    let types = Types { factor, product, gap: f32::NAN };
    for [m, k] in [[5, 7], [33, 48], [31, 1031], [300, 65], [2500, 3], [33_001, 3], [1100, 256], [5, 9001]] {
        for transposed in [false, true] {
            let tight: usize = if transposed { m } else { k };
            for apart in [0, tight + 3, tight.next_multiple_of(8) + 128] {
                let leading_dimensions = [apart, 0, 0];
                let sizes = Sizes { m, n: 1, k, transposed: [transposed, false], leading_dimensions };
                let matrix = matvec::Sizes { rows: m, columns: k, transposed, leading_dimension: apart };
                for (scales, keeps) in SCALES.into_iter().zip([true, false]) {
                    types.check(device, (sizes, Batch::SINGLE), scales, "gemv", |[a, x], y| {
                        let plan = matvec::Plan::<T>::new(device, matrix)?.keeping(keeps);
                        plan.launch_scaled(a, x, scales.map(product), y)
                    });
                }
            }
        }
    }
}

/// Of every type.
///
/// # Panics
/// If an element is wrong.
pub fn matrices_times_vectors(device: &Device) {
    vectors::<f32>(device, |x| x, |x| x);
    vectors::<f64>(device, f64::from, f64::from);
    vectors::<f16>(device, f16::from_f32, |x| x);
    vectors::<bf16>(device, bf16::from_f32, |x| x);
}

/// Of f32 on tensor cores. Numbers between rows would change the scale of a piece, and so its sums.
///
/// # Panics
/// If an element is wrong.
pub fn emulated_products(device: &Device) {
    let types = Types { factor: |x| x, product: |x| x, gap: 1e30_f32 };
    for sizes in [[140, 50, 70], [33, 18, 35]] {
        each(sizes, |(sizes, batch), scales| {
            let epilogue = Epilogue { alpha: scales[0], beta: scales[1], ..Epilogue::default() };
            types.check(device, (sizes, batch), scales, "emulated", |factors, product| {
                emulated::Plan::batched(device, sizes, batch)?.launch_with(factors, &epilogue, product)
            });
        });
    }
}
