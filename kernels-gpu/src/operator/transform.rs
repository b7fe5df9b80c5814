//! Transformation of every element, with loads and stores of 16 bytes.

use super::{
    Pod,
    chunk::{Chunk, width, with_width},
};
use cuda_std::thread;

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Elements that a thread transforms together: those that fill chunks of both types, if these fit in its registers.
pub const fn per_thread(input: usize, output: usize) -> usize {
    let (input, output) = (width(input), width(output));
    if input > output { input } else { output }
}

/// Writes `map` of every element to the output.
///
/// # Safety
/// `output` has as many elements as `input` and does not overlap it.
#[inline(always)]
pub unsafe fn transform<I: Pod, T: Pod>(input: &[I], map: impl Fn(I) -> T + Copy, output: *mut T) {
    // Widths are powers of two, so a type's chunk is a part of what a thread transforms together.
    if const { width(size_of::<I>()) >= width(size_of::<T>()) } {
        // SAFETY: the caller upholds this function's contract.
        with_width!(size_of::<I>(), W => unsafe { chunks::<I, T, W>(input, map, output) });
    } else {
        // SAFETY: as above.
        with_width!(size_of::<T>(), W => unsafe { chunks::<I, T, W>(input, map, output) });
    }
}

/// The same by `W` elements, which fill a multiple of 16 bytes in both types.
///
/// # Safety
/// The requirements are those of [`transform`].
#[inline(always)]
unsafe fn chunks<I: Pod, T: Pod, const W: usize>(input: &[I], map: impl Fn(I) -> T + Copy, output: *mut T) {
    // 64 registers of each type, as for bytes that become values of 16 bytes.
    let fits = const { size_of::<I>() * W <= 256 && size_of::<T>() * W <= 256 };
    let aligned = fits && input.as_ptr().addr().is_multiple_of(16) && output.addr().is_multiple_of(16);
    let whole = if aligned { input.len() / W } else { 0 };
    let mut i = thread::global_index();
    while i < whole {
        // SAFETY: the chunks lie inside input and output, on boundaries; each belongs to one thread.
        unsafe {
            let Chunk(values) = Chunk::<I, W>::load(input.as_ptr().add(i * W).cast());
            Chunk(values.map(map)).store(output.add(i * W).cast());
        }
        i += thread::grid_stride();
    }
    let mut i = whole * W + thread::global_index();
    while i < input.len() {
        // SAFETY: the element belongs to one thread.
        unsafe { output.add(i).write(map(input[i])) };
        i += thread::grid_stride();
    }
}
