//! Products of f32 at every accuracy, as batches, in parts of larger matrices and with epilogues: within the stated
//! bounds of the exact result, computed in f64, and as IEEE says for infinities and NaN.

use crate::gemm::layouts;
use crate::mixed::STORED;
use crate::storage::{self, place};
use rustwarp::accuracy::{Accuracy, Plan};
use rustwarp::matmul::{Activation, Batch, Epilogue, Sizes};
use rustwarp::{Buffer, Device, View};

/// Every accuracy.
pub const ACCURACIES: [Accuracy; 3] = [Accuracy::F32, Accuracy::Tf32, Accuracy::F32Emulated];

/// What is between the rows of factors. Read into a sum, or into the scale of slices, it makes results wrong.
const GAP: f32 = 1e30;

/// Which parameters of an epilogue there are.
#[derive(Clone, Copy, Debug)]
struct Case {
    alpha: f32,
    beta: f32,
    /// Whether what is multiplied by beta is a matrix of its own.
    has_addend: bool,
    /// Whether there are scales of the rows and of the columns.
    scales: bool,
    bias: bool,
    activation: Activation,
}

/// The products as they are.
const NONE: Case =
    Case { alpha: 1.0, beta: 0.0, has_addend: false, scales: false, bias: false, activation: Activation::Identity };

const CASES: [Case; 5] = [
    NONE,
    Case { alpha: -0.75, beta: 1.25, ..NONE },
    Case { beta: 0.5, has_addend: true, bias: true, activation: Activation::Relu, ..NONE },
    Case { scales: true, ..NONE },
    Case { alpha: 0.3, beta: -1.5, has_addend: true, scales: true, bias: true, activation: Activation::Gelu },
];

/// Largest distance of a sum of `k` products from the exact one, as a fraction of the sum of magnitudes: what the
/// library states.
fn bound(accuracy: Accuracy, k: usize) -> f64 {
    let (k, epsilon) = (k as f64, f64::from(f32::EPSILON));
    match accuracy {
        Accuracy::Tf32 => f64::powi(2.0, -9) + (k + 24.0) * epsilon,
        Accuracy::F32Emulated => (k / 64.0 + 110.0) * epsilon,
        _ => k * epsilon,
    }
}

/// Pseudorandom numbers in [0, 1): multiples of 2^-24.
pub fn fractions(n: usize, seed: u32) -> Vec<f32> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
        ((word >> 22) ^ word) >> 8
    };
    (0..n).map(|_| next() as f32 / f32::powi(2.0, 24)).collect()
}

/// Numbers in [-0.5, 0.5) of which tf32 does not have all bits.
fn random(n: usize, seed: u32) -> Vec<f32> {
    fractions(n, seed).into_iter().map(|x| x - 0.5).collect()
}

/// The memory of A (0) or B (1), with [`GAP`] between rows and matrices.
fn factor(sizes: Sizes, batch: Batch, matrix: usize) -> Vec<f32> {
    let mut memory = vec![GAP; batch.spans(sizes).expect("products that do not overlap")[matrix]];
    let numbers = random(memory.len(), matrix as u32 + 1);
    storage::each(sizes, batch, matrix, |_, _, at| memory[at] = numbers[at]);
    memory
}

/// The products of a batch, on a device, and what they are.
struct Products<'a> {
    device: &'a Device,
    sizes: Sizes,
    batch: Batch,
    /// A and B.
    on_device: [Buffer<f32>; 2],
    /// The sum of each element, and that of magnitudes.
    sums: Vec<[f64; 2]>,
    /// Elements of the products, with those between them.
    span: usize,
}

impl<'a> Products<'a> {
    fn new(device: &'a Device, sizes: Sizes, batch: Batch) -> Self {
        Self::of(device, sizes, batch, [0, 1].map(|matrix| factor(sizes, batch, matrix)))
    }

    fn of(device: &'a Device, sizes: Sizes, batch: Batch, factors: [Vec<f32>; 2]) -> Self {
        let [.., span] = batch.spans(sizes).expect("products that do not overlap");
        let on_device = factors.each_ref().map(|factor| device.upload(factor).expect("memory"));
        let mut sums = vec![[0.0; 2]; span];
        storage::each(sizes, batch, 2, |number, [i, j], to| {
            let at = |matrix: usize, element| {
                f64::from(factors[matrix][number * batch.steps[matrix] + place(sizes, matrix, element)])
            };
            let terms = (0..sizes.k).map(|l| at(0, [i, l]) * at(1, [l, j]));
            sums[to] = terms.fold([0.0; 2], |[sum, magnitudes], term| [sum + term, magnitudes + term.abs()]);
        });
        Self { device, sizes, batch, on_device, sums, span }
    }

