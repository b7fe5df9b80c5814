//! Products with epilogues: each parameter alone and all together, for products of every type by every kernel, at sizes
//! with and without edges; and all together for factors and products in larger matrices, in each storage order.

use crate::gemm::layouts;
use crate::mixed::{STORED, integers, plans, value, ways};
use crate::storage::{self, factor, place, products};
use float8::F8E4M3;
use half::bf16;
use rustwarp::backend::View;
use rustwarp::epilogue::{Activation, Epilogue};
use rustwarp::matmul::{Batch, Plan, Real, Sizes};
use rustwarp::mixed_matmul::{self, Factor, Forced};
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

/// Everything at once.
const ALL: Case = Case {
    name: "all",
    alpha: 0.25,
    beta: Some(-1.5),
    rows: true,
    columns: true,
    bias: true,
    activation: Activation::Gelu,
};

const CASES: [Case; 8] = [
    NONE,
    Case { name: "alpha", alpha: -0.75, ..NONE },
    Case { name: "beta", beta: Some(0.5), ..NONE },
    Case { name: "rows", rows: true, ..NONE },
    Case { name: "columns", columns: true, ..NONE },
    Case { name: "bias and relu", bias: true, activation: Activation::Relu, ..NONE },
    Case { name: "gelu", alpha: 0.125, activation: Activation::Gelu, ..NONE },
    ALL,
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
    /// What is between the rows of factors.
    gap: f32,
    /// Relative error of an element, and of an activation.
    errors: [f64; 2],
}

