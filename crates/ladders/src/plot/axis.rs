//! Labels of logarithmic axes.

/// Most labels of an axis.
const MOST: usize = 12;

/// Places of labels from `low` to `high`: powers of ten, of more than [`MOST`] every second or third one; with twice
/// and five times these, or whole steps, where there would be fewer than three.
pub(super) fn ticks(low: f64, high: f64) -> Vec<f64> {
    if !(low > 0.0 && low < high && high.is_finite()) {
        return Vec::new();
    }
    let powers = |factors: &[f64]| -> Vec<f64> {
        let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
        let step = (last - first) / MOST as i32 + 1;
        let all = (first..=last)
            .filter(|power| power % step == 0)
            .flat_map(|power| factors.iter().map(move |factor| factor * 10_f64.powi(power)));
        all.filter(|tick| (low..=high).contains(tick)).collect()
    };
    for factors in [&[1.0][..], &[1.0, 2.0, 5.0]] {
        let ticks = powers(factors);
        if (3..=MOST).contains(&ticks.len()) {
            return ticks;
        }
    }
    // About four steps of 1, 2 or 5 times a power of ten.
    let rough = (high - low) / 4.0;
    let power = 10_f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|factor| factor * power).into_iter().find(|step| *step >= rough);
    let step = step.unwrap_or(power);
    let first = (low / step).ceil() as u64;
    (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= high).take(MOST).collect()
}

/// Places of labels at powers of two from `low` to `high`, at most [`MOST`]; those of [`ticks`] where there would be
/// one or none.
pub(super) fn powers_of_two(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log2().ceil() as i32, high.log2().floor() as i32);
    let step = ((last - first).max(0) as usize / MOST + 1).max(1);
    let powers: Vec<f64> = (first..=last).step_by(step).map(|power| 2_f64.powi(power)).collect();
    if powers.len() < 2 { ticks(low, high) } else { powers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_axis_has_labels() {
        assert_eq!(ticks(0.5, 2000.0), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(ticks(1e-17, 2.0), [-16, -14, -12, -10, -8, -6, -4, -2, 0].map(|power| 10_f64.powi(power)));
        assert_eq!(ticks(15.0, 80.0), [20.0, 40.0, 60.0, 80.0]);
        assert_eq!(ticks(150.0, 1200.0), [200.0, 500.0, 1000.0]);
        for (low, high) in [(46.1, 62.0), (0.031, 0.042), (1999.0, 2001.0), (1e-3, 1e9), (3000.0, 7100.0)] {
            let ticks = ticks(low, high);
            assert!((2..=MOST).contains(&ticks.len()), "{low} to {high}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (low..=high).contains(tick)), "{low} to {high}: {ticks:?}");
        }
        assert_eq!(ticks(1.0, 1.0), Vec::<f64>::new());
    }

    #[test]
    fn sizes_are_powers_of_two() {
        assert_eq!(powers_of_two(900.0, 9000.0), [1024.0, 2048.0, 4096.0, 8192.0]);
        assert!((2..=MOST).contains(&powers_of_two(1.0, 1e9).len()));
        assert!(powers_of_two(1100.0, 1900.0).len() >= 2);
    }
}
