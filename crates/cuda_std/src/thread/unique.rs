//! Indices that no other thread of the launch has: the proof by which a thread writes its own elements of a
//! [view](crate::view).

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, Range};

use super::{block_dim_y, block_dim_z, block_idx_y, block_idx_z, global_index, grid_dim_y, grid_dim_z, grid_stride};
use super::{thread_idx_y, thread_idx_z};

/// Makes a type neither `Send` nor `Sync`.
type OfThisThread = PhantomData<*const ()>;

/// Largest end of a range of indices: adding the number of threads to an index below it does not overflow.
const LAST: usize = isize::MAX as usize;

/// An index in one dimension that no other thread of a one-dimensional launch has.
///
/// Only [`unique_index`] and [`unique_indices`] create it: it is the thread's global index, or that plus a multiple of
/// the number of threads. The index stays with its thread, so it is not `Send`:
///
/// ```compile_fail,E0277
/// fn passed_on<T: Send>() {}
/// passed_on::<cuda_std::thread::UniqueIndex>();
/// ```
///
/// It cannot be made of a number:
///
/// ```compile_fail,E0423
/// let forged = cuda_std::thread::UniqueIndex(7, std::marker::PhantomData);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct UniqueIndex(usize, OfThisThread);

/// A row and a column that no other thread of a launch in one or two dimensions has together.
///
/// Threads are counted along x for the column and along y for the row.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueIndex2d {
    row: usize,
    column: usize,
    marker: OfThisThread,
}

/// A plane, a row and a column that no other thread of the launch has together.
///
/// Threads are counted along x for the column, along y for the row and along z for the plane.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct UniqueIndex3d {
    plane: usize,
    row: usize,
    column: usize,
    marker: OfThisThread,
}

impl UniqueIndex {
    /// The index as a number.
    #[must_use]
    #[inline(always)]
    pub const fn get(self) -> usize {
        self.0
    }
}

impl UniqueIndex2d {
    /// The row, which is the index along y.
    #[must_use]
    #[inline(always)]
    pub const fn row(self) -> usize {
        self.row
    }

    /// The column, which is the index along x.
    #[must_use]
    #[inline(always)]
    pub const fn column(self) -> usize {
        self.column
    }
}

impl UniqueIndex3d {
    /// The plane, which is the index along z.
    #[must_use]
    #[inline(always)]
    pub const fn plane(self) -> usize {
        self.plane
    }

    /// The row, which is the index along y.
    #[must_use]
    #[inline(always)]
    pub const fn row(self) -> usize {
        self.row
    }

    /// The column, which is the index along x.
    #[must_use]
    #[inline(always)]
    pub const fn column(self) -> usize {
        self.column
    }
}

impl fmt::Debug for UniqueIndex {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl fmt::Debug for UniqueIndex2d {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.row, self.column).fmt(f)
    }
}

impl fmt::Debug for UniqueIndex3d {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (self.plane, self.row, self.column).fmt(f)
    }
}

impl From<UniqueIndex> for usize {
    #[inline(always)]
    fn from(index: UniqueIndex) -> Self {
        index.0
    }
}

/// Reads the element at the thread's own index; panics beyond the end, as indexing by `usize` does.
impl<T> Index<UniqueIndex> for [T] {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: UniqueIndex) -> &T {
        &self[index.0]
    }
}

/// The thread's own index of a one-dimensional launch, as [`global_index`] gives it.
#[must_use]
#[inline(always)]
pub fn unique_index() -> UniqueIndex {
    UniqueIndex(global_index(), PhantomData)
}

/// The thread's own row and column.
#[must_use]
#[inline(always)]
pub fn unique_index_2d() -> UniqueIndex2d {
    UniqueIndex2d { row: y().start, column: global_index(), marker: PhantomData }
}

/// The thread's own plane, row and column.
#[must_use]
#[inline(always)]
pub fn unique_index_3d() -> UniqueIndex3d {
    UniqueIndex3d { plane: z().start, row: y().start, column: global_index(), marker: PhantomData }
}

/// The thread's own indices below `end`, for any size of the grid: its global index, then steps of the number of
/// threads (a grid-stride loop).
///
/// All loops of a kernel start at the same index, so that an element has the same thread in each of them.
#[must_use]
#[inline(always)]
pub fn unique_indices(end: usize) -> UniqueIndices {
    UniqueIndices(Strided::of(x(), end))
}

