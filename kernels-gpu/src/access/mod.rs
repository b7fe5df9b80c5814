//! Access patterns: every element of a row-major matrix is doubled, `output[i] = input[i] + input[i]`. The rungs differ
//! only in which thread accesses which element, and when.
//!
//! Device memory moves in sectors of 32 bytes. When a warp executes a load, the hardware collects the sectors that its
//! 32 lanes access and fetches each once: lanes that access neighbours are coalesced. The figure of merit is sectors
//! per request.
//!
//! | rung | sectors per request, of `f32` (b bytes) |
//! |---|---|
//! | [`row_walk`] | 32: one per lane |
//! | [`strided`] | min(32, stride * b) |
//! | [`structures`] | 16 (4 b, at most 32) |
//! | [`offset`] | 5 (b + 1) |
//! | [`arrays`] | 4 (b) |
//! | [`column_walk`] | 4 (b) |
//! | [`structures_vector`] | 16, all of it used, and a quarter of the requests |
//!
//! The rungs with a row or a structure per lane use all of each sector in the end, over several requests: the loss
//! depends on whether the L1 cache still holds the sector by then. Code that reads only one field of each structure
//! always wastes the rest.
//!
//! Sources: the PMPP slides (`docs/sources.md`), "Global Memory Bandwidth"; M. Harris, "How to Access Global Memory
//! Efficiently in CUDA C/C++ Kernels" (2013), for strides and offsets.

pub mod arrays;
pub mod column_walk;
pub mod offset;
pub mod row_walk;
pub mod strided;
pub mod structures;
pub mod structures_vector;

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Number of fields of a structure.
pub const FIELDS: usize = 4;

/// Number of lanes of a warp.
pub const WARP: usize = cuda_std::thread::warp_size() as usize;

/// Doubles element `i`.
///
/// # Safety
/// `i` is below the length of `input`, `output` is as long, they do not overlap, and no other thread has this `i`.
#[inline(always)]
unsafe fn double<T: crate::number::Number>(input: &[T], i: usize, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        let value = *input.get_unchecked(i);
        output.add(i).write(value.add(value));
    }
}
