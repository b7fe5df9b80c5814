//! Product of matrices whose rows are divided among the ranks.
//!
//! A rank multiplies its rows of A by all of B. It gathers B in panels of columns: while one panel is multiplied, the
//! next one is on its way. So a GPU needs room for two panels, and not for B.

use super::collectives::On;
use super::devices::{Group, Member};
use super::sharded::{Sharded, limits};
use crate::backend::{Handle, Pitched, View, ViewMut};
use crate::buffer::Buffer;
use crate::error::{Error, Result};
use crate::matmul::{Real, Sizes, matmul_into};
use std::ops::Range;

/// Fewest columns of a panel: narrower ones would be multiplied more slowly.
const NARROWEST: usize = 2048;

/// Most panels.
const PANELS: usize = 8;

impl Group {
    /// The product of A, `m` x `k`, and B, `k` x `n`, both divided by rows: a matrix of `m` x `n`, divided by rows. See
    /// [`matmul()`](crate::matmul::matmul()); each element is the sum of the same products in the same order as on one
    /// device for which the same tile is chosen.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for matrices of other sizes, or whose rows are divided otherwise, and those of
    /// [`matmul()`](crate::matmul::matmul()) and of [`Group::sum`].
    pub fn matmul<T: Real>(&self, a: &Sharded<T>, b: &Sharded<T>, [m, n, k]: [usize; 3]) -> Result<Sharded<T>> {
        self.require(a.group, "A")?;
        self.require(b.group, "B")?;
        for (name, matrix, rows, columns) in [("A", a, m, k), ("B", b, k, n)] {
            let fits = rows.checked_mul(columns) == Some(matrix.len());
            if !fits || !matrix.is_empty() && matrix.unit != columns {
                let (len, unit) = (matrix.len(), matrix.unit);
                return Err(Error::Mismatch(format!(
                    "{name} has {len} elements in rows of {unit}, and {rows}x{columns} are needed: divide its rows by \
                     `shard_rows`"
                )));
            }
        }
        let what = || format!("matmul of {m}x{n}x{k} {}", T::DTYPE);
        self.together(what, || {
            let len = m.checked_mul(n).ok_or_else(|| too_large([m, n]))?;
            let mut product = self.sharded::<T>(len, n)?;
            if n == 0 {
                return Ok(product);
            }
            if self.size == 1 {
                let sizes = Sizes { m, n, k, ..Sizes::default() };
                matmul_into(a.part(0)?, b.part(0)?, sizes, product.part_mut(0)?)?;
                return Ok(product);
            }
            let panels = panels(n);
            let widest = panels.iter().map(Range::len).max().unwrap_or(0);
            // The memory belongs to the streams that communicate, which wait for no product but the last one of the
            // same memory.
            let own = self.members.iter().zip(b.views()?).map(|(member, part)| packed(member, part, n, &panels));
            let own = own.collect::<Result<Vec<_>>>()?;
            let gathered = self.members.iter().map(|member| {
                let memory = || member.link.uninit::<T>(k.checked_mul(widest).ok_or_else(|| too_large([k, widest]))?);
                Ok([memory()?, memory()?])
            });
            let gathered = gathered.collect::<Result<Vec<[Buffer<T>; 2]>>>()?;
            for (index, panel) in panels.iter().enumerate() {
                let width = panel.len();
                let limits: Vec<usize> = b.limits.iter().map(|limit| limit / n * width).collect();
                let parts = own.iter().map(|own| own[index].view(..)).collect::<Result<Vec<_>>>()?;
                let to =
                    gathered.iter().map(|memory| memory[index % 2].view(..k * width)).collect::<Result<Vec<_>>>()?;
                self.gather_at(&limits, On::Link, &parts, &to)?;
                for ((member, rank), to) in self.members.iter().zip(self.ranks()).zip(to) {
                    let (rows, device) = (a.range(rank).len() / k.max(1), &member.device);
                    let rows = if k == 0 { product.range(rank).len() / n } else { rows };
                    if rows == 0 {
                        continue;
                    }
                    let mut result = device.uninit::<T>(rows * width)?;
                    let sizes = Sizes { m: rows, n: width, k, ..Sizes::default() };
                    matmul_into(a.part(rank)?, to, sizes, &mut result)?;
                    let block = Block { rows, columns: width };
                    copy_block(block, (&result).into(), width, product.part_mut(rank)?.view_mut(panel.start..)?, n)?;
                }
            }
            Ok(product)
        })
    }
}

pub(super) fn too_large([rows, columns]: [usize; 2]) -> Error {
    Error::Argument(format!("a matrix of {rows}x{columns} has more elements than 64 bits can count"))
}

/// The panels of `n` columns.
fn panels(n: usize) -> Vec<Range<usize>> {
    let count = (n / NARROWEST).clamp(1, PANELS);
    let limits = limits(n, count);
    limits.windows(2).map(|pair| pair[0]..pair[1]).collect()
}

/// The columns of each panel, packed, in memory of the stream that communicates.
fn packed<T: Real>(member: &Member, part: View<'_, T>, n: usize, panels: &[Range<usize>]) -> Result<Vec<Buffer<T>>> {
    let rows = part.len() / n;
    let pack = |panel: &Range<usize>| {
        let mut memory = member.link.uninit::<T>(rows * panel.len())?;
        if rows > 0 {
            let block = Block { rows, columns: panel.len() };
            copy_block(block, part.view(panel.start..)?, n, (&mut memory).into(), panel.len())?;
        }
        Ok(memory)
    };
    panels.iter().map(pack).collect()
}

/// Sizes of a block of a matrix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Block {
    pub rows: usize,
    pub columns: usize,
}

/// Copies a block within a device, from rows that are `from_pitch` elements apart to rows that are `to_pitch` apart, in
/// the order of the destination's stream.
pub(super) fn copy_block<T: Real>(
    block: Block,
    from: View<'_, T>,
    from_pitch: usize,
    to: ViewMut<'_, T>,
    to_pitch: usize,
) -> Result<()> {
    let Block { rows, columns } = block;
    if rows == 0 || columns == 0 {
        return Ok(());
    }
    let (device, to) = (to.device(), to.as_view());
    for (view, pitch) in [(from, from_pitch), (to, to_pitch)] {
        // This also checks that the last row lies in the memory.
        view.view(..(rows - 1) * pitch + columns)?;
    }
    let bytes = |elements: usize| (elements * size_of::<T>()) as u64;
    let pitched = |view: View<'_, T>, pitch: usize| Pitched { address: view.address(), pitch: bytes(pitch) };
    let (source, target) = (pitched(from, from_pitch), pitched(to, to_pitch));
    // SAFETY: the rows lie in the views' memory, which is of this device.
    let copy = || unsafe { device.backend().copy_rows(target, source, bytes(columns), rows as u64) };
    device.queue().work(&[from.reads(), to.writes()], copy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn panels_cover_all_columns() {
        assert_eq!(panels(100), std::iter::once(0..100).collect::<Vec<_>>());
        assert_eq!(panels(4097), [0..2048, 2048..4097]);
        assert_eq!((panels(16384).len(), panels(1 << 20).len()), (8, 8));
    }
}
