//! An input in two dimensions.

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
