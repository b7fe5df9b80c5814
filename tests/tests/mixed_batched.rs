//! Batches of products of narrow types, and products whose depth is divided: sums of small integers, which are exact,
//! of every type and by every kernel, on the simulator.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use float8::F8E4M3;
use half::{bf16, f16};
use rustwarp::backend::{Buffer, Checkers, Checks, Choice, View, open};
use rustwarp::matmul::{Batch, Sizes};
use rustwarp::mixed_matmul::{Activation, Epilogue, Factor, Forced, Plan, mixed_matmul_batched};
use rustwarp::{Device, Error, Scalar};
use tests::mixed::{STORED, value, ways};
use tests::storage;

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// -1, 0 and 1 everywhere, also between matrices.
fn integers(len: usize, step: usize) -> Vec<f32> {
    (0..len).map(|at| storage::integer(at * step)).collect()
}

/// All products of a batch, with 9 where no product has an element.
fn expected(a: &[f32], b: &[f32], sizes: Sizes, batch: Batch) -> Vec<f64> {
    let before = vec![9.0; batch.spans(sizes).expect("a batch")[2]];
    storage::products([a, b], &before, sizes, batch, [1.0, 0.0]).into_iter().map(f64::from).collect()
}

/// A type of factors with one of products, which both have small integers.
struct Types<T, O> {
    factor: fn(f32) -> T,
    product: fn(f32) -> O,
}

