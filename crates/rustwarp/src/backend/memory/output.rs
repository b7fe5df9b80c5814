//! Memory as the output of a kernel that takes a view of it.

use super::{Memory, ViewMut};
use crate::backend::Handle;
use bytemuck::Pod;
use cuda_std::launch::SliceMut;

impl<T: Pod, H: Handle> Memory<T, H> {
    /// The first `len` elements as the argument of a kernel that takes a `DisjointSlice`: its output.
    ///
    /// # Panics
    /// Panics if the buffer has fewer elements.
    pub fn slice_mut(&mut self, len: usize) -> SliceMut<'_, T> {
        let elements = self.slice(len);
        // SAFETY: the memory lives as long as the buffer, which the slice borrows mutably; any bytes are a valid `T`.
        unsafe { SliceMut::new(elements.address(), len) }
    }
}

impl<T: Pod, H: Handle> ViewMut<'_, T, H> {
    /// The first `len` elements as the argument of a kernel that takes a `DisjointSlice`: its output.
    ///
    /// # Panics
    /// Panics if the view has fewer elements.
    pub fn slice_mut(&mut self, len: usize) -> SliceMut<'_, T> {
        let elements = self.as_view().slice(len);
        // SAFETY: the memory lives as long as the view, which the slice borrows mutably; any bytes are a valid `T`.
        unsafe { SliceMut::new(elements.address(), len) }
    }
}
