//! An output in three dimensions.

use core::marker::PhantomData;

use super::disjoint::{Disjoint, Shape};
use crate::thread::UniqueIndex3d;

/// Device memory, plane by plane and row by row, of which each thread reaches the elements at its own indices: a
/// kernel's output.
///
/// The host passes a `cuda_std::launch::VolumeMut`; in the PTX the view is four parameters: address, planes, rows,
/// columns.
pub type DisjointVolume<'a, T> = Disjoint<'a, T, Planes>;

/// The shape of a [`DisjointVolume`].
#[derive(Clone, Copy, Debug)]
pub struct Planes {
    planes: usize,
    rows: usize,
    columns: usize,
}

// SAFETY: the index is inside, and the elements lie plane by plane and row by row.
unsafe impl Shape for Planes {
    type Index = UniqueIndex3d;

    #[inline(always)]
    fn place(self, index: UniqueIndex3d) -> Option<usize> {
        let inside = index.plane() < self.planes && index.row() < self.rows && index.column() < self.columns;
        inside.then(|| (index.plane() * self.rows + index.row()) * self.columns + index.column())
    }

    #[inline(always)]
    #[track_caller]
    fn outside(self, index: UniqueIndex3d) -> ! {
        outside(self.planes, self.rows, self.columns, index.plane(), index.row(), index.column())
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside(planes: usize, rows: usize, columns: usize, plane: usize, row: usize, column: usize) -> ! {
    panic!(
        "index out of bounds: the view has the shape [{planes}, {rows}, {columns}] but the index is ({plane}, {row}, \
         {column})"
    )
}

impl<T> DisjointVolume<'_, T> {
    /// Creates a view of `planes` times `rows` times `columns` elements at `start`.
    ///
    /// # Safety
    /// No size exceeds `isize::MAX`. The elements are initialised and aligned, live as long as the view, and are
    /// accessed through views of this memory alone while the launch runs. Each thread creates at most one of them, all
    /// with the same `start` and shape.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(start: *mut T, planes: usize, rows: usize, columns: usize) -> Self {
        // Loops over the view then need no other end.
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::hint::assert_unchecked(
                planes <= isize::MAX as usize && rows <= isize::MAX as usize && columns <= isize::MAX as usize,
            )
        };
        Self { start, shape: Planes { planes, rows, columns }, marker: PhantomData }
    }

    /// The number of planes.
    #[must_use]
    #[inline(always)]
    pub const fn planes(&self) -> usize {
        self.shape.planes
    }

    /// The number of rows of a plane.
    #[must_use]
    #[inline(always)]
    pub const fn rows(&self) -> usize {
        self.shape.rows
    }

    /// The number of columns.
    #[must_use]
    #[inline(always)]
    pub const fn columns(&self) -> usize {
        self.shape.columns
    }
}
