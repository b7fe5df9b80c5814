//! Products with epilogues: each parameter alone and all together, for products of every type by every kernel, at sizes
//! with and without edges.

use crate::mixed::{integers, plans, value};
use crate::storage::integer;
use float8::F8E4M3;
use half::bf16;
use rustwarp::backend::View;
use rustwarp::epilogue::{Activation, Epilogue};
use rustwarp::matmul::{Batch, Plan, Real, Sizes};
use rustwarp::mixed_matmul::Factor;
use rustwarp::{Buffer, Device, Result, Scalar, emulated};

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

/// Types of factors, of products and of their epilogues.
struct Types<T, O, S> {
    factor: fn(f32) -> T,
    product: fn(f32) -> O,
    parameter: fn(f32) -> S,
    /// Relative error of an element, and of an activation.
    errors: [f64; 2],
}

impl<T: Scalar, O: Scalar, S: Scalar> Types<T, O, S> {
    /// Compares what `launch` computes with the definition, in f64.
    fn check(
        &self,
        device: &Device,
        sizes: Sizes,
        what: &str,
        launch: impl Fn([&Buffer<T>; 2], &Epilogue<'_, O, Device, S>, &mut Buffer<O>) -> Result<()>,
    ) where
        S: Real,
    {
        let Sizes { m, n, k, .. } = sizes;
        let (a, b): (Vec<f32>, Vec<f32>) = ((0..m * k).map(integer).collect(), (0..k * n).map(integer).collect());
        let sum = |i: usize, j: usize| (0..k).map(|l| a[i * k + l] * b[l * n + j]).sum::<f32>();
        let differ = |sums: Vec<f32>| sums.iter().any(|sum| *sum != sums[0]);
        assert!(
            differ((0..m).map(|i| sum(i, 0)).collect()) && differ((0..n).map(|j| sum(0, j)).collect()),
            "{sizes:?}"
        );
        let upload = |x: &[f32]| device.upload(&x.iter().map(|x| (self.factor)(*x)).collect::<Vec<_>>());
        let (on_a, on_b) = (upload(&a).expect("memory"), upload(&b).expect("memory"));
        let old: Vec<f32> = integers(m * n, 11).map(|x| x * 0.5).collect();
        let on_old = device.upload(&old.iter().map(|x| (self.product)(*x)).collect::<Vec<_>>()).expect("memory");
        let behind = [&[0.0], old.as_slice()].concat();
        let on_behind = device.upload(&behind.iter().map(|x| (self.product)(*x)).collect::<Vec<_>>()).expect("memory");
        // One addend starts on a boundary of 16 bytes, the other one does not.
        let off = View::from(&on_behind).view(1..).expect("the elements behind the first");
        let vector = |n: usize, step| -> Vec<f32> { integers(n, step).map(|x| 1.0 + x / 8.0).collect() };
        let (rows, columns, bias) = (vector(m, 2), vector(n, 3), vector(n, 4));
        let on = |x: &[f32]| device.upload(&x.iter().map(|x| (self.parameter)(*x)).collect::<Vec<_>>());
        let (on_rows, on_columns) = (on(&rows).expect("memory"), on(&columns).expect("memory"));
        let on_bias = on(&bias).expect("memory");
        for case in &CASES {
            let epilogue = Epilogue {
                alpha: (self.parameter)(case.alpha),
                beta: (self.parameter)(case.beta.unwrap_or(0.0)),
                addend: case.beta.map(|_| if case.bias { View::from(&on_old) } else { off }),
                row_scales: case.rows.then(|| View::from(&on_rows)),
                column_scales: case.columns.then(|| View::from(&on_columns)),
                bias: case.bias.then(|| View::from(&on_bias)),
                activation: case.activation,
            };
            // What is there is not read.
            let mut c = device.upload(&vec![(self.product)(f32::NAN); m * n]).expect("memory");
            launch([&on_a, &on_b], &epilogue, &mut c).expect("a product");
            for (at, have) in c.download().expect("elements").into_iter().enumerate() {
                let (i, j) = (at / n, at % n);
                let sum = sum(i, j);
                let scale = f64::from(case.alpha)
                    * if case.rows { f64::from(rows[i]) } else { 1.0 }
                    * if case.columns { f64::from(columns[j]) } else { 1.0 };
                let added = case.beta.map_or(0.0, |beta| f64::from(beta * old[at]));
                let x = scale * f64::from(sum) + added + if case.bias { f64::from(bias[j]) } else { 0.0 };
                let want = activate(case.activation, x);
                let error = (value(have) - want).abs();
                let bound = self.errors[0] * want.abs() + self.errors[1] * (1.0 + x.abs());
                let case = case.name;
                assert!(error <= bound, "{what} {case} {m}x{n}x{k} {i} {j}: {} instead of {want}", value(have));
            }
        }
    }
}

fn mixed<T: Factor<O>, O: Scalar>(device: &Device, factor: fn(f32) -> T, product: fn(f32) -> O, rounding: f64) {
    let types = Types { factor, product, parameter: |x| x, errors: [rounding, 3e-6] };
    for (m, n, k) in [(130, 72, 41), (35, 67, 33)] {
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        for plan in plans::<T, O>(device, sizes) {
            types.check(device, sizes, "mixed", |factors, epilogue, product| {
                plan.launch_with(factors, epilogue, product)
            });
        }
    }
}

/// Products of bf16.
pub fn of_bf16(device: &Device) {
    mixed::<bf16, bf16>(device, bf16::from_f32, bf16::from_f32, f64::powi(2.0, -8));
    mixed::<bf16, f32>(device, bf16::from_f32, |x| x, 0.0);
}

/// Of tf32.
pub fn of_tf32(device: &Device) {
    mixed::<f32, f32>(device, |x| x, |x| x, 0.0);
}

/// Of floats of 8 bits.
pub fn of_f8(device: &Device) {
    mixed::<F8E4M3, bf16>(device, F8E4M3::from_f32, bf16::from_f32, f64::powi(2.0, -8));
}

/// Of signed bytes.
pub fn of_i8(device: &Device) {
    mixed::<i8, bf16>(device, |x| x as i8, bf16::from_f32, f64::powi(2.0, -8));
    mixed::<i8, f32>(device, |x| x as i8, |x| x, 0.0);
}

/// Every tile: whole ones and with edges, whole rows of 16 bytes and others, and a divided depth.
fn tiles<T: Real>(device: &Device, from: fn(f32) -> T, activation: f64) {
    let types = Types { factor: from, product: from, parameter: from, errors: [0.0, activation] };
    for tile in T::tiles() {
        let size = tile.size();
        for [m, n, k] in
            [[size.rows, size.columns, 9], [size.rows + 3, size.columns + 4, 7], [12, 16, 601], [9, 15, 601]]
        {
            let sizes = Sizes { m: m as usize, n: n as usize, k: k as usize, ..Sizes::default() };
            let plan = Plan::batched(device, sizes, Batch::SINGLE, Some(&tile)).expect("a plan");
            assert!(k < 600 || plan.blocks() > 1 || !size.divides, "{}: the depth is divided", tile.name());
            types.check(device, sizes, tile.name(), |factors, epilogue, product| {
                plan.launch_with(factors, epilogue, product)
            });
        }
    }
}

/// Of f32.
pub fn of_f32(device: &Device) {
    tiles::<f32>(device, |x| x, 3e-6);
}

/// Of f64.
pub fn of_f64(device: &Device) {
    tiles::<f64>(device, f64::from, 4e-15);
}

/// Of f32 on tensor cores, also with elements that have no slices.
pub fn of_emulated_f32(device: &Device) {
    let types = Types { factor: |x| x, product: |x| x, parameter: |x| x, errors: [0.0, 3e-6] };
    for [m, n, k] in [[130, 72, 41], [35, 67, 33], [260, 203, 7]] {
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        let plan = emulated::Plan::new(device, sizes).expect("a plan");
        types.check(device, sizes, "emulated", |factors, epilogue, product| {
            plan.launch_with(factors, epilogue, product)
        });
    }
    let sizes = Sizes { m: 2, n: 3, k: 2, ..Sizes::default() };
    let on = |x: &[f32]| device.upload(x).expect("memory");
    let (a, b, mut c) = (on(&[f32::INFINITY, 1.0, 2.0, 3.0]), on(&[1.0; 6]), on(&[10.0; 6]));
    let epilogue = Epilogue { alpha: 0.5, beta: 1.0, ..Epilogue::default() };
    let plan = emulated::Plan::new(device, sizes).expect("a plan");
    plan.launch_with([&a, &b], &epilogue, &mut c).expect("a product");
    assert_eq!(c.download().expect("elements"), [[f32::INFINITY; 3], [12.5; 3]].as_flattened());
}
