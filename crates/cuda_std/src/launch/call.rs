//! A launch without its shape: the entry's name and the bytes of its parameters.

extern crate alloc;

use alloc::{borrow::Cow, string::String, vec::Vec};
use core::{fmt, fmt::Write, marker::PhantomData};

use super::{Ptr, PtrMut, Scalar, Slice};

/// The name of the entry of `kernel` for these instances: the parts are joined by `_`. `#[kernel]` uses it.
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

/// A kernel and its arguments: everything of a launch but its shape.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// Name of the `.entry`.
    pub entry: Cow<'static, str>,
    /// Parameters in PTX order, little-endian bytes each.
    pub params: Vec<Vec<u8>>,
    marker: PhantomData<&'a ()>,
}

impl<'a> Call<'a> {
    /// A call without arguments yet. `#[kernel]` uses it; users call the kernel's launcher.
    pub fn new(entry: impl Into<Cow<'static, str>>) -> Self {
        Self { entry: entry.into(), params: Vec::new(), marker: PhantomData }
    }

    /// Appends what the kernel takes as `&[T]`: two PTX parameters, address and length.
    ///
    /// No memory at all (address 0) is passed as an aligned address that is not null, since that is what a Rust slice
    /// has.
    pub fn slice<T>(&mut self, slice: Slice<'a, T>) {
        let address = if slice.address == 0 { align_of::<T>() as u64 } else { slice.address };
        self.params.push(address.to_le_bytes().to_vec());
        self.params.push((slice.len as u64).to_le_bytes().to_vec());
    }

    /// Appends what the kernel takes as `*const T`.
    pub fn ptr<T>(&mut self, ptr: Ptr<'a, T>) {
        self.params.push(ptr.address.to_le_bytes().to_vec());
    }

    /// Appends what the kernel takes as `*mut T`.
    pub fn ptr_mut<T>(&mut self, ptr: PtrMut<'a, T>) {
        self.params.push(ptr.address.to_le_bytes().to_vec());
    }

    /// Appends a value.
    pub fn scalar<T: Scalar>(&mut self, value: T) {
        // SAFETY: `Scalar` promises a type without padding, so all its bytes are initialised.
        let bytes = unsafe { core::slice::from_raw_parts((&raw const value).cast::<u8>(), size_of::<T>()) };
        self.params.push(bytes.to_vec());
    }
}
