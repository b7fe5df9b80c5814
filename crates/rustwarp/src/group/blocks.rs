//! Matrices that are divided into blocks, by rows and by columns, and their product.
//!
//! The ranks form a grid, and each has a block of every matrix. A product needs, of A, the blocks of a rank's row of
//! the grid alone, and, of B, those of its column: with `p * p` ranks, each receives `2 / p` of what it receives where
//! the rows are divided.
//!
//! *Source*: R. van de Geijn and J. Watts, "SUMMA: Scalable Universal Matrix Multiplication Algorithm" (1997).

use super::collectives::{On, Transfer};
use super::devices::Group;
use super::matmul::{Block, copy_block, too_large};
use super::sharded::{limits, place};
use crate::backend::View;
use crate::buffer::Buffer;
use crate::element::Scalar;
use crate::error::{Error, Result};
use crate::matmul::{Real, Sizes, matmul_into};
use crate::vecadd::add_into;
use bytemuck::Pod;
use std::ops::Range;

/// The ranks of a group as a grid, row by row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grid {
    /// Number of rows.
    pub rows: usize,
    /// Number of columns.
    pub columns: usize,
}

impl Grid {
    /// The grid of this number of ranks that is closest to a square, with at least as many columns as rows.
    pub fn of(ranks: usize) -> Self {
        let rows =
            (1..=ranks).take_while(|rows| rows * rows <= ranks).filter(|rows| ranks.is_multiple_of(*rows)).last();
        let rows = rows.unwrap_or(1);
        Self { rows, columns: ranks / rows }
    }

    /// Row and column of a rank.
    fn place(self, rank: usize) -> [usize; 2] {
        [rank / self.columns, rank % self.columns]
    }
}

/// A matrix of which each rank of a [`Grid`] has a block, row-major.
pub struct Blocks<T> {
    group: u64,
    grid: Grid,
    /// First rows of the grid's rows, and the number of all.
    rows: Vec<usize>,
    /// First columns of the grid's columns, and the number of all.
    columns: Vec<usize>,
    first: usize,
    /// The blocks of the ranks of this process.
    parts: Vec<Buffer<T>>,
}

impl<T: Pod> Blocks<T> {
    /// Rows and columns of the matrix.
    pub fn shape(&self) -> [usize; 2] {
        [self.rows[self.grid.rows], self.columns[self.grid.columns]]
    }

    /// The rows and the columns of a rank's block.
    ///
    /// # Panics
    /// Panics if the group has fewer ranks.
    pub fn block(&self, rank: usize) -> [Range<usize>; 2] {
        let [row, column] = self.grid.place(rank);
        [self.rows[row]..self.rows[row + 1], self.columns[column]..self.columns[column + 1]]
    }

    /// The block of a rank of this process, on its device.
    ///
    /// # Errors
    /// [`Error::Argument`] for a rank of another process, or none.
    pub fn part(&self, rank: usize) -> Result<View<'_, T>> {
        Ok((&self.parts[place(rank, self.first, self.parts.len())?]).into())
    }
}

impl Group {
    /// Divides a row-major matrix of the host into a block for each rank of a grid.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another number of elements, [`Error::Argument`] for a grid of another number of ranks,
    /// [`Error::OutOfMemory`] if a device has less memory free.
    pub fn shard_blocks<T: Pod>(&self, values: &[T], [rows, columns]: [usize; 2], grid: Grid) -> Result<Blocks<T>> {
        if rows.checked_mul(columns) != Some(values.len()) {
            let len = values.len();
            return Err(Error::Mismatch(format!("{len} elements are no matrix of {rows}x{columns}")));
        }
        self.blocks_with([rows, columns], grid, |[rows, own]| {
            Ok(rows.flat_map(|row| &values[row * columns + own.start..row * columns + own.end]).copied().collect())
        })
    }

