//! Whether one time is less than another, of several rounds in which both were measured.

/// The outcome of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The candidate takes less time in every round, by more than the present one's times differ.
    Better,
    /// It takes more time in every round, likewise.
    Worse,
    /// Neither.
    NoDifference,
}

impl Verdict {
    /// The words for tables and files.
    pub fn text(self) -> &'static str {
        match self {
            Self::Better => "better",
            Self::Worse => "worse",
            Self::NoDifference => "no difference",
        }
    }
}

/// Times of a present and a candidate, measured in turn in several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// Lower median of the present one's times, in milliseconds.
    pub present_ms: f64,
    /// Lower median of the candidate's times, in milliseconds.
    pub candidate_ms: f64,
    /// Lower median of the rounds' ratios, candidate to present: below 1 the candidate is faster.
    pub ratio: f64,
    /// Smallest and largest ratio of a round.
    pub range: [f64; 2],
    /// Largest distance of one of the present one's times from their median, as a fraction of it.
    pub noise: f64,
    /// The conclusion.
    pub verdict: Verdict,
}

impl Comparison {
    /// The comparison of rounds, each with the time of the present one and of the candidate; there is at least one.
    ///
    /// A difference counts if no round's ratio is within the noise around 1: times that drift during the measurement,
    /// or differ from round to round by as much as the candidate differs, are no reason to change a constant.
    pub fn of(rounds: &[[f64; 2]]) -> Self {
        let sorted = |value: fn(&[f64; 2]) -> f64| {
            let mut values: Vec<f64> = rounds.iter().map(value).collect();
            values.sort_by(f64::total_cmp);
            values
        };
        let median = |values: &[f64]| values[(values.len() - 1) / 2];
        let (present, candidate) = (sorted(|round| round[0]), sorted(|round| round[1]));
        let ratios = sorted(|[present, candidate]| candidate / present);
        let [low, high] = [ratios[0], ratios[ratios.len() - 1]];
        let present_ms = median(&present);
        let noise = (present[present.len() - 1] - present_ms).max(present_ms - present[0]) / present_ms;
        let verdict = if high < 1.0 - noise {
            Verdict::Better
        } else if low > 1.0 + noise {
            Verdict::Worse
        } else {
            Verdict::NoDifference
        };
        let (candidate_ms, ratio) = (median(&candidate), median(&ratios));
        Self { present_ms, candidate_ms, ratio, range: [low, high], noise, verdict }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_beyond_the_noise_counts() {
        for (rounds, verdict) in [
            (&[[10.0, 9.0], [10.1, 9.1], [9.9, 8.9]][..], Verdict::Better),
            (&[[10.0, 11.0], [10.1, 11.1], [9.9, 10.9]], Verdict::Worse),
            // One round says otherwise.
            (&[[10.0, 9.0], [10.0, 9.0], [10.0, 10.0]], Verdict::NoDifference),
            (&[[10.0, 11.0], [10.0, 11.0], [10.0, 9.9]], Verdict::NoDifference),
            // The present one's times differ by more than the candidate does.
            (&[[10.0, 9.5], [11.0, 10.4], [9.0, 8.5]], Verdict::NoDifference),
            (&[[10.0, 10.0], [10.0, 10.0], [10.0, 10.0]], Verdict::NoDifference),
            // A difference equal to the noise is none.
            (&[[8.0, 7.0], [9.0, 7.875], [8.0, 7.0]], Verdict::NoDifference),
            (&[[10.0, f64::NAN], [10.0, f64::NAN], [10.0, f64::NAN]], Verdict::NoDifference),
        ] {
            assert_eq!(Comparison::of(rounds).verdict, verdict, "{rounds:?}");
        }
    }

    #[test]
    fn ratios_are_those_of_the_rounds() {
        // All times double in the last round, which no ratio shows.
        let drift = Comparison::of(&[[4.0, 2.0], [4.0, 3.0], [8.0, 4.0]]);
        assert_eq!((drift.present_ms, drift.candidate_ms), (4.0, 3.0));
        assert_eq!((drift.ratio, drift.range, drift.noise), (0.5, [0.5, 0.75], 1.0));
        // Of an even number, the lower of the middle two.
        let even = Comparison::of(&[[1.0, 4.0], [1.0, 3.0], [1.0, 2.0], [1.0, 1.0]]);
        assert_eq!((even.ratio, even.candidate_ms, even.range, even.noise), (2.0, 2.0, [1.0, 4.0], 0.0));
    }
}
