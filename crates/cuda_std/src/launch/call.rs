//! A launch without its shape: the entry's name and the bytes of its parameters.

extern crate alloc;

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::{fmt, fmt::Write, marker::PhantomData};

use super::{Ptr, PtrMut, Scalar, Slice};

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
    marker: PhantomData<&'a ()>,
}

impl<'a> Call<'a> {
    /// Creates a call without arguments. Used by `#[kernel]`; other code calls the kernel's launcher.
    pub fn new(entry: impl Into<Cow<'static, str>>) -> Self {
        Self { entry: entry.into(), params: Vec::new(), marker: PhantomData }
    }

    /// Appends the argument for a `&[T]`: two PTX parameters, address and length.
    ///
    /// An empty allocation (address 0) is passed as an aligned, non-null address, since a Rust slice never has a null
    /// address.
    pub fn slice<T>(&mut self, slice: Slice<'a, T>) {
        let address = if slice.address == 0 { align_of::<T>() as u64 } else { slice.address };
        self.params.push(address.to_le_bytes().to_vec());
        self.params.push((slice.len as u64).to_le_bytes().to_vec());
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
}