    /// Makes a matrix whose blocks `block` returns, for each rank of this process: the elements of a range of rows and
    /// a range of columns, row-major.
    ///
    /// # Errors
    /// Those of [`Group::shard_blocks`] and of `block`.
    pub fn blocks_with<T: Pod>(
        &self,
        [rows, columns]: [usize; 2],
        grid: Grid,
        mut block: impl FnMut([Range<usize>; 2]) -> Result<Vec<T>>,
    ) -> Result<Blocks<T>> {
        if grid.rows.checked_mul(grid.columns) != Some(self.size) {
            let Grid { rows, columns } = grid;
            return Err(Error::Argument(format!("a grid of {rows}x{columns} in a group of {} ranks", self.size)));
        }
        let mut result = self.no_blocks(limits(rows, grid.rows), limits(columns, grid.columns), grid);
        for (rank, member) in self.ranks().zip(&self.members) {
            let place = result.block(rank);
            let len = place[0].len() * place[1].len();
            let values = block(place)?;
            if values.len() != len {
                let have = values.len();
                return Err(Error::Mismatch(format!("the block of rank {rank} has {have} elements, not {len}")));
            }
            result.parts.push(member.device.upload(&values)?);
        }
        Ok(result)
    }

    /// Copies a matrix to the host of every rank, row-major.
    ///
    /// # Errors
    /// Those of [`Group::gather`].
    pub fn gather_blocks<T: Scalar>(&self, matrix: &Blocks<T>) -> Result<Vec<T>> {
        self.require(matrix.group, "the matrix")?;
        let [rows, columns] = matrix.shape();
        let what = || format!("gather_blocks of {rows}x{columns} {}", T::DTYPE);
        self.agreed(what, || {
            let mut all = vec![<T as bytemuck::Zeroable>::zeroed(); rows * columns];
            for rank in 0..self.size {
                let place = matrix.block(rank);
                let values = match matrix.part(rank) {
                    Ok(part) if matrix.parts.len() == self.size => part.download()?,
                    own => {
                        let memory = self.members[0].device.uninit::<T>(place[0].len() * place[1].len())?;
                        let to = View::from(&memory);
                        self.broadcast_from(rank, On::Device, &[(own.unwrap_or(to), to)])?;
                        memory.download()?
                    }
                };
                for (row, values) in place[0].clone().zip(values.chunks(place[1].len().max(1))) {
                    all[row * columns + place[1].start..row * columns + place[1].end].copy_from_slice(values);
                }
            }
            Ok(all)
        })
    }

    /// The product of A, `m` x `k`, and B, `k` x `n`, of one grid: a matrix of `m` x `n` of that grid. The products of
    /// parts of the depth are added in their order, so that bits are fixed by sizes and grid.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for sizes or grids that differ, and those of [`matmul()`](crate::matmul::matmul()) and of
    /// [`Group::sum`].
    pub fn matmul_blocks<T: Real>(&self, a: &Blocks<T>, b: &Blocks<T>) -> Result<Blocks<T>> {
        self.require(a.group, "A")?;
        self.require(b.group, "B")?;
        let ([m, k], [depth, n]) = (a.shape(), b.shape());
        if k != depth || a.grid != b.grid {
            return Err(Error::Mismatch(format!("A is {m}x{k} on {:?}, and B {depth}x{n} on {:?}", a.grid, b.grid)));
        }
        let what = || format!("matmul_blocks of {m}x{n}x{k} {} on {:?}", T::DTYPE, a.grid);
        self.together(what, || {
            let mut product = self.no_blocks(a.rows.clone(), b.columns.clone(), a.grid);
            let steps = steps(&a.columns, &b.rows);
            let mut turns = Turns::new(self, a, b, &steps)?;
            for (index, step) in steps.iter().enumerate() {
                turns.receive(index, step)?;
                for member in 0..self.members.len() {
                    turns.multiply(index, step, member)?;
                }
            }
            for (rank, (member, sum)) in self.ranks().zip(self.members.iter().zip(turns.sums)) {
                let [rows, columns] = product.block(rank);
                product.parts.push(match sum {
                    Some(sum) => sum,
                    // Without depth there is nothing to add.
                    None => member.device.zeros(rows.len() * columns.len())?,
                });
            }
            Ok(product)
        })
    }

