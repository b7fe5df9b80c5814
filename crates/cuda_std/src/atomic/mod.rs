//! Atomics with a scope: the threads of a block, of the device, or of the whole system.
//!
//! [`Atomic<T, S>`] is a `T` in shared or global memory; [`Atomic::from_ptr`] makes one from a raw pointer. Every
//! operation takes an [`Ordering`]. A `Relaxed` operation is one instruction; acquire and release add fences of the
//! same scope, as the PTX memory model defines these patterns.
//!
//! Kernels must not use `core::sync::atomic`: LLVM drops the ordering of its read-modify-writes on this target.

use core::cell::UnsafeCell;
use core::marker::PhantomData;

pub use core::sync::atomic::Ordering;

#[cfg(not(target_arch = "nvptx64"))]
mod counters;
mod fence;
mod float;
mod integer;
#[cfg(target_arch = "nvptx64")]
mod relaxed;
mod scope;

pub use fence::fence;
pub use scope::{Block, Device, Scope, System};

/// A value that the threads within `S` can access concurrently without data races.
///
/// Operations of threads that are not within each other's scope (two blocks on an `Atomic<T, Block>`) are not atomic
/// together: updates may be lost. Each still transfers whole, valid values: PTX defines races of accesses of equal
/// size.
#[repr(transparent)]
#[derive(Debug)]
pub struct Atomic<T, S: Scope = Device> {
    value: UnsafeCell<T>,
    scope: PhantomData<S>,
}

// SAFETY: every access through a shared reference is one atomic instruction of the value's full size.
unsafe impl<T: Value, S: Scope> Sync for Atomic<T, S> {}

/// Types with atomic instructions: `u32 i32 u64 i64 f32 f64`.
pub trait Value: Copy + Sealed {}

/// The operations' requirements on a type; not for use outside this crate.
#[doc(hidden)]
pub trait Sealed: Sized {
    /// The unsigned integer of the same size.
    type Bits: Copy + Eq;
    fn to_raw(self) -> Self::Bits;
    fn from_raw(bits: Self::Bits) -> Self;
    unsafe fn load<S: Scope>(at: *const Self, order: Ordering) -> Self;
    unsafe fn store<S: Scope>(at: *mut Self, value: Self, order: Ordering);
    unsafe fn swap<S: Scope>(at: *mut Self, value: Self) -> Self;
    unsafe fn cas<S: Scope>(at: *mut Self, current: Self, new: Self) -> Self;
    unsafe fn add<S: Scope>(at: *mut Self, value: Self) -> Self;
    unsafe fn min<S: Scope>(at: *mut Self, value: Self) -> Self;
    unsafe fn max<S: Scope>(at: *mut Self, value: Self) -> Self;
    fn negated(self) -> Self;
}

macro_rules! aliases {
    ($($t:ident: $device:ident $block:ident $system:ident),* $(,)?) => { $(
        #[doc = concat!("[`Atomic`] `", stringify!($t), "` among the threads of the device.")]
        pub type $device = Atomic<$t, Device>;
        #[doc = concat!("[`Atomic`] `", stringify!($t), "` among the threads of one block.")]
        pub type $block = Atomic<$t, Block>;
        #[doc = concat!("[`Atomic`] `", stringify!($t), "` among all threads of all devices and the host.")]
        pub type $system = Atomic<$t, System>;
    )* };
}
aliases! {
    u32: AtomicU32 BlockAtomicU32 SystemAtomicU32,
    i32: AtomicI32 BlockAtomicI32 SystemAtomicI32,
    u64: AtomicU64 BlockAtomicU64 SystemAtomicU64,
    i64: AtomicI64 BlockAtomicI64 SystemAtomicI64,
    f32: AtomicF32 BlockAtomicF32 SystemAtomicF32,
    f64: AtomicF64 BlockAtomicF64 SystemAtomicF64,
}

impl<T: Value, S: Scope> Atomic<T, S> {
    /// Creates an atomic with the initial value `value`.
    pub const fn new(value: T) -> Self {
        Self { value: UnsafeCell::new(value), scope: PhantomData }
    }

    /// Consumes the atomic and returns its value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }

