//! Memory, contexts and streams of other libraries.

use crate::backend::{Foreign, Handle, Memory, Owner, RawStream, Streams, adopt};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::Result;
use bytemuck::Pod;
use std::any::Any;

/// Handles of the CUDA driver.
impl Device {
    /// A device of another library's context and stream, in whose order its work runs. `owner` is dropped after the
    /// device, its streams and its memory.
    ///
    /// # Errors
    /// [`Error::NoDevice`](crate::Error::NoDevice) without a driver, [`Error::Device`](crate::Error::Device) if the
    /// driver fails.
    ///
    /// # Safety
    /// The stream belongs to the context, and both exist as long as `owner`.
    pub unsafe fn from_raw(raw: RawStream, owner: impl Any + Send + Sync) -> Result<Self> {
        let owner: Foreign = Box::new(owner);
        // SAFETY: this function has the same contract.
        let backend = unsafe { adopt(raw, owner)? };
        let choice = format!("using {} ({}), in another library's context", backend.info().device, backend.info().name);
        Ok(Self::of(backend, choice))
    }

    /// The context and the stream, for calls of other libraries; `None` on the simulator. Both exist as long as the
    /// device.
    pub fn raw(&self) -> Option<RawStream> {
        self.backend().streams().and_then(Streams::raw)
    }
}

/// Memory of other libraries.
impl<T: Pod> Buffer<T> {
    /// Memory of another library, which is not released here; `owner` is dropped with the buffer, after the device's
    /// stream has been ordered behind all work that uses the memory.
    ///
    /// # Safety
    /// `len` elements at the address are allocated on the device as long as `owner`, and no work outside of the
    /// device's stream accesses them meanwhile, unless events order it.
    pub unsafe fn borrow_raw(device: &Device, address: u64, len: usize, owner: impl Any + Send + Sync) -> Self {
        // SAFETY: this function has the same contract.
        unsafe { Memory::foreign(device.clone(), address, len, Owner::Other(Box::new(owner))) }
    }

    /// Takes memory over, and releases it as the device's own, in the order of its stream: by `cuMemFreeAsync` on a
    /// GPU.
    ///
    /// # Safety
    /// [`Buffer::into_raw`] of the device, `cuMemAllocAsync` or `cuMemAlloc` in its context returned the address for at
    /// least `len` elements, and nothing else releases or uses them.
    pub unsafe fn from_raw(device: &Device, address: u64, len: usize) -> Self {
        // SAFETY: this function has the same contract.
        unsafe { Memory::from_address(device.clone(), address, len) }
    }

    /// Gives the memory up without releasing it: the address of the first element. The device's stream is ordered
    /// behind all work that uses it. [`Buffer::from_raw`] takes it back.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) if a graph uses the memory, which is released with the graph then,
    /// and for memory of another library.
    pub fn into_raw(self) -> Result<u64> {
        self.into_address()
    }
}
