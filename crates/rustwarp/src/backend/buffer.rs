//! Typed device memory.

use super::Backend;
use crate::error::{Error, Result};
use bytemuck::Pod;
use cuda_std::launch::{PtrMut, Slice};
use std::marker::PhantomData;

/// Device memory for `len` elements, given back on drop.
pub struct Buffer<'d, T> {
    device: &'d dyn Backend,
    address: u64,
    len: usize,
    marker: PhantomData<T>,
}

impl<'d, T: Pod> Buffer<'d, T> {
    /// Uninitialised elements.
    pub fn uninit(device: &'d dyn Backend, len: usize, name: &str) -> Result<Self> {
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64).ok_or_else(|| {
            let size = size_of::<T>();
            Error::Usage(format!("'{name}': {len} elements of {size} bytes are more bytes than fit in 64 bits"))
        })?;
        Ok(Self { device, address: device.alloc(bytes, align_of::<T>() as u64, name)?, len, marker: PhantomData })
    }

    /// The elements of `values`.
    pub fn from_slice(device: &'d dyn Backend, values: &[T], name: &str) -> Result<Self> {
        let buffer = Self::uninit(device, values.len(), name)?;
        buffer.write(values)?;
        Ok(buffer)
    }

    /// Overwrites the first elements.
    pub fn write(&self, values: &[T]) -> Result<()> {
        assert!(values.len() <= self.len, "writing {} elements into {}", values.len(), self.len);
        self.device.write(self.address, bytemuck::cast_slice(values))
    }

    /// Copies the first `len` elements back.
    pub fn read(&self, len: usize) -> Result<Vec<T>> {
        assert!(len <= self.len, "reading {len} elements of {}", self.len);
        let mut values = vec![<T as bytemuck::Zeroable>::zeroed(); len];
        self.device.read(self.address, bytemuck::cast_slice_mut(&mut values))?;
        Ok(values)
    }

    /// The first `len` elements, as a kernel takes them that only reads.
    pub fn slice(&self, len: usize) -> Slice<'_, T> {
        assert!(len <= self.len, "a slice of {len} elements of {}", self.len);
        // SAFETY: the memory lives as long as the buffer, which the slice borrows.
        unsafe { Slice::new(self.address, len) }
    }

    /// The start, as a kernel takes it that writes.
    pub fn ptr(&self) -> PtrMut<'_, T> {
        // SAFETY: the memory lives as long as the buffer, which the pointer borrows.
        unsafe { PtrMut::new(self.address) }
    }
}

impl<T> Buffer<'_, T> {
    /// Device address.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Bytes.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }
}

impl<T> Drop for Buffer<'_, T> {
    fn drop(&mut self) {
        self.device.free(self.address);
    }
}
