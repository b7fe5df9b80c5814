//! Typed device memory.

mod order;
mod output;
mod view;

pub use view::{View, ViewMut};

use super::allocation::{Allocation, Owner};
use super::handle::Handle;
use super::interface::Backend;
use super::queue::Use;
use super::stream::Stream;
use crate::error::{Error, Result};
use bytemuck::Pod;
use cuda_std::launch::{PtrMut, Slice};
use std::marker::PhantomData;
use std::ops::RangeBounds;
use std::sync::Arc;
use view::copy;

/// Device memory for `len` elements, released on drop, in the order of the stream in which it was allocated. `H` holds
/// the device.
///
/// [`rustwarp::Buffer`](crate::Buffer) keeps its device open; [`backend::Buffer`](Buffer) borrows it.
pub struct Memory<T, H: Handle> {
    device: H,
    allocation: Arc<Allocation>,
    len: usize,
    marker: PhantomData<T>,
}

/// The stream in which memory of this handle is allocated, if that releases it.
fn home<H: Handle>(device: &H) -> Option<Arc<Stream>> {
    device.queue().map(|queue| Arc::clone(queue.stream()))
}

/// Device memory that borrows its device.
pub type Buffer<'d, T> = Memory<T, &'d dyn Backend>;

impl<T: Pod, H: Handle> Memory<T, H> {
    /// Allocates uninitialised elements; `name` appears in messages.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the device has less memory free; [`Error::Argument`] for a size that 64 bits cannot
    /// represent.
    pub fn uninit(device: H, len: usize, name: &str) -> Result<Self> {
        let bytes = (len as u64).checked_mul(size_of::<T>() as u64).ok_or_else(|| {
            let size = size_of::<T>();
            Error::Argument(format!(
                "`{name}`: {len} elements of {size} bytes need more bytes than 64 bits can represent"
            ))
        })?;
        let address = device.backend().alloc(bytes, align_of::<T>() as u64, name)?;
        let allocation = Arc::new(Allocation::new(address, home(&device), Owner::Library));
        Ok(Self { device, allocation, len, marker: PhantomData })
    }

    /// Memory of another library, which is not released here.
    ///
    /// # Safety
    /// The memory has `len` elements, and stays allocated as long as its owner, or as long as this value if that is a
    /// lender.
    pub(crate) unsafe fn foreign(device: H, address: u64, len: usize, owner: Owner) -> Self {
        let allocation = Arc::new(Allocation::new(address, home(&device), owner));
        Self { device, allocation, len, marker: PhantomData }
    }

    /// Memory of an address that [`Memory::into_address`] returned.
    ///
    /// # Safety
    /// The device's `alloc` returned the address for at least `len` elements, and nothing else releases it.
    pub(crate) unsafe fn from_address(device: H, address: u64, len: usize) -> Self {
        let allocation = Arc::new(Allocation::new(address, home(&device), Owner::Library));
        Self { device, allocation, len, marker: PhantomData }
    }

    /// Allocates a buffer with a copy of `values`; `name` appears in messages.
    ///
    /// # Errors
    /// Those of [`Memory::uninit`] and [`Memory::write`].
    pub fn from_slice(device: H, values: &[T], name: &str) -> Result<Self> {
        let buffer = Self::uninit(device, values.len(), name)?;
        // SAFETY: the memory was allocated above for as many elements.
        unsafe { buffer.device.backend().initialise(buffer.address(), bytemuck::cast_slice(values))? };
        Ok(buffer)
    }

    /// Allocates a buffer whose bytes are all 0; `name` appears in messages.
    ///
    /// # Errors
    /// Those of [`Memory::uninit`] and [`Memory::fill`].
    pub fn zeros(device: H, len: usize, name: &str) -> Result<Self> {
        let buffer = Self::uninit(device, len, name)?;
        if len > 0 {
            // SAFETY: the memory was allocated above with this size.
            unsafe { buffer.device.backend().clear(buffer.address(), buffer.bytes())? };
        }
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
        let part = self.view(..values.len())?;
        part.writes().wait(&self.device)?;
        // SAFETY: the memory is this buffer's, which has at least as many elements.
        unsafe { self.device.backend().write(part.address(), bytemuck::cast_slice(values)) }
    }

    /// Copies all elements to the host, after everything launched before has ended.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if the copy fails, on a GPU also because an earlier launch did.
    pub fn download(&self) -> Result<Vec<T>> {
        self.whole().download()
    }

    /// Copies all elements to `values`, after everything launched before has ended.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another number of values, and those of [`Memory::download`].
    pub fn download_into(&self, values: &mut [T]) -> Result<()> {
        self.whole().download_into(values)
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
        self.view(..len)?.download()
    }

    /// Sets every byte of the memory, in stream order.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if an earlier launch failed.
    pub fn fill(&self, byte: u8) -> Result<()> {
        view::fill(self.whole(), byte)
    }

