//! An output in one dimension.

use core::marker::PhantomData;

use super::disjoint::{Disjoint, Shape};
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
pub type DisjointSlice<'a, T> = Disjoint<'a, T, Length>;

/// The shape of a [`DisjointSlice`].
#[derive(Clone, Copy, Debug)]
pub struct Length(usize);

// SAFETY: the place is the index, which is below the length.
unsafe impl Shape for Length {
    type Index = UniqueIndex;

    #[inline(always)]
    fn place(self, index: UniqueIndex) -> Option<usize> {
        (index.get() < self.0).then(|| index.get())
    }

    #[inline(always)]
    #[track_caller]
    fn outside(self, index: UniqueIndex) -> ! {
        outside(self.0, index.get())
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn outside(len: usize, index: usize) -> ! {
    panic!("index out of bounds: the view has {len} elements but the index is {index}")
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
        Self { start, shape: Length(len), marker: PhantomData }
    }

    /// The number of elements, of all threads together.
    #[must_use]
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.shape.0
    }

    /// Whether there are no elements.
    #[must_use]
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.shape.0 == 0
    }
}
