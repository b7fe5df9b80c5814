//! One value from each segment of the elements of all ranks.
//!
//! A segment belongs to the rank that has its first element. Where it goes on, each of the following ranks reduces its
//! part of it, and these results are combined with the owner's, in the order of the ranks.

use super::devices::Group;
use super::sharded::Sharded;
use crate::element::Element;
use crate::error::Result;
use crate::launch::Tuning;
use crate::reduce::{Max, Min, Op, Sum};
use crate::segreduce::{Plan, require_offsets};
use std::ops::Range;

impl Group {
    /// Sum of each segment; segment `k` has the elements `offsets[k]..offsets[k + 1]`. Every rank passes the same
    /// offsets. A result is on the rank that has the segment's first element. See
    /// [`segreduce::sum`](crate::segreduce::sum).
    ///
    /// # Errors
    /// Those of [`segreduce::sum`](crate::segreduce::sum) and of [`Group::sum`].
    pub fn segmented_sum<T: Element>(&self, values: &Sharded<T>, offsets: &[u64]) -> Result<Sharded<T>> {
        self.segmented::<Sum, T>(values, offsets, "sum")
    }

    /// Largest element of each segment, as [`Group::segmented_sum`].
    ///
    /// # Errors
    /// Those of [`Group::segmented_sum`].
    pub fn segmented_max<T: Element>(&self, values: &Sharded<T>, offsets: &[u64]) -> Result<Sharded<T>> {
        self.segmented::<Max, T>(values, offsets, "max")
    }

    /// Smallest element of each segment, as [`Group::segmented_sum`].
    ///
    /// # Errors
    /// Those of [`Group::segmented_sum`].
    pub fn segmented_min<T: Element>(&self, values: &Sharded<T>, offsets: &[u64]) -> Result<Sharded<T>> {
        self.segmented::<Min, T>(values, offsets, "min")
    }

    fn segmented<O: Op<T>, T: Element>(&self, values: &Sharded<T>, offsets: &[u64], name: &str) -> Result<Sharded<T>> {
        self.require(values.group, "the memory")?;
        require_offsets(offsets, values.len() as u64)?;
        let what = || {
            // Ranks with other offsets would combine other segments.
            let sum = offsets.iter().fold(0_u64, |sum, &x| (sum ^ x).wrapping_mul(0x100_0000_01b3).rotate_left(17));
            format!("{name} of {} segments ({sum:x}) of {} {}", offsets.len() - 1, values.len(), T::DTYPE)
        };
        self.agreed(what, || {
            let owned: Vec<usize> = (0..=self.size).map(|rank| first_of(offsets, &values.limits, rank)).collect();
            let mut result = self.sharded_at::<T>(owned.clone(), 1)?;
            let mut carries = Vec::new();
            for (rank, (part, member)) in self.ranks().zip(values.views()?.into_iter().zip(&self.members)) {
                let segments = Segments::of(offsets, values.range(rank), owned[rank]..owned[rank + 1]);
                let mut own = member.device.uninit::<T>(1 + segments.owned)?;
                Plan::<O, T>::new(&member.device, part.len(), &segments.offsets, Tuning::default())?
                    .launch(part, &mut own)?;
                let (carry, results) = own.split_at(1)?;
                result.part_mut(rank)?.copy_from(results)?;
                carries.push(member.device.copy(carry)?);
            }
            let carries = self.values_of_ranks(&carries)?;
            for rank in self.ranks() {
                // The owner of a segment that goes on combines it with the carries of the ranks into which it goes.
                let Some(last) = (owned[rank]..owned[rank + 1]).last() else { continue };
                let end = offsets[last + 1];
                let goes_on = (rank + 1..self.size).take_while(|&next| (values.limits[next] as u64) < end);
                let more: Vec<T> = goes_on.map(|next| carries[next]).collect();
                if !more.is_empty() {
                    let mut part = result.part_mut(rank)?;
                    let place = part.len() - 1;
                    let own = part.as_view().view(place..)?.download()?[0];
                    let sum = more.into_iter().fold(own, O::combine);
                    part.view_mut(place..)?.write(&[sum])?;
                }
            }
            Ok(result)
        })
    }
}

/// The first segment that a rank owns: the first one that begins in its part or behind it. The last rank owns those
/// that begin behind all elements, too.
fn first_of(offsets: &[u64], limits: &[usize], rank: usize) -> usize {
    let segments = offsets.len() - 1;
    if rank + 1 == limits.len() {
        return segments;
    }
    offsets[..segments].partition_point(|&offset| offset < limits[rank] as u64)
}

/// The segments of one rank.
struct Segments {
    /// Limits of the part of a segment of earlier ranks, which may be empty, and of the rank's own segments.
    offsets: Vec<u64>,
    /// Number of its own segments.
    owned: usize,
}

impl Segments {
    fn of(offsets: &[u64], part: Range<usize>, owned: Range<usize>) -> Self {
        let (start, end) = (part.start as u64, part.end as u64);
        let within = |offset: u64| offset.clamp(start, end) - start;
        // Elements before the first offset belong to no segment, so the carry begins there at the earliest.
        let carry_end = within(offsets[owned.start]);
        let carry_start = if owned.start == 0 { carry_end } else { 0 };
        let ends = owned.clone().map(|segment| within(offsets[segment + 1]));
        Self { offsets: [carry_start, carry_end].into_iter().chain(ends).collect(), owned: owned.len() }
    }
}
