//! Events: points in the work of a stream.

use crate::backend::{Handle, require_same_device};
use crate::device::Device;
use crate::error::Result;

/// A point in the work of a stream: reached when everything that was launched before has ended.
pub struct Event {
    device: Device,
    /// `None` after the event was given away.
    number: Option<u64>,
}

impl Device {
    /// Records an event behind everything that was launched in this stream.
    ///
    /// # Errors
    /// [`Error::Capturing`](crate::Error::Capturing) in a capture, [`Error::Device`](crate::Error::Device) if the
    /// driver fails.
    pub fn record(&self) -> Result<Event> {
        self.refuse_in_capture("recording an event")?;
        Event::new(self, true)
    }

    /// Makes this stream wait for the event, which another stream or another device has recorded. The host does not
    /// wait, unless one of the devices is a GPU and the other a simulator.
    ///
    /// # Errors
    /// [`Error::Capturing`](crate::Error::Capturing) in a capture, [`Error::Device`](crate::Error::Device) if the
    /// driver fails.
    pub fn wait(&self, event: &Event) -> Result<()> {
        let (own, other) = (self.streams()?, event.device.streams()?);
        if own.id() != other.id() && own.raw().is_some() != other.raw().is_some() {
            return event.synchronize();
        }
        // SAFETY: the event exists as long as `event`.
        event.number.map_or(Ok(()), |number| unsafe { own.wait(number) })
    }
}

impl Event {
    pub(crate) fn new(device: &Device, timed: bool) -> Result<Self> {
        Ok(Self { device: device.clone(), number: Some(device.streams()?.event(timed)?) })
    }

    /// Waits on the host until the event is reached.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if a kernel before it faulted, [`Error::Device`](crate::Error::Device) if
    /// the driver fails.
    pub fn synchronize(&self) -> Result<()> {
        let streams = self.device.streams()?;
        // SAFETY: the event exists as long as `self`.
        self.number.map_or(Ok(()), |number| unsafe { streams.await_event(number) })
    }

    /// Whether the event is reached.
    ///
    /// # Errors
    /// Those of [`Event::synchronize`].
    pub fn is_reached(&self) -> Result<bool> {
        let streams = self.device.streams()?;
        // SAFETY: the event exists as long as `self`.
        self.number.map_or(Ok(true), |number| unsafe { streams.is_reached(number) })
    }

    /// Waits on the host until both events are reached, and returns the milliseconds from the earlier one to this one;
    /// `None` on the simulator, which measures no times.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for an event of another device, and those of
    /// [`Event::synchronize`].
    pub fn elapsed_since(&self, earlier: &Self) -> Result<Option<f64>> {
        require_same_device(self.device.backend(), earlier.device.backend(), "the earlier event")?;
        let own = self.device.streams()?;
        earlier.synchronize()?;
        self.synchronize()?;
        match (earlier.number, self.number) {
            // SAFETY: both events exist, and are timed unless the library itself recorded them.
            (Some(from), Some(to)) => unsafe { own.elapsed(from, to) },
            _ => Ok(None),
        }
    }

    /// Gives the event away as its number, which the caller frees.
    pub(crate) fn into_number(mut self) -> Option<u64> {
        self.number.take()
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let (Some(number), Ok(streams)) = (self.number, self.device.streams()) {
            // SAFETY: the event is not used again.
            unsafe { streams.free_event(number) };
        }
    }
}

impl std::fmt::Debug for Event {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Event(of {:?})", self.device)
    }
}
