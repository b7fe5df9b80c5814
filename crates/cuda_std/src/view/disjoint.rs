//! What outputs of every shape share: the elements at the thread's own index.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

/// The sizes of a view.
///
/// # Safety
/// `place` gives unequal places below the number of elements for unequal indices.
pub unsafe trait Shape: Copy {
    /// What a thread has of its own in a launch of as many dimensions.
    type Index: Copy;

    /// The number of the element at `index`, or `None` outside the view.
    fn place(self, index: Self::Index) -> Option<usize>;

    /// Panics with the index and the sizes. They are passed on as numbers, since a struct of three would be stored to
    /// local memory before the test that calls this.
    #[track_caller]
    fn outside(self, index: Self::Index) -> !;
}

/// Device memory of which each thread reaches the elements at its own indices: a kernel's output.
///
/// [`DisjointSlice`](crate::view::DisjointSlice), [`DisjointMatrix`](crate::view::DisjointMatrix) and
/// [`DisjointVolume`](crate::view::DisjointVolume) name its shapes.
#[derive(Debug)]
pub struct Disjoint<'a, T, S> {
    pub(super) start: *mut T,
    pub(super) shape: S,
    pub(super) marker: PhantomData<&'a mut [T]>,
}

impl<T, S: Shape> Disjoint<'_, T, S> {
    /// The thread's own element, or `None` outside the view.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: S::Index) -> Option<&T> {
        // SAFETY: the element exists and is this thread's own, and `&self` excludes a mutable reference.
        self.shape.place(index).map(|place| unsafe { &*self.start.add(place) })
    }

    /// The thread's own element, or `None` outside the view.
    #[must_use]
    #[inline(always)]
    pub fn get_mut(&mut self, index: S::Index) -> Option<&mut T> {
        // SAFETY: the element exists and is this thread's own, and `&mut self` excludes another reference.
        self.shape.place(index).map(|place| unsafe { &mut *self.start.add(place) })
    }

    /// The address of the first element. Other threads' elements are reached through it by `unsafe` code alone.
    #[must_use]
    #[inline(always)]
    pub const fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }
}

impl<T, S: Shape> Index<S::Index> for Disjoint<'_, T, S> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: S::Index) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => self.shape.outside(index),
        }
    }
}

impl<T, S: Shape> IndexMut<S::Index> for Disjoint<'_, T, S> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: S::Index) -> &mut T {
        let shape = self.shape;
        match self.get_mut(index) {
            Some(element) => element,
            None => shape.outside(index),
        }
    }
}
