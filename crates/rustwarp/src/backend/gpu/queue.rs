//! Streams of the driver, and their captures.

use super::errors::check;
use super::event::Event;
use crate::error::{Error, Result};
use crate::sync::lock;
use cuda_driver::sys;
use std::sync::Mutex;

/// `CU_STREAM_NON_BLOCKING`: no order with the legacy default stream, which other libraries may use.
const NON_BLOCKING: u32 = 1;

/// A stream that this library has created, which is released on drop.
pub(super) struct RawQueue(pub sys::CUstream);

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for RawQueue {}
// SAFETY: as for `Send`; the driver synchronises its calls.
unsafe impl Sync for RawQueue {}

impl RawQueue {
    /// Creates a stream in the current context.
    pub fn new(attempt: impl Fn() -> String) -> Result<Self> {
        let mut stream = std::ptr::null_mut();
        // SAFETY: the first argument points to room for a handle.
        check(unsafe { sys::cuStreamCreateWithPriority(&mut stream, NON_BLOCKING, 0) }, attempt)?;
        Ok(Self(stream))
    }
}

impl Drop for RawQueue {
    fn drop(&mut self) {
        // SAFETY: the stream is not used again; the driver releases it once its work has ended.
        unsafe { sys::cuStreamDestroy_v2(self.0) };
    }
}

/// A stream, and its capture.
pub(super) struct Queue {
    stream: Stream,
    capture: Mutex<Option<Capture>>,
}

/// The stream, and who releases it.
enum Stream {
    /// A stream of this library.
    Own(RawQueue),
    /// The caller's stream, which outlives the device.
    Adopted(sys::CUstream),
}

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for Stream {}
// SAFETY: as for `Send`; the driver synchronises its calls.
unsafe impl Sync for Stream {}

/// A capture that has begun.
struct Capture {
    /// Recorded in front of the capture.
    before: Event,
    /// The kernels, in the order of their launches.
    kernels: Vec<Node>,
}

/// A kernel of a graph.
#[derive(Clone, Copy)]
pub(super) struct Node {
    pub node: sys::CUgraphNode,
    /// Whether its launch is cooperative.
    pub cooperative: bool,
}

// SAFETY: a handle of the driver, which may be used from any thread.
unsafe impl Send for Node {}

impl Queue {
    /// Creates a stream in the current context.
    pub fn new(attempt: impl Fn() -> String) -> Result<Self> {
        Ok(Self { stream: Stream::Own(RawQueue::new(attempt)?), capture: Mutex::default() })
    }

    /// Uses a stream of the caller, which outlives this one.
    pub fn adopt(stream: sys::CUstream) -> Self {
        Self { stream: Stream::Adopted(stream), capture: Mutex::default() }
    }

    /// The driver's handle.
    pub fn raw(&self) -> sys::CUstream {
        match &self.stream {
            Stream::Own(stream) => stream.0,
            Stream::Adopted(stream) => *stream,
        }
    }

    /// Whether the stream's work is recorded.
    pub fn is_capturing(&self) -> bool {
        lock(&self.capture).is_some()
    }

    /// The event in front of the capture, if there is one.
    pub fn before_capture(&self) -> Option<sys::CUevent> {
        lock(&self.capture).as_ref().map(|capture| capture.before.raw())
    }

    /// Rejects what a graph cannot contain.
    ///
    /// # Errors
    /// [`Error::Capturing`] in a capture.
    pub fn refuse_in_capture(&self, attempt: &'static str) -> Result<()> {
        if self.is_capturing() { Err(Error::Capturing { attempt }) } else { Ok(()) }
    }

    /// Waits until everything launched in the stream has ended.
    pub fn synchronize(&self, attempt: impl Fn() -> String) -> Result<()> {
        self.refuse_in_capture("waiting")?;
        // SAFETY: the stream exists.
        check(unsafe { sys::cuStreamSynchronize(self.raw()) }, attempt)
    }

    /// Notes that a capture has begun behind the event.
    pub fn begin(&self, before: Event) {
        *lock(&self.capture) = Some(Capture { before, kernels: Vec::new() });
    }

    /// Notes that the capture ends, and returns its kernels.
    pub fn end(&self) -> Vec<Node> {
        lock(&self.capture).take().map(|capture| capture.kernels).unwrap_or_default()
    }

    /// In a capture, stores the node of the kernel that was just launched, cooperatively or not.
    pub fn note_kernel(&self, cooperative: bool) -> Result<()> {
        let mut capture = lock(&self.capture);
        let Some(capture) = &mut *capture else { return Ok(()) };
        let mut status = sys::CUstreamCaptureStatus::CU_STREAM_CAPTURE_STATUS_NONE;
        let (mut nodes, mut count) = (std::ptr::null(), 0);
        // SAFETY: the arguments point to room for the results, or are null where none is wanted.
        let result = unsafe {
            sys::cuStreamGetCaptureInfo_v2(
                self.raw(),
                &mut status,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                &mut nodes,
                &mut count,
            )
        };
        check(result, || "capturing a kernel".into())?;
        if count != 1 {
            return Err(Error::Device(format!("capturing a kernel: the driver reports {count} last nodes, not one")));
        }
        // SAFETY: the driver returned an array of one node, which is valid until the next call for this stream.
        capture.kernels.push(Node { node: unsafe { *nodes }, cooperative });
        Ok(())
    }
}
