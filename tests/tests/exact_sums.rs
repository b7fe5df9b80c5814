//! Correctly rounded sums: sums whose exact value is known, in any order and any launch configuration.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::exact_sum::{Plan, Real, on_cpu};
use rustwarp::{Device, Element, Tuning};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

/// The bits of a sum; all NaN are the same.
fn bits<T: Into<f64>>(sum: T) -> Option<u64> {
    let sum = sum.into();
    (!sum.is_nan()).then(|| sum.to_bits())
}

/// Checks the sum of the elements, on the device and on the CPU, in their order and in reverse.
#[track_caller]
fn check<T: Element + Real + Into<f64> + std::fmt::Debug>(device: &Device, elements: &[T], expected: T) {
    let mut elements = elements.to_vec();
    for order in ["in order", "reversed"] {
        let buffer = device.upload(&elements).expect("memory");
        let sum = device.exact_sum(&buffer).expect("a sum");
        assert_eq!(bits(sum), bits(expected), "{order}: {sum:?}, not {expected:?}");
        assert_eq!(bits(on_cpu(&elements)), bits(expected), "{order}, on the CPU");
        elements.reverse();
    }
}

/// A generator of pseudorandom numbers (Knuth's MMIX).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        self.0 >> 11
    }

    fn shuffle<T>(&mut self, values: &mut [T]) {
        for i in (1..values.len()).rev() {
            values.swap(i, self.next() as usize % (i + 1));
        }
    }
}

/// Pairs that cancel, with exponents up to `range`, in any order, and `rest`.
fn cancelling(random: &mut Random, pairs: usize, range: u64, rest: &[f64]) -> Vec<f64> {
    let mut values = rest.to_vec();
    for _ in 0..pairs {
        // Mantissas of 24 bits, which f32 has too.
        let mantissa = (random.next() % (1 << 24)) as f64;
        let x = mantissa * f64::powi(2.0, (random.next() % range) as i32);
        values.extend([x, -x]);
    }
    random.shuffle(&mut values);
    values
}

#[test]
fn ill_conditioned_sums_are_exact() {
    let (device, mut random) = (sim(), Random(1));
    // Up to sums of absolute values of 2^(1000) beside a sum of about 1, and of 2^120 for f32.
    for range in [1, 20, 60, 100, 400, 950] {
        let values = cancelling(&mut random, 3000, range, &[1.0, f64::powi(2.0, -53), f64::from_bits(1)]);
        check(&device, &values, 1.0 + f64::EPSILON);
        let values = cancelling(&mut random, 3000, range, &[1.0, f64::powi(2.0, -53)]);
        check(&device, &values, 1.0);
    }
    for range in [1, 20, 60, 80] {
        let values = cancelling(&mut random, 3000, range, &[1.0, f64::powi(2.0, -24), f64::powi(2.0, -149)]);
        let values: Vec<f32> = values.iter().map(|&x| x as f32).collect();
        check(&device, &values, 1.0 + f32::EPSILON);
    }
}

#[test]
fn any_launch_gives_the_same_bits() {
    fn check<T: Element + Real + Into<f64>>(device: &Device, values: &[T]) {
        let expected = bits(on_cpu(values));
        let buffer = device.upload(values).expect("memory");
        for (block, grid) in [(32, 1), (32, 7), (64, 3), (96, 2), (128, 40)] {
            let tuning = Tuning { block: Some(block), grid: Some(grid) };
            let plan = Plan::<T>::new(device, values.len(), tuning).expect("a plan");
            let mut output = device.zeros::<T>(1).expect("memory");
            for _ in 0..2 {
                plan.launch(&buffer, &mut output).expect("a launch");
                assert_eq!(bits(output.download().expect("a sum")[0]), expected, "{block} {grid}");
            }
        }
        // Slices that start at any element.
        for start in 1..5 {
            let sum = device.exact_sum(buffer.view(start..).expect("a part")).expect("a sum");
            assert_eq!(bits(sum), bits(on_cpu(&values[start..])), "from {start}");
        }
    }
    let (device, mut random) = (sim(), Random(2));
    let values = cancelling(&mut random, 2000, 70, &[0.1, 0.3, 1e-30]);
    check(&device, &values);
    check(&device, &values.iter().map(|&x| x as f32).collect::<Vec<_>>());
}

