//! Memory of which each rank has a part.

use super::devices::Group;
use crate::backend::{View, ViewMut};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::scan::head;
use bytemuck::Pod;
use std::ops::Range;

/// Elements that are divided among the ranks of a group: each has a part of about the same length, in the order of the
/// ranks. Matrices are divided by rows.
///
/// [`Group::shard`] copies elements of the host, [`Group::shard_with`] makes each rank's part there, and
/// [`Group::gather`] copies all elements back.
pub struct Sharded<T> {
    /// The group's number.
    pub(super) group: u64,
    /// The first element of each rank, and the number of all elements.
    pub(super) limits: Vec<usize>,
    /// Elements that are not divided: the length of a row.
    pub(super) unit: usize,
    /// Rank of the first part.
    pub(super) first: usize,
    /// The parts of the ranks of this process, each behind a [`head`]: scans begin with the elements of the ranks
    /// before there.
    pub(super) parts: Vec<Buffer<T>>,
}

/// The first unit of each rank, and the number of all units.
pub(super) fn limits(units: usize, ranks: usize) -> Vec<usize> {
    // In 128 bits, since the product may not fit 64.
    (0..=ranks).map(|rank| (units as u128 * rank as u128 / ranks as u128) as usize).collect()
}

/// The place of a rank among the `count` ranks of this process, from `first` on.
///
/// # Errors
/// [`Error::Argument`] for a rank of another process, or none.
pub(super) fn place(rank: usize, first: usize, count: usize) -> Result<usize> {
    let own = first..first + count;
    if own.contains(&rank) {
        return Ok(rank - first);
    }
    Err(Error::Argument(format!("rank {rank} is not one of this process, which has the ranks {own:?}")))
}

impl<T: Pod> Sharded<T> {
    /// Number of elements of all ranks.
    pub fn len(&self) -> usize {
        self.limits[self.limits.len() - 1]
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a rank.
    ///
    /// # Panics
    /// Panics if the group has fewer ranks.
    pub fn range(&self, rank: usize) -> Range<usize> {
        self.limits[rank]..self.limits[rank + 1]
    }

    /// Length of the rows that are not divided; 1 for a vector.
    pub fn columns(&self) -> usize {
        self.unit
    }

    /// The part of a rank of this process, on its device.
    ///
    /// # Errors
    /// [`Error::Argument`] for a rank of another process, or none.
    pub fn part(&self, rank: usize) -> Result<View<'_, T>> {
        self.parts[place(rank, self.first, self.parts.len())?].view(head::<T>()..)
    }

    /// The part of a rank of this process, on its device, to be written.
    ///
    /// # Errors
    /// Those of [`Sharded::part`].
    pub fn part_mut(&mut self, rank: usize) -> Result<ViewMut<'_, T>> {
        let index = place(rank, self.first, self.parts.len())?;
        self.parts[index].view_mut(head::<T>()..)
    }

    /// The parts of the ranks of this process.
    pub(super) fn views(&self) -> Result<Vec<View<'_, T>>> {
        self.parts.iter().map(|part| part.view(head::<T>()..)).collect()
    }
}

impl Group {
    /// Divides elements of the host among the ranks. In a group of many processes each passes all elements, of which
    /// its rank copies a part: see [`Group::shard_with`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if a device has less memory free. Ranks that pass different numbers of elements are
    /// reported by the first function over them.
    pub fn shard<T: Pod>(&self, values: &[T]) -> Result<Sharded<T>> {
        self.shard_rows(values, 1)
    }

    /// Divides the rows of a row-major matrix of the host among the ranks.
    ///
    /// # Errors
    /// Those of [`Group::shard`], and [`Error::Mismatch`] for elements that are no rows of this length.
    pub fn shard_rows<T: Pod>(&self, values: &[T], columns: usize) -> Result<Sharded<T>> {
        self.shard_rows_with(values.len(), columns, |range| Ok(values[range].to_vec()))
    }

    /// Divides `len` elements among the ranks. `part` returns the elements of a range, for each rank of this process.
    ///
    /// # Errors
    /// Those of [`Group::shard`] and of `part`, and [`Error::Mismatch`] for a part of another length.
    pub fn shard_with<T: Pod>(
        &self,
        len: usize,
        part: impl FnMut(Range<usize>) -> Result<Vec<T>>,
    ) -> Result<Sharded<T>> {
        self.shard_rows_with(len, 1, part)
    }

    /// Divides the rows of a row-major matrix of `len` elements among the ranks, as [`Group::shard_with`] does.
    ///
    /// # Errors
    /// Those of [`Group::shard_with`] and [`Group::shard_rows`].
    pub fn shard_rows_with<T: Pod>(
        &self,
        len: usize,
        columns: usize,
        mut part: impl FnMut(Range<usize>) -> Result<Vec<T>>,
    ) -> Result<Sharded<T>> {
        let mut sharded = self.sharded::<T>(len, columns)?;
        let mut fill = |rank: usize| {
            let range = sharded.range(rank);
            let (values, expected) = (part(range.clone())?, range.len());
            if values.len() != expected {
                let have = values.len();
                return Err(Error::Mismatch(format!("rank {rank} gets {have} elements, and {expected} are needed")));
            }
            sharded.part_mut(rank)?.write(&values)
        };
        self.peers.report(self.ranks().try_for_each(&mut fill))?;
        Ok(sharded)
    }

    /// Memory for `len` elements in rows that are not divided, with no defined values until they are written: see
    /// [`Sharded::part_mut`].
    ///
    /// # Errors
    /// Those of [`Group::shard_rows`].
    pub fn sharded<T: Pod>(&self, len: usize, columns: usize) -> Result<Sharded<T>> {
        if columns == 0 && len != 0 || columns != 0 && !len.is_multiple_of(columns) {
            return Err(Error::Mismatch(format!("{len} elements are no whole rows of {columns}")));
        }
        let rows = len.checked_div(columns).unwrap_or(0);
        self.sharded_at(limits(rows, self.size).into_iter().map(|row| row * columns).collect(), columns)
    }

    /// Memory for parts with these limits.
    pub(super) fn sharded_at<T: Pod>(&self, limits: Vec<usize>, unit: usize) -> Result<Sharded<T>> {
        let parts = self.ranks().zip(&self.members).map(|(rank, member)| {
            let len = limits[rank + 1] - limits[rank];
            member.device.uninit(head::<T>().saturating_add(len))
        });
        let parts = self.peers.report(parts.collect::<Result<Vec<_>>>())?;
        Ok(Sharded { group: self.id, limits, unit, first: self.first, parts })
    }
}

impl<T> std::fmt::Debug for Sharded<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Sharded<{}>({:?}, from rank {} here)", std::any::type_name::<T>(), self.limits, self.first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_have_about_the_same_length() {
        assert_eq!(limits(10, 4), [0, 2, 5, 7, 10]);
        assert_eq!(limits(0, 2), [0, 0, 0]);
        assert_eq!(limits(1, 3), [0, 0, 0, 1]);
        assert_eq!(limits(usize::MAX, 2), [0, usize::MAX / 2, usize::MAX]);
    }
}