    /// Creates a reference to an atomic from a pointer to its value.
    ///
    /// # Safety
    /// `at` must be aligned and point to an initialised `T` for all of `'a`. During `'a` every access of another thread
    /// must be atomic with a scope that includes this thread, or be ordered with this thread's accesses by a barrier.
    pub const unsafe fn from_ptr<'a>(at: *mut T) -> &'a Self {
        // SAFETY: the layout is that of `T`, and the caller upholds this function's contract, which is all that a
        // shared `UnsafeCell` requires.
        unsafe { &*at.cast::<Self>() }
    }

    /// Returns a pointer to the value.
    pub const fn as_ptr(&self) -> *mut T {
        self.value.get()
    }

    /// Reads the value. `order` is `Relaxed`, `Acquire` or `SeqCst`.
    ///
    /// # Panics
    /// Panics if `order` is `Release` or `AcqRel`.
    #[inline(always)]
    pub fn load(&self, order: Ordering) -> T {
        // SAFETY: `self` is a reference to a live `T`.
        unsafe { T::load::<S>(self.as_ptr(), order) }
    }

    /// Writes the value. `order` is `Relaxed`, `Release` or `SeqCst`.
    ///
    /// # Panics
    /// Panics if `order` is `Acquire` or `AcqRel`.
    #[inline(always)]
    pub fn store(&self, value: T, order: Ordering) {
        // SAFETY: `self` is a reference to a live `T`.
        unsafe { T::store::<S>(self.as_ptr(), value, order) }
    }

    /// Writes `value` and returns the previous value.
    #[inline(always)]
    pub fn swap(&self, value: T, order: Ordering) -> T {
        // SAFETY: `self` is a reference to a live `T`.
        self.ordered(order, || unsafe { T::swap::<S>(self.as_ptr(), value) })
    }

    /// Writes `new` if the value is `current`, compared bit by bit, and returns the previous value as `Ok`.
    ///
    /// `order` applies to success and failure alike.
    ///
    /// # Errors
    /// Returns the value as `Err` if it differs from `current`; nothing is written then.
    #[inline(always)]
    pub fn compare_exchange(&self, current: T, new: T, order: Ordering) -> Result<T, T> {
        // SAFETY: `self` is a reference to a live `T`.
        let found = self.ordered(order, || unsafe { T::cas::<S>(self.as_ptr(), current, new) });
        if found.to_raw() == current.to_raw() { Ok(found) } else { Err(found) }
    }

    /// Adds `value` and returns the previous value. Integers wrap.
    ///
    /// Floats are rounded to nearest. The order of the additions, and with it a sum of floats, differs between runs.
    #[inline(always)]
    pub fn fetch_add(&self, value: T, order: Ordering) -> T {
        // SAFETY: `self` is a reference to a live `T`.
        self.ordered(order, || unsafe { T::add::<S>(self.as_ptr(), value) })
    }

    /// Subtracts `value` and returns the previous value. Integers wrap.
    #[inline(always)]
    pub fn fetch_sub(&self, value: T, order: Ordering) -> T {
        self.fetch_add(value.negated(), order)
    }

    /// Stores the smaller of both values and returns the previous value.
    ///
    /// For floats this is IEEE 754-2019 `minimum`: -0 is less than +0, and NaN is kept. (A NaN with a clear sign bit
    /// that was in memory before the first `fetch_min` counts as larger than infinity.)
    #[inline(always)]
    pub fn fetch_min(&self, value: T, order: Ordering) -> T {
        // SAFETY: `self` is a reference to a live `T`.
        self.ordered(order, || unsafe { T::min::<S>(self.as_ptr(), value) })
    }

    /// Stores the larger of both values and returns the previous value.
    ///
    /// For floats this is IEEE 754-2019 `maximum`: +0 is greater than -0, and NaN is kept. (A NaN with a set sign bit
    /// that was in memory before the first `fetch_max` counts as smaller than minus infinity.)
    #[inline(always)]
    pub fn fetch_max(&self, value: T, order: Ordering) -> T {
        // SAFETY: `self` is a reference to a live `T`.
        self.ordered(order, || unsafe { T::max::<S>(self.as_ptr(), value) })
    }

    /// Performs a relaxed operation between the fences that `order` requires.
    #[inline(always)]
    fn ordered(&self, order: Ordering, operation: impl FnOnce() -> T) -> T {
        fence::before::<S>(order);
        let old = operation();
        fence::after::<S>(order);
        old
    }
}
