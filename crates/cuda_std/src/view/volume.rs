//! An output in three dimensions.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use crate::thread::UniqueIndex3d;

/// Device memory, plane by plane and row by row, of which each thread reaches the elements at its own indices: a
/// kernel's output.
///
/// The host passes a `cuda_std::launch::VolumeMut`; in the PTX the view is four parameters: address, planes, rows,
/// columns.
#[derive(Debug)]
pub struct DisjointVolume<'a, T> {
    start: *mut T,
    planes: usize,
    rows: usize,
    columns: usize,
    marker: PhantomData<&'a mut [T]>,
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
        Self { start, planes, rows, columns, marker: PhantomData }
    }

    /// The number of planes.
    #[must_use]
    #[inline(always)]
    pub const fn planes(&self) -> usize {
        self.planes
    }

    /// The number of rows of a plane.
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

    /// The thread's own element, or `None` outside the volume.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: UniqueIndex3d) -> Option<&T> {
        // SAFETY: the element exists and is this thread's own, and `&self` excludes a mutable reference.
        self.place(index).map(|place| unsafe { &*self.start.add(place) })
    }

    /// The thread's own element, or `None` outside the volume.
    #[must_use]
    #[inline(always)]
    pub fn get_mut(&mut self, index: UniqueIndex3d) -> Option<&mut T> {
        // SAFETY: the element exists and is this thread's own, and `&mut self` excludes another reference.
        self.place(index).map(|place| unsafe { &mut *self.start.add(place) })
    }

    #[inline(always)]
    fn place(&self, index: UniqueIndex3d) -> Option<usize> {
        let inside = index.plane() < self.planes && index.row() < self.rows && index.column() < self.columns;
        inside.then(|| (index.plane() * self.rows + index.row()) * self.columns + index.column())
    }
}

impl<T> Index<UniqueIndex3d> for DisjointVolume<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: UniqueIndex3d) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => outside(index, [self.planes, self.rows, self.columns]),
        }
    }
}

impl<T> IndexMut<UniqueIndex3d> for DisjointVolume<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: UniqueIndex3d) -> &mut T {
        let shape = [self.planes, self.rows, self.columns];
        match self.get_mut(index) {
            Some(element) => element,
            None => outside(index, shape),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside(index: UniqueIndex3d, shape: [usize; 3]) -> ! {
    panic!("index out of bounds: the view has the shape {shape:?} but the index is {index:?}")
}
