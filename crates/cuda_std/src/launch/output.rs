//! Device memory that a kernel takes as a [view](crate::view), borrowed mutably.

use core::marker::PhantomData;

/// Device memory that a kernel takes as [`DisjointSlice<T>`](crate::view::DisjointSlice).
///
/// It borrows the memory mutably, so the memory cannot be an input of the same call:
///
/// ```compile_fail,E0502
/// use cuda_std::launch::{SafeCall, Slice, SliceMut};
/// # struct Memory;
/// # impl Memory {
/// #     fn slice(&self) -> Slice<'_, f32> { unreachable!() }
/// #     fn slice_mut(&mut self) -> SliceMut<'_, f32> { unreachable!() }
/// # }
/// fn in_place<'a>(double: fn(Slice<'a, f32>, SliceMut<'a, f32>) -> SafeCall<'a>, memory: &'a mut Memory) {
///     double(memory.slice(), memory.slice_mut());
/// }
/// ```
#[derive(Debug)]
pub struct SliceMut<'a, T> {
    address: u64,
    len: usize,
    marker: PhantomData<&'a mut [T]>,
}

/// Device memory that a kernel takes as [`DisjointMatrix<T>`](crate::view::DisjointMatrix).
#[derive(Debug)]
pub struct MatrixMut<'a, T> {
    pub(super) elements: SliceMut<'a, T>,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

/// Device memory that a kernel takes as [`DisjointVolume<T>`](crate::view::DisjointVolume).
#[derive(Debug)]
pub struct VolumeMut<'a, T> {
    pub(super) elements: SliceMut<'a, T>,
    pub(super) planes: usize,
    pub(super) rows: usize,
    pub(super) columns: usize,
}

impl<'a, T> SliceMut<'a, T> {
    /// Creates a slice of `len` elements at `address`.
    ///
    /// # Safety
    /// The memory is allocated on the device for the whole lifetime, its bytes are valid elements, and during the
    /// lifetime nothing else refers to it.
    pub unsafe fn new(address: u64, len: usize) -> Self {
        Self { address, len, marker: PhantomData }
    }

    /// The device address of the first element.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A slice of the same elements, for a call that ends before this slice is used again.
    pub fn reborrow(&mut self) -> SliceMut<'_, T> {
        SliceMut { marker: PhantomData, ..*self }
    }

    /// The first `start` elements, and the others.
    ///
    /// # Panics
    /// Panics if `start > len`.
    pub fn split_at(self, start: usize) -> (Self, Self) {
        assert!(start <= self.len, "a slice of {} elements cannot be split at {start}", self.len);
        let address = self.address + (start * size_of::<T>()) as u64;
        (Self { len: start, ..self }, Self { address, len: self.len - start, marker: PhantomData })
    }

    /// The slice as a matrix.
    ///
    /// # Panics
    /// Panics if the slice does not have `rows` times `columns` elements, or for more than `isize::MAX` rows or
    /// columns.
    pub fn matrix(self, rows: usize, columns: usize) -> MatrixMut<'a, T> {
        let count = rows.checked_mul(columns);
        assert!(count == Some(self.len), "{} elements are not {rows} rows of {columns}", self.len);
        require_sizes(&[rows, columns]);
        MatrixMut { elements: self, rows, columns }
    }

    /// The slice as planes of rows of columns.
    ///
    /// # Panics
    /// Panics if the slice does not have `planes` times `rows` times `columns` elements, or for a size above
    /// `isize::MAX`.
    pub fn volume(self, planes: usize, rows: usize, columns: usize) -> VolumeMut<'a, T> {
        let count = planes.checked_mul(rows).and_then(|count| count.checked_mul(columns));
        assert!(count == Some(self.len), "{} elements are not {planes} planes of {rows} rows of {columns}", self.len);
        require_sizes(&[planes, rows, columns]);
        VolumeMut { elements: self, planes, rows, columns }
    }
}

/// A view without elements can have any sizes, of which the device counts up to `isize::MAX`.
fn require_sizes(sizes: &[usize]) {
    assert!(sizes.iter().all(|&size| isize::try_from(size).is_ok()), "a size of {sizes:?} is too large for a view");
}
