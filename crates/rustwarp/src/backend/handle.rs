//! A device that is shared or borrowed.

use super::interface::Backend;
use super::queue::Queue;
use super::streams::Streams;
use crate::error::{Error, Result};
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

/// Checks that two backends are streams of one device; `what` names what belongs to `found` in the error.
///
/// # Errors
/// [`Error::OtherDevice`] if they are not.
pub(crate) fn require_same_device(expected: &dyn Backend, found: &dyn Backend, what: &'static str) -> Result<()> {
    let id = |backend: &dyn Backend| backend.streams().map(Streams::id);
    if std::ptr::addr_eq(expected, found) || id(expected).is_some() && id(expected) == id(found) {
        return Ok(());
    }
    let [expected, found] = [expected, found].map(|backend| backend.info().device.clone());
    // Two simulators have the same name, and so has a GPU that is opened twice.
    let found = if found == expected { format!("another `Device` of {found}") } else { found };
    Err(Error::OtherDevice { what, expected, found })
}
