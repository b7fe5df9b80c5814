//! What simulated devices do together: the host moves their memory.

use super::collectives::{Ends, Simulate, Transfer};
use super::devices::Group;
use crate::backend::{Collective, Handle, View};
use crate::element::Scalar;
use crate::error::{Error, Result};

impl Group {
    /// A collective whose result for a rank is `simulate` of what all ranks give.
    pub(super) fn collective_simulated<T: Scalar>(
        &self,
        what: Collective,
        ends: &[Ends<'_, T>],
        simulate: Simulate<'_, T>,
    ) -> Result<()> {
        let mut own = Vec::new();
        for (rank, (from, _)) in self.ranks().zip(ends) {
            let gives = !matches!(what, Collective::Broadcast(root) if root != rank);
            own.push(if gives { bytes(*from)? } else { Vec::new() });
        }
        let label = format!("{what:?} of {} {}", ends[0].0.len(), T::DTYPE);
        let all = self.peers.exchange(&label, own)?;
        let all = all.into_iter().map(values::<T>).collect::<Result<Vec<_>>>()?;
        for (rank, (_, to)) in self.ranks().zip(ends) {
            overwrite(*to, &simulate(&all, rank))?;
        }
        Ok(())
    }

    /// Moves elements between pairs of ranks.
    pub(super) fn transfer_simulated<T: Scalar>(&self, transfers: &[Transfer<'_, T>]) -> Result<()> {
        // What a rank gives, in the order of the list.
        let mut own = vec![Vec::new(); self.members.len()];
        for transfer in transfers {
            if let Some(source) = transfer.source {
                own[transfer.from - self.first].extend(bytes(source)?);
            }
        }
        let all = self.peers.exchange(&format!("{} transfers of {}", transfers.len(), T::DTYPE), own)?;
        let mut given = vec![0; self.size];
        for transfer in transfers {
            let (start, size) = (given[transfer.from], transfer.len * size_of::<T>());
            given[transfer.from] += size;
            if let Some(target) = transfer.target {
                let part = all[transfer.from].get(start..start + size).ok_or_else(differs)?;
                overwrite(target, &values::<T>(part.to_vec())?)?;
            }
        }
        Ok(())
    }
}

fn bytes<T: Scalar>(view: View<'_, T>) -> Result<Vec<u8>> {
    Ok(bytemuck::cast_slice(&view.download()?).to_vec())
}

fn values<T: Scalar>(bytes: Vec<u8>) -> Result<Vec<T>> {
    if !bytes.len().is_multiple_of(size_of::<T>()) {
        return Err(differs());
    }
    let mut values = vec![<T as bytemuck::Zeroable>::zeroed(); bytes.len() / size_of::<T>()];
    bytemuck::cast_slice_mut(&mut values).copy_from_slice(&bytes);
    Ok(values)
}

fn differs() -> Error {
    Error::Group("the ranks of the group pass different numbers of elements".to_owned())
}

/// Overwrites the elements of a view that nothing else uses meanwhile.
pub(super) fn overwrite<T: Scalar>(to: View<'_, T>, values: &[T]) -> Result<()> {
    if to.len() != values.len() {
        return Err(differs());
    }
    to.writes().wait(to.device())?;
    // SAFETY: the view's elements lie in its memory, which has as many bytes as the values.
    unsafe { to.device().backend().write(to.address(), bytemuck::cast_slice(values)) }
}