impl<T: Factor<O>, O: Scalar> Types<T, O> {
    /// Compares the products by all kernels, `part` elements of the depth at a time. Factors start at `start`.
    fn check(&self, sizes: Sizes, batch: Batch, part: Option<u32>, start: usize) {
        let device = sim();
        let [of_a, of_b, of_product] = batch.spans(sizes).expect("a batch");
        let (a, b) = (integers(of_a, 2), integers(of_b, 3));
        let upload = |x: &[f32]| {
            let elements: Vec<T> = std::iter::repeat_n(&5.0, start).chain(x).map(|x| (self.factor)(*x)).collect();
            device.upload(&elements).expect("memory")
        };
        let (on_a, on_b, expected) = (upload(&a), upload(&b), expected(&a, &b, sizes, batch));
        assert!(
            sizes.m * sizes.n < 6 || expected.iter().any(|x| *x != expected[0]),
            "{sizes:?}: all elements are alike"
        );
        for way in ways::<T, O>() {
            let way = Forced { part, ..way };
            let plan = Plan::<T, O>::forced(&device, sizes, batch, way).expect("a plan");
            let mut products = device.upload(&vec![(self.product)(9.0); of_product]).expect("memory");
            let views: [View<'_, T>; 2] = [on_a.view(start..), on_b.view(start..)].map(|view| view.expect("a view"));
            plan.launch(views, &mut products).expect("products");
            let products = products.download().expect("elements");
            let wrong = products.iter().zip(&expected).position(|(have, want)| value(*have) != *want);
            assert_eq!(wrong, None, "{} to {}: {sizes:?} {batch:?} {way:?} from {start}", T::DTYPE, O::DTYPE);
        }
    }

    /// Batches with and without gaps, rows that need copies and rows that do not, factors that all products share.
    fn check_batches(&self) {
        for (m, n, k, orders) in [(40, 24, 80, &STORED[..]), (33, 18, 35, &STORED[1..3])] {
            for &transposed in orders {
                let sizes = Sizes { m, n, k, transposed, ..Sizes::default() };
                let contiguous = Batch::contiguous(3, sizes).expect("it is small");
                self.check(sizes, contiguous, None, 0);
                self.check(sizes, contiguous.sharing(usize::from(transposed[0])), None, 0);
            }
        }
        let sizes = Sizes { m: 16, n: 32, k: 48, transposed: [false, true], ..Sizes::default() };
        let [a, b, product] = [16 * 48, 32 * 48, 16 * 32];
        // Distances of whole units of 16 bytes, others, and matrices that overlap.
        for steps in [[a + 16, b + 32, product + 16], [a + 1, b, product], [a, b + 3, product + 5], [48, 16, product]] {
            self.check(sizes, Batch::new(4, steps), None, 0);
        }
        let contiguous = Batch::contiguous(2, sizes).expect("it is small");
        self.check(sizes, contiguous, None, 1);
        // More products than blocks run at a time.
        self.check(Sizes { m: 3, n: 5, k: 7, ..sizes }, Batch::new(300, [21, 35, 15]), None, 0);
    }

    /// Depths that are divided into parts of one to five stages, the last of which is not whole.
    fn check_parts(&self) {
        let stage = 128 / size_of::<T>() as u32;
        let k = 5 * stage as usize - 32;
        for transposed in STORED {
            self.check(Sizes { m: 40, n: 24, k, transposed, ..Sizes::default() }, Batch::SINGLE, Some(3 * stage), 0);
        }
        for (m, n, stages) in [(130, 33, 2), (1, 3, 1), (40, 72, 5)] {
            self.check(
                Sizes { m, n, k, transposed: STORED[1], ..Sizes::default() },
                Batch::SINGLE,
                Some(stages * stage),
                0,
            );
        }
        let odd = Sizes { m: 9, n: 24, k: 3 * stage as usize - 7, transposed: [true, false], ..Sizes::default() };
        self.check(odd, Batch::SINGLE, Some(stage), 0);
        self.check(odd, Batch::SINGLE, Some(stage), 1);
    }
}

const F16: Types<f16, f16> = Types { factor: f16::from_f32, product: f16::from_f32 };
const BF16: Types<bf16, f32> = Types { factor: bf16::from_f32, product: |x| x };
const TF32: Types<f32, f32> = Types { factor: |x| x, product: |x| x };
const F8: Types<F8E4M3, bf16> = Types { factor: F8E4M3::from_f32, product: bf16::from_f32 };
const I8: Types<i8, i32> = Types { factor: |x| x as i8, product: |x| x as i32 };
const I8_TO_BF16: Types<i8, bf16> = Types { factor: |x| x as i8, product: bf16::from_f32 };

#[test]
fn batches_of_16_bits_are_exact() {
    F16.check_batches();
    BF16.check_batches();
}

#[test]
fn batches_of_tf32_are_exact() {
    TF32.check_batches();
}

#[test]
fn batches_of_8_bits_are_exact() {
    F8.check_batches();
    I8.check_batches();
    I8_TO_BF16.check_batches();
}

#[test]
fn parts_of_the_depth_of_16_bits_are_exact() {
    F16.check_parts();
    BF16.check_parts();
}

#[test]
fn parts_of_the_depth_of_tf32_are_exact() {
    TF32.check_parts();
}

#[test]
fn parts_of_the_depth_of_8_bits_are_exact() {
    F8.check_parts();
    I8.check_parts();
    I8_TO_BF16.check_parts();
}

/// An epilogue with all parameters, for each product of a batch and after the sums of parts.
#[test]
fn epilogues_finish_every_product_once() {
    let device = sim();
    for (count, part) in [(3, None), (1, Some(64))] {
        let sizes = Sizes { m: 20, n: 24, k: 131, transposed: [false, true], ..Sizes::default() };
        let batch = Batch::new(count, [20 * 131 + 6, 24 * 131, 20 * 24 + 8]);
        let [of_a, of_b, of_product] = batch.spans(sizes).expect("a batch");
        let (a, b, old) = (integers(of_a, 2), integers(of_b, 3), integers(of_product, 5));
        let upload =
            |x: &[f32]| device.upload(&x.iter().map(|x| bf16::from_f32(*x)).collect::<Vec<_>>()).expect("memory");
        let (on_a, on_b) = (upload(&a), upload(&b));
        let rows: Vec<f32> = (0..20).map(|i| 1.0 + i as f32).collect();
        let bias: Vec<f32> = (0..24).map(|j| j as f32 - 12.0).collect();
        let (on_rows, on_bias) = (device.upload(&rows).expect("memory"), device.upload(&bias).expect("memory"));
        let sums = expected(&a, &b, sizes, batch);
        for way in ways::<bf16, f32>() {
            let plan = Plan::<bf16, f32>::forced(&device, sizes, batch, Forced { part, ..way }).expect("a plan");
            let mut products = device.upload(&old).expect("memory");
            // The products' old contents are the addend.
            let epilogue = Epilogue {
                alpha: 2.0,
                beta: 4.0,
                row_scales: Some(View::from(&on_rows)),
                bias: Some(View::from(&on_bias)),
                activation: Activation::Relu,
                ..Epilogue::default()
            };
            plan.launch_with([&on_a, &on_b], &epilogue, &mut products).expect("products");
            let products = products.download().expect("elements");
            for (at, have) in products.into_iter().enumerate() {
                let within = at % batch.steps[2].max(1);
                let (i, j) = (within / 24, within % 24);
                let finish = || 2.0 * rows[i] * sums[at] as f32 + 4.0 * old[at] + bias[j];
                let want = if i < 20 { finish().max(0.0) } else { old[at] };
                assert_eq!(have, want, "{way:?} {count} products, element {at}");
            }
        }
    }
}

/// PTX for GPUs without tensor maps, on a device whose plans divide the depth: it computes the product as a whole.
#[test]
fn parts_without_tensor_cores_are_exact() {
    let image = rustwarp::ptx::find_family("kernels-gpu", "tensor", None, Some("sm_75")).expect("the kernels' PTX");
    let (device, _) = open(Choice::Sim, Checks::On(Checkers::default())).expect("the simulator");
    let device = &*device;
    let module = device.load(&image.bytes, "sm_75").expect("PTX");
    let sizes = Sizes { m: 5, n: 6, k: 64 * 3 - 8, transposed: [false, true], ..Sizes::default() };
    let (a, b) = (integers(sizes.m * sizes.k, 2), integers(sizes.k * sizes.n, 3));
    let upload = |x: &[f32]| {
        let elements: Vec<f16> = x.iter().map(|x| f16::from_f32(*x)).collect();
        Buffer::from_slice(device, &elements, "a factor").expect("memory")
    };
    let (on_a, on_b) = (upload(&a), upload(&b));
    let product = Buffer::<f16>::zeros(device, sizes.m * sizes.n, "the product").expect("memory");
    let way = Forced { warps: Some(false), part: Some(64), ..Forced::default() };
    let plan = Plan::<f16, f16, _>::forced(&device, sizes, Batch::SINGLE, way).expect("a plan");
    let launches = plan.prepare([&on_a, &on_b], &product).expect("launches");
    assert_eq!(launches.len(), 1, "the blocks of a tile add their parts");
    for launch in &launches {
        // SAFETY: the parameters are those of the plan.
        unsafe { launch.run(device, module) }.expect("a launch");
    }
    let have: Vec<f64> = product.read(sizes.m * sizes.n).expect("elements").into_iter().map(value).collect();
    assert_eq!(have, expected(&a, &b, sizes, Batch::SINGLE));
}

#[test]
fn choices_that_do_not_exist_are_refused() {
    let device = sim();
    let sizes = Sizes { m: 2, n: 3, k: 256, ..Sizes::default() };
    let refusal = |batch, forced| match Plan::<f16, f16>::forced(&device, sizes, batch, forced).map(drop) {
        Err(Error::Argument(text)) => text,
        other => panic!("{other:?}"),
    };
    let two = Batch::contiguous(2, sizes).expect("it is small");
    let part = |part| Forced { part: Some(part), ..Forced::default() };
    assert!(refusal(two, part(64)).contains("2 products"));
    assert!(refusal(Batch::SINGLE, part(65)).contains("multiples of 64"));
    let deep = Sizes { k: 64 * 17, ..sizes };
    let parts = Plan::<f16, f16>::forced(&device, deep, Batch::SINGLE, Forced { warps: Some(false), ..part(64) });
    let refused = parts.map(drop).expect_err("17 blocks for 16 multiprocessors").to_string();
    assert!(refused.contains("17 parts of 1 tiles are 17 blocks") && refused.contains("longer parts"), "{refused}");
    for warps in [false, true] {
        let tile = Forced { warps: Some(warps), tile: Some(4), ..Forced::default() };
        assert!(refusal(Batch::SINGLE, tile).contains("no tile 4"));
    }
}

#[test]
fn batches_without_products_and_wrong_ones() {
    let device = sim();
    let sizes = Sizes { m: 2, n: 3, k: 4, ..Sizes::default() };
    let (a, b) = (device.zeros::<f16>(16).expect("memory"), device.zeros::<f16>(24).expect("memory"));
    let none = device.zeros::<f16>(0).expect("memory");
    let batch = |count| Batch::contiguous(count, sizes).expect("it is small");
    let products = |a, b, batch| mixed_matmul_batched::<f16, f16>(a, b, sizes, batch);
    assert_eq!(products(&none, &none, batch(0)).expect("no products").len(), 0);
    assert_eq!(products(&a, &b, batch(2)).expect("two products").download().expect("elements"), [f16::ZERO; 12]);
    assert!(matches!(products(&a, &b, batch(3)), Err(Error::Mismatch(_))), "there are two of each");
    assert!(matches!(products(&a, &b, Batch::new(2, [8, 12, 5])), Err(Error::Argument(_))), "products overlap");
    assert!(matches!(products(&a, &b, Batch::new(2, [8, 12, 7])), Err(Error::Argument(_))), "there are gaps");
    // Sums of nothing.
    let empty = Sizes { k: 0, ..sizes };
    let zero = mixed_matmul_batched::<f16, f16>(&none, &none, empty, Batch::new(2, [0, 0, 6])).expect("products");
    assert_eq!(zero.download().expect("elements"), [f16::ZERO; 12]);
}
