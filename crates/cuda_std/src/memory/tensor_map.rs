//! Tensor maps: boxes of matrices in global memory, which one thread copies to and from shared memory (since sm_90).

use super::{Mbarrier, SharedAddress};
use crate::launch::Scalar;
use core::marker::PhantomData;
use cuda_std_macros::gpu_only;

/// Matrices of one size in global memory, at equal distances, with the size of the boxes that are copied and their
/// order in shared memory. The host makes it (`rustwarp::Backend::tensor_map`), and a kernel takes it as a parameter.
///
/// A box is a part of one matrix. One that reaches beyond it is filled with zeros there, and what is stored there is
/// dropped.
///
/// `T` is the type of the elements, such as [`mma::F16`](crate::mma::F16) or a type of the kernel's own, so that a
/// kernel gets no map of another one; `()` where it is known at run time only:
///
/// ```
/// # use cuda_std::memory::TensorMap;
/// # use cuda_std::mma::{Bf16, F16};
/// # use cuda_std::prelude::*;
/// #[kernel]
/// pub unsafe fn product(a: TensorMap<F16>, b: TensorMap<F16>) {}
///
/// let (a, b) = (TensorMap::<F16>::new([0; 16]), TensorMap::<()>::new([0; 16]));
/// product(a, b.cast());
/// ```
///
/// ```compile_fail,E0308
/// # use cuda_std::memory::TensorMap;
/// # use cuda_std::mma::{Bf16, F16};
/// # use cuda_std::prelude::*;
/// # #[kernel]
/// # pub unsafe fn product(a: TensorMap<F16>, b: TensorMap<F16>) {}
/// let (a, b) = (TensorMap::<F16>::new([0; 16]), TensorMap::<Bf16>::new([0; 16]));
/// product(a, b);
/// ```
#[derive(Debug, PartialEq, Eq)]
pub struct TensorMap<T = ()> {
    #[cfg(target_arch = "nvptx64")]
    address: u64,
    #[cfg(not(target_arch = "nvptx64"))]
    words: [u64; 16],
    elements: PhantomData<fn() -> T>,
}

impl<T> Clone for TensorMap<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for TensorMap<T> {}

// SAFETY: launches run on the host, where the type is an array of numbers.
unsafe impl<T: 'static> Scalar for TensorMap<T> {}

impl<T> TensorMap<T> {
    /// The map of these 128 bytes, which the driver or the simulator has made.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn new(words: [u64; 16]) -> Self {
        Self { words, elements: PhantomData }
    }

    /// The same map, with elements of another type in Rust.
    #[cfg(not(target_arch = "nvptx64"))]
    pub const fn cast<U>(self) -> TensorMap<U> {
        TensorMap::new(self.words)
    }

    /// The map among a kernel's parameters. Used by `#[kernel]`.
    ///
    /// # Safety
    /// A map is at this address.
    #[doc(hidden)]
    #[cfg(target_arch = "nvptx64")]
    #[inline(always)]
    pub const unsafe fn at(address: u64) -> Self {
        Self { address, elements: PhantomData }
    }

    /// Fetches the map to the cache that copies read it from, so that the first copy need not wait.
    #[gpu_only]
    pub fn prefetch(self) {
        // SAFETY: the instruction has no effect but on the cache.
        unsafe {
            core::arch::asm!("prefetch.tensormap [{map}];", map = in(reg64) self.address,
                options(nostack, preserves_flags));
        }
    }

    /// Starts the copy of the box whose first element is in this column and row of this matrix to shared memory; the
    /// barrier counts the bytes of the whole box when they are there.
    ///
    /// # Safety
    /// The map has three dimensions. The matrix is initialised and not written, and the destination, aligned to 128 (to
    /// 1024 for a swizzle of 128 bytes) with room for the box, not accessed, until a wait for the barrier's phase has
    /// returned. The phase announces the bytes ([`Mbarrier::arrive_expecting`]).
    #[gpu_only]
    pub unsafe fn copy_in(self, to: SharedAddress, [column, row, matrix]: [u32; 3], barrier: Mbarrier) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!(
                "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes \
                 [{to}], [{map}, {{{column}, {row}, {matrix}}}], [{barrier}];",
                to = in(reg32) to.0, map = in(reg64) self.address, column = in(reg32) column, row = in(reg32) row,
                matrix = in(reg32) matrix, barrier = in(reg32) barrier.address().0, options(nostack, preserves_flags));
        }
    }

    /// Like [`TensorMap::copy_in`], to the same address in every block of the cluster whose bit is set in `blocks`;
    /// each block's barrier at that address counts the bytes.
    ///
    /// # Safety
    /// The launch has clusters with these blocks, and a barrier of the cluster has followed the start of the barriers.
    /// As for [`TensorMap::copy_in`] in each of these blocks, none of which has ended.
    #[gpu_only]
    pub unsafe fn copy_in_to_blocks(
        self,
        to: SharedAddress,
        [column, row, matrix]: [u32; 3],
        barrier: Mbarrier,
        blocks: u16,
    ) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!(
                "cp.async.bulk.tensor.3d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster \
                 [{to}], [{map}, {{{column}, {row}, {matrix}}}], [{barrier}], {blocks};",
                to = in(reg32) to.0, map = in(reg64) self.address, column = in(reg32) column, row = in(reg32) row,
                matrix = in(reg32) matrix, barrier = in(reg32) barrier.address().0, blocks = in(reg16) blocks,
                options(nostack, preserves_flags));
        }
    }

    /// Starts the copy of a box from shared memory to this matrix, where its first element comes to this column and
    /// row, as a group of its own: see [`wait_copies_read`].
    ///
    /// # Safety
    /// The map has three dimensions. The box in shared memory, aligned as for [`TensorMap::copy_in`], is initialised,
    /// and its last writes come before a [`fence_copies`]; it is not written until the group has been waited for. No
    /// other access to the elements of the matrix races with the copy, which is complete at the end of the kernel.
    #[gpu_only]
    pub unsafe fn copy_out(self, from: SharedAddress, [column, row, matrix]: [u32; 3]) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            core::arch::asm!(
                "cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [{map}, {{{column}, {row}, {matrix}}}], \
                 [{from}]; \
                 cp.async.bulk.commit_group;",
                map = in(reg64) self.address, column = in(reg32) column, row = in(reg32) row,
                matrix = in(reg32) matrix, from = in(reg32) from.0, options(nostack, preserves_flags));
        }
    }
}

/// Waits until at most the `PENDING` youngest of this thread's copies out of shared memory have yet to read it.
#[gpu_only]
pub fn wait_copies_read<const PENDING: u32>() {
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("cp.async.bulk.wait_group.read {pending};", pending = const PENDING,
            options(nostack, preserves_flags));
    }
}

/// Makes this thread's writes to shared memory visible to bulk copies and tensor cores, which see memory by another way
/// (the async proxy). A barrier between the writing threads and the one that starts the copy must follow.
#[gpu_only]
pub fn fence_copies() {
    // SAFETY: the instruction orders accesses only.
    unsafe {
        core::arch::asm!("fence.proxy.async.shared::cta;", options(nostack, preserves_flags));
    }
}
