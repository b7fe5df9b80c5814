//! Pinned memory of the host, which devices access without staging, so that copies are asynchronous.

use crate::backend::{Block, Handle, require_same_device};
use crate::device::Device;
use crate::error::{Error, Result};
use bytemuck::Pod;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

/// Memory of the host that a device copies to and from asynchronously. It is a slice of its elements.
///
/// An asynchronous copy takes the buffer, and gives it back where the copy is awaited. So nothing reads or writes it
/// meanwhile, and dropping what is awaited is safe: the memory is reused after the copy has ended.
pub struct PinnedBuffer<T> {
    device: Device,
    /// `None` after the memory was given away.
    block: Option<Block>,
    len: usize,
    marker: PhantomData<T>,
}

impl Device {
    /// Allocates pinned memory for `len` elements whose bytes are all 0.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if this machine cannot pin as much.
    pub fn pinned<T: Pod>(&self, len: usize) -> Result<PinnedBuffer<T>> {
        let bytes = PinnedBuffer::<T>::size(len)?;
        Ok(PinnedBuffer::of(self, self.shared().pinned.zeros(bytes)?, len))
    }

    /// Allocates pinned memory with a copy of `values`.
    ///
    /// # Errors
    /// Those of [`Device::pinned`].
    pub fn pinned_from<T: Pod>(&self, values: &[T]) -> Result<PinnedBuffer<T>> {
        let mut buffer = PinnedBuffer::unspecified(self, values.len())?;
        buffer.copy_from_slice(values);
        Ok(buffer)
    }
}

impl<T: Pod> PinnedBuffer<T> {
    /// Allocates elements with any values.
    pub(crate) fn unspecified(device: &Device, len: usize) -> Result<Self> {
        Ok(Self::of(device, device.shared().pinned.take(Self::size(len)?)?, len))
    }

    /// Number of bytes of as many elements.
    fn size(len: usize) -> Result<usize> {
        const { assert!(align_of::<T>() <= 64, "pinned memory is aligned to 64 bytes") };
        len.checked_mul(size_of::<T>()).ok_or_else(|| {
            Error::OutOfMemory(format!("{len} elements of pinned memory are more than an address space has"))
        })
    }

    /// Checks that the memory belongs to this device: another one would release it otherwise than it was allocated.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if it does not.
    pub(crate) fn require_on(&self, device: &Device) -> Result<()> {
        require_same_device(device.backend(), self.device.backend(), "the pinned memory")
    }

    /// The elements at the start of a block.
    pub(crate) fn of(device: &Device, block: Block, len: usize) -> Self {
        debug_assert!(block.bytes() >= len * size_of::<T>());
        Self { device: device.clone(), block: Some(block), len, marker: PhantomData }
    }

    /// The same memory as another number of elements.
    ///
    /// # Panics
    /// Panics if the memory has fewer bytes.
    pub(crate) fn with_len(mut self, len: usize) -> Self {
        let bytes = self.block.as_ref().map_or(0, Block::bytes);
        let fits = len.checked_mul(size_of::<T>()).is_some_and(|needed| needed <= bytes);
        assert!(fits, "{len} elements in {bytes} bytes");
        self.len = len;
        self
    }

    /// Gives the memory away.
    pub(crate) fn into_block(mut self) -> Option<Block> {
        self.block.take()
    }

    fn pointer(&self) -> *mut T {
        // The block is taken only where the buffer is consumed.
        self.block.as_ref().map_or(NonNull::dangling(), |block| block.memory().cast()).as_ptr()
    }

    fn present(&self) -> usize {
        if self.block.is_some() { self.len } else { 0 }
    }
}

impl<T: Pod> Deref for PinnedBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the block holds as many initialised elements, aligned to 64 bytes; no copy uses it.
        unsafe { std::slice::from_raw_parts(self.pointer(), self.present()) }
    }
}

impl<T: Pod> DerefMut for PinnedBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as in `deref`; the buffer is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.pointer(), self.present()) }
    }
}

impl<T> Drop for PinnedBuffer<T> {
    fn drop(&mut self) {
        if let Some(block) = self.block.take() {
            self.device.shared().pinned.give(block);
        }
    }
}

impl<T: Pod + std::fmt::Debug> std::fmt::Debug for PinnedBuffer<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        (**self).fmt(f)
    }
}
