//! Histograms of the elements of all ranks.

use super::collectives::On;
use super::devices::Group;
use super::plans::Plans;
use super::sharded::Sharded;
use crate::backend::View;
use crate::error::Result;
use crate::histogram::{Bins, Counted, Cut, Key, Letter, Plan, cut};
use crate::launch::Tuning;
use crate::reduce::Sum;
use std::ops::Range;

/// Most bins whose counts are added on the host: copying the counts of each rank takes less time than adding them on
/// the devices and copying one.
const FEW: u32 = 1 << 12;

impl Group {
    /// Number of occurrences of each value below `bins`. See [`histogram::of_keys`](crate::histogram::of_keys).
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for 0 bins, and those of [`Group::sum`].
    pub fn histogram<T: Key>(&self, values: &Sharded<T>, bins: u32) -> Result<Vec<u64>> {
        self.count(values, Bins::<T>::keys(bins), "keys")
    }

    /// Number of letters of a text in groups of four. See [`histogram::of_letters`](crate::histogram::of_letters).
    ///
    /// # Errors
    /// Those of [`Group::histogram`].
    pub fn histogram_of_letters(&self, text: &Sharded<u8>) -> Result<Vec<u64>> {
        self.count::<Letter>(text, Bins::letters(), "letters")
    }

    /// Number of elements in each of `bins` equal parts of a half-open range. See
    /// [`histogram::of_range`](crate::histogram::of_range).
    ///
    /// # Errors
    /// Those of [`Group::histogram`], and [`Error::Argument`](crate::Error::Argument) for a range that cannot be
    /// divided.
    pub fn histogram_of_range<T: Cut>(&self, values: &Sharded<T>, bins: u32, range: Range<T>) -> Result<Vec<u64>> {
        self.count(values, cut(range, bins)?, "parts of a range")
    }

    fn count<S: Counted>(&self, values: &Sharded<S::Element>, bins: Bins<S>, name: &str) -> Result<Vec<u64>> {
        self.require(values.group, "the memory")?;
        bins.require_one_channel("on a group of devices")?;
        let what = || format!("histogram of {} {name} in {} bins", values.len(), bins.count());
        self.agreed(what, || {
            let parts = values.views()?;
            let lens: Vec<usize> = parts.iter().map(|part| part.len()).collect();
            let len = bins.count() as usize;
            let make = || self.plans(&lens, len, |device, n| Plan::<S>::new(device, n, bins, Tuning::default()));
            if bins.count() > FEW {
                let mut plans = make()?;
                start(&mut plans, parts)?;
                let ends: Vec<_> = plans.iter().map(|(_, own)| (View::from(own), View::from(own))).collect();
                self.all_combine::<Sum, u64>(On::Device, &ends)?;
                return self.members[0].device.download_async(&plans[0].1)?.wait();
            }
            self.kept.with((lens.clone(), bins.numbers()), make, |plans| {
                start(plans, parts)?;
                let mut counts = vec![0; len];
                for own in self.values_of_ranks(plans.iter().map(|(_, own)| own))?.chunks(len) {
                    counts.iter_mut().zip(own).for_each(|(sum, count)| *sum += count);
                }
                Ok(counts)
            })
        })
    }
}

/// Starts the counts of the ranks of this process.
fn start<S: Counted>(plans: &mut Plans<Plan<S>, u64>, parts: Vec<View<'_, S::Element>>) -> Result<()> {
    plans.iter_mut().zip(parts).try_for_each(|((plan, counts), part)| plan.launch(part, counts))
}
