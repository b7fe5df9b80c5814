//! Events of the driver.

use super::errors::check;
use crate::error::Result;
use cuda_driver::sys;

/// `CU_EVENT_DISABLE_TIMING`.
const UNTIMED: u32 = 2;

/// An event, which is released on drop.
pub(super) struct Event(sys::CUevent);

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for Event {}
// SAFETY: as for `Send`; the driver synchronises its calls.
unsafe impl Sync for Event {}

impl Event {
    /// Creates an event in the current context.
    pub fn new(timed: bool, attempt: impl Fn() -> String) -> Result<Self> {
        let mut event = std::ptr::null_mut();
        // SAFETY: the first argument points to room for a handle.
        check(unsafe { sys::cuEventCreate(&mut event, if timed { 0 } else { UNTIMED }) }, attempt)?;
        Ok(Self(event))
    }

    /// The driver's handle.
    pub fn raw(&self) -> sys::CUevent {
        self.0
    }

    /// Gives the event away as a number, which [`Event::from_number`] takes back.
    pub fn into_number(self) -> u64 {
        let number = self.0.addr() as u64;
        std::mem::forget(self);
        number
    }

    /// Takes back an event.
    ///
    /// # Safety
    /// [`Event::into_number`] returned the number, and this is its only use from now on.
    pub unsafe fn from_number(number: u64) -> Self {
        Self(handle(number))
    }

    /// Records the event in a stream of its context.
    pub fn record(&self, stream: sys::CUstream, attempt: impl Fn() -> String) -> Result<()> {
        // SAFETY: event and stream exist.
        check(unsafe { sys::cuEventRecord(self.0, stream) }, attempt)
    }

    /// Waits until the event is reached.
    pub fn synchronize(&self, attempt: impl Fn() -> String) -> Result<()> {
        // SAFETY: the event exists.
        check(unsafe { sys::cuEventSynchronize(self.0) }, attempt)
    }

    /// Milliseconds since an earlier event.
    pub fn since(&self, earlier: &Self, attempt: impl Fn() -> String) -> Result<f64> {
        elapsed(earlier.0, self.0, attempt)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the event is not used again; the driver releases it once it is reached.
        unsafe { sys::cuEventDestroy_v2(self.0) };
    }
}

/// The driver's handle of this number.
pub(super) fn handle(number: u64) -> sys::CUevent {
    std::ptr::with_exposed_provenance_mut(number as usize)
}

/// Milliseconds between two events.
pub(super) fn elapsed(from: sys::CUevent, to: sys::CUevent, attempt: impl Fn() -> String) -> Result<f64> {
    let mut milliseconds = 0.0_f32;
    // SAFETY: the first argument points to room for a float; the callers' events exist.
    check(unsafe { sys::cuEventElapsedTime(&mut milliseconds, from, to) }, attempt)?;
    Ok(f64::from(milliseconds))
}
