//! A device that is shared or borrowed.

use crate::backend::Backend;

/// What a buffer keeps of the device that its memory lies on.
pub trait Handle {
    /// The device.
    fn backend(&self) -> &dyn Backend;
}

impl Handle for &dyn Backend {
    fn backend(&self) -> &dyn Backend {
        *self
    }
}
