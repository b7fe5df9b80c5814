//! Access: every element of a row-major matrix is doubled, `output[i] = input[i] + input[i]`. What differs is only
//! which thread touches which element, and when.
//!
//! Device memory moves in sectors of 32 bytes. When a warp executes a load, the hardware collects the sectors that its
//! 32 lanes want and fetches each once: lanes that want neighbours are coalesced. The figure to look at is sectors per
//! request.
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
//! The rungs with a row or a structure per lane do use all of each sector in the end, over several requests: what they
//! lose depends on whether the first-level cache still has it by then. Who reads only one field of each structure loses
//! it for certain.
//!
//! Sources: the course's slides, "Global Memory Bandwidth"; M. Harris, "How to Access Global Memory Efficiently in CUDA
//! C/C++ Kernels" (2013), for strides and offsets.

pub mod arrays;
pub mod column_walk;
pub mod offset;
pub mod row_walk;
pub mod strided;
pub mod structures;
pub mod structures_vector;

/// Threads per block unless the caller asks otherwise; any number works.
pub const BLOCK: u32 = 256;

/// Fields of a structure.
pub const FIELDS: usize = 4;

/// Lanes of a warp.
pub const WARP: usize = cuda_std::thread::warp_size() as usize;

/// Doubles element `i`.
///
/// # Safety
/// `i` is below the length of `input`, `output` is as long, they don't overlap, and no other thread has this `i`.
#[inline(always)]
unsafe fn double<T: crate::number::Number>(input: &[T], i: usize, output: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        let value = *input.get_unchecked(i);
        output.add(i).write(value.add(value));
    }
}
