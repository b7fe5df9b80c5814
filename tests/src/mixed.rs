//! Products of narrow types on tensor cores with epilogues: each parameter alone and all together, for products of
//! every type, at sizes with and without edges; and products that have no error.

use float8::F8E4M3;
use half::{bf16, f16};
use rustwarp::backend::View;
use rustwarp::element::Value;
use rustwarp::matmul::{Batch, Sizes};
use rustwarp::mixed_matmul::{Activation, Epilogue, Factor, Forced, Plan};
use rustwarp::{Buffer, Device, Scalar};

/// Every storage order of the factors.
pub const STORED: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

/// The kernels that can compute a product: warpgroups and, for types that have them, single warps with every part of
/// the product.
pub fn ways<T: Factor<O>, O: Scalar>() -> Vec<Forced> {
    let tiles = T::WARP_KERNELS.map_or(0, |_| Plan::<T, O>::WARP_TILES);
    let warps = (0..tiles).map(|tile| Forced { warps: Some(true), tile: Some(tile), ..Forced::default() });
    [Forced { warps: Some(false), ..Forced::default() }].into_iter().chain(warps).collect()
}

/// The plans of all [`ways`].
///
/// # Panics
/// If the device has too little memory.
pub fn plans<T: Factor<O>, O: Scalar>(device: &Device, sizes: Sizes) -> Vec<Plan<T, O>> {
    let plan = |way| Plan::forced(device, sizes, Batch::SINGLE, way).expect("a plan");
    ways::<T, O>().into_iter().map(plan).collect()
}

/// Small integers, so that sums are exact.
fn integers(n: usize, step: usize) -> impl Iterator<Item = f32> {
    (0..n).map(move |i| (i * step % 5) as f32 - 2.0)
}

/// The number that an element is.
pub fn value<T: Scalar>(x: T) -> f64 {
    match x.value() {
        Value::Float(x) => x,
        Value::Int(x) => x as f64,
    }
}

struct Case {
    name: &'static str,
    alpha: f32,
    beta: Option<f32>,
    rows: bool,
    columns: bool,
    bias: bool,
    activation: Activation,
}

const NONE: Case = Case {
    name: "none",
    alpha: 1.0,
    beta: None,
    rows: false,
    columns: false,
    bias: false,
    activation: Activation::Identity,
};

const CASES: [Case; 8] = [
    NONE,
    Case { name: "alpha", alpha: -0.75, ..NONE },
    Case { name: "beta", beta: Some(0.5), ..NONE },
    Case { name: "rows", rows: true, ..NONE },
    Case { name: "columns", columns: true, ..NONE },
    Case { name: "bias and relu", bias: true, activation: Activation::Relu, ..NONE },
    Case { name: "gelu", alpha: 0.125, activation: Activation::Gelu, ..NONE },
    Case {
        name: "all",
        alpha: 0.25,
        beta: Some(-1.5),
        rows: true,
        columns: true,
        bias: true,
        activation: Activation::Gelu,
    },
];

/// The definition, in f64.
fn activate(activation: Activation, x: f64) -> f64 {
    match activation {
        Activation::Relu => x.max(0.0),
        Activation::Gelu => {
            x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
        }
        _ => x,
    }
}

