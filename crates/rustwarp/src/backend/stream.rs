//! One stream of a device, as memory knows it.

use super::interface::Backend;
use super::streams::Streams;
use crate::error::{Error, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// One stream of a device.
pub(crate) struct Stream {
    backend: Arc<dyn Backend>,
    /// Tells streams apart, also after they are gone.
    number: u64,
}

impl Stream {
    /// The stream of a backend.
    pub fn new(backend: Arc<dyn Backend>) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self { backend, number: NEXT.fetch_add(1, Ordering::Relaxed) }
    }

    /// The stream's backend.
    pub fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Tells streams apart: equal for no other stream of the process.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Events, pinned memory and graphs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a backend without them.
    pub fn streams(&self) -> Result<&dyn Streams> {
        self.backend.streams().ok_or_else(|| {
            Error::Unsupported(format!("{} has no streams: open a `Device` of its own", self.backend.info().device))
        })
    }

    /// Makes this stream wait for everything that was launched in another one before.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn follow(&self, other: &Self) -> Result<()> {
        if self.number == other.number {
            return Ok(());
        }
        let (own, other) = (self.streams()?, other.streams()?);
        let event = other.event(false)?;
        // SAFETY: the event was made above and is freed below; a stream waits for an event even if that is freed.
        unsafe {
            let waiting = own.wait(event);
            other.free_event(event);
            waiting
        }
    }
}
