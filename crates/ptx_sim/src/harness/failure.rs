//! Error of a failed kernel test: the whole report, readable also where `unwrap` and a test's `?` print it.

use crate::stop::{Finding, Stop};
use std::fmt;

/// Number of findings that are printed; [`Failure::findings`] has all of them.
const SHOWN: usize = 10;

/// The reason why a kernel test failed. `Debug` prints the same report as `Display`, because `unwrap` and a test that
/// returns an error show the `Debug` form.
#[derive(Clone)]
pub struct Failure(Box<Report>);

#[derive(Clone)]
struct Report {
    /// Kernel and launch that were run.
    run: Option<String>,
    seed: Option<u64>,
    stop: Option<Stop>,
    findings: Vec<Finding>,
    printed: String,
}

impl Failure {
    /// Creates the failure of a run that stopped or has findings.
    pub(super) fn new(run: String, seed: Option<u64>, stop: Option<Stop>, findings: &[Finding], printed: &str) -> Self {
        Self(Box::new(Report { run: Some(run), seed, stop, findings: findings.to_vec(), printed: printed.to_owned() }))
    }

    /// Returns the stop that ended the run early or prevented it from starting.
    pub fn stop(&self) -> Option<&Stop> {
        self.0.stop.as_ref()
    }

    /// Returns the findings of the checkers.
    pub fn findings(&self) -> &[Finding] {
        &self.0.findings
    }

    /// Returns the codes of the findings and of the stop, such as `race-waw`, for tests that expect a bug to be found.
    pub fn codes(&self) -> Vec<&'static str> {
        let findings = self.findings().iter().map(|finding| finding.diagnostic.code);
        findings.chain(self.stop().map(Stop::code)).collect()
    }

    /// Returns the seed of the schedule; `None` for the default schedule.
    pub fn seed(&self) -> Option<u64> {
        self.0.seed
    }

    /// Returns what the kernel had printed.
    pub fn printed(&self) -> &str {
        &self.0.printed
    }
}

impl From<Stop> for Failure {
    fn from(stop: Stop) -> Self {
        let (findings, printed) = (stop.findings().to_vec(), stop.printed().to_owned());
        Self(Box::new(Report { run: None, seed: None, findings, printed, stop: Some(stop) }))
    }
}

impl std::error::Error for Failure {}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Report { run, seed, stop, findings, printed } = &*self.0;
        if let Some(run) = run {
            write!(f, "{run} failed")?;
            if let Some(seed) = seed {
                write!(f, " under the schedule of seed {seed}")?;
            }
            writeln!(f, ":\n")?;
        }
        let shown: Vec<String> = findings.iter().take(SHOWN).map(ToString::to_string).collect();
        f.write_str(&shown.join("\n\n"))?;
        if findings.len() > SHOWN {
            write!(f, "\n\nand {} more findings", findings.len() - SHOWN)?;
        }
        if let Some(stop) = stop {
            write!(f, "{}{stop}", if findings.is_empty() { "" } else { "\n\n" })?;
        }
        if !printed.is_empty() {
            write!(f, "\n\nthe kernel printed:\n{}", printed.trim_end())?;
        }
        Ok(())
    }
}

impl fmt::Debug for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The report starts on a line of its own, because `unwrap` and `main` print text before it.
        write!(f, "\n{self}\n")
    }
}
