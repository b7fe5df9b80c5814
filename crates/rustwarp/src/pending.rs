//! Results that are awaited, and the asynchronous copies that produce them.

use crate::backend::{Block, Streams, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::pinned::PinnedBuffer;
use bytemuck::Pod;

/// A result that a device is still computing or copying. [`Pending::wait`] returns it, or the error of the work.
///
/// A dropped `Pending` waits for nothing: the work goes on, and its memory is reused when it has ended.
#[must_use = "the work's error is reported where its result is awaited"]
pub struct Pending<R> {
    flight: Flight,
    finish: Finish<R>,
}

/// Turns the copied memory into the result.
type Finish<R> = Box<dyn FnOnce(&Device, Block) -> R + Send>;

/// Pinned memory that a copy uses until an event.
struct Flight {
    device: Device,
    block: Option<Block>,
    /// Recorded behind the copy.
    event: Option<Event>,
}

impl<R> Pending<R> {
    /// Waits until the work has ended, and returns its result.
    ///
    /// # Errors
    /// [`Error::Fault`] if a kernel of the stream faulted, [`Error::Device`] if the driver fails.
    pub fn wait(mut self) -> Result<R> {
        if let Some(event) = &self.flight.event {
            event.synchronize()?;
        }
        let block = self.flight.block.take();
        let block = block.ok_or_else(|| Error::Device("the memory of a pending copy is gone".to_owned()))?;
        Ok((self.finish)(&self.flight.device, block))
    }

    /// Whether the work has ended, so that [`Pending::wait`] returns at once.
    ///
    /// # Errors
    /// Those of [`Pending::wait`].
    pub fn is_ready(&self) -> Result<bool> {
        self.flight.event.as_ref().map_or(Ok(true), Event::is_reached)
    }
}

impl Drop for Flight {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            let pinned = &self.device.shared().pinned;
            match self.event.take().and_then(Event::into_number) {
                Some(event) => pinned.give_after(block, event),
                None if self.device.synchronize().is_ok() => pinned.give(block),
                // The end of the copy is unknown, so the memory is not used again.
                None => {}
            }
        }
    }
}

impl<R> std::fmt::Debug for Pending<R> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Pending<{}>(on {:?})", std::any::type_name::<R>(), self.flight.device)
    }
}

/// Asynchronous copies, in the order of this handle's stream.
impl Device {
    /// Starts a copy of the elements to the host.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for memory of another device, [`Error::Capturing`] in a capture,
    /// [`Error::OutOfMemory`] if this machine cannot pin as much, and the errors of the device.
    pub fn download_async<'a, T: Pod + Send>(&self, from: impl Into<View<'a, T>>) -> Result<Pending<Vec<T>>> {
        self.fetch(from.into(), |values| values.to_vec())
    }

    /// Starts a copy of the elements to pinned memory, which is given back where the copy is awaited.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another length, [`Error::OtherDevice`] for memory or pinned memory of another device,
    /// [`Error::Capturing`] in a capture, and the errors of the device. The pinned memory is released then.
    pub fn download_pinned<'a, T: Pod + Send>(
        &self,
        from: impl Into<View<'a, T>>,
        to: PinnedBuffer<T>,
    ) -> Result<Pending<PinnedBuffer<T>>> {
        let (from, len) = (from.into(), to.len());
        from.require(self, len, "the source of the copy")?;
        self.start("copying to memory of the host", to, |streams, memory| {
            // SAFETY: the pinned memory has as many bytes, and nothing accesses it until the event behind the copy.
            let copy = || unsafe { streams.read_async(from.address(), memory.memory(), from.bytes() as usize) };
            self.queue().work(&[from.reads()], copy)
        })
    }

    /// Starts a copy of pinned memory to the device, which is given back where the copy is awaited.
    ///
    /// # Errors
    /// Those of [`Device::download_pinned`].
    pub fn upload_pinned<'a, T: Pod + Send>(
        &self,
        from: PinnedBuffer<T>,
        to: impl Into<ViewMut<'a, T>>,
    ) -> Result<Pending<PinnedBuffer<T>>> {
        let to = to.into();
        let to = to.as_view();
        to.require(self, from.len(), "the destination of the copy")?;
        self.send(from, to)
    }

    /// A copy of the elements on this device and in this stream. Elements of another device are copied directly where
    /// the devices can, else through the host, which waits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has less memory free, and the errors of both devices.
    pub fn copy<'a, T: Pod>(&self, from: impl Into<View<'a, T>>) -> Result<Buffer<T>> {
        let from = from.into();
        let mut to = self.uninit::<T>(from.len())?;
        let (own, other) = (self.streams()?, from.device().streams()?);
        if own.id() == other.id() {
            to.view_mut(..)?.copy_from(from)?;
            return Ok(to);
        }
        // SAFETY: the lengths are equal, and the elements lie in memory of the other device.
        let copy = || unsafe { own.copy_across(to.address(), other, from.address(), from.bytes()) };
        // Between GPUs, this stream waits for the work that writes the elements, and their stream for the copy.
        let uses = [from.reads()];
        let uses = if own.raw().is_some() && other.raw().is_some() { &uses[..] } else { &[] };
        let copied = from.is_empty() || self.queue().work(uses, copy)?;
        if !copied {
            to.write(&from.download()?)?;
        }
        Ok(to)
    }

    /// Starts a copy of the elements, from which `finish` makes the result.
    pub(crate) fn fetch<T: Pod + Send, R>(
        &self,
        from: View<'_, T>,
        finish: impl FnOnce(&[T]) -> R + Send + 'static,
    ) -> Result<Pending<R>> {
        let pinned = PinnedBuffer::<T>::unspecified(self, from.len())?;
        let Pending { flight, finish: values } = self.download_pinned(from, pinned)?;
        Ok(Pending { flight, finish: Box::new(move |device, block| finish(&values(device, block))) })
    }

    /// Starts a copy of pinned memory to as many bytes of the device.
    pub(crate) fn send<T: Pod, U: Pod>(
        &self,
        from: PinnedBuffer<T>,
        to: View<'_, U>,
    ) -> Result<Pending<PinnedBuffer<T>>> {
        self.start("copying from memory of the host", from, |streams, memory| {
            // SAFETY: the pinned memory has as many bytes, and nothing accesses it until the event behind the copy.
            let copy = || unsafe { streams.write_async(to.address(), memory.memory(), to.bytes() as usize) };
            self.queue().work(&[to.writes()], copy)
        })
    }

    /// Starts a copy from or to pinned memory.
    fn start<T: Pod>(
        &self,
        attempt: &'static str,
        pinned: PinnedBuffer<T>,
        copy: impl FnOnce(&dyn Streams, &Block) -> Result<()>,
    ) -> Result<Pending<PinnedBuffer<T>>> {
        self.refuse_in_capture(attempt)?;
        pinned.require_on(self)?;
        let (streams, len) = (self.streams()?, pinned.len());
        let mut flight = Flight { device: self.clone(), block: pinned.into_block(), event: None };
        if let Some(block) = &flight.block {
            copy(streams, block)?;
        }
        flight.event = Some(Event::new(self, false)?);
        Ok(Pending { flight, finish: Box::new(move |device, block| PinnedBuffer::of(device, block, len)) })
    }
}
