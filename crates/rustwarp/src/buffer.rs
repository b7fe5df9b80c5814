//! Memory of a [`Device`].

use crate::backend::{Memory, View};
use crate::device::Device;
use crate::error::Result;
use bytemuck::Pod;

/// Device memory for `len` elements, which keeps its [`Device`] open and is released on drop.
pub type Buffer<T> = Memory<T, Device>;

/// Most bytes that an upload copies to pinned memory first.
const STAGED: usize = 1 << 20;

/// Memory of a device.
impl Device {
    /// Copies `values` to the device. Up to 1 MiB are copied in stream order, without waiting; for more, the call waits
    /// until everything launched in the stream has ended.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less memory free.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        let bytes = bytemuck::cast_slice::<T, u8>(values);
        if bytes.is_empty() || bytes.len() > STAGED || self.queue().is_capturing() || self.streams().is_err() {
            return Memory::from_slice(self.clone(), values, "buffer");
        }
        let buffer = self.uninit(values.len())?;
        // What is dropped here is the pinned memory, which is reused after the copy has ended.
        drop(self.send(self.pinned_from(bytes)?, View::from(&buffer))?);
        Ok(buffer)
    }

    /// Allocates `len` elements whose bytes are all 0.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Memory::zeros(self.clone(), len, "buffer")
    }

    /// Allocates `len` elements that hold no defined value until a kernel writes them.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn uninit<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Memory::uninit(self.clone(), len, "buffer")
    }
}