    /// Launches the plan, and compares all memory with the definition.
    fn check(&self, plan: &Plan, case: Case) {
        let Self { device, sizes, batch, span, .. } = *self;
        let on = |x: &[f32]| device.upload(x).expect("memory");
        let (old, addend) = (random(span, 3), random(span, 4));
        let (rows, columns, bias) = (random(sizes.m, 5), random(sizes.n, 6), random(sizes.n, 7));
        let [on_addend, on_rows, on_columns, on_bias] = [&addend, &rows, &columns, &bias].map(|x| on(x));
        let epilogue = Epilogue {
            alpha: case.alpha,
            beta: case.beta,
            addend: case.has_addend.then(|| View::from(&on_addend)),
            row_scales: case.scales.then(|| View::from(&on_rows)),
            column_scales: case.scales.then(|| View::from(&on_columns)),
            bias: case.bias.then(|| View::from(&on_bias)),
            activation: case.activation,
        };
        let mut c = on(&old);
        let [a, b] = &self.on_device;
        plan.launch_with([a, b], &epilogue, &mut c).expect("products");
        let c = c.download().expect("elements");
        let mut written = vec![false; span];
        storage::each(sizes, batch, 2, |number, [i, j], at| {
            let scales = if case.scales { [rows[i], columns[j]].map(f64::from) } else { [1.0; 2] };
            let before = f64::from(if case.has_addend { addend[at] } else { old[at] });
            let terms = Terms {
                sum: self.sums[at],
                scale: f64::from(case.alpha) * scales[0] * scales[1],
                added: if case.beta == 0.0 { 0.0 } else { f64::from(case.beta) * before },
                bias: if case.bias { f64::from(bias[j]) } else { 0.0 },
            };
            let have = f64::from(c[at]);
            let right = terms.are(have, case.activation, bound(plan.accuracy(), sizes.k));
            let which = format!("product {number}, row {i}, column {j} of {sizes:?} {batch:?}");
            assert!(right, "{:?} {case:?} {which}: {have} for {terms:?}", plan.accuracy());
            written[at] = true;
        });
        let kept = (0..span).all(|at| written[at] || c[at].to_bits() == old[at].to_bits());
        assert!(kept, "{:?} {case:?} {sizes:?} {batch:?}: between rows or products", plan.accuracy());
    }
}

/// What an element consists of.
#[derive(Debug)]
struct Terms {
    /// The sum, and that of magnitudes.
    sum: [f64; 2],
    scale: f64,
    added: f64,
    bias: f64,
}

impl Terms {
    /// Whether `have` is the element, where a sum may be off by `bound` times the sum of magnitudes.
    fn are(&self, have: f64, activation: Activation, bound: f64) -> bool {
        let [sum, magnitudes] = self.sum;
        let (scaled, epsilon) = (self.scale * sum, f64::from(f32::EPSILON));
        let x = scaled + self.added + self.bias;
        let want = match activation {
            // Unlike `max`, which drops NaN.
            Activation::Relu if x < 0.0 => 0.0,
            Activation::Gelu => {
                x / 2.0 * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
            }
            _ => x,
        };
        if !x.is_finite() {
            return have == want || have.is_nan() && want.is_nan();
        }
        // Six operations of the epilogue round, and GELU has slopes of up to 1.13.
        let rounded = 6.0 * epsilon * (scaled.abs() + self.added.abs() + self.bias.abs());
        let of_x = self.scale.abs() * bound * magnitudes + rounded;
        let of_result = if activation == Activation::Gelu { 1.13 * of_x + 3e-6 * (1.0 + x.abs()) } else { of_x };
        (have - want).abs() <= of_result
    }
}

/// The layouts of [`layouts`], and batches without gaps, with gaps that keep rows on boundaries and that do not, and
/// with one A or B.
fn batches(sizes: Sizes) -> Vec<(Sizes, Batch)> {
    let contiguous = Batch::contiguous(3, sizes).expect("it is small");
    let [a, b, c] = contiguous.steps;
    let apart = [a.next_multiple_of(32) + 32, b.next_multiple_of(32) + 64, c.next_multiple_of(32) + 32];
    let own = [
        contiguous,
        Batch::new(3, apart),
        Batch::new(3, [a + 5, b + 3, c + 1]),
        contiguous.sharing(0),
        contiguous.sharing(1),
        Batch::new(2, [0, 0, c]),
    ];
    own.into_iter().map(|batch| (sizes, batch)).chain(layouts(sizes)).collect()
}

/// The plan of this accuracy, however small products are.
fn plan(device: &Device, sizes: Sizes, batch: Batch, accuracy: Accuracy) -> Plan {
    let plan = Plan::forced(device, sizes, batch, accuracy).expect("a plan");
    assert_eq!(plan.accuracy(), accuracy);
    plan
}

/// Every layout and storage order with each epilogue, in turn, so that each of them meets each of the others' kinds;
/// and products of several tiles.
pub fn within_the_bounds(device: &Device) {
    for (i, transposed) in STORED.into_iter().enumerate() {
        let sizes = Sizes { m: 35, n: 67, k: 70, transposed, ..Sizes::default() };
        for (j, (sizes, batch)) in batches(sizes).into_iter().enumerate() {
            let products = Products::new(device, sizes, batch);
            for accuracy in ACCURACIES {
                let plan = plan(device, sizes, batch, accuracy);
                products.check(&plan, CASES[(i + j) % CASES.len()]);
                products.check(&plan, CASES[(i + j + 2) % CASES.len()]);
            }
        }
    }
    let sizes = Sizes { m: 261, n: 195, k: 67, ..Sizes::default() };
    let batch = Batch::contiguous(2, sizes).expect("it is small");
    let products = Products::new(device, sizes, batch);
    for accuracy in ACCURACIES {
        CASES.into_iter().for_each(|case| products.check(&plan(device, sizes, batch, accuracy), case));
    }
}

