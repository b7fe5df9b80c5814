//! Scans over the elements of all ranks.
//!
//! Each rank combines its elements, and scans them after the results of the ranks before it are known. A part has room
//! for 16 bytes in front of its elements: identities and, last, the combination of all ranks before are written there,
//! and are scanned with the elements. So a rank reads its elements twice and writes them once, all in 16-byte accesses.

use super::devices::Group;
use super::sharded::Sharded;
use crate::element::Element;
use crate::error::Result;
use crate::reduce::{Max, Min, Op, Sum};
use crate::scan::{Kind, Plan, head};
use crate::sync::lock;

impl Group {
    /// Running sums, each with its own element. See [`scan::sums`](crate::scan::sums).
    ///
    /// # Errors
    /// Those of [`Group::sum`], and [`Error::OutOfMemory`](crate::Error::OutOfMemory) if a device has less memory free.
    pub fn inclusive_scan<T: Element>(&self, values: &Sharded<T>) -> Result<Sharded<T>> {
        self.scan::<Sum, T>(values, Kind::Inclusive, "sums")
    }

    /// Running sums of the elements before each. See [`scan::sums`](crate::scan::sums).
    ///
    /// # Errors
    /// Those of [`Group::inclusive_scan`].
    pub fn exclusive_scan<T: Element>(&self, values: &Sharded<T>) -> Result<Sharded<T>> {
        self.scan::<Sum, T>(values, Kind::Exclusive, "sums")
    }

    /// Running maxima. See [`scan::maxima`](crate::scan::maxima).
    ///
    /// # Errors
    /// Those of [`Group::inclusive_scan`].
    pub fn scan_maxima<T: Element>(&self, values: &Sharded<T>, kind: Kind) -> Result<Sharded<T>> {
        self.scan::<Max, T>(values, kind, "maxima")
    }

    /// Running minima. See [`scan::minima`](crate::scan::minima).
    ///
    /// # Errors
    /// Those of [`Group::inclusive_scan`].
    pub fn scan_minima<T: Element>(&self, values: &Sharded<T>, kind: Kind) -> Result<Sharded<T>> {
        self.scan::<Min, T>(values, kind, "minima")
    }

    fn scan<O: Op<T>, T: Element>(&self, values: &Sharded<T>, kind: Kind, name: &str) -> Result<Sharded<T>> {
        self.require(values.group, "the memory")?;
        let what = || format!("{kind:?} scan of {name} of {} {}", values.len(), T::DTYPE);
        self.agreed(what, || {
            let of_ranks = self.of_each_rank::<O, T>(values)?;
            // Another thread may scan the same elements from another carry.
            let _held = lock(&self.heads);
            let mut result = self.sharded_at::<T>(values.limits.clone(), values.unit)?;
            for (member, rank) in self.ranks().enumerate() {
                let device = &self.members[member].device;
                let mut front = vec![O::identity(); head::<T>()];
                front[head::<T>() - 1] = of_ranks[..rank].iter().fold(O::identity(), |sum, &x| O::combine(sum, x));
                // The launch below is in the order of the stream.
                values.parts[member].copy_from(&device.upload(&front)?)?;
                let plan = Plan::<O, T>::new(device, values.parts[member].len(), kind)?;
                plan.launch(&values.parts[member], &mut result.parts[member])?;
            }
            Ok(result)
        })
    }
}
