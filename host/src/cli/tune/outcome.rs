//! The outcomes of `host tune`: the table, the file, and what to change.

use super::verdict::{Comparison, Verdict};
use crate::cli::rows::{ALL, time};
use ladders::error::{Error, Result};
use ladders::table::{Cell, Column, Grid, Tone};

/// What was measured, where, and how.
#[derive(Clone, Debug, Default)]
pub struct Conditions {
    /// Name of the device.
    pub gpu: String,
    /// Its driver.
    pub driver: String,
    /// Day of the measurement.
    pub date: String,
    /// Commit of the kernels' sources.
    pub commit: String,
    /// Architecture of the PTX.
    pub arch: String,
    /// Number of rounds.
    pub rounds: u32,
    /// Samples of each time.
    pub samples: u32,
    /// State of the cache before each sample.
    pub cache: &'static str,
}

/// One value beside the present one.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome {
    /// Name of the constant, or of an option of the launch.
    pub constant: String,
    /// The file and line to change.
    pub place: String,
    /// Name of the candidate in the advice, the same for every problem.
    pub label: String,
    /// The present value.
    pub present: String,
    /// The candidate.
    pub candidate: String,
    /// Family, operation, type, size and settings; empty if the value is refused for every problem.
    pub problem: String,
    /// What was found.
    pub found: Found,
}

/// What was found for a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Found {
    /// It cannot be used, for this reason.
    Refused(String),
    /// Its result is wrong.
    Wrong(String),
    /// Its result is right, on a device that measures no times.
    Verified,
    /// Its result is right, and it was timed.
    Timed(Comparison),
}

impl Found {
    fn verdict(&self) -> (&'static str, Tone) {
        match self {
            Self::Refused(_) => ("refused", Tone::Quiet),
            Self::Wrong(_) => ("WRONG", Tone::Bad),
            Self::Verified => ("verified", Tone::Good),
            Self::Timed(comparison) => match comparison.verdict {
                Verdict::Better => (Verdict::Better.text(), Tone::Good),
                Verdict::Worse => (Verdict::Worse.text(), Tone::Poor),
                Verdict::NoDifference => (Verdict::NoDifference.text(), Tone::Plain),
            },
        }
    }

    fn reason(&self) -> &str {
        match self {
            Self::Refused(why) | Self::Wrong(why) => why,
            Self::Verified | Self::Timed(_) => "",
        }
    }

    fn timed(&self) -> Option<Comparison> {
        if let Self::Timed(comparison) = self { Some(*comparison) } else { None }
    }
}

/// The table of all outcomes.
pub fn table(outcomes: &[Outcome]) -> Grid {
    let columns = [
        Column::text("constant"),
        Column::text("place").rank(2),
        Column::number("present"),
        Column::number("candidate"),
        Column::text("problem"),
        Column::number("present time").rank(1),
        Column::number("time"),
        Column::number("ratio"),
        Column::number("of the rounds").rank(3),
        Column::number("noise").rank(4),
        Column::sentences("verdict", 16),
    ];
    let mut table = Grid::new(columns, ALL);
    for outcome in outcomes {
        let timed = outcome.found.timed();
        let or_dash = |text: fn(&Comparison) -> String| timed.as_ref().map_or_else(|| "-".to_owned(), text);
        let (verdict, tone) = outcome.found.verdict();
        let reason = outcome.found.reason();
        let verdict = if reason.is_empty() { verdict.to_owned() } else { format!("{verdict}: {reason}") };
        let problem = if outcome.problem.is_empty() { "-" } else { &outcome.problem };
        table.row([
            outcome.constant.clone().into(),
            outcome.place.clone().into(),
            outcome.present.clone().into(),
            outcome.candidate.clone().into(),
            problem.into(),
            or_dash(|timed| time(timed.present_ms)).into(),
            or_dash(|timed| time(timed.candidate_ms)).into(),
            or_dash(|timed| format!("{:.3}", timed.ratio)).into(),
            or_dash(|timed| format!("{:.3} to {:.3}", timed.range[0], timed.range[1])).into(),
            or_dash(|timed| format!("{:.1} %", timed.noise * 100.0)).into(),
            Cell::new(verdict, tone),
        ]);
    }
    table
}

/// The columns of the file.
const COLUMNS: [&str; 21] = [
    "gpu",
    "driver",
    "date",
    "commit",
    "arch",
    "constant",
    "place",
    "present",
    "candidate",
    "problem",
    "present_ms",
    "candidate_ms",
    "ratio",
    "ratio_min",
    "ratio_max",
    "noise",
    "verdict",
    "reason",
    "rounds",
    "samples",
    "cache",
];

