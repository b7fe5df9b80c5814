//! What a test fails with: the whole report, readable also where `unwrap` and a test's `?` print it.

use crate::stop::{Finding, Stop};
use std::fmt;

/// Findings that are printed; all of them are in [`Failure::findings`].
const SHOWN: usize = 10;

/// Why a kernel's test failed. `Debug` prints the same report as `Display`, because that is what `unwrap` and a test
/// that returns an error show.
#[derive(Clone)]
pub struct Failure(Box<Report>);

#[derive(Clone)]
struct Report {
    /// What was run.
    run: Option<String>,
    seed: Option<u64>,
    stop: Option<Stop>,
    findings: Vec<Finding>,
    printed: String,
}

impl Failure {
    /// A run that did not end well.
    pub(super) fn new(run: String, seed: Option<u64>, stop: Option<Stop>, findings: &[Finding], printed: &str) -> Self {
        Self(Box::new(Report { run: Some(run), seed, stop, findings: findings.to_vec(), printed: printed.to_owned() }))
    }

    /// What ended the run early, or kept it from starting.
    pub fn stop(&self) -> Option<&Stop> {
        self.0.stop.as_ref()
    }

    /// What the checkers found.
    pub fn findings(&self) -> &[Finding] {
        &self.0.findings
    }

    /// The codes of the findings and of the stop, such as `race-waw`: for tests that expect a bug to be found.
    pub fn codes(&self) -> Vec<&'static str> {
        let findings = self.findings().iter().map(|finding| finding.diagnostic.code);
        findings.chain(self.stop().map(Stop::code)).collect()
    }

    /// The seed of the schedule; `None` for the usual one.
    pub fn seed(&self) -> Option<u64> {
        self.0.seed
    }

    /// What the kernel had printed.
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
        // On a line of its own: `unwrap` and `main` put words before it.
        write!(f, "\n{self}\n")
    }
}
