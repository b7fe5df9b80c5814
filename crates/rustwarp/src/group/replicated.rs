//! Memory of which each rank has a copy.

use super::collectives::{Combine, On};
use super::devices::Group;
use super::sharded::{Sharded, place};
use crate::backend::{View, ViewMut};
use crate::buffer::Buffer;
use crate::element::{Element, Scalar};
use crate::error::{Error, Result};
use crate::reduce::{Max, Min, Sum};
use bytemuck::Pod;

/// As many elements on each rank of a group.
pub struct Replicated<T> {
    group: u64,
    first: usize,
    /// Those of the ranks of this process.
    copies: Vec<Buffer<T>>,
}

impl<T: Pod> Replicated<T> {
    /// Number of elements of each rank.
    pub fn len(&self) -> usize {
        self.copies[0].len()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The elements of a rank of this process, on its device.
    ///
    /// # Errors
    /// [`Error::Argument`] for a rank of another process, or none.
    pub fn of(&self, rank: usize) -> Result<View<'_, T>> {
        Ok((&self.copies[place(rank, self.first, self.copies.len())?]).into())
    }

    /// The elements of a rank of this process, on its device, to be written.
    ///
    /// # Errors
    /// Those of [`Replicated::of`].
    pub fn of_mut(&mut self, rank: usize) -> Result<ViewMut<'_, T>> {
        let index = place(rank, self.first, self.copies.len())?;
        Ok((&mut self.copies[index]).into())
    }
}

/// An integer, of which maxima and minima of several ranks are the same everywhere. (NCCL's maximum of floats may drop
/// NaN.)
pub trait Whole: Element {}
impl Whole for i32 {}
impl Whole for u32 {}
impl Whole for i64 {}
impl Whole for u64 {}

impl Group {
    /// Copies elements of the host to each rank of this process. The ranks of other processes may pass others.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if a device has less memory free.
    pub fn replicate<T: Pod>(&self, values: &[T]) -> Result<Replicated<T>> {
        let copies = self.members.iter().map(|member| member.device.upload(values));
        self.replicated(copies.collect())
    }

    /// Replaces the elements of each rank by the sums of all ranks' elements. Integer sums wrap. Floats are added in an
    /// order that depends on the number of ranks, on the length and on NCCL's version.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another group, [`Error::Group`] if ranks differ or end, and the errors of the
    /// devices.
    pub fn all_reduce_sum<T: Element>(&self, values: &mut Replicated<T>) -> Result<()> {
        self.all_reduce::<Sum, T>(values, "sum")
    }

    /// Replaces the elements of each rank by the largest of all ranks' elements.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce_sum`].
    pub fn all_reduce_max<T: Whole>(&self, values: &mut Replicated<T>) -> Result<()> {
        self.all_reduce::<Max, T>(values, "max")
    }

    /// Replaces the elements of each rank by the smallest of all ranks' elements.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce_sum`].
    pub fn all_reduce_min<T: Whole>(&self, values: &mut Replicated<T>) -> Result<()> {
        self.all_reduce::<Min, T>(values, "min")
    }

    /// Divides the sums of all ranks' elements among the ranks, each of which gets as many.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a length that is no multiple of the number of ranks, and those of
    /// [`Group::all_reduce_sum`].
    pub fn reduce_scatter_sum<T: Element>(&self, values: &Replicated<T>) -> Result<Sharded<T>> {
        self.require(values.group, "the memory")?;
        let (len, size) = (values.len(), self.size);
        if !len.is_multiple_of(size) {
            return Err(Error::Mismatch(format!("{len} elements cannot be divided into equal parts of {size} ranks")));
        }
        self.together(
            || format!("reduce_scatter_sum of {len} {}", T::DTYPE),
            || {
                let result = self.sharded::<T>(len, 1)?;
                let ends: Vec<_> = values.copies.iter().map(View::from).zip(result.views()?).collect();
                self.scatter_combined::<Sum, T>(On::Device, &ends)?;
                Ok(result)
            },
        )
    }

    /// Copies the elements of all ranks to every rank.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce_sum`], [`Error::OutOfMemory`] if a device has less memory free.
    pub fn all_gathered<T: Scalar>(&self, values: &Sharded<T>) -> Result<Replicated<T>> {
        self.require(values.group, "the memory")?;
        let len = values.len();
        self.together(
            || format!("all_gathered of {len} {}", T::DTYPE),
            || {
                let copies =
                    self.members.iter().map(|member| member.device.uninit::<T>(len)).collect::<Result<Vec<_>>>();
                let result = self.replicated(copies)?;
                let to: Vec<_> = result.copies.iter().map(View::from).collect();
                self.gather_at(&values.limits, On::Device, &values.views()?, &to)?;
                Ok(result)
            },
        )
    }

    /// Replaces the elements of each rank by those of one rank.
    ///
    /// # Errors
    /// Those of [`Group::all_reduce_sum`], [`Error::Argument`] for a rank that the group lacks.
    pub fn broadcast<T: Scalar>(&self, values: &mut Replicated<T>, root: usize) -> Result<()> {
        self.require(values.group, "the memory")?;
        if root >= self.size {
            return Err(Error::Argument(format!("there is no rank {root} in a group of {}", self.size)));
        }
        let len = values.len();
        self.together(
            || format!("broadcast from {root} of {len} {}", T::DTYPE),
            || {
                let ends: Vec<_> = values.copies.iter().map(|copy| (View::from(copy), View::from(copy))).collect();
                self.broadcast_from(root, On::Device, &ends)
            },
        )
    }

    fn all_reduce<O: Combine<T>, T: Element>(&self, values: &mut Replicated<T>, name: &str) -> Result<()> {
        self.require(values.group, "the memory")?;
        let len = values.len();
        self.together(
            || format!("all_reduce_{name} of {len} {}", T::DTYPE),
            || {
                let ends: Vec<_> = values.copies.iter().map(|copy| (View::from(copy), View::from(copy))).collect();
                self.all_combine::<O, T>(On::Device, &ends)
            },
        )
    }

    /// Memory of the ranks of this process.
    pub(super) fn replicated<T: Pod>(&self, copies: Result<Vec<Buffer<T>>>) -> Result<Replicated<T>> {
        Ok(Replicated { group: self.id, first: self.first, copies: self.peers.report(copies)? })
    }
}

impl<T> std::fmt::Debug for Replicated<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Replicated<{}>({:?})", std::any::type_name::<T>(), self.copies)
    }
}
