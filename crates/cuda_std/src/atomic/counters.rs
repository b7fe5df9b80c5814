//! Memory of the host's launches as atomics.

use super::{Atomic, Value};
use crate::launch::{Slice, SliceMut};

impl<'a, T: Value> SliceMut<'a, T> {
    /// The slice as counters that all threads change: the argument of a kernel that takes `&[Atomic<T>]`.
    pub fn atomic(self) -> Slice<'a, Atomic<T>> {
        // SAFETY: the slice has the memory alone for its lifetime, and an atomic is laid out as its value.
        unsafe { Slice::new(self.address(), self.len()) }
    }
}
