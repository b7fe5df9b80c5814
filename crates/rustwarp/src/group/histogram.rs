//! Histograms of the elements of all ranks.

use super::collectives::On;
use super::devices::Group;
use super::sharded::Sharded;
use crate::backend::View;
use crate::error::Result;
use crate::histogram::{Bins, Counted, Cut, Key, Letter, count_into, cut};
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
        let what = || format!("histogram of {} {name} in {} bins", values.len(), bins.count());
        self.agreed(what, || {
            let mut own = Vec::new();
            for (part, member) in values.views()?.into_iter().zip(&self.members) {
                let mut counts = member.device.uninit::<u64>(bins.count() as usize)?;
                count_into(part, bins, &mut counts)?;
                own.push(counts);
            }
            if bins.count() > FEW {
                let ends: Vec<_> = own.iter().map(|counts| (View::from(counts), View::from(counts))).collect();
                self.all_combine::<Sum, u64>(On::Device, &ends)?;
                return self.members[0].device.download_async(&own[0])?.wait();
            }
            let mut counts = vec![0; bins.count() as usize];
            for own in self.values_of_ranks(&own)?.chunks(counts.len()) {
                counts.iter_mut().zip(own).for_each(|(sum, count)| *sum += count);
            }
            Ok(counts)
        })
    }
}
