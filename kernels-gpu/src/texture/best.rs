//! The rung to use: several fetches in flight, in a shape that suits the texture cache.
//!
//! - Each thread takes [`EACH`] samples and starts all fetches before it waits for the first; index arithmetic is
//!   shared.
//! - A warp takes a patch of samples, not a row: the texels around it are few, however the picture is turned. Its rows
//!   still fill sectors of the result.
//! - Four channels are stored at once where the result allows it. They gain nothing from this rung, since one fetch of
//!   four channels keeps enough bytes in flight (H200, 2048 x 2048 x 4 f32, turned by 30 degrees: 49.6 us, the rungs
//!   before 48.2 and 48.1).

use super::{BLOCK, Byte, COLUMNS, Dimensions, Float, Format, Fraction, Line, Map, Plane, Space};
use super::{coordinate, is_inside, slot, store};
use cuda_std::memory::Vector;
use cuda_std::{kernel, thread};

/// The idea in one line.
pub const IDEA: &str = "four fetches in flight per thread, a patch of 8 x 4 samples per warp: pays with one channel";

/// Samples of a thread.
pub const EACH: u32 = 4;

/// Columns of a warp's patch, of 32.
const PATCH: u32 = 8;

/// Samples of a block in x and y.
pub const fn tile(dimensions: u32) -> [u32; 2] {
    match dimensions {
        1 => [BLOCK * EACH, 1],
        _ => [COLUMNS, BLOCK / COLUMNS * EACH],
    }
}

const _: () = assert!(COLUMNS.is_multiple_of(PATCH) && 32_u32.is_multiple_of(PATCH));
const _: () = assert!((BLOCK / COLUMNS).is_multiple_of(32 / PATCH));

/// Samples an array of `D` dimensions on a grid of `size` points that `map` places in it; x varies fastest, and the
/// channels of a sample are neighbours.
///
/// # Safety
/// `texture` has as many dimensions as the kernel and gives floats; `output` has room for `size` samples of `channels`
/// (1 to 4) elements; `BLOCK` threads, a block for each [`tile`].
#[kernel(for D in [Line, Plane, Space], for F in [Float, Fraction, Byte])]
pub unsafe fn texture_best<D: Dimensions, F: Format>(
    texture: u64,
    channels: u32,
    map: Map,
    size: [u32; 3],
    output: *mut <F as Format>::Result,
) {
    let first = first_place::<D>();
    // From a sample of this thread to the next: rows in a plane, columns where there are no rows.
    let (axis, step) = if D::COUNT == 1 { (0, BLOCK) } else { (1, BLOCK / COLUMNS) };
    let place = |k: u32| {
        let mut place = first;
        place[axis] += k * step;
        place
    };
    // A fetch past the last sample is harmless, and a branch would separate the fetches.
    let fetched: [_; EACH as usize] = core::array::from_fn(|k| {
        // SAFETY: the caller upholds this function's contract.
        unsafe { D::sample(texture, coordinate::<D>(&map, place(k as u32))) }
    });
    if !is_inside(first, size) {
        return;
    }
    let inside = size[axis] - first[axis];
    let pitch = if D::COUNT == 1 { 1 } else { size[0] as usize } * step as usize * channels as usize;
    // SAFETY: the first sample is inside.
    let output = unsafe { output.add(slot(first, size, channels)) };
    let whole = channels == 4 && output.addr().is_multiple_of(4 * size_of::<F::Result>());
    for (k, values) in fetched.into_iter().enumerate() {
        if k as u32 * step < inside {
            let values = values.map(F::fetched);
            // SAFETY: the index is that of the thread's own sample, which is inside; four channels at once only on a
            // boundary.
            unsafe {
                match whole {
                    true => store_whole(output.add(k * pitch), values),
                    false => store(output, k * pitch, channels, values),
                }
            }
        }
    }
}

/// The thread's first sample.
#[inline(always)]
fn first_place<D: Dimensions>() -> [u32; 3] {
    let [wide, high] = tile(D::COUNT);
    let (x, y) = place_in_tile::<D>(thread::thread_idx_x());
    [thread::block_idx_x() * wide + x, thread::block_idx_y() * high + y, thread::block_idx_z()]
}

/// The place of the thread in the tile.
#[inline(always)]
fn place_in_tile<D: Dimensions>(thread: u32) -> (u32, u32) {
    if D::COUNT == 1 {
        return (thread, 0);
    }
    let (lane, warp) = (thread % 32, thread / 32);
    let across = COLUMNS / PATCH;
    (warp % across * PATCH + lane % PATCH, warp / across * (32 / PATCH) + lane / PATCH)
}

/// Writes four channels in one instruction.
///
/// # Safety
/// `at` has room for them, and lies on a multiple of their size.
#[inline(always)]
unsafe fn store_whole<R: Copy>(at: *mut R, values: [R; 4]) {
    const { assert!(size_of::<R>() == 1 || size_of::<R>() == 4) };
    // SAFETY: the caller upholds this function's contract; four bytes are a word, and four words a vector.
    unsafe {
        match size_of::<R>() {
            1 => at.cast::<u32>().write(core::mem::transmute_copy(&values)),
            _ => Vector::<f32, 4>(core::mem::transmute_copy(&values)).store(at.cast()),
        }
    }
}
