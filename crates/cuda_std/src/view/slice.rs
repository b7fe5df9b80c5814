//! An output in one dimension.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use crate::thread::UniqueIndex;

/// Device memory of which each thread reaches the elements at its own indices: a kernel's output.
///
/// The host passes a `cuda_std::launch::SliceMut`; in the PTX the view is two parameters, address and length.
///
/// An index is a [`UniqueIndex`], not a number:
///
/// ```compile_fail,E0308
/// # use cuda_std::prelude::*;
/// fn shifted(mut out: DisjointSlice<f32>) {
///     out[thread::global_index() + 1] = 0.0; // another thread's element
/// }
/// ```
///
/// A thread has one view of the memory, and one reference into it at a time:
///
/// ```compile_fail,E0499
/// # use cuda_std::prelude::*;
/// fn twice(mut out: DisjointSlice<f32>) {
///     let i = thread::unique_index();
///     let (a, b) = (out.get_mut(i), out.get_mut(i));
///     drop((a, b));
/// }
/// ```
///
/// ```compile_fail,E0382
/// # use cuda_std::prelude::*;
/// fn copied(out: DisjointSlice<f32>) {
///     let (a, b) = (out, out);
/// }
/// ```
///
/// The view stays with its thread, and references into it end with the kernel:
///
/// ```compile_fail,E0277
/// fn passed_on<T: Send>() {}
/// passed_on::<cuda_std::view::DisjointSlice<f32>>();
/// ```
///
/// ```compile_fail
/// # use cuda_std::prelude::*;
/// fn kept(mut out: DisjointSlice<'_, f32>) -> Option<&'static mut f32> {
///     out.get_mut(thread::unique_index())
/// }
/// ```
#[derive(Debug)]
pub struct DisjointSlice<'a, T> {
    start: *mut T,
    len: usize,
    marker: PhantomData<&'a mut [T]>,
}

impl<T> DisjointSlice<'_, T> {
    /// Creates a view of `len` elements at `start`.
    ///
    /// # Safety
    /// The elements are initialised and aligned, live as long as the view, and are accessed through views of this
    /// memory alone while the launch runs. Each thread creates at most one of them, all with the same `start`. The
    /// launch has one dimension: one block and one thread per block along y and z.
    #[inline(always)]
    pub const unsafe fn from_raw_parts(start: *mut T, len: usize) -> Self {
        Self { start, len, marker: PhantomData }
    }

    /// The number of elements, of all threads together.
    #[must_use]
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    #[must_use]
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The thread's own element, or `None` beyond the end.
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: UniqueIndex) -> Option<&T> {
        // SAFETY: the index is in bounds and this thread's own, and `&self` excludes a mutable reference.
        (index.get() < self.len).then(|| unsafe { &*self.start.add(index.get()) })
    }

    /// The thread's own element, or `None` beyond the end.
    #[must_use]
    #[inline(always)]
    pub fn get_mut(&mut self, index: UniqueIndex) -> Option<&mut T> {
        // SAFETY: the index is in bounds and this thread's own, and `&mut self` excludes another reference.
        (index.get() < self.len).then(|| unsafe { &mut *self.start.add(index.get()) })
    }

    /// The address of the first element. Other threads' elements are reached through it by `unsafe` code alone.
    #[must_use]
    #[inline(always)]
    pub const fn as_mut_ptr(&mut self) -> *mut T {
        self.start
    }
}

impl<T> Index<UniqueIndex> for DisjointSlice<'_, T> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, index: UniqueIndex) -> &T {
        match self.get(index) {
            Some(element) => element,
            None => beyond(index, self.len),
        }
    }
}

impl<T> IndexMut<UniqueIndex> for DisjointSlice<'_, T> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, index: UniqueIndex) -> &mut T {
        let len = self.len;
        match self.get_mut(index) {
            Some(element) => element,
            None => beyond(index, len),
        }
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn beyond(index: UniqueIndex, len: usize) -> ! {
    panic!("index out of bounds: the view has {len} elements but the index is {}", index.get())
}
