//! A device that is shared or borrowed.

use super::interface::Backend;

/// A reference to the device that holds a buffer's memory: owned or borrowed.
///
/// # Safety
/// `backend` returns the same device on every call, also of clones, which is open as long as the handle lives.
/// [`Memory`](super::Memory) relies on that: it frees and accesses its memory on this device.
pub unsafe trait Handle: Clone {
    /// The device.
    fn backend(&self) -> &dyn Backend;
}

// SAFETY: a shared reference does not change, and keeps the device borrowed.
unsafe impl Handle for &dyn Backend {
    fn backend(&self) -> &dyn Backend {
        *self
    }
}