    /// Copies all elements of `from`, on the same device, to the first elements of this memory, in stream order.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for memory of another device, [`Error::Mismatch`] for more elements than this memory has
    /// and for elements of this memory, and the errors of [`Memory::fill`].
    pub fn copy_from<'a>(&'a self, from: impl Into<View<'a, T, H>>) -> Result<()>
    where
        H: 'a,
    {
        let from = from.into();
        if from.len() > self.len {
            return Err(Error::Mismatch(format!("copying {} elements into {}", from.len(), self.len)));
        }
        copy(from, self.view(..from.len())?)
    }

    /// The first `len` elements as the argument of a kernel that reads them.
    ///
    /// # Panics
    /// Panics if the buffer has fewer elements.
    pub fn slice(&self, len: usize) -> Slice<'_, T> {
        assert!(len <= self.len, "a slice of {len} elements of {}", self.len);
        // SAFETY: the memory lives as long as the buffer, which the slice borrows.
        unsafe { Slice::new(self.address(), len) }
    }

    /// The first element's address as the argument of a kernel that writes through a raw pointer.
    pub fn ptr(&self) -> PtrMut<'_, T> {
        // SAFETY: the memory lives as long as the buffer, which the pointer borrows.
        unsafe { PtrMut::new(self.address()) }
    }
}

impl<T, H: Handle> Memory<T, H> {
    /// The device that holds the memory.
    pub fn device(&self) -> &H {
        &self.device
    }

    /// Elements of this memory, which functions read; `..` for all.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a range that goes beyond the memory, or ends before it begins.
    pub fn view(&self, range: impl RangeBounds<usize>) -> Result<View<'_, T, H>> {
        self.whole().view(range)
    }

    /// Elements of this memory, which functions write; `..` for all.
    ///
    /// # Errors
    /// Those of [`Memory::view`].
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T, H>> {
        ViewMut::from(self).into_range(range)
    }

    /// The elements before `mid`, and the others.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there are fewer than `mid` elements.
    pub fn split_at(&self, mid: usize) -> Result<(View<'_, T, H>, View<'_, T, H>)> {
        self.whole().split_at(mid)
    }

    /// The elements before `mid`, and the others, which may be written independently.
    ///
    /// # Errors
    /// Those of [`Memory::split_at`].
    pub fn split_at_mut(&mut self, mid: usize) -> Result<(ViewMut<'_, T, H>, ViewMut<'_, T, H>)> {
        ViewMut::from(self).split_at(mid)
    }

    fn whole(&self) -> View<'_, T, H> {
        View::from(self)
    }

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
        self.allocation.address
    }

    /// Gives up the memory without releasing it, and returns its address.
    ///
    /// # Errors
    /// [`Error::Argument`] if a graph uses the memory, and for memory of another library.
    pub(crate) fn into_address(self) -> Result<u64> {
        if self.is_foreign() {
            let text = "the memory belongs to another library, which releases it: give up a copy";
            return Err(Error::Argument(text.to_owned()));
        }
        let allocation = Arc::clone(&self.allocation);
        drop(self);
        match Arc::try_unwrap(allocation) {
            Ok(allocation) => allocation.release(),
            Err(_) => Err(Error::Argument("a graph uses the memory: drop the graph first".to_owned())),
        }
    }

    /// Whether the memory belongs to another library.
    pub(crate) fn is_foreign(&self) -> bool {
        self.allocation.is_foreign()
    }

    /// The memory as scratch memory of work that reads and writes it.
    pub(crate) fn writes(&self) -> Use<'_> {
        Use { allocation: &self.allocation, writes: true }
    }

    /// The memory as an operand of work.
    pub(crate) fn reads(&self) -> Use<'_> {
        Use { allocation: &self.allocation, writes: false }
    }

    /// Size in bytes.
    pub fn bytes(&self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }
}

impl<T, H: Handle> Drop for Memory<T, H> {
    fn drop(&mut self) {
        if self.allocation.is_borrowed() {
            // SAFETY: `uninit` allocated the memory on this device, and nothing uses it after the drop.
            unsafe { self.device.backend().free(self.address()) };
        }
    }
}

impl<T, H: Handle> std::fmt::Debug for Memory<T, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let device = &self.device.backend().info().device;
        write!(f, "Buffer<{}>({} elements on {device})", std::any::type_name::<T>(), self.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::{Checks, Choice, open};

    #[test]
    fn memory_is_filled_and_copied_within_its_limits() {
        let [one, other] = [(); 2].map(|()| open(Choice::Sim, Checks::Bounds).expect("the simulator").0);
        let long = Buffer::from_slice(&*one, &[1_u16, 2, 3], "long").expect("memory");
        let short = Buffer::<u16>::uninit(&*one, 2, "short").expect("memory");
        short.fill(0x11).expect("a fill");
        long.copy_from(&short).expect("a copy");
        assert_eq!(long.download().expect("values"), [0x1111, 0x1111, 3]);
        assert!(matches!(short.copy_from(&long), Err(Error::Mismatch(_))));
        let elsewhere = Buffer::<u16>::uninit(&*other, 2, "elsewhere").expect("memory");
        assert!(matches!(long.copy_from(&elsewhere), Err(Error::OtherDevice { .. })));
    }
}
