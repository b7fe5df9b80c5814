//! A launch without its shape: the entry's name and the bytes of its parameters.

extern crate alloc;

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::{fmt, fmt::Write, marker::PhantomData, ops::Deref};

use super::{MatrixMut, Ptr, PtrMut, Scalar, Slice, SliceMut, VolumeMut};

/// Name of the entry of `kernel` for these instances: the parts joined by `_`. Used by `#[kernel]`.
#[doc(hidden)]
pub fn entry_name(kernel: &'static str, instances: &[&dyn fmt::Display]) -> Cow<'static, str> {
    if instances.is_empty() {
        return Cow::Borrowed(kernel);
    }
    let mut name = String::from(kernel);
    for instance in instances {
        // Writing to a `String` cannot fail.
        let _ = write!(name, "_{instance}");
    }
    Cow::Owned(name)
}

/// A kernel and its arguments: a launch without its shape.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Name of the `.entry`.
    pub entry: Cow<'static, str>,
    /// The parameters in PTX order, each as little-endian bytes.
    pub params: Vec<Vec<u8>>,
    dimensions: u32,
    marker: PhantomData<&'a ()>,
}

impl<'a> Call<'a> {
    /// Creates a call without arguments. Used by `#[kernel]`; other code calls the kernel's launcher.
    pub fn new(entry: impl Into<Cow<'static, str>>) -> Self {
        Self { entry: entry.into(), params: Vec::new(), dimensions: 3, marker: PhantomData }
    }

    /// Appends the argument for a `&[T]`: two PTX parameters, address and length.
    ///
    /// An empty allocation (address 0) is passed as an aligned, non-null address, since a Rust slice never has a null
    /// address.
    pub fn slice<T>(&mut self, slice: Slice<'a, T>) {
        self.address::<T>(slice.address);
        self.size(slice.len);
    }

    /// Appends the argument for a `DisjointSlice<T>`: address and length. The launch has one dimension.
    pub fn slice_mut<T>(&mut self, slice: SliceMut<'a, T>) {
        self.address::<T>(slice.address());
        self.size(slice.len());
        self.dimensions = 1;
    }

    /// Appends the argument for a `DisjointMatrix<T>`: address, rows, columns. The launch has at most two dimensions.
    pub fn matrix_mut<T>(&mut self, matrix: MatrixMut<'a, T>) {
        self.address::<T>(matrix.elements.address());
        self.size(matrix.rows);
        self.size(matrix.columns);
        self.dimensions = self.dimensions.min(2);
    }

    /// Appends the argument for a `DisjointVolume<T>`: address, planes, rows, columns.
    pub fn volume_mut<T>(&mut self, volume: VolumeMut<'a, T>) {
        self.address::<T>(volume.elements.address());
        self.size(volume.planes);
        self.size(volume.rows);
        self.size(volume.columns);
    }

    /// Appends the argument for a `*const T`.
    pub fn ptr<T>(&mut self, ptr: Ptr<'a, T>) {
        self.params.push(ptr.address.to_le_bytes().to_vec());
    }

    /// Appends the argument for a `*mut T`.
    pub fn ptr_mut<T>(&mut self, ptr: PtrMut<'a, T>) {
        self.params.push(ptr.address.to_le_bytes().to_vec());
    }

    /// Appends an argument that is passed by value.
    pub fn scalar<T: Scalar>(&mut self, value: T) {
        // SAFETY: a `Scalar` has no padding, so all its bytes are initialised.
        let bytes = unsafe { core::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        self.params.push(bytes.to_vec());
    }

    /// Largest number of dimensions that the launch may have, for the indices of the kernel's views to be unique: 1
    /// with a `DisjointSlice`, 2 with a `DisjointMatrix`, else 3.
    ///
    /// Along each further axis, the launch has one block and one thread per block.
    pub fn dimensions(&self) -> u32 {
        self.dimensions
    }

    fn address<T>(&mut self, address: u64) {
        let address = if address == 0 { align_of::<T>() as u64 } else { address };
        self.params.push(address.to_le_bytes().to_vec());
    }

    fn size(&mut self, size: usize) {
        self.params.push((size as u64).to_le_bytes().to_vec());
    }
}

/// The call of a safe kernel. Its contract is the types of its arguments: it holds in every launch of at most
/// [`Call::dimensions`] dimensions, on the device that holds the memory, of the entry that was compiled from the
/// kernel, if the memory is neither released nor used by conflicting work of other streams before the kernel has ended.
/// The arguments' lifetimes end with the launch, which may return before that.
#[derive(Debug)]
pub struct SafeCall<'a>(Call<'a>);

impl<'a> SafeCall<'a> {
    /// Marks a call as that of a safe kernel. Used by `#[kernel]`.
    ///
    /// # Safety
    /// The kernel is a safe function, and the arguments are those of its launcher.
    pub unsafe fn new(call: Call<'a>) -> Self {
        Self(call)
    }
}

impl<'a> Deref for SafeCall<'a> {
    type Target = Call<'a>;

    fn deref(&self) -> &Call<'a> {
        &self.0
    }
}

impl<'a> From<SafeCall<'a>> for Call<'a> {
    fn from(call: SafeCall<'a>) -> Self {
        call.0
    }
}
