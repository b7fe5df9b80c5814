//! An output and an input in two dimensions.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

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
#[derive(Debug)]
pub struct DisjointMatrix<'a, T> {
    start: *mut T,
    rows: usize,
    columns: usize,
    marker: PhantomData<&'a mut [T]>,
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
        Self { start, rows, columns, marker: PhantomData }
    }

    /// The number of rows.
    #[must_use]
    #[inline(always)]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[must_use]
    #[inline(always)]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The thread's own element, or `None` outside the matrix.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: UniqueIndex2d) -> Option<&T> {
        // SAFETY: the element exists and is this thread's own, and `&self` excludes a mutable reference.
        self.place(index).map(|place| unsafe { &*self.start.add(place) })
    }

    /// The thread's own element, or `None` outside the matrix.
    #[must_use]
    #[inline(always)]
    pub fn get_mut(&mut self, index: UniqueIndex2d) -> Option<&mut T> {
        // SAFETY: the element exists and is this thread's own, and `&mut self` excludes another reference.
        self.place(index).map(|place| unsafe { &mut *self.start.add(place) })
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
        let (start, columns) = (self.start, self.columns);
        unique_rows(self.rows).map(move |row| {
            row.columns(columns).map(move |i| {
                // SAFETY: the loops are below the view's sizes, this thread has the element alone, they visit it once,
                // and `&mut self` excludes another reference.
                (i, unsafe { &mut *start.add(i.row() * columns + i.column()) })
            })
        })
    }

    #[inline(always)]
    fn place(&self, index: UniqueIndex2d) -> Option<usize> {
        let inside = index.row() < self.rows && index.column() < self.columns;
        inside.then(|| index.row() * self.columns + index.column())
    }
}

impl<T> Index<UniqueIndex2d> for DisjointMatrix<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: UniqueIndex2d) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => outside(index, [self.rows, self.columns]),
        }
    }
}

impl<T> IndexMut<UniqueIndex2d> for DisjointMatrix<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: UniqueIndex2d) -> &mut T {
        let shape = [self.rows, self.columns];
        match self.get_mut(index) {
            Some(element) => element,
            None => outside(index, shape),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside(index: UniqueIndex2d, shape: [usize; 2]) -> ! {
    panic!("index out of bounds: the view has the shape {shape:?} but the index is {index:?}")
}

/// A matrix that a kernel reads, row by row in a slice. One test covers all elements of a row or a column.
#[derive(Clone, Copy, Debug)]
pub struct Matrix<'a, T> {
    elements: &'a [T],
    rows: usize,
    columns: usize,
}

impl<'a, T> Matrix<'a, T> {
    /// The first `rows` times `columns` elements as a matrix, or `None` if there are fewer.
    #[must_use]
    #[inline(always)]
    pub fn new(elements: &'a [T], rows: usize, columns: usize) -> Option<Self> {
        let enough = rows.checked_mul(columns).is_some_and(|count| count <= elements.len());
        enough.then_some(Self { elements, rows, columns })
    }

    /// The number of rows.
    #[must_use]
    #[inline(always)]
    pub const fn rows(&self) -> usize {
        self.rows
    }

    /// The number of columns.
    #[must_use]
    #[inline(always)]
    pub const fn columns(&self) -> usize {
        self.columns
    }

    /// The elements of a row, or `None` for a row that does not exist.
    #[must_use]
    #[inline(always)]
    pub fn row(&self, row: usize) -> Option<&'a [T]> {
        // SAFETY: the matrix lies in `elements`, and the row in the matrix.
        (row < self.rows).then(|| unsafe {
            core::slice::from_raw_parts(self.elements.as_ptr().add(row * self.columns), self.columns)
        })
    }

    /// The elements of a column from the top, or `None` for a column that does not exist.
    #[must_use]
    #[inline(always)]
    pub fn column(&self, column: usize) -> Option<Column<'a, T>> {
        (column < self.columns).then_some(Column {
            elements: self.elements,
            place: column,
            step: self.columns,
            left: self.rows,
        })
    }

    /// The element at a row and a column, or `None` outside the matrix.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, row: usize, column: usize) -> Option<&'a T> {
        // SAFETY: the matrix lies in `elements`, and the element in the matrix.
        (row < self.rows && column < self.columns)
            .then(|| unsafe { self.elements.get_unchecked(row * self.columns + column) })
    }
}

/// The elements of a column of a [`Matrix`].
#[derive(Clone, Debug)]
pub struct Column<'a, T> {
    elements: &'a [T],
    place: usize,
    step: usize,
    left: usize,
}

impl<'a, T> Iterator for Column<'a, T> {
    type Item = &'a T;

    #[inline(always)]
    fn next(&mut self) -> Option<&'a T> {
        (self.left > 0).then(|| {
            // SAFETY: `left` rows follow from this place on, `step` elements apart, and lie in `elements`.
            let element = unsafe { self.elements.get_unchecked(self.place) };
            self.left -= 1;
            // After the last row the sum may exceed the length, which is at most half of the largest number.
            self.place = self.place.wrapping_add(self.step);
            element
        })
    }

    #[inline(always)]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Column<'_, T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_are_those_of_the_slice() {
        let elements = [1, 2, 3, 4, 5, 6, 7];
        let matrix = Matrix::new(&elements, 2, 3).expect("six elements");
        assert_eq!((matrix.row(1), matrix.row(2)), (Some(&[4, 5, 6][..]), None));
        assert!(matrix.column(2).expect("a column").eq(&[3, 6]));
        assert!(matrix.column(3).is_none());
        assert_eq!((matrix.get(1, 0), matrix.get(0, 3), matrix.get(2, 0)), (Some(&4), None, None));
        assert!(Matrix::new(&elements, 2, 4).is_none());
        assert!(Matrix::new(&elements, usize::MAX, 2).is_none(), "the product overflows");
        let none = Matrix::new(&elements, usize::MAX, 0).expect("no elements");
        assert_eq!((none.row(5), none.column(0).is_none()), (Some(&[][..]), true));
    }
}
