//! Slices and streams of [`cudarc`](https://docs.rs/cudarc), with the feature `cudarc`: a program that keeps its data
//! in `CudaSlice`s calls this library's functions and kernels on them, without copies, in its own stream.
//!
//! ```no_run
//! use rustwarp::cudarc::Bridge;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let context = cudarc::driver::CudaContext::new(0)?;
//! let stream = context.default_stream();
//! let x = stream.clone_htod(&[1.0_f32, 2.0, 3.0])?;
//! let bridge = Bridge::new(&stream)?;
//! assert_eq!(bridge.sum(&bridge.read(&x)?)?, 6.0);
//! # Ok(())
//! # }
//! ```

use crate::backend::{Owner, RawStream, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, Result};
use bytemuck::Pod;
use cudarc::driver::{CudaSlice, CudaStream, DevicePtr, DevicePtrMut, DeviceRepr, SyncOnDrop};
use std::ops::Deref;
use std::sync::Arc;

/// A stream of cudarc as a [`Device`]. It dereferences to the device, whose work runs in the order of the stream.
///
/// Make one for a stream and keep it: it loads the kernels once, and its drop waits for all work of the context.
#[derive(Clone, Debug)]
pub struct Bridge {
    device: Device,
    stream: Arc<CudaStream>,
}

/// Memory of cudarc that work of a [`Bridge`] reads.
///
/// `&borrowed` is an operand of functions, but not in a capture: a graph would use the memory after this value is
/// dropped. cudarc's later work that writes the memory waits for the work that was started before.
pub struct Borrowed<'a, T> {
    // Fields are dropped in this order: the stream waits for other streams before cudarc records its event.
    buffer: Buffer<T>,
    _order: SyncOnDrop<'a>,
}

/// Memory of cudarc that work of a [`Bridge`] writes.
///
/// `&mut borrowed` is a result of functions, but not in a capture, as [`Borrowed`]. cudarc's later work that uses the
/// memory waits for the work that was started before this value is dropped.
pub struct BorrowedMut<'a, T> {
    // As in `Borrowed`.
    buffer: Buffer<T>,
    _order: SyncOnDrop<'a>,
}

impl Bridge {
    /// A device whose work runs in this stream.
    ///
    /// # Errors
    /// [`Error::NoDevice`] without a driver, [`Error::Device`] if the driver fails.
    pub fn new(stream: &Arc<CudaStream>) -> Result<Self> {
        let raw = RawStream { context: stream.context().cu_ctx().cast(), stream: stream.cu_stream().cast() };
        // SAFETY: the stream belongs to its context, and its owner keeps both.
        let device = unsafe { Device::from_raw(raw, Arc::clone(stream))? };
        Ok(Self { device, stream: Arc::clone(stream) })
    }

    /// The device, for plans and modules.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Borrows a `CudaSlice` or `CudaView` of the stream's context as an operand.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for memory of another context.
    pub fn read<'a, T: Pod, S: DevicePtr<T>>(&'a self, slice: &'a S) -> Result<Borrowed<'a, T>> {
        self.require(slice.stream())?;
        let (address, order) = slice.device_ptr(&self.stream);
        // SAFETY: the slice is borrowed, and the stream waits for the work that wrote it.
        let buffer = unsafe { Buffer::foreign(self.device.clone(), address, slice.len(), Owner::Lender) };
        Ok(Borrowed { buffer, _order: order })
    }

    /// Borrows a `CudaSlice` or `CudaViewMut` of the stream's context as a result.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for memory of another context.
    pub fn write<'a, T: Pod, S: DevicePtrMut<T>>(&'a self, slice: &'a mut S) -> Result<BorrowedMut<'a, T>> {
        self.require(slice.stream())?;
        let len = slice.len();
        let (address, order) = slice.device_ptr_mut(&self.stream);
        // SAFETY: the slice is borrowed mutably, and the stream waits for the work that used it.
        let buffer = unsafe { Buffer::foreign(self.device.clone(), address, len, Owner::Lender) };
        Ok(BorrowedMut { buffer, _order: order })
    }

    /// Takes a slice of the stream's context as a buffer, which releases it when it is dropped.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for memory of another context.
    pub fn take<T: Pod>(&self, slice: CudaSlice<T>) -> Result<Buffer<T>> {
        self.require(slice.stream())?;
        let (address, order) = slice.device_ptr(&self.stream);
        drop(order);
        let len = slice.len();
        // The slice is released in the order of its own stream, which is behind this one from here on.
        let owner = Taken { slice, stream: Arc::clone(&self.stream) };
        // SAFETY: the owner keeps the slice, and the stream waits for the work that wrote it.
        Ok(unsafe { Buffer::borrow_raw(&self.device, address, len, owner) })
    }

    /// Gives a buffer of this device away as a slice of its stream. Memory that was taken from another library is
    /// copied.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for memory of another device, [`Error::Argument`] if a graph uses the memory.
    pub fn give<T: Pod + DeviceRepr>(&self, buffer: Buffer<T>) -> Result<CudaSlice<T>> {
        self.device.will_write(&buffer)?;
        let len = buffer.len();
        let own = if buffer.is_foreign() { self.device.copy(&buffer)? } else { buffer };
        let address = own.into_raw()?;
        // SAFETY: the device has allocated the memory and does not release it; the stream waits for its other uses.
        Ok(unsafe { self.stream.upgrade_device_ptr(address, len) })
    }

    fn require(&self, stream: &CudaStream) -> Result<()> {
        if stream.context() == self.stream.context() {
            return Ok(());
        }
        let expected = self.device.info().device.clone();
        let found = format!("another context of cudarc, on gpu:{}", stream.context().ordinal());
        Err(Error::OtherDevice { what: "the slice", expected, found })
    }
}

impl Deref for Bridge {
    type Target = Device;

    fn deref(&self) -> &Device {
        &self.device
    }
}

/// A slice whose memory a [`Buffer`] uses.
struct Taken<T> {
    slice: CudaSlice<T>,
    stream: Arc<CudaStream>,
}

impl<T> Drop for Taken<T> {
    fn drop(&mut self) {
        // The slice's own stream releases the memory after the work of the buffer. An error here was left by an earlier
        // launch, which has reported it.
        let _ = self.slice.stream().join(&self.stream);
    }
}

impl<'a, T> From<&'a Borrowed<'_, T>> for View<'a, T> {
    fn from(borrowed: &'a Borrowed<'_, T>) -> Self {
        View::from(&borrowed.buffer)
    }
}

impl<'a, T> From<&'a BorrowedMut<'_, T>> for View<'a, T> {
    fn from(borrowed: &'a BorrowedMut<'_, T>) -> Self {
        View::from(&borrowed.buffer)
    }
}

impl<'a, T> From<&'a mut BorrowedMut<'_, T>> for ViewMut<'a, T> {
    fn from(borrowed: &'a mut BorrowedMut<'_, T>) -> Self {
        ViewMut::from(&mut borrowed.buffer)
    }
}
