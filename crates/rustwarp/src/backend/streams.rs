//! What a stream does asynchronously: events, copies of pinned memory, and graphs.

use super::identity::{DeviceId, Module};
use super::shape::Shape;
use crate::error::Result;
use cuda_std::launch::Call;
use std::ffi::c_void;
use std::ptr::NonNull;

/// Events, pinned memory and graphs of a stream, whose other calls are those of its [`Backend`](super::Backend).
///
/// Events and graphs are numbers that the device returned; [`Event`](crate::Event), [`Graph`](crate::Graph) and
/// [`PinnedBuffer`](crate::PinnedBuffer) are the safe interfaces.
///
/// # Safety
/// [`Backend`](super::Backend)'s proofs extend to these methods: `write_async` and `read_async` access no more than the
/// bytes that they are given, and have ended when an event that is recorded after them is reached; `pinned` returns
/// memory of the requested size, aligned to 64 bytes, until it is freed; and streams of equal `id` share their memory.
pub unsafe trait Streams: Send + Sync {
    /// Identifies the device: equal for all its streams, and for no other device of the process.
    fn id(&self) -> DeviceId;

    /// Whether everything launched in the stream has ended.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if a kernel faulted.
    fn is_idle(&self) -> Result<bool>;

    /// Creates an event and records it in the stream. In a capture, it marks the work before the capture.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    fn event(&self, timed: bool) -> Result<u64>;

    /// Makes the stream wait for an event of any device, without waiting on the host.
    ///
    /// # Errors
    /// Those of [`Streams::event`], and [`Error::Capturing`](crate::Error::Capturing) in a capture.
    ///
    /// # Safety
    /// The event was returned by [`Streams::event`] and is not freed.
    unsafe fn wait(&self, event: u64) -> Result<()>;

    /// Waits on the host until the event is reached.
    ///
    /// # Errors
    /// [`Error::Fault`](crate::Error::Fault) if a kernel before it faulted.
    ///
    /// # Safety
    /// That of [`Streams::wait`].
    unsafe fn await_event(&self, event: u64) -> Result<()>;

    /// Whether the event is reached.
    ///
    /// # Errors
    /// Those of [`Streams::await_event`].
    ///
    /// # Safety
    /// That of [`Streams::wait`].
    unsafe fn is_reached(&self, event: u64) -> Result<bool>;

    /// Milliseconds between two timed events that are reached; `None` on a device that measures no times.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for events that are not timed.
    ///
    /// # Safety
    /// That of [`Streams::wait`].
    unsafe fn elapsed(&self, from: u64, to: u64) -> Result<Option<f64>>;

    /// Releases an event.
    ///
    /// # Safety
    /// That of [`Streams::wait`]; the caller does not use the event again.
    unsafe fn free_event(&self, event: u64);

    /// Allocates memory of the host that the device accesses directly, so that copies are asynchronous.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if there is too little memory.
    fn pinned(&self, bytes: usize) -> Result<NonNull<u8>>;

    /// Releases pinned memory.
    ///
    /// # Safety
    /// [`Streams::pinned`] of this device returned the memory for this number of bytes, no copy uses it any more, and
    /// neither does the caller.
    unsafe fn free_pinned(&self, memory: NonNull<u8>, bytes: usize);

    /// Starts a copy of pinned memory to the device, in stream order.
    ///
    /// # Errors
    /// Those of [`Backend::write`](super::Backend::write), and [`Error::Capturing`](crate::Error::Capturing) in a
    /// capture.
    ///
    /// # Safety
    /// That of [`Backend::write`](super::Backend::write); the pinned memory has as many bytes, and is neither written
    /// nor freed until the copy has ended.
    unsafe fn write_async(&self, address: u64, from: NonNull<u8>, bytes: usize) -> Result<()>;

    /// Starts a copy from the device to pinned memory, in stream order.
    ///
    /// # Errors
    /// Those of [`Streams::write_async`].
    ///
    /// # Safety
    /// That of [`Backend::write`](super::Backend::write); the pinned memory has as many bytes, and is not accessed
    /// until the copy has ended.
    unsafe fn read_async(&self, address: u64, to: NonNull<u8>, bytes: usize) -> Result<()>;

    /// Starts a copy from memory of another device to this one's, in the order of this stream; `Ok(false)` if the two
    /// devices cannot copy directly.
    ///
    /// # Errors
    /// Those of [`Backend::write`](super::Backend::write).
    ///
    /// # Safety
    /// That of [`Backend::copy`](super::Backend::copy), with `from` on the other device.
    unsafe fn copy_across(&self, to: u64, other: &dyn Streams, from: u64, bytes: u64) -> Result<bool>;

    /// Whether the stream's work is recorded instead of run.
    fn is_capturing(&self) -> bool;

    /// From here to [`Streams::end_capture`], the work of the stream is recorded instead of run.
    ///
    /// # Errors
    /// [`Error::Capturing`](crate::Error::Capturing) in a capture.
    fn begin_capture(&self) -> Result<()>;

    /// Ends the capture and returns the recorded graph.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver rejects what was captured.
    fn end_capture(&self) -> Result<u64>;

    /// Prepares a graph for launches. The first launch does, too.
    ///
    /// # Errors
    /// Those of [`Streams::end_capture`].
    fn instantiate(&self, graph: u64) -> Result<()>;

    /// Starts the work of a graph, in the order of this stream.
    ///
    /// # Errors
    /// Those of [`Backend::launch`](super::Backend::launch), and [`Error::Capturing`](crate::Error::Capturing) in a
    /// capture.
    ///
    /// # Safety
    /// [`Streams::end_capture`] of this device returned the graph, which is not freed, and the contracts of its kernels
    /// hold.
    unsafe fn launch_graph(&self, graph: u64) -> Result<()>;

    /// Replaces the arguments and sizes of a graph's work by those of another graph with the same steps, which is
    /// freed.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the steps differ; then the first graph is unchanged.
    ///
    /// # Safety
    /// That of [`Streams::launch_graph`] for both graphs; the caller does not use `by` again.
    unsafe fn update_graph(&self, graph: u64, by: u64) -> Result<()>;

    /// Replaces the kernel launch of this index, counted from 0 in the order of the capture.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) if the graph has fewer launches, and the errors of
    /// [`Backend::launch`](super::Backend::launch).
    ///
    /// # Safety
    /// Those of [`Streams::launch_graph`] and [`Backend::launch`](super::Backend::launch).
    unsafe fn set_kernel(&self, graph: u64, index: usize, of: (Module, &Call<'_>, Shape)) -> Result<()>;

    /// Number of kernel launches of a graph.
    fn kernels(&self, graph: u64) -> usize;

    /// Releases a graph once its launches have ended.
    ///
    /// # Safety
    /// That of [`Streams::launch_graph`]; the caller does not use the graph again.
    unsafe fn free_graph(&self, graph: u64);

    /// Returns unused memory of the pool to the system.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    fn trim(&self) -> Result<()>;

    /// The driver's handles; `None` on the simulator.
    fn raw(&self) -> Option<RawStream>;
}

/// A stream of the CUDA driver, as other libraries know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawStream {
    /// The `CUcontext`.
    pub context: *mut c_void,
    /// The `CUstream`.
    pub stream: *mut c_void,
}
