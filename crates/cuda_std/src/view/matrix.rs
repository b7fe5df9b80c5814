//! An output in two dimensions.

use core::marker::PhantomData;

use super::disjoint::{Disjoint, Shape};
use crate::thread::{UniqueIndex2d, unique_rows};

/// Device memory, row by row, of which each thread reaches the elements at its own rows and columns: a kernel's
/// output.
///
/// The host passes a `cuda_std::launch::MatrixMut`; in the PTX the view is three parameters: address, rows, columns.
/// The host chooses the shape, so all threads compute an element's place alike. An index of one dimension does not fit:
///
/// ```compile_fail,E0308
/// # use cuda_std::prelude::*;
/// fn flat(mut out: DisjointMatrix<f32>) {
///     if let Some(element) = out.get_mut(thread::unique_index()) {
///         *element = 0.0;
///     }
/// }
/// ```
pub type DisjointMatrix<'a, T> = Disjoint<'a, T, Rows>;

/// The shape of a [`DisjointMatrix`].
#[derive(Clone, Copy, Debug)]
pub struct Rows {
    rows: usize,
    columns: usize,
}

// SAFETY: the index is inside, and the elements lie row by row.
unsafe impl Shape for Rows {
    type Index = UniqueIndex2d;

    #[inline(always)]
    fn place(self, index: UniqueIndex2d) -> Option<usize> {
        let inside = index.row() < self.rows && index.column() < self.columns;
        inside.then(|| index.row() * self.columns + index.column())
    }

    #[inline(always)]
    #[track_caller]
    fn outside(self, index: UniqueIndex2d) -> ! {
        outside(self.rows, self.columns, index.row(), index.column())
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside(rows: usize, columns: usize, row: usize, column: usize) -> ! {
    panic!("index out of bounds: the view has the shape [{rows}, {columns}] but the index is ({row}, {column})")
}

impl<T> DisjointMatrix<'_, T> {
    /// Creates a view of `rows` times `columns` elements at `start`.
    ///
    /// # Safety
    /// No size exceeds `isize::MAX`. The elements are initialised and aligned, live as long as the view, and are
    /// accessed through views of this memory alone while the launch runs. Each thread creates at most one of them, all
    /// with the same `start` and shape. The launch has at most two dimensions: one block and one thread per block along
    /// z.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(start: *mut T, rows: usize, columns: usize) -> Self {
        // Loops over the view then need no other end.
        // SAFETY: the caller upholds this function's contract.
        unsafe { core::hint::assert_unchecked(rows <= isize::MAX as usize && columns <= isize::MAX as usize) };
        Self { start, shape: Rows { rows, columns }, marker: PhantomData }
    }

    /// The number of rows.
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

    /// The thread's own elements row by row, for any size of the grid, without a test for each:
    ///
    /// ```
    /// # use cuda_std::prelude::*;
    /// # fn fill(mut out: DisjointMatrix<u32>) {
    /// for row in out.rows_mut() {
    ///     for (i, element) in row {
    ///         *element = i.column() as u32;
    ///     }
    /// }
    /// # }
    /// ```
    #[inline(always)]
    pub fn rows_mut(&mut self) -> impl Iterator<Item = impl Iterator<Item = (UniqueIndex2d, &mut T)>> {
        let (start, Rows { rows, columns }) = (self.start, self.shape);
        unique_rows(rows).map(move |row| {
            row.columns(columns).map(move |i| {
                // SAFETY: the loops are below the view's sizes, this thread has the element alone, they visit it once,
                // and `&mut self` excludes another reference.
                (i, unsafe { &mut *start.add(i.row() * columns + i.column()) })
            })
        })
    }
}