/// The outcomes as CSV, each row with the machine.
///
/// # Errors
/// [`Error::Usage`] if they cannot be written as text.
pub fn csv(conditions: &Conditions, outcomes: &[Outcome]) -> Result<String> {
    let failed = |problem: String| Error::Usage(format!("cannot write the outcomes as CSV: {problem}"));
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(COLUMNS).map_err(|error| failed(error.to_string()))?;
    for outcome in outcomes {
        let timed = outcome.found.timed();
        let number =
            |value: fn(&Comparison) -> f64| timed.as_ref().map(|timed| value(timed).to_string()).unwrap_or_default();
        let Conditions { gpu, driver, date, commit, arch, rounds, samples, cache } = conditions;
        let row: [String; COLUMNS.len()] = [
            gpu.clone(),
            driver.clone(),
            date.clone(),
            commit.clone(),
            arch.clone(),
            outcome.constant.clone(),
            outcome.place.clone(),
            outcome.present.clone(),
            outcome.candidate.clone(),
            outcome.problem.clone(),
            number(|timed| timed.present_ms),
            number(|timed| timed.candidate_ms),
            number(|timed| timed.ratio),
            number(|timed| timed.range[0]),
            number(|timed| timed.range[1]),
            number(|timed| timed.noise),
            outcome.found.verdict().0.to_owned(),
            outcome.found.reason().to_owned(),
            rounds.to_string(),
            samples.to_string(),
            (*cache).to_owned(),
        ];
        writer.write_record(&row).map_err(|error| failed(error.to_string()))?;
    }
    let bytes = writer.into_inner().map_err(|error| failed(error.to_string()))?;
    String::from_utf8(bytes).map_err(|error| failed(error.to_string()))
}

/// What to change: each candidate that is better for some problems, worse for none, and usable for all.
pub fn advice(outcomes: &[Outcome]) -> Vec<String> {
    let mut groups: Vec<(&Outcome, Vec<&Found>)> = Vec::new();
    for outcome in outcomes {
        let same = |(first, _): &&mut (&Outcome, _)| first.label == outcome.label && first.place == outcome.place;
        match groups.iter_mut().find(same) {
            Some((_, found)) => found.push(&outcome.found),
            None => groups.push((outcome, vec![&outcome.found])),
        }
    }
    let is = |found: &Found, verdict: Verdict| found.timed().is_some_and(|timed| timed.verdict == verdict);
    let is_worth = |found: &[&Found]| {
        let usable = |found: &&Found| found.timed().is_some() && !is(found, Verdict::Worse);
        found.iter().all(usable) && found.iter().any(|found| is(found, Verdict::Better))
    };
    let lines = groups.iter().filter(|(_, found)| is_worth(found)).map(|(first, found)| {
        let better = found.iter().filter(|found| is(found, Verdict::Better)).count();
        format!(
            "{} is better for {better} of {} problems and worse for none: to take it, change {}",
            first.label,
            found.len(),
            first.place
        )
    });
    let lines: Vec<_> = lines.collect();
    if lines.is_empty() && outcomes.iter().any(|outcome| outcome.found.timed().is_some()) {
        return vec!["no candidate is better for some problems and worse for none: nothing to change".to_owned()];
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A candidate for the constant, with the same ratio in each of three rounds; no time if it is refused.
    fn outcome(label: &str, problem: &str, ratio: Option<f64>) -> Outcome {
        let found = match ratio {
            Some(ratio) => Found::Timed(Comparison::of(&[[0.5, 0.5 * ratio]; 3])),
            None => Found::Refused("it spills registers, \"a\"".to_owned()),
        };
        Outcome {
            constant: "UNROLL".to_owned(),
            place: "kernels-gpu/src/dot/best.rs:25".to_owned(),
            label: label.to_owned(),
            present: "4".to_owned(),
            candidate: "8".to_owned(),
            problem: problem.to_owned(),
            found,
        }
    }

    #[test]
    fn only_what_is_worse_nowhere_is_advised() {
        let of = |ratios: &[Option<f64>]| {
            advice(&ratios.iter().map(|ratio| outcome("UNROLL = 8", "dot", *ratio)).collect::<Vec<_>>())
        };
        let taken = "UNROLL = 8 is better for 1 of 2 problems and worse for none: to take it, change \
                     kernels-gpu/src/dot/best.rs:25";
        assert_eq!(of(&[Some(0.5), Some(1.0)]), [taken]);
        for kept in [&[Some(0.5), Some(1.5)][..], &[Some(1.0), Some(1.0)], &[Some(0.5), None]] {
            assert!(of(kept)[0].contains("nothing to change"), "{kept:?}");
        }
        assert_eq!(of(&[None]), Vec::<String>::new());
        let two = [outcome("A = 1", "dot", Some(1.5)), outcome("A = 2", "dot", Some(0.5))];
        assert!(matches!(&advice(&two)[..], [line] if line.starts_with("A = 2 is better for 1 of 1")));
    }

    #[test]
    fn a_row_of_the_file_has_the_machine() {
        let conditions = Conditions {
            gpu: "NVIDIA H200".to_owned(),
            driver: "driver 580, CUDA 13.0".to_owned(),
            date: "2026-11-27".to_owned(),
            commit: "0123".to_owned(),
            arch: "sm_90".to_owned(),
            rounds: 3,
            samples: 21,
            cache: "cold",
        };
        let outcomes = [outcome("A = 1", "dot f32 1024", Some(0.5)), outcome("A = 2", "", None)];
        let text = csv(&conditions, &outcomes).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], COLUMNS.join(","));
        let machine = "NVIDIA H200,\"driver 580, CUDA 13.0\",2026-11-27,0123,sm_90";
        let constant = "UNROLL,kernels-gpu/src/dot/best.rs:25,4,8";
        let timed = "dot f32 1024,0.5,0.25,0.5,0.5,0.5,0,better,";
        assert_eq!(lines[1], format!("{machine},{constant},{timed},3,21,cold"));
        let refused = ",,,,,,,refused,\"it spills registers, \"\"a\"\"\"";
        assert_eq!(lines[2], format!("{machine},{constant},{refused},3,21,cold"));
        assert_eq!(lines.len(), 3);
    }
}
