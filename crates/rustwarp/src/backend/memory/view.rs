//! Parts of device memory: the operands and results of functions.

use super::Memory;
use super::order::ordered;
use crate::backend::queue::Use;
use crate::backend::{Handle, require_same_device};
use crate::device::Device;
use crate::error::{Error, Result};
use bytemuck::Pod;
use cuda_std::launch::{PtrMut, Slice};
use std::ops::{Bound, Range, RangeBounds};

/// Elements of device memory, which functions read.
///
/// Functions take `impl Into<View>`: `&buffer` for a whole buffer, or [`Memory::view`] for a part of it.
///
/// ```no_run
/// # let device = rustwarp::Device::default()?;
/// let x = device.upload(&[1_u32, 2, 3, 4])?;
/// assert_eq!(device.sum(x.view(1..3)?)?, 5);
/// # Ok::<(), rustwarp::Error>(())
/// ```
pub struct View<'a, T, H: Handle = Device> {
    memory: &'a Memory<T, H>,
    start: usize,
    len: usize,
}

/// Elements of device memory, which functions write. No other view of the same elements exists at the same time.
///
/// Functions take `impl Into<ViewMut>`: `&mut buffer` for a whole buffer, or [`Memory::view_mut`] for a part of it.
pub struct ViewMut<'a, T, H: Handle = Device>(View<'a, T, H>);

impl<'a, T, H: Handle> View<'a, T, H> {
    /// The device that holds the memory.
    pub fn device(self) -> &'a H {
        &self.memory.device
    }

    /// Number of elements.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether the view has no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Device address of the first element.
    pub fn address(self) -> u64 {
        self.memory.address() + (self.start * size_of::<T>()) as u64
    }

    /// Size in bytes.
    pub fn bytes(self) -> u64 {
        (self.len * size_of::<T>()) as u64
    }

    /// Elements of this view; `..` for all.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for a range that goes beyond the view, or ends before it begins.
    pub fn view(self, range: impl RangeBounds<usize>) -> Result<Self> {
        let Range { start, end } = within(self.len, range)?;
        Ok(Self { memory: self.memory, start: self.start + start, len: end - start })
    }

    /// The elements before `mid`, and the others.
    ///
    /// # Errors
    /// [`Error::Mismatch`] if there are fewer than `mid` elements.
    pub fn split_at(self, mid: usize) -> Result<(Self, Self)> {
        Ok((self.view(..mid)?, self.view(mid..)?))
    }

    /// The first `len` elements as the argument of a kernel that reads them.
    ///
    /// # Panics
    /// Panics if the view has fewer elements.
    pub fn slice(self, len: usize) -> Slice<'a, T> {
        assert!(len <= self.len, "a slice of {len} elements of {}", self.len);
        // SAFETY: the memory lives as long as the buffer, which the slice borrows.
        unsafe { Slice::new(self.address(), len) }
    }

    /// The first element's address as the argument of a kernel that writes.
    pub fn ptr(self) -> PtrMut<'a, T> {
        // SAFETY: the memory lives as long as the buffer, which the pointer borrows.
        unsafe { PtrMut::new(self.address()) }
    }

    /// Checks that the memory lies on this device and has `len` elements; `what` names it in the error.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] or [`Error::Mismatch`].
    pub(crate) fn require(self, device: &H, len: usize, what: &'static str) -> Result<()> {
        self.require_on(device, what)?;
        if self.len == len {
            return Ok(());
        }
        Err(Error::Mismatch(format!("{what} has {} elements, and {len} are needed", self.len)))
    }

    /// Checks that this memory can be the output of a kernel on this device: it has `len` elements, and none of them
    /// lies in the given bytes of inputs.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] or [`Error::Mismatch`].
    pub(crate) fn require_output(self, device: &H, len: usize, inputs: &[Range<u64>]) -> Result<()> {
        self.require(device, len, "the output")?;
        let own = self.span();
        let overlaps = |input: &Range<u64>| !input.is_empty() && input.start < own.end && own.start < input.end;
        if !own.is_empty() && inputs.iter().any(overlaps) {
            return Err(Error::Mismatch("the output overlaps an input: pass separate memory".to_owned()));
        }
        Ok(())
    }

    /// Checks that the memory lies on this device; `what` names it in the error.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] if it does not.
    pub(crate) fn require_on(self, device: &H, what: &'static str) -> Result<()> {
        require_same_device(device.backend(), self.device().backend(), what)
    }

    /// The view as an operand of work.
    pub(crate) fn reads(self) -> Use<'a> {
        self.memory.reads()
    }

    /// The view as a result of work.
    pub(crate) fn writes(self) -> Use<'a> {
        self.memory.writes()
    }

    /// The addresses of the bytes.
    pub(crate) fn span(self) -> Range<u64> {
        self.address()..self.address() + self.bytes()
    }
}

