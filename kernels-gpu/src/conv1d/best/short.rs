//! The kernel for short masks: a vector of outputs per thread, whose inputs the threads beside it load as well.
//!
//! Threads share nothing but the L1 cache and wait for no other, and a block reads and writes few bytes and ends.
//! Device memory is at its fastest then: a copy of 256 MiB by one vector per thread takes 128.7 us on an H200 (the
//! driver's takes 128.5), by four vectors per thread 135.7, and by blocks that stay and copy one tile after the other
//! 138 to 143. Threads need few registers for that, since all that a multiprocessor has room for are to run.

use crate::conv1d::Frame;
use crate::filter::Sample;
use crate::unroll::unroll;
use cuda_std::{kernel, memory::Vector, thread, warp};

/// Threads per block.
pub const BLOCK: u32 = 128;

/// Registers of a thread, with which a multiprocessor has room for as many as it can run.
pub const REGISTERS: u32 = 32;

/// Longest mask for elements of `bytes` bytes. For longer ones a window takes too many registers, and tiles are faster.
pub const fn most_taps(bytes: usize) -> u32 {
    if bytes == 4 { 9 } else { 5 }
}

/// Elements of `bytes` bytes of a block's outputs.
pub const fn outputs_per_block(bytes: usize) -> u32 {
    BLOCK * 16 / bytes as u32
}

/// Filters a signal of `C` channels by a mask of up to [`most_taps`] taps.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; both start on a 16-byte boundary; the mask has a tap, the
/// input an element. There is a block of [`BLOCK`] threads for each [`outputs_per_block`].
#[kernel(for T in [f32, f64], for C in [1, 2], max_registers(REGISTERS))]
pub unsafe fn conv1d_best_short<T: Sample, const C: usize>(input: &[T], mask: &[T], border: u32, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match (size_of::<T>(), C) {
            (4, 1) => filter::<T, 4, 12, 9, C>(input, mask, border, output),
            (4, _) => filter::<T, 4, 20, 9, C>(input, mask, border, output),
            (_, 1) => filter::<T, 2, 6, 5, C>(input, mask, border, output),
            _ => filter::<T, 2, 10, 5, C>(input, mask, border, output),
        }
    }
}

/// Implements the kernel for vectors of `W` elements, of which a window of `SPAN` elements around each is loaded, and
/// for `N` taps, of which the mask has some in the middle.
///
/// # Safety
/// The requirements are those of [`conv1d_best_short()`].
#[inline(always)]
unsafe fn filter<T: Sample, const W: usize, const SPAN: usize, const N: usize, const C: usize>(
    input: &[T],
    mask: &[T],
    border: u32,
    output: *mut T,
) {
    let (n, taps) = (input.len() as u32, mask.len() as u32);
    let tid = thread::thread_idx_x();
    let reach = (SPAN - W) as u32 / 2;
    let first = thread::block_idx_x() * (BLOCK * W as u32);
    let at = first + tid * W as u32;
    // Places before the first tap and after the last are skipped, so that an element that is infinite or NaN has no
    // effect beyond its reach.
    let tap = |place: u32| (place + taps / 2).wrapping_sub(N as u32 / 2);
    // Each lane loads one tap, and shuffles pass it on: if every lane loaded all, they would take more registers.
    // SAFETY: the index is inside the mask.
    let mine = unsafe { *mask.get_unchecked(tap(tid % 32).min(taps - 1) as usize) };
    let whole = first >= reach && first + BLOCK * W as u32 + reach <= n;
    let mut window = [T::ZERO; SPAN];
    if whole {
        // SAFETY: the window is inside the signal, on a boundary.
        let from = unsafe { input.as_ptr().add((at - reach) as usize).cast::<Vector<T, W>>() };
        unroll!(k < SPAN / W => {
            // SAFETY: the vector is inside the window.
            let Vector(vector) = unsafe { Vector::load(from.add(k)) };
            let mut w = 0;
            while w < W {
                window[k * W + w] = vector[w];
                w += 1;
            }
        });
    } else {
        let frame = Frame { samples: n / C as u32, channels: C as u32, taps, border };
        unroll!(k < SPAN => {
            if let Some(from) = frame.source_at((at + k as u32) as i32 - reach as i32) {
                // SAFETY: `source_at` gives places in the signal.
                window[k] = unsafe { *input.get_unchecked(from as usize) };
            }
        });
    }
    let mut sums = [T::ZERO; W];
    unroll!(place < N => {
        // SAFETY: all lanes reach this call.
        let value = unsafe { warp::shuffle_idx(warp::ALL, mine, place as u32) };
        if tap(place as u32) < taps {
            let mut w = 0;
            while w < W {
                sums[w] = window[(SPAN - W) / 2 - N / 2 * C + place * C + w].mul_add(value, sums[w]);
                w += 1;
            }
        }
    });
    if whole {
        // SAFETY: the outputs are this thread's, on a boundary.
        unsafe { Vector(sums).store(output.add(at as usize).cast()) };
    } else {
        let mut w = 0;
        while w < W {
            if at + (w as u32) < n {
                // SAFETY: the output is this thread's.
                unsafe { output.add(at as usize + w).write(sums[w]) };
            }
            w += 1;
        }
    }
}
