//! Products of a matrix and a vector on the simulator: every kind of launch and of load, exact numbers, the error
//! bound, and NaN and infinities.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use half::{bf16, f16};
use rustwarp::matvec::{Operand, Plan, Sizes};
use rustwarp::{Device, Scalar};
use tests::mixed::value;

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// The product in f64, and the sums of absolute values.
fn exact<T: Scalar>(a: &[T], x: &[T], Sizes { rows, columns, transposed, .. }: Sizes) -> Vec<(f64, f64)> {
    let at = |i: usize, k: usize| value(a[if transposed { k * rows + i } else { i * columns + k }]);
    let row = |i| {
        let terms = (0..columns).map(|k| at(i, k) * value(x[k]));
        terms.fold((0.0, 0.0), |(sum, magnitude), term| (sum + term, magnitude + term.abs()))
    };
    (0..rows).map(row).collect()
}

/// Products with the matrix, the vector and the result at these distances from a 16-byte boundary, in elements.
fn product<T: Operand>(
    device: &Device,
    plan: &Plan<T>,
    (a, x): (&[T], &[T]),
    rows: usize,
    [before_a, before_x, before_y]: [usize; 3],
) -> Vec<T::Output> {
    let framed = |values: &[T], before: usize| device.upload(&[&vec![values[0]; before], values].concat());
    let (a, x) = (framed(a, before_a).expect("memory"), framed(x, before_x).expect("memory"));
    let mut y = device.zeros::<T::Output>(rows + before_y).expect("memory");
    let (a, x) = (a.view(before_a..).expect("a matrix"), x.view(before_x..).expect("a vector"));
    plan.launch(a, x, y.view_mut(before_y..).expect("a result")).expect("a product");
    y.view(before_y..).and_then(|y| y.download()).expect("values")
}

/// Sizes for every team of lanes, with rows that start on boundaries and rows that do not, with one block for some rows
/// and several, and long stored lines, which have whole blocks.
const SIZES: [[usize; 2]; 23] = [
    [1, 1],
    [5, 7],
    [9, 16],
    [33, 48],
    [130, 200],
    [64, 264],
    [31, 1031],
    [300, 65],
    [3, 9000],
    [2, 20_011],
    [4099, 8],
    [1030, 17],
    [2500, 3],
    [140_000, 1],
    [66_000, 2],
    [33_001, 3],
    [70_001, 2],
    [128, 2000],
    [256, 2000],
    [300, 1001],
    [1100, 256],
    [1100, 33],
    [70_001, 9],
];

fn every_launch<T: Operand>(number: impl Fn(usize) -> T) {
    let device = sim();
    for [rows, columns] in SIZES {
        let a: Vec<T> = (0..rows * columns).map(|i| number(i * 7 % 31)).collect();
        let x: Vec<T> = (0..columns).map(|i| number(i * 5 % 13)).collect();
        for transposed in [false, true] {
            let sizes = Sizes { rows, columns, transposed, leading_dimension: 0 };
            let expected: Vec<f64> = exact(&a, &x, sizes).into_iter().map(|(sum, _)| sum).collect();
            let large = rows * columns > 60_000;
            let starts: &[_] =
                if large { &[[0, 0, 0], [0, 0, 1]] } else { &[[0; 3], [1, 0, 1], [0, 1, 3], [8; 3], [3, 5, 0]] };
            for keeps in [false, true] {
                // One plan: each launch leaves its tickets as it found them.
                let plan = Plan::<T>::new(&device, sizes).expect("a plan").keeping(keeps);
                for start in starts.iter().chain(&starts[..1]) {
                    let found = product(&device, &plan, (&a, &x), rows, *start);
                    let found: Vec<f64> = found.into_iter().map(value).collect();
                    assert!(found == expected, "{} {sizes:?} from {start:?}, kept: {keeps}", T::DTYPE);
                }
            }
        }
    }
}

#[test]
fn every_launch_adds_every_product_once() {
    every_launch(|i| i as f32 - 15.0);
    every_launch(|i| i as f64 - 15.0);
    every_launch(|i| f16::from_f32(i as f32 - 15.0));
    every_launch(|i| bf16::from_f32(i as f32 - 15.0));
}

#[test]
fn errors_are_within_the_bound() {
    let device = sim();
    for [rows, columns] in [[40, 3000], [3, 20_011], [700, 33]] {
        let mut state = 1_u32;
        let mut random = move || {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            f64::from(state >> 8) / f64::from(1 << 23) - 1.0
        };
        let a: Vec<f32> = (0..rows * columns).map(|_| random() as f32).collect();
        let x: Vec<f32> = (0..columns).map(|_| random() as f32).collect();
        for transposed in [false, true] {
            let sizes = Sizes { rows, columns, transposed, leading_dimension: 0 };
            let plan = Plan::<f32>::new(&device, sizes).expect("a plan");
            let (found, depth) = (product(&device, &plan, (&a, &x), rows, [0; 3]), plan.depth());
            assert!(depth <= columns as u64, "{depth}");
            for (found, (sum, magnitude)) in found.iter().zip(exact(&a, &x, sizes)) {
                let bound = depth as f64 * f64::from(f32::EPSILON) * magnitude;
                assert!((f64::from(*found) - sum).abs() <= bound, "{found} is not {sum} within {bound}");
            }
        }
    }
}

/// A row's loads take bytes of its neighbours, and none of them may reach its sum.
#[test]
fn nan_and_infinities_stay_in_their_rows() {
    let device = sim();
    for [rows, columns] in [[7, 19], [9, 40], [40, 300], [5, 9001]] {
        for transposed in [false, true] {
            let at = |i: usize, k: usize| if transposed { k * rows + i } else { i * columns + k };
            let mut a = vec![1.0_f32; rows * columns];
            for k in 0..columns {
                a[at(1, k)] = f32::NAN;
            }
            (a[at(3, 0)], a[at(4, columns - 1)]) = (f32::INFINITY, f32::NEG_INFINITY);
            let sizes = Sizes { rows, columns, transposed, leading_dimension: 0 };
            let plan = Plan::<f32>::new(&device, sizes).expect("a plan");
            let found = product(&device, &plan, (&a, &vec![1.0; columns]), rows, [0; 3]);
            for (row, found) in found.into_iter().enumerate() {
                match row {
                    1 => assert!(found.is_nan()),
                    3 => assert_eq!(found, f32::INFINITY),
                    4 => assert_eq!(found, f32::NEG_INFINITY),
                    _ => assert_eq!(found, columns as f32, "row {row} of {sizes:?}"),
                }
            }
        }
    }
}

#[test]
fn without_columns_the_product_is_zero() {
    let device = sim();
    for transposed in [false, true] {
        let sizes = Sizes { rows: 70, columns: 0, transposed, leading_dimension: 0 };
        let empty = device.upload::<f32>(&[]).expect("memory");
        let found = device.matvec(&empty, &empty, sizes).and_then(|y| y.download()).expect("a product");
        assert_eq!(found, [0.0; 70]);
        let sizes = Sizes { rows: 0, columns: 70, transposed, leading_dimension: 0 };
        let x = device.zeros::<f32>(70).expect("memory");
        let found = device.matvec(&empty, &x, sizes).and_then(|y| y.download()).expect("a product");
        assert!(found.is_empty());
    }
}
