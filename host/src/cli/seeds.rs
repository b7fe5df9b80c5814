//! `--seeds N`: one launch under N orders of events.

use super::{launch, output};
use crate::backend::{Backend, Simulation};
use crate::diagnostic::Diagnostic;
use crate::error::Error;
use crate::ptx::Image;
use std::collections::BTreeSet;

/// Runs the launch with the seeds 0 to `seeds` - 1, and prints each distinct finding or fault with the first seed that shows it.
/// Tells whether there was none.
pub(super) fn explore(
    device: &dyn Backend,
    image: &Image,
    options: &launch::Options,
    seeds: u64,
    json: bool,
) -> anyhow::Result<bool> {
    let mut seen = BTreeSet::new();
    for seed in 0..seeds {
        device.simulate(&Simulation { seed: Some(seed), profile: None })?;
        let fault = match launch::launch(device, image, options) {
            Ok(()) => None,
            Err(Error::Fault(fault)) => Some(*fault),
            Err(error) => return Err(error.into()),
        };
        let findings = device.observed().map(|observed| observed.findings).unwrap_or_default();
        for found in findings.into_iter().chain(fault) {
            if !seen.insert(identity(&found)) {
                continue;
            }
            if json {
                output::line(&serde_json::json!({ "seed": seed, "finding": found }).to_string())?;
            } else {
                eprintln!("with seed {seed}: {found}");
            }
        }
    }
    if !json {
        eprintln!("{} distinct findings under {seeds} seeds", seen.len());
    }
    Ok(seen.is_empty())
}

/// What happened, and at which places: threads and addresses differ from seed to seed.
fn identity(found: &Diagnostic) -> (String, Vec<String>) {
    let places = found.text.lines().filter(|line| line.trim_start().starts_with("-->"));
    (found.code.clone(), places.map(str::to_owned).collect())
}