    fn no_blocks<T>(&self, rows: Vec<usize>, columns: Vec<usize>, grid: Grid) -> Blocks<T> {
        Blocks { group: self.id, grid, rows, columns, first: self.first, parts: Vec::new() }
    }
}

/// A part of the depth, which lies in one block of A and in one of B.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    depth: Range<usize>,
    /// The grid's column with these columns of A.
    column: usize,
    /// The grid's row with these rows of B.
    row: usize,
}

/// The parts of the depth between all limits.
fn steps(columns: &[usize], rows: &[usize]) -> Vec<Step> {
    let mut limits: Vec<usize> = columns.iter().chain(rows).copied().collect();
    limits.sort_unstable();
    limits.dedup();
    // The last block that begins at or before the part: earlier ones that begin there are empty.
    let block = |of: &[usize], start: usize| of[..of.len() - 1].partition_point(|&limit| limit <= start) - 1;
    let step =
        |pair: &[usize]| Step { depth: pair[0]..pair[1], column: block(columns, pair[0]), row: block(rows, pair[0]) };
    limits.windows(2).map(step).collect()
}

/// The steps of a product. The parts of A and B lie in memory of the streams that communicate, which wait for no
/// product but that of two steps before.
struct Turns<'g, T> {
    group: &'g Group,
    grid: Grid,
    /// Limits of the product's rows and columns.
    limits: [&'g [usize]; 2],
    /// For each rank of this process, the parts of its own blocks of A and B, by step.
    own: Vec<[Vec<Option<Buffer<T>>>; 2]>,
    /// For each rank of this process, the parts of A and B that it receives in even and in odd steps.
    received: Vec<[[Buffer<T>; 2]; 2]>,
    /// For each rank of this process, the sum of the products so far.
    sums: Vec<Option<Buffer<T>>>,
}

impl<'g, T: Real> Turns<'g, T> {
    fn new(group: &'g Group, a: &'g Blocks<T>, b: &'g Blocks<T>, steps: &[Step]) -> Result<Self> {
        let widest = steps.iter().map(|step| step.depth.len()).max().unwrap_or(0);
        let (mut own, mut received) = (Vec::new(), Vec::new());
        for (rank, member) in group.ranks().zip(&group.members) {
            let [row, column] = a.grid.place(rank);
            let ([rows, inner], [depth, columns]) = (a.block(rank), b.block(rank));
            let of_a = |step: &Step| {
                let (start, width) = (step.depth.start - inner.start, step.depth.len());
                let mut part = member.link.uninit::<T>(rows.len() * width)?;
                let block = Block { rows: rows.len(), columns: width };
                if !part.is_empty() {
                    copy_block(block, a.part(rank)?.view(start..)?, inner.len(), (&mut part).into(), width)?;
                }
                Ok(part)
            };
            let of_b = |step: &Step| {
                let start = (step.depth.start - depth.start) * columns.len();
                member.link.copy(b.part(rank)?.view(start..start + step.depth.len() * columns.len())?)
            };
            let of_a = steps.iter().map(|step| (step.column == column).then(|| of_a(step)).transpose());
            let of_b = steps.iter().map(|step| (step.row == row).then(|| of_b(step)).transpose());
            own.push([of_a.collect::<Result<_>>()?, of_b.collect::<Result<_>>()?]);
            let room = |length: usize| {
                let len = length.checked_mul(widest).ok_or_else(|| too_large([length, widest]))?;
                Ok::<_, Error>([member.link.uninit::<T>(len)?, member.link.uninit::<T>(len)?])
            };
            received.push([room(rows.len())?, room(columns.len())?]);
        }
        let sums = own.iter().map(|_| None).collect();
        Ok(Self { group, grid: a.grid, limits: [&a.rows, &b.columns], own, received, sums })
    }

