//! A device that is shared or borrowed.

use super::interface::Backend;
use super::queue::Queue;
use std::sync::Arc;

/// A reference to the device that holds a buffer's memory: owned or borrowed.
///
/// # Safety
/// `backend` returns the same device on every call, also of clones, which is open as long as the handle lives.
/// [`Memory`](super::Memory) relies on that: it frees and accesses its memory on this device.
pub unsafe trait Handle: Clone {
    /// The device.
    fn backend(&self) -> &dyn Backend;

    /// The stream, if it is ordered with others that use the same memory, and the memory outlives the handle.
    fn queue(&self) -> Option<&Arc<Queue>> {
        None
    }
}

// SAFETY: a shared reference does not change, and keeps the device borrowed.
unsafe impl Handle for &dyn Backend {
    fn backend(&self) -> &dyn Backend {
        *self
    }
}