impl<T: Scalar, O: Scalar, S: Real> Types<T, O, S> {
    /// Compares all memory of the products that `launch` computes with the definition, in f64. What is there before is
    /// NaN, which stays between rows.
    fn check(
        &self,
        device: &Device,
        (sizes, batch): (Sizes, Batch),
        cases: &[Case],
        what: &str,
        launch: impl Fn([&Buffer<T>; 2], &Epilogue<'_, O, Device, S>, &mut Buffer<O>) -> Result<()>,
    ) {
        let Sizes { m, n, .. } = sizes;
        let [a, b] = [0, 1].map(|matrix| factor(sizes, batch, matrix, self.gap));
        let [.., span] = batch.spans(sizes).expect("products that do not overlap");
        let sums = products([&a, &b], &vec![0.0; span], sizes, batch, [1.0, 0.0]);
        let differ = |count, at: &dyn Fn(usize) -> [usize; 2]| {
            (0..count).any(|i| sums[place(sizes, 2, at(i))] != sums[place(sizes, 2, [0, 0])])
        };
        assert!(differ(m, &|i| [i, 0]) && differ(n, &|j| [0, j]), "{sizes:?}");
        let upload = |x: &[f32]| device.upload(&x.iter().map(|x| (self.factor)(*x)).collect::<Vec<_>>());
        let (on_a, on_b) = (upload(&a).expect("memory"), upload(&b).expect("memory"));
        let old: Vec<f32> = integers(span, 11).map(|x| x * 0.5).collect();
        let upload = |x: &[f32]| device.upload(&x.iter().map(|x| (self.product)(*x)).collect::<Vec<_>>());
        let (on_old, on_behind) = (upload(&old), upload(&[&[0.0], old.as_slice()].concat()));
        let (on_old, on_behind) = (on_old.expect("memory"), on_behind.expect("memory"));
        // One addend starts on a boundary of 16 bytes, the other one does not.
        let off = View::from(&on_behind).view(1..).expect("the elements behind the first");
        let vector = |n: usize, step| -> Vec<f32> { integers(n, step).map(|x| 1.0 + x / 8.0).collect() };
        let (rows, columns, bias) = (vector(m, 2), vector(n, 3), vector(n, 4));
        let on = |x: &[f32]| device.upload(&x.iter().map(|x| (self.parameter)(*x)).collect::<Vec<_>>());
        let (on_rows, on_columns) = (on(&rows).expect("memory"), on(&columns).expect("memory"));
        let on_bias = on(&bias).expect("memory");
        for case in cases {
            let epilogue = Epilogue {
                alpha: (self.parameter)(case.alpha),
                beta: (self.parameter)(case.beta.unwrap_or(0.0)),
                addend: case.beta.map(|_| if case.bias { View::from(&on_old) } else { off }),
                row_scales: case.rows.then(|| View::from(&on_rows)),
                column_scales: case.columns.then(|| View::from(&on_columns)),
                bias: case.bias.then(|| View::from(&on_bias)),
                activation: case.activation,
            };
            let mut c = upload(&vec![f32::NAN; span]).expect("memory");
            launch([&on_a, &on_b], &epilogue, &mut c).expect("a product");
            let c = c.download().expect("elements");
            let mut written = 0;
            storage::each(sizes, batch, 2, |_, [i, j], at| {
                let scale = f64::from(case.alpha)
                    * if case.rows { f64::from(rows[i]) } else { 1.0 }
                    * if case.columns { f64::from(columns[j]) } else { 1.0 };
                let added = case.beta.map_or(0.0, |beta| f64::from(beta * old[at]));
                let x = scale * f64::from(sums[at]) + added + if case.bias { f64::from(bias[j]) } else { 0.0 };
                let want = activate(case.activation, x);
                let have = value(c[at]);
                let bound = self.errors[0] * want.abs() + self.errors[1] * (1.0 + x.abs());
                let right = (have - want).abs() <= bound;
                assert!(right, "{what} {} {sizes:?} {batch:?} {i} {j}: {have} instead of {want}", case.name);
                written += 1;
            });
            let kept = c.iter().filter(|x| value(**x).is_nan()).count();
            assert_eq!(kept, span - written, "{what} {} {sizes:?} {batch:?}: gaps", case.name);
        }
    }

    /// Checks all parameters together, for each layout of products of these sizes in each storage order.
    fn check_layouts(
        &self,
        device: &Device,
        [m, n, k]: [usize; 3],
        what: &str,
        launch: impl Fn((Sizes, Batch), [&Buffer<T>; 2], &Epilogue<'_, O, Device, S>, &mut Buffer<O>) -> Result<()>,
    ) {
        for transposed in STORED {
            for layout in layouts(Sizes { m, n, k, transposed, ..Sizes::default() }) {
                self.check(device, layout, &[ALL], what, |factors, epilogue, product| {
                    launch(layout, factors, epilogue, product)
                });
            }
        }
    }
}

fn mixed<T: Factor<O>, O: Scalar>(device: &Device, types: &Types<T, O, f32>) {
    for (m, n, k) in [(130, 72, 41), (35, 67, 33)] {
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        for plan in plans::<T, O>(device, sizes) {
            types.check(device, (sizes, Batch::SINGLE), &CASES, "mixed", |factors, epilogue, product| {
                plan.launch_with(factors, epilogue, product)
            });
        }
    }
    let stage = 128 / size_of::<T>();
    for way in ways::<T, O>() {
        types.check_layouts(device, [33, 18, 35], &format!("{way:?}"), |(sizes, batch), factors, epilogue, product| {
            mixed_matmul::Plan::forced(device, sizes, batch, way)?.launch_with(factors, epilogue, product)
        });
        // A divided depth, whose sums are finished at the end or by another kernel.
        let way = Forced { part: Some(stage as u32), ..way };
        for transposed in STORED {
            let sizes = Sizes { m: 40, n: 24, k: 3 * stage, transposed, leading_dimensions: [0, 0, 27] };
            let layout = (sizes, Batch::SINGLE);
            types.check(device, layout, &[ALL], &format!("{way:?}"), |factors, epilogue, product| {
                mixed_matmul::Plan::forced(device, sizes, Batch::SINGLE, way)?.launch_with(factors, epilogue, product)
            });
        }
    }
}

/// Relative error of a number of bf16.
const BF16: f64 = 0.003_906_25;

/// Products of bf16.
pub fn of_bf16(device: &Device) {
    let (factor, product, gap) = (bf16::from_f32, bf16::from_f32, f32::NAN);
    mixed(device, &Types { factor, product, parameter: |x| x, gap, errors: [BF16, 3e-6] });
    mixed::<bf16, f32>(device, &Types { factor, product: |x| x, parameter: |x| x, gap, errors: [0.0, 3e-6] });
}

/// Of tf32.
pub fn of_tf32(device: &Device) {
    let (factor, gap) = (|x| x, f32::NAN);
    mixed::<f32, f32>(device, &Types { factor, product: |x| x, parameter: |x| x, gap, errors: [0.0, 3e-6] });
}

/// Of floats of 8 bits.
pub fn of_f8(device: &Device) {
    let (factor, product, gap) = (F8E4M3::from_f32, bf16::from_f32, f32::NAN);
    mixed(device, &Types { factor, product, parameter: |x| x, gap, errors: [BF16, 3e-6] });
}

/// Of signed bytes.
pub fn of_i8(device: &Device) {
    let (factor, product, gap): (fn(f32) -> i8, _, _) = (|x| x as i8, bf16::from_f32, 99.0);
    mixed(device, &Types { factor, product, parameter: |x| x, gap, errors: [BF16, 3e-6] });
    mixed::<i8, f32>(device, &Types { factor, product: |x| x, parameter: |x| x, gap, errors: [0.0, 3e-6] });
}

/// Every tile: whole ones and with edges, whole rows of 16 bytes and others, and a divided depth.
fn tiles<T: Real>(device: &Device, from: fn(f32) -> T, activation: f64) {
    let types = Types { factor: from, product: from, parameter: from, gap: f32::NAN, errors: [0.0, activation] };
    for tile in T::tiles() {
        let size = tile.size();
        for [m, n, k] in
            [[size.rows, size.columns, 9], [size.rows + 3, size.columns + 4, 7], [12, 16, 601], [9, 15, 601]]
        {
            let sizes = Sizes { m: m as usize, n: n as usize, k: k as usize, ..Sizes::default() };
            let plan = Plan::batched(device, sizes, Batch::SINGLE, Some(&tile)).expect("a plan");
            assert!(k < 600 || plan.blocks() > 1 || !size.divides, "{}: the depth is divided", tile.name());
            types.check(device, (sizes, Batch::SINGLE), &CASES, tile.name(), |factors, epilogue, product| {
                plan.launch_with(factors, epilogue, product)
            });
        }
        for sizes in [[33, 18, 35], [13, 18, 601]] {
            types.check_layouts(device, sizes, tile.name(), |(sizes, batch), factors, epilogue, product| {
                Plan::batched(device, sizes, batch, Some(&tile))?.launch_with(factors, epilogue, product)
            });
        }
    }
}

/// Numbers without a finite result: `x / 2 * (1 + tanh(…))` is infinite for `f32::INFINITY`, and NaN for its negative.
fn exceptions<T: Real>(device: &Device, from: fn(f32) -> T) {
    let numbers = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MAX, f32::MIN, 0.0];
    let on = |x: &[f32]| device.upload(&x.iter().map(|x| from(*x)).collect::<Vec<_>>()).expect("memory");
    let (a, b, mut c) = (on(&numbers), on(&[1.0]), on(&[9.0; 6]));
    let plan = Plan::new(device, Sizes { m: 6, n: 1, k: 1, ..Sizes::default() }, None).expect("a plan");
    let mut results = |activation| {
        let epilogue = Epilogue { activation, ..Epilogue::default() };
        plan.launch_with([&a, &b], &epilogue, &mut c).expect("a product");
        let c: Vec<_> = c.download().expect("elements").into_iter().map(value).collect();
        assert!(c[2].is_nan() && c[5] == 0.0, "{activation:?}: {c:?}");
        [c[0], c[1], c[3], c[4]]
    };
    assert_eq!(results(Activation::Relu), [f64::INFINITY, 0.0, f64::from(f32::MAX), 0.0]);
    let [infinite, negative, most, least] = results(Activation::Gelu);
    assert!(negative.is_nan(), "{negative}");
    assert_eq!([infinite, most, least], [f64::INFINITY, f64::from(f32::MAX), 0.0]);
}

/// Of f32.
pub fn of_f32(device: &Device) {
    tiles::<f32>(device, |x| x, 3e-6);
    exceptions::<f32>(device, |x| x);
}

/// Of f64.
pub fn of_f64(device: &Device) {
    tiles::<f64>(device, f64::from, 4e-15);
    exceptions::<f64>(device, f64::from);
}

/// Of f32 on tensor cores, also with elements that have no slices. Numbers between rows would change the scale of a
/// piece, and so its sums.
pub fn of_emulated_f32(device: &Device) {
    let types = Types { factor: |x| x, product: |x| x, parameter: |x| x, gap: 1e30, errors: [0.0, 3e-6] };
    for [m, n, k] in [[130, 72, 41], [35, 67, 33], [260, 203, 7]] {
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        let plan = emulated::Plan::new(device, sizes).expect("a plan");
        types.check(device, (sizes, Batch::SINGLE), &CASES, "emulated", |factors, epilogue, product| {
            plan.launch_with(factors, epilogue, product)
        });
    }
    types.check_layouts(device, [35, 67, 33], "emulated", |(sizes, batch), factors, epilogue, product| {
        emulated::Plan::batched(device, sizes, batch)?.launch_with(factors, epilogue, product)
    });
    let sizes = Sizes { m: 2, n: 3, k: 2, ..Sizes::default() };
    let on = |x: &[f32]| device.upload(x).expect("memory");
    let (a, b, mut c) = (on(&[f32::INFINITY, 1.0, 2.0, 3.0]), on(&[1.0; 6]), on(&[10.0; 6]));
    let epilogue = Epilogue { alpha: 0.5, beta: 1.0, ..Epilogue::default() };
    let plan = emulated::Plan::new(device, sizes).expect("a plan");
    plan.launch_with([&a, &b], &epilogue, &mut c).expect("a product");
    assert_eq!(c.download().expect("elements"), [[f32::INFINITY; 3], [12.5; 3]].as_flattened());
}