fn check<T: Factor<O>, O: Scalar>(device: &Device, narrow: fn(f32) -> T, out: fn(f32) -> O, rounding: f64) {
    for (m, n, k) in [(130, 72, 40), (35, 67, 33)] {
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        let (a, b): (Vec<f32>, Vec<f32>) = (integers(m * k, 3).collect(), integers(k * n, 7).collect());
        let upload = |x: &[f32]| device.upload(&x.iter().map(|x| narrow(*x)).collect::<Vec<_>>()).expect("memory");
        let (on_a, on_b) = (upload(&a), upload(&b));
        let old: Vec<f32> = integers(m * n, 11).map(|x| x * 0.5).collect();
        let on_old = device.upload(&old.iter().map(|x| out(*x)).collect::<Vec<_>>()).expect("memory");
        let vector = |n: usize, step| -> Vec<f32> { integers(n, step).map(|x| 1.0 + x / 8.0).collect() };
        let (rows, columns, bias) = (vector(m, 2), vector(n, 3), vector(n, 4));
        let on = |x: &[f32]| device.upload(x).expect("memory");
        let (on_rows, on_columns, on_bias) = (on(&rows), on(&columns), on(&bias));
        for (case, plan) in
            plans::<T, O>(device, sizes).iter().flat_map(|plan| CASES.iter().map(move |case| (case, plan)))
        {
            let epilogue = Epilogue {
                alpha: case.alpha,
                beta: case.beta.unwrap_or(0.0),
                addend: case.beta.map(|_| View::from(&on_old)),
                row_scales: case.rows.then(|| View::from(&on_rows)),
                column_scales: case.columns.then(|| View::from(&on_columns)),
                bias: case.bias.then(|| View::from(&on_bias)),
                activation: case.activation,
            };
            let mut c: Buffer<O> = device.zeros(m * n).expect("memory");
            plan.launch_with([&on_a, &on_b], &epilogue, &mut c).expect("a product");
            for (at, have) in c.download().expect("elements").into_iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let sum: f32 = (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum();
                let scale = f64::from(case.alpha)
                    * if case.rows { f64::from(rows[i]) } else { 1.0 }
                    * if case.columns { f64::from(columns[j]) } else { 1.0 };
                let added = case.beta.map_or(0.0, |beta| f64::from(beta * old[at]));
                let x = scale * f64::from(sum) + added + if case.bias { f64::from(bias[j]) } else { 0.0 };
                let want = activate(case.activation, x);
                let error = (value(have) - want).abs();
                let bound = rounding * want.abs() + 3e-6 * (1.0 + x.abs());
                assert!(error <= bound, "{} {m}x{n}x{k} {i} {j}: {} instead of {want}", case.name, value(have));
            }
        }
    }
}

/// Epilogues of products of bf16.
pub fn epilogues_of_bf16(device: &Device) {
    check::<bf16, bf16>(device, bf16::from_f32, bf16::from_f32, f64::powi(2.0, -8));
    check::<bf16, f32>(device, bf16::from_f32, |x| x, 0.0);
}

/// Of tf32.
pub fn epilogues_of_tf32(device: &Device) {
    check::<f32, f32>(device, |x| x, |x| x, 0.0);
}

/// Of floats of 8 bits.
pub fn epilogues_of_f8(device: &Device) {
    check::<F8E4M3, bf16>(device, F8E4M3::from_f32, bf16::from_f32, f64::powi(2.0, -8));
}

/// Of signed bytes.
pub fn epilogues_of_i8(device: &Device) {
    check::<i8, bf16>(device, |x| x as i8, bf16::from_f32, f64::powi(2.0, -8));
    check::<i8, f32>(device, |x| x as i8, |x| x, 0.0);
}

/// Integers whose sums have few bits have no error, whatever the type and the storage order.
fn small_integers<T: Factor<O>, O: Scalar>(device: &Device, narrow: fn(f32) -> T) {
    let (m, n, k) = (70, 66, 264);
    let (a, b): (Vec<f32>, Vec<f32>) = (integers(m * k, 3).collect(), integers(k * n, 7).collect());
    let upload = |x: &[f32]| device.upload(&x.iter().map(|x| narrow(*x)).collect::<Vec<_>>()).expect("memory");
    let (on_a, on_b) = (upload(&a), upload(&b));
    for transposed in [[false, false], [false, true], [true, false], [true, true]] {
        let sizes = Sizes { m, n, k, transposed, ..Sizes::default() };
        let term = |i: usize, j: usize, l: usize| {
            let (in_a, in_b) =
                (if transposed[0] { l * m + i } else { i * k + l }, if transposed[1] { j * k + l } else { l * n + j });
            a[in_a] * b[in_b]
        };
        let sum = |at: usize| (0..k).map(|l| term(at / n, at % n, l)).sum::<f32>();
        let sums: Vec<f32> = (0..m * n).map(sum).collect();
        for plan in plans::<T, O>(device, sizes) {
            let mut c: Buffer<O> = device.zeros(m * n).expect("memory");
            plan.launch([&on_a, &on_b], &mut c).expect("a product");
            let product = c.download().expect("elements");
            let wrong = product.iter().zip(&sums).position(|(&c, sum)| value(c) != f64::from(*sum));
            assert_eq!(wrong, None, "{} of {}, {transposed:?}", O::DTYPE, T::DTYPE);
        }
    }
}

/// Of every type.
pub fn small_integers_are_exact(device: &Device) {
    small_integers::<f16, f32>(device, f16::from_f32);
    small_integers::<f32, f32>(device, |x| x);
    small_integers::<F8E4M3, f32>(device, F8E4M3::from_f32);
    small_integers::<i8, i32>(device, |x| x as i8);
    small_integers::<i8, f32>(device, |x| x as i8);
}
