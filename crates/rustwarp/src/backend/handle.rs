//! A device that is shared or borrowed.

use super::interface::Backend;

/// A reference to the device that holds a buffer's memory: owned or borrowed.
pub trait Handle: Clone {
    /// The device.
    fn backend(&self) -> &dyn Backend;
}

impl Handle for &dyn Backend {
    fn backend(&self) -> &dyn Backend {
        *self
    }
}
