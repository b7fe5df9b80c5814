//! `--seeds N`: the same work under N schedules.

use super::{look, simulation};
use ladders::error::{Error, Result};
use rustwarp::backend::Backend;
use rustwarp::diagnostic::{Diagnostic, note};
use std::collections::BTreeSet;

/// Runs `work` with the seeds 0 to N - 1, and passes each distinct finding or fault with the first seed that shows it
/// to `emit` at once. `work` returns its own findings in addition to the device's. The findings are also printed to
/// standard error, unless standard output is JSON.
pub(super) fn explore(
    device: &dyn Backend,
    options: &simulation::Options,
    seeds: u64,
    for_programs: bool,
    mut emit: impl FnMut(&Diagnostic) -> Result<()>,
    mut work: impl FnMut() -> Result<Vec<Diagnostic>>,
) -> Result<Vec<Diagnostic>> {
    let mut seen = BTreeSet::new();
    let mut distinct = Vec::new();
    for seed in 0..seeds {
        device.simulate(&options.with_seed(Some(seed)))?;
        let mut found = match work() {
            Ok(found) => found,
            Err(Error::Fault(fault)) => vec![*fault],
            Err(error) => return Err(error),
        };
        // Findings of a launch that ended in a fault were made before the fault.
        found.splice(0..0, device.observed().map(|observed| observed.findings).unwrap_or_default());
        for mut found in found {
            if !seen.insert(found.identity()) {
                continue;
            }
            found.seed = Some(seed);
            emit(&found)?;
            if !for_programs {
                note(format_args!("with seed {seed}: {}", look::report(&found)));
            }
            distinct.push(found);
        }
    }
    if !for_programs {
        note(format_args!("{} distinct findings under {seeds} seeds", distinct.len()));
    }
    Ok(distinct)
}

/// Formats a finding as a line of `--json`.
pub(super) fn object(found: &Diagnostic) -> String {
    serde_json::json!({ "seed": found.seed, "finding": found }).to_string()
}
