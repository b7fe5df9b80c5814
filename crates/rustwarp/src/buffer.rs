//! Memory of a [`Device`].

use crate::backend::Memory;
use crate::device::Device;
use crate::error::Result;
use bytemuck::Pod;

/// Device memory for `len` elements, which keeps its [`Device`] open and is released on drop.
pub type Buffer<T> = Memory<T, Device>;

/// Memory of a device.
impl Device {
    /// Copies `values` to the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`](crate::Error::OutOfMemory) if the device has less memory free.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        Memory::from_slice(self.clone(), values, "buffer")
    }

    /// Allocates `len` elements whose bytes are all 0.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let buffer = self.uninit::<T>(len)?;
        buffer.fill(0)?;
        Ok(buffer)
    }

    /// Allocates `len` elements that hold no defined value until a kernel writes them.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn uninit<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Memory::uninit(self.clone(), len, "buffer")
    }
}
