//! The host side of a kernel: `#[kernel]` turns it into a function that takes the types of this module and returns a
//! [`Call`], which a backend launches. This module depends on no backend.

use core::marker::PhantomData;

#[cfg(not(target_arch = "nvptx64"))]
mod call;
#[cfg(not(target_arch = "nvptx64"))]
mod output;
#[cfg(not(target_arch = "nvptx64"))]
pub use call::{Call, SafeCall, entry_name};
#[cfg(not(target_arch = "nvptx64"))]
pub use output::{MatrixMut, SliceMut, VolumeMut};

/// Types that are passed to a kernel by value: their bytes are the same on the host and on the device.
///
/// # Safety
/// The type must be `Copy`, without padding, references or pointers, and have the same layout on x86-64 and on nvptx64.
#[diagnostic::on_unimplemented(
    message = "`{Self}` can't be a kernel's parameter",
    label = "expected `&[T]`, a view, `*const T`, `*mut T`, a number, or an array of numbers"
)]
pub unsafe trait Scalar: Copy + Send + Sync + 'static {}

macro_rules! scalar {
    ($($t:ty)*) => { $(
        // SAFETY: a primitive number of fixed size.
        unsafe impl Scalar for $t {}
    )* };
}
scalar!(u8 i8 u16 i16 u32 i32 u64 i64 usize isize f32 f64);
#[cfg(feature = "half")]
scalar!(half::f16 half::bf16);

// SAFETY: an array of scalars has no padding of its own.
unsafe impl<T: Scalar, const N: usize> Scalar for [T; N] {}

/// Part of a kernel's entry name: `reduce_best` with `Sum` and `f32` is the entry `reduce_best_sum_f32`.
///
/// Types that a kernel is instantiated for implement this trait for device and host alike, so that both form the same
/// name.
pub trait Instance {
    /// The part of the name; its characters are `[a-z0-9_]`.
    const NAME: &'static str;
}

/// Compiles only for types that a kernel takes by value. Used by `#[kernel]`.
#[doc(hidden)]
pub const fn assert_scalar<T: Scalar>() {}

/// Compiles only for elements that all threads may read through a reference. Used by `#[kernel]`.
#[doc(hidden)]
pub const fn assert_sync<T: Sync>() {}

/// Compiles only for elements that any thread may have. Used by `#[kernel]`.
#[doc(hidden)]
pub const fn assert_send<T: Send>() {}

/// Whether `names` contains `name`, at compile time. Used by `#[kernel]`.
#[doc(hidden)]
pub const fn is_one_of(name: &str, names: &[&str]) -> bool {
    let mut i = 0;
    while i < names.len() {
        if same(name.as_bytes(), names[i].as_bytes()) {
            return true;
        }
        i += 1;
    }
    false
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut i = 0;
    while i < a.len() && i < b.len() && a[i] == b[i] {
        i += 1;
    }
    i == a.len() && i == b.len()
}

macro_rules! instance {
    ($($t:ident)*) => { $( impl Instance for $t { const NAME: &'static str = stringify!($t); } )* };
}
instance!(u8 i8 u16 i16 u32 i32 u64 i64 f32 f64);

/// Device memory that a kernel takes as `&[T]`: elements that are not written during the launch.
///
/// The fields are private, since safe code must not choose an address:
///
/// ```compile_fail,E0451
/// let forged = cuda_std::launch::Slice::<f32> { address: 8, len: 1, marker: std::marker::PhantomData };
/// ```
#[derive(Debug)]
pub struct Slice<'a, T> {
    address: u64,
    len: usize,
    marker: PhantomData<&'a [T]>,
}

/// Device memory that a kernel takes as `*const T`.
#[derive(Debug)]
pub struct Ptr<'a, T> {
    address: u64,
    marker: PhantomData<&'a T>,
}

/// Device memory that a kernel takes as `*mut T`.
#[derive(Debug)]
pub struct PtrMut<'a, T> {
    address: u64,
    marker: PhantomData<&'a T>,
}

macro_rules! copy {
    ($($t:ident)*) => { $(
        impl<T> Clone for $t<'_, T> {
            fn clone(&self) -> Self { *self }
        }
        impl<T> Copy for $t<'_, T> {}
    )* };
}
copy!(Slice Ptr PtrMut);

impl<T> Slice<'_, T> {
    /// Creates a slice of `len` elements at `address`.
    ///
    /// # Safety
    /// The memory must be allocated on the device for the whole lifetime.
    pub unsafe fn new(address: u64, len: usize) -> Self {
        Self { address, len, marker: PhantomData }
    }

    /// The device address of the first element.
    pub fn address(self) -> u64 {
        self.address
    }

    /// The number of elements.
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// Returns the elements from `start` on.
    ///
    /// # Panics
    /// Panics if `start > len`.
    pub fn skip(self, start: usize) -> Self {
        assert!(start <= self.len, "skip {start} of a slice of {}", self.len);
        Self { address: self.address + (start * size_of::<T>()) as u64, len: self.len - start, marker: PhantomData }
    }

    /// Returns the first `len` elements.
    ///
    /// # Panics
    /// Panics if the slice has fewer than `len` elements.
    pub fn first(self, len: usize) -> Self {
        assert!(len <= self.len, "the first {len} of a slice of {}", self.len);
        Self { len, ..self }
    }
}

impl<T> Ptr<'_, T> {
    /// Creates a pointer to the memory at `address`.
    ///
    /// # Safety
    /// The memory must be allocated on the device for the whole lifetime.
    pub unsafe fn new(address: u64) -> Self {
        Self { address, marker: PhantomData }
    }

    /// The device address.
    pub fn address(self) -> u64 {
        self.address
    }
}

impl<T> PtrMut<'_, T> {
    /// Creates a pointer to the memory at `address`.
    ///
    /// # Safety
    /// The memory must be allocated on the device for the whole lifetime.
    pub unsafe fn new(address: u64) -> Self {
        Self { address, marker: PhantomData }
    }

    /// The device address.
    pub fn address(self) -> u64 {
        self.address
    }
}

/// A kernel that takes `*mut T` can write what one that takes a view can.
#[cfg(not(target_arch = "nvptx64"))]
impl<'a, T> From<SliceMut<'a, T>> for PtrMut<'a, T> {
    fn from(slice: SliceMut<'a, T>) -> Self {
        Self { address: slice.address(), marker: PhantomData }
    }
}
