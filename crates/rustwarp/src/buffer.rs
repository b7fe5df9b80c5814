//! Typed device memory.

use crate::device::Device;
use crate::error::{Error, Result};
use crate::handle::Handle;
use bytemuck::Pod;
use cuda_std::launch::{PtrMut, Slice};
use std::marker::PhantomData;

/// Device memory for `len` elements, released on drop.
///
/// A `Buffer<T>` keeps its [`Device`] open. [`backend::Buffer`](crate::backend::Buffer) is the same memory for code
/// that borrows a [`Backend`](crate::Backend).
pub struct Buffer<T, H: Handle = Device> {
    device: H,
    address: u64,
    len: usize,
    marker: PhantomData<T>,
}

/// Memory of a device.
impl Device {
    /// Copies `values` to the device.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn upload<T: Pod>(&self, values: &[T]) -> Result<Buffer<T>> {
        Buffer::from_slice(self.clone(), values, "buffer")
    }

    /// Allocates `len` elements whose bytes are all 0.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn zeros<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let buffer = self.uninit::<T>(len)?;
        if len > 0 {
            self.backend().fill(buffer.address(), 0, buffer.bytes())?;
        }
        Ok(buffer)
    }

    /// Allocates `len` elements that hold no defined value until a kernel writes them.
    ///
    /// # Errors
    /// As [`Device::upload`].
    pub fn uninit<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        Buffer::uninit(self.clone(), len, "buffer")
    }

    /// Checks that the buffer lies on this device; `what` names it in the error.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if it does not.
    pub(crate) fn require<T: Pod>(&self, buffer: &Buffer<T>, what: &'static str) -> Result<()> {
        if self.is(buffer.device()) {
            return Ok(());
        }
        let [expected, found] = [self, buffer.device()].map(|device| device.info().device.clone());
        Err(Error::OtherDevice { what, expected, found })
    }
}

impl<T: Pod> Buffer<T> {
    /// The device that holds the memory.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Copies all elements to the host, after everything launched before has ended.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if the copy fails, on a GPU also because an earlier launch did.
    pub fn download(&self) -> Result<Vec<T>> {
        self.read(self.len)
    }
}

impl<T: Pod, H: Handle> Buffer<T, H> {
    /// Allocates uninitialised elements; `name` appears in messages.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn uninit(device: H, len: usize, name: &str) -> Result<Self> {
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64).ok_or_else(|| {
            let size = size_of::<T>();
            Error::Usage(format!("`{name}`: {len} elements of {size} bytes need more bytes than 64 bits can represent"))
        })?;
        let address = device.backend().alloc(bytes, align_of::<T>() as u64, name)?;
        Ok(Self { device, address, len, marker: PhantomData })
    }

    /// Allocates a buffer with a copy of `values`; `name` appears in messages.
    ///
    /// # Errors
    /// Those of [`Buffer::uninit`] and [`Buffer::write`].
    pub fn from_slice(device: H, values: &[T], name: &str) -> Result<Self> {
        let buffer = Self::uninit(device, values.len(), name)?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Overwrites the first elements with `values`.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if the copy fails, on a GPU also because an earlier launch did.
    ///
    /// # Panics
    /// Panics if there are more values than elements.
    pub fn write(&self, values: &[T]) -> Result<()> {
        assert!(values.len() <= self.len, "writing {} elements into {}", values.len(), self.len);
        self.device.backend().write(self.address, bytemuck::cast_slice(values))
    }

    /// Copies the first `len` elements to the host, after everything launched before has ended.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if the copy fails, on a GPU also because an earlier launch did.
    ///
    /// # Panics
    /// Panics if the buffer has fewer elements.
    pub fn read(&self, len: usize) -> Result<Vec<T>> {
        assert!(len <= self.len, "reading {len} elements of {}", self.len);
        let mut values = vec![<T as bytemuck::Zeroable>::zeroed(); len];
        self.device.backend().read(self.address, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// The first `len` elements as the argument of a kernel that reads them.
    ///
    /// # Panics
    /// Panics if the buffer has fewer elements.
    pub fn slice(&self, len: usize) -> Slice<'_, T> {
        assert!(len <= self.len, "a slice of {len} elements of {}", self.len);
        // SAFETY: the memory lives as long as the buffer, which the slice borrows.
        unsafe { Slice::new(self.address, len) }
    }

    /// The first element's address as the argument of a kernel that writes.
    pub fn ptr(&self) -> PtrMut<'_, T> {
        // SAFETY: the memory lives as long as the buffer, which the pointer borrows.
        unsafe { PtrMut::new(self.address) }
    }
}

impl<T, H: Handle> Buffer<T, H> {
    /// Number of elements.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether the buffer has no elements.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Device address of the first element.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }
}

impl<T, H: Handle> Drop for Buffer<T, H> {
    fn drop(&mut self) {
        self.device.backend().free(self.address);
    }
}

impl<T, H: Handle> std::fmt::Debug for Buffer<T, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let device = &self.device.backend().info().device;
        write!(f, "Buffer<{}>({} elements on {device})", std::any::type_name::<T>(), self.len)
    }
}