impl<T: Pod, H: Handle> View<'_, T, H> {
    /// Copies the elements to the host, after everything launched before has ended.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if the copy fails, on a GPU also because an earlier launch did.
    pub fn download(self) -> Result<Vec<T>> {
        let mut values = vec![<T as bytemuck::Zeroable>::zeroed(); self.len];
        self.download_into(&mut values)?;
        Ok(values)
    }

    /// Copies the elements to `values`, after everything launched before has ended.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another number of values, and those of [`View::download`].
    pub fn download_into(self, values: &mut [T]) -> Result<()> {
        if values.len() != self.len {
            let (len, have) = (self.len, values.len());
            return Err(Error::Mismatch(format!(
                "downloading {len} elements into a slice of {have}: pass one of {len}"
            )));
        }
        self.reads().wait(self.device())?;
        // SAFETY: the view's elements lie in its memory, which has as many bytes as the values.
        unsafe { self.device().backend().read(self.address(), bytemuck::cast_slice_mut(values)) }
    }
}

impl<'a, T, H: Handle> ViewMut<'a, T, H> {
    /// The device that holds the memory.
    pub fn device(&self) -> &'a H {
        self.0.device()
    }

    /// Number of elements.
    pub fn len(&self) -> usize {
        self.0.len
    }

    /// Whether the view has no elements.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The same elements, to be read.
    pub fn as_view(&self) -> View<'_, T, H> {
        self.0
    }

    /// Elements of this view; `..` for all.
    ///
    /// # Errors
    /// Those of [`View::view`].
    pub fn view_mut(&mut self, range: impl RangeBounds<usize>) -> Result<ViewMut<'_, T, H>> {
        self.0.view(range).map(ViewMut)
    }

    /// The elements before `mid`, and the others, which may be written independently.
    ///
    /// # Errors
    /// Those of [`View::split_at`].
    pub fn split_at(self, mid: usize) -> Result<(Self, Self)> {
        let (first, second) = self.0.split_at(mid)?;
        Ok((Self(first), Self(second)))
    }

    /// The first element's address as the argument of a kernel that writes.
    pub fn ptr(&mut self) -> PtrMut<'_, T> {
        self.0.ptr()
    }

    pub(super) fn into_range(self, range: impl RangeBounds<usize>) -> Result<Self> {
        self.0.view(range).map(Self)
    }
}

impl<T: Pod, H: Handle> ViewMut<'_, T, H> {
    /// Overwrites all elements with `values`, after everything launched before has ended.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for another number of values; [`Error::Device`] or [`Error::Fault`] if the copy fails, on a
    /// GPU also because an earlier launch did.
    pub fn write(&mut self, values: &[T]) -> Result<()> {
        if values.len() != self.len() {
            let (len, have) = (self.len(), values.len());
            return Err(Error::Mismatch(format!("writing {have} values into {len} elements: pass {len} values")));
        }
        self.0.writes().wait(self.device())?;
        // SAFETY: the view's elements lie in its memory, which has as many bytes as the values.
        unsafe { self.device().backend().write(self.0.address(), bytemuck::cast_slice(values)) }
    }

    /// Sets every byte, in stream order.
    ///
    /// # Errors
    /// [`Error::Device`] or [`Error::Fault`] if an earlier launch failed.
    pub fn fill(&mut self, byte: u8) -> Result<()> {
        fill(self.0, byte)
    }

    /// Copies the elements of `from`, on the same device, to this view, in stream order.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for memory of another device, [`Error::Mismatch`] for another number of elements, and the
    /// errors of [`ViewMut::fill`].
    pub fn copy_from<'b>(&'b mut self, from: impl Into<View<'b, T, H>>) -> Result<()>
    where
        H: 'b,
    {
        copy(from.into(), self.0)
    }
}