/// The thread's own rows of `rows`, for any size of the grid, as the outer loop over a matrix:
///
/// ```
/// # use cuda_std::prelude::*;
/// # fn fill(mut out: DisjointMatrix<u32>) {
/// for row in thread::unique_rows(out.rows()) {
///     for i in row.columns(out.columns()) {
///         out[i] = 7;
///     }
/// }
/// # }
/// ```
#[inline(always)]
pub fn unique_rows(rows: usize) -> impl Iterator<Item = UniqueRow> {
    Strided::of(y(), rows).map(|row| UniqueRow { row, marker: PhantomData })
}

/// The thread's own planes of `planes`, for any size of the grid, as the outer loop over a volume.
#[inline(always)]
pub fn unique_planes(planes: usize) -> impl Iterator<Item = UniquePlane> {
    Strided::of(z(), planes).map(|plane| UniquePlane { plane, marker: PhantomData })
}

/// A row that the thread shares only with threads of other columns.
#[derive(Clone, Copy, Debug)]
pub struct UniqueRow {
    row: usize,
    marker: OfThisThread,
}

/// A plane that the thread shares only with threads of other rows and columns.
#[derive(Clone, Copy, Debug)]
pub struct UniquePlane {
    plane: usize,
    marker: OfThisThread,
}

/// A row of a plane that the thread shares only with threads of other columns.
#[derive(Clone, Copy, Debug)]
pub struct UniqueRow3d {
    plane: usize,
    row: usize,
    marker: OfThisThread,
}

impl UniqueRow {
    /// The thread's own columns of `columns` in this row.
    #[inline(always)]
    pub fn columns(self, columns: usize) -> impl Iterator<Item = UniqueIndex2d> {
        let Self { row, marker } = self;
        Strided::of(x(), columns).map(move |column| UniqueIndex2d { row, column, marker })
    }
}

impl UniquePlane {
    /// The thread's own rows of `rows` in this plane.
    #[inline(always)]
    pub fn rows(self, rows: usize) -> impl Iterator<Item = UniqueRow3d> {
        let Self { plane, marker } = self;
        Strided::of(y(), rows).map(move |row| UniqueRow3d { plane, row, marker })
    }
}

impl UniqueRow3d {
    /// The thread's own columns of `columns` in this row.
    #[inline(always)]
    pub fn columns(self, columns: usize) -> impl Iterator<Item = UniqueIndex3d> {
        let Self { plane, row, marker } = self;
        Strided::of(x(), columns).map(move |column| UniqueIndex3d { plane, row, column, marker })
    }
}

/// The iterator of [`unique_indices`].
#[derive(Clone, Debug)]
pub struct UniqueIndices(Strided);

impl Iterator for UniqueIndices {
    type Item = UniqueIndex;

    #[inline(always)]
    fn next(&mut self) -> Option<UniqueIndex> {
        self.0.next().map(|index| UniqueIndex(index, PhantomData))
    }
}

/// The thread's numbers along one axis.
#[derive(Clone, Debug)]
struct Strided {
    next: usize,
    end: usize,
    step: usize,
    marker: OfThisThread,
}

impl Strided {
    /// The numbers below `end` of an axis on which the thread has the index `axis.start` of `axis.end` threads.
    #[inline(always)]
    fn of(axis: Range<usize>, end: usize) -> Self {
        Self { next: axis.start, end: end.min(LAST), step: axis.end, marker: PhantomData }
    }
}

impl Iterator for Strided {
    type Item = usize;

    #[inline(always)]
    fn next(&mut self) -> Option<usize> {
        let index = self.next;
        (index < self.end).then(|| {
            // The index is at most `LAST`, and there are fewer than 2^42 threads along an axis: no overflow.
            self.next = index.wrapping_add(self.step);
            index
        })
    }
}

/// The thread's index along x, and the number of threads of the launch along x.
#[inline(always)]
fn x() -> Range<usize> {
    global_index()..grid_stride()
}

/// The thread's index along y, and the number of threads of the launch along y.
#[inline(always)]
fn y() -> Range<usize> {
    let each = block_dim_y() as usize;
    block_idx_y() as usize * each + thread_idx_y() as usize..grid_dim_y() as usize * each
}

/// The thread's index along z, and the number of threads of the launch along z.
#[inline(always)]
fn z() -> Range<usize> {
    let each = block_dim_z() as usize;
    block_idx_z() as usize * each + thread_idx_z() as usize..grid_dim_z() as usize * each
}