#[test]
fn rounding_is_to_nearest_and_to_even() {
    let device = sim();
    let half = f64::EPSILON / 2.0;
    let tiny = f64::from_bits(1);
    check(&device, &[1.0, half], 1.0);
    check(&device, &[1.0, half, tiny], 1.0 + f64::EPSILON);
    check(&device, &[1.0 + f64::EPSILON, half], 1.0 + 2.0 * f64::EPSILON);
    check(&device, &[1.0 + f64::EPSILON, half, -tiny], 1.0 + f64::EPSILON);
    check(&device, &[1.0, 3.0 * half], 1.0 + 2.0 * f64::EPSILON);
    check(&device, &[-1.0, -half, -tiny], -1.0 - f64::EPSILON);
    // Among subnormal numbers and across their border.
    check(&device, &[f64::MIN_POSITIVE, -tiny], f64::from_bits((1 << 52) - 1));
    check(&device, &[tiny; 100], f64::from_bits(100));
    check(&device, &[f32::MIN_POSITIVE, -f32::from_bits(1)], f32::from_bits((1 << 23) - 1));
    check(&device, &[f32::from_bits(1); 100], f32::from_bits(100));
    // At the upper end: half a unit in the last place more than the largest number is an infinity.
    let ulp = f64::powi(2.0, 971);
    check(&device, &[f64::MAX, ulp / 2.0], f64::INFINITY);
    check(&device, &[f64::MAX, ulp / 2.0, -tiny], f64::MAX);
    check(&device, &[f64::MAX, f64::MAX, -f64::MAX, -f64::MAX, 1.0], 1.0);
    check(&device, &vec![f64::MIN; 1000], f64::NEG_INFINITY);
    let ulp = f32::powi(2.0, 104);
    check(&device, &[f32::MAX, ulp / 2.0], f32::INFINITY);
    check(&device, &[f32::MAX, ulp / 2.0, -f32::from_bits(1)], f32::MAX);
    check(&device, &[f32::MAX, f32::MAX, -f32::MAX, -f32::MAX, 1.0], 1.0);
}

#[test]
fn special_values() {
    let (device, inf) = (sim(), f64::INFINITY);
    check(&device, &[0.0_f64; 0], 0.0);
    check(&device, &[-0.0_f64, -0.0], 0.0);
    check(&device, &[-0.0_f32], 0.0);
    check(&device, &[1.0, inf, -1.0], inf);
    check(&device, &[-inf, f64::MAX, f64::MAX], -inf);
    check(&device, &[inf, 1.0, -inf], f64::NAN);
    check(&device, &[1.0, f64::NAN, -inf], f64::NAN);
    check(&device, &[f32::INFINITY, 1.0], f32::INFINITY);
    check(&device, &[f32::MAX, f32::NEG_INFINITY, f32::MAX], f32::NEG_INFINITY);
    check(&device, &[f32::INFINITY, f32::NEG_INFINITY], f32::NAN);
    // In different lanes, warps and blocks.
    let mut values = vec![1.0_f32; 5000];
    (values[7], values[4500]) = (f32::INFINITY, f32::NEG_INFINITY);
    check(&device, &values, f32::NAN);
    values[7] = 1.0;
    check(&device, &values, f32::NEG_INFINITY);
    // A special value leaves nothing behind for the plan's next launch.
    let plan = Plan::<f32>::new(&device, 5000, Tuning::default()).expect("a plan");
    let mut output = device.zeros::<f32>(1).expect("memory");
    plan.launch(&device.upload(&values).expect("memory"), &mut output).expect("a launch");
    assert_eq!(output.download().expect("a sum"), [f32::NEG_INFINITY]);
    plan.launch(&device.upload(&[1.0; 5000]).expect("memory"), &mut output).expect("a launch");
    assert_eq!(output.download().expect("a sum"), [5000.0]);
    // Nor do the digits of elements that do not fit in registers.
    let mut values: Vec<f64> = (0..5000).map(|i| f64::powi(2.0, i % 900)).collect();
    values[7] = f64::INFINITY;
    let plan = Plan::<f64>::new(&device, 5000, Tuning::default()).expect("a plan");
    let mut output = device.zeros::<f64>(1).expect("memory");
    plan.launch(&device.upload(&values).expect("memory"), &mut output).expect("a launch");
    assert_eq!(output.download().expect("a sum"), [f64::INFINITY]);
    plan.launch(&device.upload(&[1.0; 5000]).expect("memory"), &mut output).expect("a launch");
    assert_eq!(output.download().expect("a sum"), [5000.0]);
}

/// The sum by one warp.
fn by_one_warp(device: &Device, values: &[f64]) -> f64 {
    let plan = Plan::<f64>::new(device, values.len(), Tuning { block: Some(32), grid: Some(1) }).expect("a plan");
    let mut output = device.zeros::<f64>(1).expect("memory");
    plan.launch(&device.upload(values).expect("memory"), &mut output).expect("a launch");
    output.download().expect("a sum")[0]
}

