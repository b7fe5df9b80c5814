//! `--seeds N`: the same work under N orders of events.

use super::{output, simulation};
use crate::backend::Backend;
use crate::diagnostic::Diagnostic;
use crate::error::{Error, Result};
use std::collections::BTreeSet;

/// Does the work with the seeds 0 to N - 1, prints each distinct finding or fault with the first seed that shows it, and gives
/// them all. `work` gives what it found itself, beside what the device did.
pub(super) fn explore(
    device: &dyn Backend,
    options: &simulation::Options,
    seeds: u64,
    json: bool,
    mut work: impl FnMut() -> Result<Vec<Diagnostic>>,
) -> anyhow::Result<Vec<Diagnostic>> {
    let mut seen = BTreeSet::new();
    let mut distinct = Vec::new();
    for seed in 0..seeds {
        device.simulate(&options.with_seed(Some(seed)))?;
        let mut found = match work() {
            Ok(found) => found,
            Err(Error::Fault(fault)) => vec![*fault],
            Err(error) => return Err(error.into()),
        };
        // Those of a launch that ended in a fault were found before it.
        found.splice(0..0, device.observed().map(|observed| observed.findings).unwrap_or_default());
        for mut found in found {
            if !seen.insert(found.identity()) {
                continue;
            }
            found.seed = Some(seed);
            if json {
                output::line(&serde_json::json!({ "seed": seed, "finding": found }).to_string())?;
            } else {
                eprintln!("with seed {seed}: {}", found.for_stderr());
            }
            distinct.push(found);
        }
    }
    if !json {
        eprintln!("{} distinct findings under {seeds} seeds", distinct.len());
    }
    Ok(distinct)
}
