//! The rung to use: vectors of 16 bytes, and running sums for the blur.
//!
//! - [`scale`](fn@picture_best_scale) and [`grey`](fn@picture_best_grey) treat the picture as a list of bytes or
//!   pixels, of which a thread processes 16 at once.
//! - [`near`]: a blur with a small window is computed in registers, two sums to a word.
//! - [`blur`], for any window: the sum of a column of the window is updated from the row above, and the sum of the
//!   window from the pixel to the left.

use super::{Picture, luminance, scaled};
use crate::unroll::unroll;
use cuda_std::{kernel, memory::Vector, thread};

pub mod blur;
pub mod near;

/// The idea in one line.
pub const IDEA: &str =
    "16 bytes per thread; the blur by sums of two pixels in a register, for larger windows running sums";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 256;

/// Times that the blocks of `scale` and `grey` fill a device: a block that ends early makes room for another. (H200, us
/// with 1, with 8, and without a limit: scale of 8192 x 8192 x 3 119, 106 and 110, of 16384 x 16384 156, 137 and 138;
/// grey of 8192 x 8192 x 3 72 and 69 with 1 and with 8.)
pub const WAVES: u32 = 8;

/// Bytes, or pixels, that a thread takes at once.
pub const EACH: usize = 16;

/// Multiplies every byte by a factor in hundredths. The result is exact.
///
/// # Safety
/// `input` is the picture and `output` as long, and they do not overlap.
#[kernel]
pub unsafe fn picture_best_scale(input: &[u8], picture: Picture, output: *mut u8) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        each(input.len(), input, output, 1, |bytes: [Vector<u8, EACH>; 1]| {
            bytes[0].0.map(|byte| scaled(byte, picture.amount))
        })
    };
}

/// Converts a picture to shades of grey, one byte per pixel. The result is exact.
///
/// # Safety
/// `input` is the picture and `output` has a byte per pixel, and they do not overlap.
#[kernel]
pub unsafe fn picture_best_grey(input: &[u8], picture: Picture, output: *mut u8) {
    let pixels = picture.rows as usize * picture.columns as usize;
    if picture.channels != 3 {
        // SAFETY: the caller upholds this function's contract.
        unsafe { each(pixels, input, output, 1, |bytes: [Vector<u8, EACH>; 1]| bytes[0].0) };
        return;
    }
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        each(pixels, input, output, 3, |bytes: [Vector<u8, EACH>; 3]| {
            let byte = |i: usize| u32::from(bytes[i / EACH].0[i % EACH]);
            let mut grey = [0; EACH];
            unroll!(i < EACH => { grey[i] = luminance(byte(3 * i), byte(3 * i + 1), byte(3 * i + 2)) });
            grey
        });
    }
}

/// Computes `EACH` results at a time, each from `N` bytes, over the whole grid; the last ones, and all if the memory
/// does not start on a boundary, are computed one by one.
///
/// # Safety
/// `input` has `count * N` bytes and `output` `count`, and they do not overlap.
#[inline(always)]
unsafe fn each<const N: usize>(
    count: usize,
    input: &[u8],
    output: *mut u8,
    apart: usize,
    make: impl Fn([Vector<u8, EACH>; N]) -> [u8; EACH],
) {
    let (me, threads) = (thread::global_index(), thread::grid_stride());
    let aligned = input.as_ptr().addr().is_multiple_of(16) && output.addr().is_multiple_of(16);
    let vectors = if aligned { count / EACH } else { 0 };
    let mut i = me;
    while i < vectors {
        // SAFETY: whole vectors of the input and of the output, on boundaries; no other thread has these.
        unsafe {
            let bytes =
                core::array::from_fn(|k| Vector::load(input.as_ptr().cast::<Vector<u8, EACH>>().add(i * N + k)));
            Vector(make(bytes)).store(output.cast::<Vector<u8, EACH>>().add(i));
        }
        i += threads;
    }
    let mut i = vectors * EACH + me;
    while i < count {
        let mut bytes = [Vector([0; EACH]); N];
        let mut k = 0;
        while k < N {
            // SAFETY: the bytes are those of one result, which is inside the input.
            bytes[0].0[k] = unsafe { *input.get_unchecked(i * apart + k) };
            k += 1;
        }
        // SAFETY: the index is that of a result, which no other thread has.
        unsafe { output.add(i).write(make(bytes)[0]) };
        i += threads;
    }
}
