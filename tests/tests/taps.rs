//! Filters of signals whose outputs have only what the mask reaches, on the simulator with every checker on.
#![expect(clippy::expect_used, reason = "a test stops at the first error")]

use rustwarp::element::Element;
use rustwarp::filter::Border;
use rustwarp::{Device, View, ViewMut, conv1d};
use tests::checked::{device as sim, require_no_finding};

/// Sources of an output's taps, for `samples` samples: see `kernels_gpu::filter`.
fn sources(at: usize, samples: usize, taps: usize, border: Border) -> Vec<Option<usize>> {
    let last = samples as i64 - 1;
    let source = |place: i64| match border {
        _ if (0..=last).contains(&place) => Some(place as usize),
        Border::Zero => None,
        Border::Clamp => Some(place.clamp(0, last) as usize),
        _ => {
            let phase = place.rem_euclid((2 * last).max(1));
            Some(phase.min(2 * last - phase).max(0) as usize)
        }
    };
    (0..taps).map(|j| source(at as i64 + j as i64 - (taps / 2) as i64)).collect()
}

/// Numbers that f32 and f64 hold, as their sums.
fn value(i: usize) -> f64 {
    (i * 37 % 61) as f64 - 30.0
}

/// A mask of this length, without zeros.
fn mask(taps: usize) -> Vec<f64> {
    (0..taps).map(|j| (j * 5 % 7) as f64 - 3.5).collect()
}

trait Number: Element + kernels_gpu::filter::Sample {
    const NAN: Self;
    fn of(value: f64) -> Self;
    fn wide(self) -> f64;
}
macro_rules! numbers {
    ($($t:ident)*) => { $(impl Number for $t {
        const NAN: Self = $t::NAN;
        fn of(value: f64) -> Self {
            value as $t
        }
        fn wide(self) -> f64 {
            f64::from(self)
        }
    })* };
}
numbers! { f32 f64 }

/// Filters a signal with a NaN in it, from one place in memory to another, and compares every output with its sum.
fn check<T: Number>(device: &Device, [samples, channels, taps]: [usize; 3], border: Border, starts: [usize; 2]) {
    let (n, bad) = (samples * channels, samples / 2 * channels + channels - 1);
    let signal: Vec<T> = (0..n).map(|i| if i == bad { T::NAN } else { T::of(value(i)) }).collect();
    let framed: Vec<T> = core::iter::repeat_n(T::of(7.0), starts[0]).chain(signal).collect();
    let input = device.upload(&framed).expect("memory");
    let weights: Vec<T> = mask(taps).into_iter().map(T::of).collect();
    let weights = device.upload(&weights).expect("memory");
    let mut output = device.upload(&vec![T::of(9.0); starts[1] + n + 3]).expect("memory");
    let from: View<'_, T> = input.view(starts[0]..).expect("the signal");
    let to: ViewMut<'_, T> = output.view_mut(starts[1]..starts[1] + n).expect("room");
    conv1d::conv1d_into(from, channels, &weights, border, to).expect("a filter");
    let result = output.download().expect("the result");
    let around = result[..starts[1]].iter().chain(&result[starts[1] + n..]);
    assert!(around.copied().all(|x| x.wide() == 9.0), "wrote outside its output");
    for (i, found) in result[starts[1]..starts[1] + n].iter().enumerate() {
        let places = sources(i / channels, samples, taps, border).into_iter().zip(mask(taps));
        let wanted: f64 = places
            .filter_map(|(source, tap)| source.map(|source| (source * channels + i % channels, tap)))
            .map(|(at, tap)| if at == bad { f64::NAN } else { value(at) * tap })
            .sum();
        let same = found.wide() == wanted || found.wide().is_nan() && wanted.is_nan();
        let what = format!("{samples}x{channels} by {taps}, {border:?}, at {starts:?}: {i} is {found:?}, not {wanted}");
        assert!(same, "{what}");
    }
}

/// Windows in registers, tiles with masks shifted by every possible number of taps, and the kernel for three channels.
/// The NaN is in the middle of the signal: far from its ends if it is long; if it is short, masks reach it from beyond.
#[test]
fn a_nan_reaches_the_outputs_under_whose_masks_it_is() {
    let device = sim();
    for channels in [1, 2, 3] {
        for taps in [1, 2, 5, 6, 8, 9, 10, 11, 13, 16, 18, 21, 31, 33, 70] {
            for border in [Border::Zero, Border::Clamp, Border::Mirror] {
                check::<f32>(&device, [37, channels, taps], border, [0, 0]);
                check::<f64>(&device, [37, channels, taps], border, [0, 0]);
            }
            check::<f32>(&device, [2500, channels, taps], Border::Clamp, [0, 0]);
            check::<f64>(&device, [1300, channels, taps], Border::Mirror, [0, 0]);
        }
    }
    require_no_finding(&device, "conv1d");
}

/// Signals and outputs that start off a 16-byte boundary, one of them or both.
#[test]
fn signals_and_outputs_start_anywhere() {
    let device = sim();
    for channels in [1, 2] {
        for taps in [3, 9, 31] {
            for starts in [[1, 0], [0, 1], [2, 3], [4, 0], [0, 2]] {
                check::<f32>(&device, [2200, channels, taps], Border::Mirror, starts);
                check::<f64>(&device, [1100, channels, taps], Border::Zero, starts);
            }
        }
    }
    require_no_finding(&device, "conv1d");
}
