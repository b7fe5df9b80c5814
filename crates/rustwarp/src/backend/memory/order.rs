//! Work on memory, in the order of the streams that use it.

use crate::backend::queue::Use;
use crate::backend::{Handle, Streams};
use crate::error::{Error, Result};

/// Starts work of this handle's stream that uses the memory.
pub(super) fn ordered<H: Handle>(device: &H, uses: &[Use<'_>], start: impl FnOnce() -> Result<()>) -> Result<()> {
    match device.queue() {
        Some(queue) => queue.work(uses, start),
        // A graph could not keep the memory.
        None if device.backend().streams().is_some_and(Streams::is_capturing) => {
            Err(Error::Capturing { attempt: "using memory that borrows its device" })
        }
        None => start(),
    }
}

impl Use<'_> {
    /// Orders a copy of the home stream, for which the host waits, behind earlier uses that conflict with this one. In
    /// a capture the copy itself is refused.
    pub(crate) fn wait<H: Handle>(self, device: &H) -> Result<()> {
        match device.queue() {
            Some(queue) if !queue.is_capturing() => queue.wait_for_conflicts(&[self]),
            _ => Ok(()),
        }
    }
}
