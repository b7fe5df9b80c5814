//! Streams, events, pinned memory and graphs of a GPU.

use super::Gpu;
use super::event::Event;
use crate::backend::streams::{RawStream, Streams};
use crate::backend::{DeviceId, Module, Shape};
use crate::error::Result;
use cuda_std::launch::Call;
use std::ptr::NonNull;

// SAFETY: the driver copies the given bytes in stream order and reaches events in that order; pinned memory is aligned
// to pages; all streams of a `Card` use its context.
unsafe impl Streams for Gpu {
    fn id(&self) -> DeviceId {
        self.card.id()
    }

    fn is_idle(&self) -> Result<bool> {
        self.select()?.is_idle()
    }

    fn event(&self, timed: bool) -> Result<u64> {
        self.select()?.event(timed)
    }

    unsafe fn wait(&self, event: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.wait(event) }
    }

    unsafe fn await_event(&self, event: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.await_event(event) }
    }

    unsafe fn is_reached(&self, event: u64) -> Result<bool> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.is_reached(event) }
    }

    unsafe fn elapsed(&self, from: u64, to: u64) -> Result<Option<f64>> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.elapsed(from, to).map(Some) }
    }

    unsafe fn free_event(&self, event: u64) {
        // Without its context the event is not released. The failure was reported by an earlier call.
        if self.card.enter().is_ok() {
            // SAFETY: by contract this is the event's last use.
            drop(unsafe { Event::from_number(event) });
        }
    }

    fn pinned(&self, bytes: usize) -> Result<NonNull<u8>> {
        self.select()?.pinned(bytes)
    }

    unsafe fn free_pinned(&self, memory: NonNull<u8>, _bytes: usize) {
        // As in `free_event`.
        if let Ok(current) = self.select() {
            // SAFETY: this function has the same contract.
            unsafe { current.free_pinned(memory) };
        }
    }

    unsafe fn write_async(&self, address: u64, from: NonNull<u8>, bytes: usize) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.write_async(address, from, bytes) }
    }

    unsafe fn read_async(&self, address: u64, to: NonNull<u8>, bytes: usize) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.read_async(address, to, bytes) }
    }

    unsafe fn copy_across(&self, to: u64, other: &dyn Streams, from: u64, bytes: u64) -> Result<bool> {
        let Some(other) = other.raw() else { return Ok(false) };
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.copy_across(to, other.context.cast(), from, bytes) }.map(|()| true)
    }

    fn is_capturing(&self) -> bool {
        self.queue.is_capturing()
    }

    fn begin_capture(&self) -> Result<()> {
        self.select()?.begin_capture()
    }

    fn end_capture(&self) -> Result<u64> {
        self.select()?.end_capture()
    }

    fn instantiate(&self, graph: u64) -> Result<()> {
        self.select()?.instantiate(graph)
    }

    unsafe fn launch_graph(&self, graph: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.launch_graph(graph) }
    }

    unsafe fn update_graph(&self, graph: u64, by: u64) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.update_graph(graph, by) }
    }

    unsafe fn set_kernel(&self, graph: u64, index: usize, of: (Module, &Call<'_>, Shape)) -> Result<()> {
        // SAFETY: this function has the same contract.
        unsafe { self.select()?.set_kernel(graph, index, of) }
    }

    fn kernels(&self, graph: u64) -> usize {
        self.card.kernels(graph)
    }

    unsafe fn free_graph(&self, graph: u64) {
        // As in `free_event`.
        if let Ok(current) = self.select() {
            current.free_graph(graph);
        }
    }

    fn trim(&self) -> Result<()> {
        self.select()?.trim()
    }

    fn raw(&self) -> Option<RawStream> {
        Some(RawStream { context: self.card.context().cast(), stream: self.queue.raw().cast() })
    }
}
