//! Products of numbers that are not finite, or whose sums are not, by every kernel: as IEEE says, and with the same
//! bits in every run.

use crate::mixed::{plans, value};
use float8::F8E4M3;
use half::{bf16, f16};
use rustwarp::matmul::{Batch, Plan, Real, Sizes};
use rustwarp::mixed_matmul::Factor;
use rustwarp::{Buffer, Device, Result, Scalar};

/// The row of A whose elements are all the type's largest number, and the column of B that adds them up.
const LARGEST: [usize; 2] = [2, 4];

/// Types of factors and products.
struct Types<T, O> {
    factor: fn(f32) -> T,
    /// The largest finite number of a factor.
    most: T,
    /// The largest finite number of a product, or of its sums if that is less.
    most_of_sums: f64,
    /// Relative error of a product. Sums are exact, but for those of floats of 8 bits, which tensor cores add in fewer
    /// bits than f32 has.
    rounding: f64,
    product: std::marker::PhantomData<O>,
}

impl<T: Scalar, O: Scalar> Types<T, O> {
    fn new(factor: fn(f32) -> T, most: T, [most_of_sums, rounding]: [f64; 2]) -> Self {
        Self { factor, most, most_of_sums, rounding, product: std::marker::PhantomData }
    }

    /// Compares what `launch` computes with sums in f64.
    fn check(
        &self,
        device: &Device,
        [m, n, k]: [usize; 3],
        what: &str,
        launch: impl Fn([&Buffer<T>; 2], &mut Buffer<O>) -> Result<()>,
    ) {
        // Sums of a few eighths, which are exact in every type.
        let numbers = |n: usize, step: usize| -> Vec<T> {
            (0..n).map(|i| (self.factor)(((i * step + i / 11) % 17) as f32 / 8.0 - 1.0)).collect()
        };
        let (mut a, mut b) = (numbers(m * k, 5), numbers(k * n, 3));
        (a[3], a[k + 5], b[7]) =
            ((self.factor)(f32::INFINITY), (self.factor)(f32::NAN), (self.factor)(f32::NEG_INFINITY));
        let [row, column] = LARGEST;
        a[row * k..][..k].fill(self.most);
        (0..k).for_each(|l| b[l * n + column] = (self.factor)(1.0));
        let sum = |at: usize| (0..k).map(|l| value(a[at / n * k + l]) * value(b[l * n + at % n])).sum::<f64>();
        let sums: Vec<f64> = (0..m * n).map(sum).collect();
        let (on_a, on_b) = (device.upload(&a).expect("memory"), device.upload(&b).expect("memory"));
        let product = || {
            let mut c = device.zeros::<O>(m * n).expect("memory");
            launch([&on_a, &on_b], &mut c).expect("a product");
            c.download().expect("elements")
        };
        let result = product();
        // Other sums of the row with the largest numbers depend on the order of their terms.
        let judged = |at: &usize| at / n != row || at % n == column;
        for at in (0..m * n).filter(judged) {
            let (have, sum) = (value(result[at]), sums[at]);
            let overflows = sum.is_finite() && sum.abs() > self.most_of_sums;
            let right = match sum {
                _ if overflows => have.is_infinite() && have * sum > 0.0,
                _ if sum.is_finite() => have.is_finite() && (have - sum).abs() <= sum.abs() * self.rounding,
                _ => have == sum || have.is_nan() && sum.is_nan(),
            };
            assert!(
                right,
                "{what} {} {m}x{n}x{k}: row {}, column {}: {have} instead of {sum}",
                T::DTYPE,
                at / n,
                at % n
            );
        }
        let not_finite = sums.iter().filter(|sum| !sum.is_finite()).count();
        assert!(not_finite >= n, "{not_finite}: at least the row with NaN");
        let bytes = |c: &[O]| bytemuck::cast_slice::<O, u8>(c).to_vec();
        assert_eq!(bytes(&product()), bytes(&result), "{what}: the same bits in every run");
    }
}

fn mixed<T: Factor<O>, O: Scalar>(device: &Device, types: &Types<T, O>) {
    // The second has a divided depth, if the device is large.
    for [m, n, k] in [[66, 24, 80], [8, 16, 1040]] {
        for plan in plans::<T, O>(device, Sizes { m, n, k, ..Sizes::default() }) {
            types.check(device, [m, n, k], "mixed", |factors, product| plan.launch(factors, product));
        }
    }
}

/// Of f16, bf16, tf32 and floats of 8 bits; the latter have NaN and no infinity.
///
/// # Panics
/// If an element is wrong.
pub fn narrow_products(device: &Device) {
    let most = f64::from(f32::MAX);
    let (exact, of_bf16) = ([most, 0.0], [most, f64::powi(2.0, -8)]);
    mixed::<f16, f16>(device, &Types::new(f16::from_f32, f16::MAX, [65_504.0, f64::powi(2.0, -11)]));
    mixed::<f16, f32>(device, &Types::new(f16::from_f32, f16::MAX, exact));
    mixed::<bf16, bf16>(device, &Types::new(bf16::from_f32, bf16::MAX, exact));
    mixed::<bf16, f32>(device, &Types::new(bf16::from_f32, bf16::MAX, exact));
    mixed::<f32, f32>(device, &Types::new(|x| x, 1e38, exact));
    mixed::<F8E4M3, bf16>(device, &Types::new(F8E4M3::from_f32, F8E4M3::from_f32(448.0), of_bf16));
    mixed::<F8E4M3, f32>(device, &Types::new(F8E4M3::from_f32, F8E4M3::from_f32(448.0), [most, f64::powi(2.0, -11)]));
}

fn tiles<T: Real>(device: &Device, types: &Types<T, T>) {
    for tile in T::tiles() {
        // The second has a divided depth where the tile can divide it.
        for [m, n, k] in [[66, 24, 80], [9, 15, 601]] {
            let sizes = Sizes { m, n, k, ..Sizes::default() };
            let plan = Plan::batched(device, sizes, Batch::SINGLE, Some(&tile)).expect("a plan");
            types.check(device, [m, n, k], tile.name(), |factors, product| plan.launch(factors, product));
        }
    }
}

/// Of f32 and f64, by every tile.
///
/// # Panics
/// If an element is wrong.
pub fn products(device: &Device) {
    tiles::<f32>(device, &Types::new(|x| x, f32::MAX, [f64::from(f32::MAX), 0.0]));
    tiles::<f64>(device, &Types::new(f64::from, f64::MAX, [f64::MAX, 0.0]));
}