/// Sets every byte, in stream order.
pub(super) fn fill<T, H: Handle>(of: View<'_, T, H>, byte: u8) -> Result<()> {
    if of.is_empty() {
        return Ok(());
    }
    let device = of.device();
    // SAFETY: the view's elements lie in its memory.
    ordered(device, &[of.writes()], || unsafe { device.backend().fill(of.address(), byte, of.bytes()) })
}

/// Copies elements on their device, in stream order.
pub(super) fn copy<T: Pod, H: Handle>(from: View<'_, T, H>, to: View<'_, T, H>) -> Result<()> {
    from.require_on(to.device(), "the source of the copy")?;
    if from.len != to.len {
        return Err(Error::Mismatch(format!(
            "copying {} elements into {}: pass views of one length",
            from.len, to.len
        )));
    }
    if to.is_empty() {
        return Ok(());
    }
    to.require_output(to.device(), to.len, &[from.span()])?;
    let device = to.device();
    // SAFETY: both are memory of this device, of the same length and without common elements.
    let copy = || unsafe { device.backend().copy(to.address(), from.address(), from.bytes()) };
    ordered(device, &[from.reads(), to.writes()], copy)
}

/// The indices of a range of `len` elements.
fn within(len: usize, range: impl RangeBounds<usize>) -> Result<Range<usize>> {
    let after = |n: usize| n.checked_add(1);
    let start = match range.start_bound() {
        Bound::Included(&n) => Some(n),
        Bound::Excluded(&n) => after(n),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(&n) => after(n),
        Bound::Excluded(&n) => Some(n),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok(start..end),
        (Some(start), Some(end)) => {
            Err(Error::Mismatch(format!("the elements {start}..{end} of {len}: pass a range within 0..{len}")))
        }
        _ => Err(Error::Mismatch(format!("a range beyond the largest index: pass one within 0..{len}"))),
    }
}

impl<T, H: Handle> Clone for View<'_, T, H> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, H: Handle> Copy for View<'_, T, H> {}

impl<T, H: Handle> std::fmt::Debug for View<'_, T, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "View({}..{} of {:?})", self.start, self.start + self.len, self.memory)
    }
}

impl<T, H: Handle> std::fmt::Debug for ViewMut<'_, T, H> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<'a, T, H: Handle> From<&'a Memory<T, H>> for View<'a, T, H> {
    fn from(memory: &'a Memory<T, H>) -> Self {
        Self { memory, start: 0, len: memory.len }
    }
}

impl<'a, T, H: Handle> From<&View<'a, T, H>> for View<'a, T, H> {
    fn from(view: &View<'a, T, H>) -> Self {
        *view
    }
}

impl<'a, T, H: Handle> From<&'a ViewMut<'_, T, H>> for View<'a, T, H> {
    fn from(view: &'a ViewMut<'_, T, H>) -> Self {
        view.0
    }
}

impl<'a, T, H: Handle> From<&'a mut Memory<T, H>> for ViewMut<'a, T, H> {
    fn from(memory: &'a mut Memory<T, H>) -> Self {
        Self(View::from(&*memory))
    }
}

impl<'a, T, H: Handle> From<&'a mut ViewMut<'_, T, H>> for ViewMut<'a, T, H> {
    fn from(view: &'a mut ViewMut<'_, T, H>) -> Self {
        Self(view.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lie_within_the_memory() {
        assert_eq!(within(5, ..).expect("all"), 0..5);
        assert_eq!(within(5, 2..).expect("the end"), 2..5);
        assert_eq!(within(5, 1..=3).expect("three"), 1..4);
        assert_eq!(within(5, 5..5).expect("none"), 5..5);
        for (start, end) in [(4, 3), (0, 6), (6, 6), (0, usize::MAX)] {
            assert!(matches!(within(5, start..end), Err(Error::Mismatch(_))), "{start}..{end}");
        }
        assert!(matches!(within(5, ..=usize::MAX), Err(Error::Mismatch(_))));
    }
}
