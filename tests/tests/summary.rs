//! Summaries and places of maxima, on the simulator: values of the library, edges, and several rounds of a thread.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use kernels_gpu::reduce::Max;
use rustwarp::reduce::ArgPlan;
use rustwarp::summary::{self, Summary, summary_into};
use rustwarp::{Device, Element, Error, Tuning};

fn sim() -> Device {
    Device::sim().expect("the simulator")
}

#[test]
fn summaries() {
    let device = sim();
    // Far from 0: sums of squares would lose the variance.
    let values: Vec<f32> = (0..1003).map(|i| (i * 7 % 31) as f32 + 1e6).collect();
    let x = device.upload(&values).expect("memory");
    let found = device.summary(&x).expect("a summary").expect("elements");
    let sum = values.iter().map(|&x| f64::from(x)).sum::<f64>();
    let mean = sum / 1003.0;
    let variance = values.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / 1003.0;
    assert!((found.sum - sum).abs() <= 1e-15 * sum, "{found:?}, not {sum}");
    assert!((found.mean - mean).abs() <= 1e-15 * mean, "{found:?}, not {mean}");
    assert!((found.variance - variance).abs() <= 1e-12 * variance, "{found:?}, not {variance}");
    let [min, max] = [f32::min, f32::max].map(|op| values.iter().copied().reduce(op));
    assert_eq!((Some(found.min), Some(found.max)), (min, max));
    let started = device.summary_async(&x).expect("a launch");
    assert_eq!(started.wait().expect("a summary"), Some(found));
    let mut output = device.zeros::<Summary<f32>>(1).expect("memory");
    summary_into(&x, &mut output).expect("a launch");
    assert_eq!(output.download().expect("a summary"), [found]);
    assert!(matches!(summary_into(&x, output.view_mut(..0).expect("nothing")), Err(Error::Mismatch(_))));
    assert!(matches!(sim().summary_async(&x), Err(Error::OtherDevice { .. })));
    let none = device.upload::<u32>(&[]).expect("memory");
    assert_eq!(device.summary(&none).expect("a summary"), None);
    assert_eq!(device.summary_async(&none).and_then(|found| found.wait()).expect("a summary"), None);
    let mut output = device.zeros::<Summary<u32>>(1).expect("memory");
    summary_into(&none, &mut output).expect("a copy");
    let Summary { sum, mean, variance, min, max } = output.download().expect("a summary")[0];
    assert!(sum.is_nan() && mean.is_nan() && variance.is_nan() && (min, max) == (u32::MAX, 0));
    let neighbours = device.upload(&[i64::MAX - 1, i64::MAX - 3, i64::MAX - 2]).expect("memory");
    let found = device.summary(&neighbours).expect("a summary").expect("elements");
    assert_eq!((found.min, found.max), (i64::MAX - 3, i64::MAX - 1));
    let tuning = Tuning { block: Some(1024), ..Tuning::default() };
    assert!(matches!(summary::Plan::<f32>::new(&device, 5, tuning), Err(Error::Argument(_))));
    let wide = device.upload(&[i64::MAX, i64::MIN]).expect("memory");
    let found = device.summary(&wide).expect("a summary").expect("elements");
    let variance = (1_u128 << 126) as f64;
    assert_eq!(found, Summary { sum: 0.0, mean: 0.0, variance, min: i64::MIN, max: i64::MAX });
    for values in [[1.0, f64::NAN], [1.0, f64::INFINITY], [f64::NEG_INFINITY, 1.0]] {
        let found = device.upload(&values).and_then(|x| device.summary(&x)).expect("a summary");
        let found = found.expect("elements");
        assert!(found.sum.is_nan() && found.mean.is_nan() && found.variance.is_nan(), "{values:?}: {found:?}");
        assert_eq!((found.min.is_nan(), found.max.is_nan()), (values[1].is_nan(), values[1].is_nan()));
        assert!(values[1].is_nan() || found.max == values[0].max(values[1]) && found.min == values[0].min(values[1]));
    }
}

/// The first of equal values and of NaN, where threads read several rounds, from any start.
fn places<T: Element>(from: fn(f64) -> T, nan: Option<T>) {
    let device = sim();
    let tuning = Tuning { block: Some(32), grid: Some(2) };
    for start in 0..5 {
        let n = 10_000;
        let plan = ArgPlan::<Max, T>::new(&device, n, tuning).expect("a plan");
        let mut values: Vec<T> = (0..start + n).map(|i| from(-((i % 7) as f64) - 1.0)).collect();
        let mut place = device.uninit::<u64>(1).expect("memory");
        let mut first = |values: &[T]| {
            let x = device.upload(values).expect("memory");
            plan.launch(x.view(start..).expect("a view"), &mut place).expect("a launch");
            place.download().expect("a place")[0]
        };
        assert_eq!(first(&values), (7 - start as u64) % 7, "of the first period");
        for at in [9_000, 3_001, 7_000, 9_999] {
            values[start + at] = from(5.0);
        }
        assert_eq!(first(&values), 3_001);
        for at in nan.iter().flat_map(|_| [8_000, 4_500, 9_998]) {
            values[start + at] = nan.unwrap_or(values[0]);
        }
        assert_eq!(first(&values), if nan.is_some() { 4_500 } else { 3_001 });
        values.fill(from(f64::NEG_INFINITY));
        assert_eq!(first(&values), 0);
    }
}

#[test]
fn places_in_several_rounds() {
    places::<f32>(|x| x as f32, Some(f32::NAN));
    places::<f64>(|x| x, Some(-f64::NAN));
    places::<i32>(|x| x as i32, None);
    places::<i64>(|x| x as i64, None);
}
