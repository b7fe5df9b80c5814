//! Waiting for streams and events, and captures.

use super::context::Current;
use super::errors::check;
use super::event::{Event, elapsed, handle};
use super::queue::Node;
use crate::error::Result;
use cuda_driver::sys;

/// Streams and events.
impl Current<'_> {
    /// Waits until everything launched in the stream has ended.
    pub fn synchronize(&self) -> Result<()> {
        self.queue.synchronize(|| "running the kernel".into())
    }

    /// Waits until everything launched in the stream has ended; in a capture, for what was launched before it. An error
    /// here was left by an earlier launch, which has reported it.
    pub fn drain(&self) {
        match self.queue.before_capture() {
            // SAFETY: the event exists.
            Some(before) => drop(check(unsafe { sys::cuEventSynchronize(before) }, String::new)),
            None => drop(self.synchronize()),
        }
    }

    /// Whether everything launched in the stream has ended.
    pub fn is_idle(&self) -> Result<bool> {
        self.queue.refuse_in_capture("querying the stream")?;
        // SAFETY: the stream exists.
        reached(unsafe { sys::cuStreamQuery(self.queue.raw()) })
    }

    /// Creates an event and records it, or returns one for the work before the capture.
    pub fn event(&self, timed: bool) -> Result<u64> {
        let attempt = || "recording an event".into();
        let event = Event::new(timed, attempt)?;
        match self.queue.before_capture() {
            None => event.record(self.queue.raw(), attempt)?,
            Some(before) => {
                // SAFETY: stream and event exist.
                check(unsafe { sys::cuStreamWaitEvent(self.card.side.0, before, 0) }, attempt)?;
                event.record(self.card.side.0, attempt)?;
            }
        }
        Ok(event.into_number())
    }

    /// Makes the stream wait for an event.
    ///
    /// # Safety
    /// That of [`Streams::wait`](crate::backend::Streams::wait).
    pub unsafe fn wait(&self, event: u64) -> Result<()> {
        self.queue.refuse_in_capture("waiting for an event")?;
        // SAFETY: stream and event exist.
        let result = unsafe { sys::cuStreamWaitEvent(self.queue.raw(), handle(event), 0) };
        check(result, || "waiting for an event".into())
    }

    /// Waits on the host.
    ///
    /// # Safety
    /// That of [`Streams::wait`](crate::backend::Streams::wait).
    pub unsafe fn await_event(&self, event: u64) -> Result<()> {
        // SAFETY: by contract the event exists.
        check(unsafe { sys::cuEventSynchronize(handle(event)) }, || "running the kernel".into())
    }

    /// Whether an event is reached.
    ///
    /// # Safety
    /// That of [`Streams::wait`](crate::backend::Streams::wait).
    pub unsafe fn is_reached(&self, event: u64) -> Result<bool> {
        // SAFETY: by contract the event exists.
        reached(unsafe { sys::cuEventQuery(handle(event)) })
    }

    /// Milliseconds between two events.
    ///
    /// # Safety
    /// That of [`Streams::wait`](crate::backend::Streams::wait) for both.
    pub unsafe fn elapsed(&self, from: u64, to: u64) -> Result<f64> {
        elapsed(handle(from), handle(to), || "measuring the time between events".into())
    }

    /// Begins a capture.
    pub fn begin_capture(&self) -> Result<()> {
        self.queue.refuse_in_capture("beginning a capture")?;
        let attempt = || "beginning a capture".into();
        let before = Event::new(false, attempt)?;
        before.record(self.queue.raw(), attempt)?;
        // Other streams and other threads may allocate and wait meanwhile.
        let mode = sys::CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_RELAXED;
        // SAFETY: the stream exists.
        check(unsafe { sys::cuStreamBeginCapture_v2(self.queue.raw(), mode) }, attempt)?;
        self.queue.begin(before);
        Ok(())
    }

    /// Ends the capture, and returns the graph with its kernels.
    pub(super) fn captured(&self) -> Result<(sys::CUgraph, Vec<Node>)> {
        let kernels = self.queue.end();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream exists, and the second argument points to room for a handle.
        check(unsafe { sys::cuStreamEndCapture(self.queue.raw(), &mut graph) }, || "ending a capture".into())?;
        Ok((graph, kernels))
    }
}

/// The meaning of a query's result.
fn reached(result: sys::CUresult) -> Result<bool> {
    match result {
        sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        other => check(other, || "running the kernel".into()).map(|()| true),
    }
}
