//! One problem, on which candidates are compared with the present kernel.

use super::outcome::Found;
use super::verdict::Comparison;
use ladders::bench::Plan;
use ladders::error::{Error, Result};
use ladders::kernels::{Job, Oracle, Problem, Resolved, Row, RungId};
use rustwarp::backend::{Backend, Module};

/// The PTX and the launch of one side of a comparison.
#[derive(Clone, Copy)]
pub struct Setup {
    /// The PTX.
    pub module: Module,
    /// Threads per block, if not the plan's.
    pub block: Option<u32>,
    /// Number of blocks, if not the plan's.
    pub grid: Option<u32>,
}

impl Setup {
    /// PTX with the launch that the plan chooses.
    pub fn of(module: Module) -> Self {
        Self { module, block: None, grid: None }
    }
}

/// A problem on a device.
pub struct Trial<'a> {
    /// The device.
    pub device: &'a dyn Backend,
    /// The plan for timing; `None` on the simulator.
    pub plan: Option<&'a Plan<'a>>,
    /// Number of rounds of a comparison.
    pub rounds: u32,
    /// The family's `best`.
    pub variant: RungId,
    /// The family's rungs for this problem.
    pub ladder: Resolved,
    /// The problem.
    pub problem: Problem<'a>,
    /// Its right result.
    pub oracle: &'a Oracle<'a>,
}

impl Trial<'_> {
    /// Runs, verifies and, on a GPU, times one setup.
    ///
    /// # Errors
    /// Those of the device, and of launches that the kernel does not allow.
    pub fn run(&self, setup: Setup) -> Result<Row> {
        let job = Job {
            device: self.device,
            module: setup.module,
            problem: self.problem,
            oracle: self.oracle,
            variants: &[self.variant],
            block: setup.block,
            grid: setup.grid,
            plan: self.plan,
        };
        let mut found = None;
        self.ladder.run(&job, &mut |row| found = Some(row))?;
        found.ok_or_else(|| Error::Usage(format!("`{}` has no result", self.variant.name)))
    }

    /// Compares a candidate with the present kernel: in each round the present one is measured, then the candidate. A
    /// candidate that the kernel or the device does not allow is refused.
    ///
    /// # Errors
    /// Those of [`Trial::run`] for the present kernel, and faults; [`Error::Usage`] if the present kernel's result is
    /// wrong, or there is nothing to time.
    pub fn compare(&self, present: Setup, candidate: Setup) -> Result<Found> {
        let mut rounds = Vec::new();
        let count = if self.plan.is_some() { self.rounds } else { 1 };
        for _ in 0..count {
            let before = self.run(present)?;
            if !before.is_clean() {
                return Err(Error::Usage(format!("the present kernel is wrong: {}", defect(&before))));
            }
            let after = match self.run(candidate) {
                Ok(row) => row,
                // A kernel that faults may leave the device unusable.
                Err(Error::Fault(fault)) => return Err(Error::Fault(fault)),
                Err(why) => return Ok(Found::Refused(why.to_string())),
            };
            if !after.is_clean() {
                return Ok(Found::Wrong(defect(&after)));
            }
            if self.plan.is_some() {
                let time = |row: &Row| {
                    row.time_ms.ok_or_else(|| Error::Usage("an input without elements has no time".to_owned()))
                };
                rounds.push([time(&before)?, time(&after)?]);
            }
        }
        Ok(if rounds.is_empty() { Found::Verified } else { Found::Timed(Comparison::of(&rounds)) })
    }
}

fn defect(row: &Row) -> String {
    let titles: Vec<_> = row.diagnostics().map(|finding| finding.title).collect();
    titles.join("; ")
}
