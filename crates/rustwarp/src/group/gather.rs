//! Copies of the elements of all ranks on the host.

use super::collectives::{On, Transfer};
use super::devices::Group;
use super::sharded::Sharded;
use crate::backend::View;
use crate::buffer::Buffer;
use crate::element::Scalar;
use crate::error::{Error, Result};
use crate::pending::Pending;

/// Most bytes that a device receives at a time.
const PIECE: usize = 64 << 20;

impl Group {
    /// Copies the elements of all ranks to the host of every rank.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another group, [`Error::Group`] if ranks differ or end, and the errors of the
    /// devices.
    pub fn gather<T: Scalar>(&self, values: &Sharded<T>) -> Result<Vec<T>> {
        let mut all = Vec::new();
        self.for_each_rank(values, None, |part| all.extend_from_slice(&part))?;
        Ok(all)
    }

    /// Copies the elements of all ranks to the host of one rank; others get `None`. Where all ranks are in one process,
    /// that has the elements.
    ///
    /// # Errors
    /// Those of [`Group::gather`], and [`Error::Argument`] for a rank that the group lacks.
    pub fn gather_to<T: Scalar>(&self, values: &Sharded<T>, rank: usize) -> Result<Option<Vec<T>>> {
        if rank >= self.size {
            return Err(Error::Argument(format!("there is no rank {rank} in a group of {}", self.size)));
        }
        let mut all = Vec::new();
        self.for_each_rank(values, Some(rank), |part| all.extend_from_slice(&part))?;
        Ok(self.ranks().contains(&rank).then_some(all))
    }

    /// Passes the elements of all ranks, piece by piece and in their order, to `take`: on the rank `root`, or on all.
    fn for_each_rank<T: Scalar>(
        &self,
        values: &Sharded<T>,
        root: Option<usize>,
        mut take: impl FnMut(Vec<T>),
    ) -> Result<()> {
        self.require(values.group, "the memory")?;
        let what = || format!("gather of {} {} to {root:?}", values.len(), T::DTYPE);
        self.agreed(what, || {
            let parts = values.views()?;
            if parts.len() == self.size {
                for part in parts {
                    take(part.download()?);
                }
                return Ok(());
            }
            let most =
                (PIECE / size_of::<T>()).min((0..self.size).map(|rank| values.range(rank).len()).max().unwrap_or(0));
            let receives = root.is_none_or(|root| self.ranks().contains(&root));
            let device = &self.members[0].device;
            let memory: Buffer<T> = device.uninit(if receives { most } else { 0 })?;
            for rank in 0..self.size {
                let own = rank == self.first;
                let mut start = 0;
                while start < values.range(rank).len() {
                    let len = most.min(values.range(rank).len() - start);
                    let part = if own { Some(parts[0].view(start..start + len)?) } else { None };
                    start += len;
                    if let (true, true, Some(part)) = (own, receives && root.is_some(), part) {
                        take(part.download()?);
                        continue;
                    }
                    match root {
                        None => {
                            let to = memory.view(..len)?;
                            self.broadcast_from(rank, On::Device, &[(part.unwrap_or(to), to)])?;
                        }
                        Some(root) if root == rank => continue,
                        Some(root) => {
                            let target = if receives { Some(memory.view(..len)?) } else { None };
                            self.transfer(On::Device, &[Transfer { from: rank, to: root, len, source: part, target }])?;
                        }
                    }
                    if receives {
                        take(memory.view(..len)?.download()?);
                    }
                }
            }
            Ok(())
        })
    }

    /// As many values of all ranks, in their order, of which each rank of this process has a buffer.
    pub(super) fn values_of_ranks<'a, T: Scalar>(
        &self,
        own: impl IntoIterator<Item = &'a Buffer<T>>,
    ) -> Result<Vec<T>> {
        let own: Vec<View<'_, T>> = own.into_iter().map(View::from).collect();
        if own.len() == self.size {
            // All copies are under way before one is awaited.
            let pending = own.iter().zip(self.devices()).map(|(own, device)| device.download_async(*own));
            let pending: Vec<Pending<Vec<T>>> = pending.collect::<Result<_>>()?;
            let values = pending.into_iter().map(Pending::wait).collect::<Result<Vec<_>>>()?;
            return Ok(values.concat());
        }
        let len = own[0].len() * self.size;
        let all = self.devices().map(|device| device.uninit::<T>(len)).collect::<Result<Vec<_>>>()?;
        let ends: Vec<_> = own.into_iter().zip(all.iter().map(View::from)).collect();
        self.all_gather(On::Device, &ends)?;
        self.members[0].device.download_async(&all[0])?.wait()
    }
}