/// More products than the device has multiprocessors, so that blocks compute several.
pub fn many_products(device: &Device) {
    let sizes = Sizes { m: 5, n: 6, k: 7, transposed: [false, true], ..Sizes::default() };
    let batch = Batch::contiguous(2 * device.info().multiprocessors as usize + 3, sizes).expect("it is small");
    let products = Products::new(device, sizes, batch);
    for accuracy in ACCURACIES {
        CASES.into_iter().for_each(|case| products.check(&plan(device, sizes, batch, accuracy), case));
    }
}

/// Products without elements and without terms, of which the epilogue is left, and no product.
pub fn empty_products(device: &Device) {
    for ([m, n, k], count) in [([5, 7, 0], 3), ([0, 7, 3], 3), ([5, 0, 3], 3), ([5, 7, 3], 0), ([5, 7, 0], 1)] {
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        let batch = Batch::contiguous(count, sizes).expect("it is small");
        let products = Products::new(device, sizes, batch);
        for accuracy in ACCURACIES {
            CASES.into_iter().for_each(|case| products.check(&plan(device, sizes, batch, accuracy), case));
        }
    }
}

/// Infinities, NaN and elements that have no slices in some products of a batch leave the others as they are.
pub fn infinities_and_nan(device: &Device) {
    for transposed in STORED {
        let sizes = Sizes { m: 34, n: 41, k: 70, transposed, leading_dimensions: [75, 77, 43] };
        let contiguous = Batch::contiguous(3, sizes).expect("it is small");
        for batch in [contiguous, contiguous.sharing(1)] {
            let mut factors = [0, 1].map(|matrix| factor(sizes, batch, matrix));
            let mut set = |matrix: usize, number: usize, element: [usize; 2], x: f32| {
                factors[matrix][number * batch.steps[matrix] + place(sizes, matrix, element)] = x;
            };
            set(0, 1, [2, 3], f32::INFINITY);
            set(0, 1, [9, 66], f32::NAN);
            set(0, 2, [20, 3], f32::NEG_INFINITY);
            (0..sizes.k).for_each(|l| set(0, 2, [11, l], if l % 2 == 0 { 1e34 } else { 1e33 }));
            set(1, batch.count - 1 - usize::from(batch.steps[1] == 0) * 2, [3, 4], f32::INFINITY);
            let products = Products::of(device, sizes, batch, factors);
            let kinds = |is: fn(f64) -> bool| {
                let mut count = 0;
                storage::each(sizes, batch, 2, |number, _, at| {
                    count += usize::from(number == 1 && is(products.sums[at][0]));
                });
                count
            };
            assert!(kinds(f64::is_nan) >= sizes.n && kinds(f64::is_infinite) >= sizes.n - 1, "rows 9 and 2");
            assert!(kinds(f64::is_finite) >= (sizes.m - 2) * (sizes.n - 1), "all other rows");
            for accuracy in ACCURACIES {
                for case in [CASES[0], CASES[2]] {
                    products.check(&plan(device, sizes, batch, accuracy), case);
                }
            }
        }
    }
}

/// A batch that is computed on tensor cores without being forced to be, and whose results those of tf32 are not.
pub fn large_batches(device: &Device) {
    let sizes = Sizes { m: 512, n: 512, k: 512, transposed: [false, true], ..Sizes::default() };
    let batch = Batch::contiguous(8, sizes).expect("it is small");
    let products = Products::new(device, sizes, batch);
    for accuracy in ACCURACIES {
        let plan = Plan::batched(device, sizes, batch, accuracy).expect("a plan");
        assert_eq!(plan.accuracy(), accuracy);
        [CASES[0], CASES[4]].into_iter().for_each(|case| products.check(&plan, case));
    }
}

/// The bounds distinguish the accuracies: products of tf32 are outside of those of the others.
pub fn tf32_is_outside_of_the_other_bounds(device: &Device) {
    let sizes = Sizes { m: 20, n: 30, k: 70, ..Sizes::default() };
    let products = Products::new(device, sizes, Batch::SINGLE);
    let [a, b] = &products.on_device;
    let c = device.matmul_with(a, b, sizes, Accuracy::Tf32).and_then(|c| c.download()).expect("a product");
    for accuracy in [Accuracy::F32, Accuracy::F32Emulated] {
        let mut outside = 0;
        storage::each(sizes, Batch::SINGLE, 2, |_, _, at| {
            let terms = Terms { sum: products.sums[at], scale: 1.0, added: 0.0, bias: 0.0 };
            outside += usize::from(!terms.are(c[at].into(), Activation::Identity, bound(accuracy, sizes.k)));
        });
        assert!(outside > sizes.m * sizes.n / 4, "{outside} elements are outside of the bound of {accuracy:?}");
    }
}
