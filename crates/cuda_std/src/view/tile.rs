//! Shared memory that a block fills together and then reads.

use core::marker::PhantomData;
#[cfg(target_arch = "nvptx64")]
use core::mem::MaybeUninit;

use crate::thread::{block_dim_x, block_dim_y, block_dim_z, rank_in_block, sync_threads};

/// `N` elements of shared memory, as a parameter of a kernel: each block has its own, and the host passes nothing.
///
/// Filling ends in a barrier, and only then can the elements be read:
///
/// ```
/// # use cuda_std::prelude::*;
/// /// Reverses each block of 256 elements.
/// #[kernel]
/// pub fn reverse(input: &[u32], mut out: DisjointSlice<u32>, tile: SharedTile<u32, 256>) {
///     let i = thread::unique_index();
///     let tile = tile.put(input.get(i.get()).copied().unwrap_or(0));
///     let opposite = thread::block_dim_x() - 1 - thread::thread_idx_x();
///     if let (Some(out), Some(value)) = (out.get_mut(i), tile.get(opposite as usize)) {
///         *out = value;
///     }
/// }
/// ```
///
/// ```compile_fail,E0599
/// # use cuda_std::prelude::*;
/// fn unfilled(tile: SharedTile<u32, 256>) -> Option<u32> {
///     tile.get(0)
/// }
/// ```
///
/// [`FilledTile::release`] is the barrier after which the tile can be filled again:
///
/// ```compile_fail,E0599
/// # use cuda_std::prelude::*;
/// fn overwritten(tile: SharedTile<u32, 256>) {
///     tile.put(1).put(2);
/// }
/// ```
///
/// # Barriers
/// All threads of the block reach the same `put`, `fill` or `release`, so none returns before
/// ([Barriers](crate::thread#barriers)). Types do not ensure that. Elements are therefore written and read by relaxed
/// operations of one instruction each, for types of which any bits are a value: a barrier in divergent code, and the
/// element of a thread that has returned, give wrong values, or a launch that does not end, but no undefined behaviour.
/// The builder warns of such a barrier, and the simulator reports it, or the read of what nothing wrote.
#[derive(Debug)]
pub struct SharedTile<'a, T, const N: usize> {
    start: *mut T,
    marker: PhantomData<&'a mut [T]>,
}

/// A [`SharedTile`] that the block has filled: every thread can read every element.
#[derive(Debug)]
pub struct FilledTile<'a, T, const N: usize> {
    start: *mut T,
    len: usize,
    marker: PhantomData<&'a mut [T]>,
}

/// Numbers that a tile can hold: those that one instruction reads or writes as a whole.
pub trait Word: Copy + Send + sealed::Access {}

mod sealed {
    use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

    /// Relaxed accesses.
    pub trait Access: Sized {
        /// # Safety
        /// `at` is aligned and points to a live value, which is accessed by functions of this trait alone.
        unsafe fn load(at: *mut Self) -> Self;

        /// # Safety
        /// That of [`Access::load`], but that the value may be uninitialised.
        unsafe fn store(at: *mut Self, value: Self);
    }

    macro_rules! access {
        ($($t:ident $bits:ident $atomic:ident),* $(,)?) => { $(
            impl super::Word for $t {}
            impl Access for $t {
                #[inline(always)]
                unsafe fn load(at: *mut Self) -> Self {
                    // SAFETY: the caller upholds this function's contract.
                    Self::from_ne_bytes(unsafe { $atomic::from_ptr(at.cast()) }.load(Relaxed).to_ne_bytes())
                }

                #[inline(always)]
                unsafe fn store(at: *mut Self, value: Self) {
                    let bits = $bits::from_ne_bytes(value.to_ne_bytes());
                    // SAFETY: the caller upholds this function's contract.
                    unsafe { $atomic::from_ptr(at.cast()) }.store(bits, Relaxed);
                }
            }
        )* };
    }
    access! {
        u8 u8 AtomicU8, i8 u8 AtomicU8, u16 u16 AtomicU16, i16 u16 AtomicU16,
        u32 u32 AtomicU32, i32 u32 AtomicU32, f32 u32 AtomicU32,
        u64 u64 AtomicU64, i64 u64 AtomicU64, f64 u64 AtomicU64,
    }
}

impl<'a, T: Word, const N: usize> SharedTile<'a, T, N> {
    /// Creates a tile of the block's `N` elements at `start`. Used by `#[kernel]`.
    ///
    /// # Safety
    /// `start` is aligned and points to `N` elements of shared memory, which nothing but this thread's tile and those
    /// of the other threads of the block access. Each thread creates at most one.
    #[inline(always)]
    pub const unsafe fn from_raw(start: *mut T) -> Self {
        Self { start, marker: PhantomData }
    }

    /// Writes `value` to the thread's own element, which is that of its rank in the block, and waits until all threads
    /// of the block have done so. The tile then has as many elements as the block has threads, and at most `N`; threads
    /// with a rank of `N` or more write nothing.
    #[inline(always)]
    pub fn put(self, value: T) -> FilledTile<'a, T, N> {
        let (rank, threads) = (rank_in_block() as usize, threads());
        if rank < N {
            // SAFETY: the element exists, and other threads write other elements.
            unsafe { T::store(self.start.add(rank), value) };
        }
        sync_threads(); // every element is written before any is read
        FilledTile { start: self.start, len: threads.min(N), marker: PhantomData }
    }

    /// Writes `value(i)` to every element `i`, each by one thread of the block, and waits until all are written.
    #[inline(always)]
    pub fn fill(self, mut value: impl FnMut(usize) -> T) -> FilledTile<'a, T, N> {
        let (mut i, threads) = (rank_in_block() as usize, threads());
        while i < N {
            // SAFETY: the element exists, and other threads write other elements.
            unsafe { T::store(self.start.add(i), value(i)) };
            i += threads;
        }
        sync_threads(); // every element is written before any is read
        FilledTile { start: self.start, len: N, marker: PhantomData }
    }
}

impl<'a, T: Word, const N: usize> FilledTile<'a, T, N> {
    /// The number of elements that the block has written, if all its threads took part.
    #[must_use]
    #[inline(always)]
    #[expect(clippy::len_without_is_empty, reason = "a block has at least one thread")]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// The element at `index`, or `None` beyond [`FilledTile::len`].
    #[must_use]
    #[inline(always)]
    pub fn get(&self, index: usize) -> Option<T> {
        // SAFETY: the element exists. It was written before the barrier; where threads broke the rule for barriers, it
        // has any value, and any bits are one.
        (index < self.len).then(|| unsafe { T::load(self.start.add(index)) })
    }

    /// Waits until all threads of the block have ended their reading, after which the tile can be filled again.
    #[inline(always)]
    pub fn release(self) -> SharedTile<'a, T, N> {
        sync_threads(); // every element is read before any is overwritten
        SharedTile { start: self.start, marker: PhantomData }
    }
}

/// The number of threads of the block.
#[inline(always)]
fn threads() -> usize {
    (block_dim_x() * block_dim_y() * block_dim_z()) as usize
}

/// The memory of a tile. Used by `#[kernel]`.
#[cfg(target_arch = "nvptx64")]
#[doc(hidden)]
pub type Storage<T, const N: usize> = [MaybeUninit<T>; N];
