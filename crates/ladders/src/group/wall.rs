//! Times of what a group does, by the host's clock.

use crate::bench::{Cache, Timing, WARM_UP};
use crate::error::{Error, Result};
use crate::kernels::spelling::REPEAT;
use rustwarp::Group;
use std::time::Instant;

/// Times `run` between two barriers of all ranks, after it has run some times.
///
/// # Errors
/// [`Error::Usage`] for no samples, and the errors of `run`.
pub(super) fn time(group: &Group, repeat: u32, run: &mut dyn FnMut() -> rustwarp::Result<()>) -> Result<Timing> {
    if repeat == 0 {
        return Err(Error::Usage(format!("{REPEAT} 0 measures nothing: use 1 or more")));
    }
    for _ in 0..WARM_UP {
        run()?;
    }
    let samples = (0..repeat).map(|_| sample(group, 1, run)).collect::<Result<Vec<_>>>()?;
    Ok(Timing::of(samples, Cache::Warm))
}

/// Milliseconds of one of `count` runs, between two barriers of all ranks.
///
/// # Errors
/// Those of `run`.
pub(super) fn sample(group: &Group, count: u32, run: &mut dyn FnMut() -> rustwarp::Result<()>) -> Result<f64> {
    group.synchronize()?;
    let start = Instant::now();
    for _ in 0..count {
        run()?;
    }
    group.synchronize()?;
    Ok(start.elapsed().as_secs_f64() * 1e3 / f64::from(count.max(1)))
}