#[test]
fn words_carry_before_they_overflow() {
    // One warp, so that every lane adds several times as many numbers to a word as it takes between two carries. All
    // mantissas are ones, and with an exponent 50 above a multiple of 51 a number adds the most to a word that one can.
    // The last lane has three kinds of exponents in one sum, which two numbers in registers do not hold.
    let device = sim();
    let number = |i: u64, sign: u64| {
        let position = if i % 64 == 63 { [2000, 1500, 51 * 20 + 50][i as usize / 64 % 3] } else { 51 * 20 + 50 };
        f64::from_bits(sign << 63 | position << 52 | ((1 << 52) - 1))
    };
    for sign in [0, 1] {
        let mut values: Vec<f64> = (0..250_001).map(|i| number(i, sign)).collect();
        assert_eq!(bits(by_one_warp(&device, &values)), bits(on_cpu(&values)));
        // Without the large numbers, what is left of the sum is in the words of the others.
        let large: Vec<f64> = values.iter().copied().filter(|x| x.abs() > 1e100).map(|x| -x).collect();
        let rest: Vec<f64> = values.iter().copied().filter(|x| x.abs() < 1e100).collect();
        let both: Vec<f64> = [&values[..], &large[..]].concat();
        assert_eq!(rest.len() as f64 * rest[0], on_cpu(&rest));
        assert_eq!(bits(by_one_warp(&device, &both)), bits(on_cpu(&rest)));
        // Special values among those that go to words at once.
        values[100_000] = f64::INFINITY;
        assert_eq!(by_one_warp(&device, &values), f64::INFINITY);
        values[200_000] = f64::NEG_INFINITY;
        assert!(by_one_warp(&device, &values).is_nan());
        values[100_000] = 1.0;
        assert_eq!(by_one_warp(&device, &values), f64::NEG_INFINITY);
    }
}

#[test]
fn numbers_of_every_exponent_go_to_words_exactly() {
    // Three numbers far from each other in one sum of a lane do not fit in registers, so that all elements of the warp
    // go to words. Without them and their opposites one number is left.
    let (device, mut random) = (sim(), Random(3));
    let mut values = [0.0; 192];
    for (i, far) in [f64::MAX / 4.0, 1.5, f64::from_bits(1)].into_iter().enumerate() {
        (values[64 * i], values[64 * i + 2]) = (far, -far);
    }
    values[5] = -0.0;
    for exponent in (0..2047).filter(|e| e % 51 < 2 || e % 51 > 48 || e % 7 == 0 || *e > 2000) {
        for mantissa in [0, 1, 1 << 51, (1 << 52) - 1, random.next() >> 1] {
            let x = f64::from_bits(exponent << 52 | mantissa);
            let x = if (exponent ^ mantissa) & 2 == 0 || x == 0.0 { x } else { -x };
            values[4] = x;
            let sum = by_one_warp(&device, &values);
            assert_eq!(bits(sum), bits(x), "exponent {exponent}, mantissa {mantissa:x}: {sum:e}, not {x:e}");
        }
    }
}

#[test]
fn registers_and_words_take_turns() {
    // Parts that fit in registers between those that do not, and elements that cancel all but the smallest.
    let (device, mut random) = (sim(), Random(4));
    let mut values: Vec<f64> = Vec::new();
    for part in 0..8 {
        let count = 3000 + 500 * part;
        for _ in 0..count {
            let mantissa = (random.next() % (1 << 50)) as f64;
            let exponent = if part % 2 == 0 { 0 } else { random.next() % 1800 } as i32 - 900;
            values.push(mantissa * f64::powi(2.0, exponent));
        }
    }
    let opposite: Vec<f64> = values.iter().rev().map(|x| -x).collect();
    let all = [&values[..], &[3.0e-300, 5.0e-320], &opposite[..]].concat();
    assert_eq!(bits(on_cpu(&all)), bits(3.0e-300 + 5.0e-320));
    let buffer = device.upload(&all).expect("memory");
    for (block, grid) in [(32, 1), (192, 1), (256, 2), (256, 7)] {
        let tuning = Tuning { block: Some(block), grid: Some(grid) };
        let plan = Plan::<f64>::new(&device, all.len(), tuning).expect("a plan");
        let mut output = device.zeros::<f64>(1).expect("memory");
        plan.launch(&buffer, &mut output).expect("a launch");
        assert_eq!(bits(output.download().expect("a sum")[0]), bits(3.0e-300 + 5.0e-320), "{block} {grid}");
    }
}
