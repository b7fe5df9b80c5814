//! Histograms of streamed elements.

use super::cut::Cut;
use super::pipeline::run;
use super::reduce::planned;
use super::settings::Settings;
use super::source::Source;
use crate::device::Device;
use crate::error::Result;
use crate::histogram::{Bins, Counted, Plan};
use crate::launch::Tuning;
use crate::vecadd;
use std::ops::Range;

/// Number of elements in the range that belong to each bin, by the rule `S`.
///
/// The counts of neighbouring ranges are added.
///
/// - *Determinism*: counts are exact, and the same on every run and device.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for 0 bins, for interleaved channels, and for chunks of more
/// elements than a block's 32-bit counters can count, and those of [`reduce()`](super::reduce()).
pub fn histogram<S: Counted>(
    device: &Device,
    source: &dyn Source,
    elements: Range<u64>,
    bins: Bins<S>,
    settings: &Settings<'_>,
) -> Result<Vec<u64>> {
    bins.require_one_channel("in chunks")?;
    let cut = Cut::new::<S::Element>(device, &[source], elements, settings, 0)?;
    let count = bins.count() as usize;
    let mut counts = device.uninit::<u64>(count)?;
    // The counts of a chunk are added to one of these, into the other one.
    let (mut so_far, mut sums) = (device.zeros::<u64>(count)?, device.uninit::<u64>(count)?);
    let addition = vecadd::Plan::<u64>::new(device, count, Tuning::default())?;
    // Without elements, this is where 0 bins are refused.
    let mut plan = Some((0, Plan::<S>::new(device, 0, bins, Tuning::default())?));
    run::<S::Element>(device, &[source], &cut, &[], settings, |slots| {
        let plan = planned(&mut plan, slots.len, || Plan::<S>::new(device, slots.len, bins, Tuning::default()))?;
        plan.launch(slots.memory[0].view(..slots.len)?, &mut counts)?;
        addition.launch([&counts, &so_far], &mut sums)?;
        std::mem::swap(&mut so_far, &mut sums);
        Ok(())
    })?;
    so_far.download()
}