    /// Starts the transfers of a step: along the grid's rows for A, along its columns for B.
    fn receive(&self, index: usize, step: &Step) -> Result<()> {
        let Grid { rows, columns } = self.grid;
        let mut transfers = Vec::new();
        for to in 0..rows * columns {
            let [row, column] = self.grid.place(to);
            let roots = [row * columns + step.column, step.row * columns + column];
            for (operand, (from, length)) in roots.into_iter().zip(self.lengths(to)).enumerate() {
                if from == to {
                    continue;
                }
                let len = length * step.depth.len();
                let source = match self.member(from) {
                    Some(member) => self.own[member][operand][index].as_ref().map(View::from),
                    None => None,
                };
                let target = match self.member(to) {
                    Some(member) => Some(self.received[member][operand][index % 2].view(..len)?),
                    None => None,
                };
                transfers.push(Transfer { from, to, len, source, target });
            }
        }
        self.group.transfer(On::Link, &transfers)
    }

    /// Adds the product of a step's parts to the sum of a rank of this process.
    fn multiply(&mut self, index: usize, step: &Step, member: usize) -> Result<()> {
        let [m, n] = self.lengths(self.group.first + member);
        let k = step.depth.len();
        if m == 0 || n == 0 || k == 0 {
            return Ok(());
        }
        let operand = |operand: usize, len: usize| match &self.own[member][operand][index] {
            Some(own) => Ok(View::from(own)),
            None => self.received[member][operand][index % 2].view(..len),
        };
        let device = &self.group.members[member].device;
        let mut product = device.uninit::<T>(m * n)?;
        let sizes = Sizes { m, n, k, ..Sizes::default() };
        matmul_into(operand(0, m * k)?, operand(1, k * n)?, sizes, &mut product)?;
        self.sums[member] = Some(match self.sums[member].take() {
            Some(sum) => {
                let mut next = device.uninit::<T>(m * n)?;
                add_into(&sum, &product, &mut next)?;
                next
            }
            None => product,
        });
        Ok(())
    }

    /// Rows and columns of a rank's block of the product.
    fn lengths(&self, rank: usize) -> [usize; 2] {
        let [row, column] = self.grid.place(rank);
        let [rows, columns] = self.limits;
        [rows[row + 1] - rows[row], columns[column + 1] - columns[column]]
    }

    /// The place of a rank among those of this process.
    fn member(&self, rank: usize) -> Option<usize> {
        rank.checked_sub(self.group.first).filter(|member| *member < self.group.members.len())
    }
}

impl<T> std::fmt::Debug for Blocks<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Blocks<{}>({:?} by {:?} on {:?})", std::any::type_name::<T>(), self.rows, self.columns, self.grid)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grids_are_close_to_squares() {
        let grid = |ranks| Grid::of(ranks);
        assert_eq!(grid(1), Grid { rows: 1, columns: 1 });
        assert_eq!(grid(4), Grid { rows: 2, columns: 2 });
        assert_eq!(grid(6), Grid { rows: 2, columns: 3 });
        assert_eq!(grid(7), Grid { rows: 1, columns: 7 });
        assert_eq!(grid(8), Grid { rows: 2, columns: 4 });
    }

    #[test]
    fn a_step_lies_in_one_block_of_each_matrix() {
        let step = |depth, column, row| Step { depth, column, row };
        assert_eq!(steps(&[0, 4, 8], &[0, 4, 8]), [step(0..4, 0, 0), step(4..8, 1, 1)]);
        let three = [step(0..4, 0, 0), step(4..6, 1, 0), step(6..8, 1, 1), step(8..12, 2, 1)];
        assert_eq!(steps(&[0, 4, 8, 12], &[0, 6, 12]), three);
        assert_eq!(steps(&[0, 0, 1], &[0, 0, 0, 1]), [step(0..1, 1, 2)]);
        assert_eq!(steps(&[0, 0], &[0, 0]), []);
    }
}
