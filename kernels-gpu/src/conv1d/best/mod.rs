//! The rung to use: 32 bytes of neighbouring outputs per thread, over a tile in shared memory that is loaded in 16-byte
//! vectors.
//!
//! - With V outputs per thread (8 of 4 bytes, 4 of 8), V taps take V new elements and V taps from shared memory for V *
//!   V multiply-adds: the elements of the step before are still in registers.
//! - The tile starts on a 16-byte boundary, up to three elements before the first one under the mask. The mask is
//!   shifted accordingly, and the places before its first and after its last tap are skipped, so that an element that
//!   is infinite or NaN has no effect beyond its reach.
//! - Lanes read vectors that are two apart; `slot` spreads them over all banks.
//! - Two lanes exchange half of their outputs, so that every store fills whole sectors.
//!
//! [`interleaved`] is the kernel for signals of several channels.

use super::Frame;
use crate::filter::Sample;
use crate::unroll::unroll;
use cuda_std::{kernel, memory::Vector, shared::dynamic_shared_mem, thread, warp};

pub mod interleaved;

/// The idea in one line.
pub const IDEA: &str = "eight neighbouring outputs per thread (four of f64): each load from the tile serves them all";

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Outputs per thread, two vectors of elements of `bytes` bytes.
pub const fn outputs_per_thread(bytes: usize) -> u32 {
    32 / bytes as u32
}

/// Bytes of shared memory for a mask of this number of taps, of elements of this size.
pub const fn shared_bytes(mask: u32, bytes: usize) -> u32 {
    // The mask may be shifted by up to a vector less one element.
    let groups = groups(mask as usize + 16 / bytes - 1, outputs_per_thread(bytes) as usize) as u32;
    // A group of taps or elements has 32 bytes. The tile has one group per thread and, after the last one, as many as
    // the mask.
    (groups + BLOCK + groups) * 32
}

/// Groups of `V` taps that a mask has.
const fn groups(taps: usize, outputs: usize) -> usize {
    taps.div_ceil(outputs)
}

/// Filters a signal of one channel.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; the mask has a tap. Blocks have `BLOCK` threads and
/// [`shared_bytes`] of shared memory; there is one per `BLOCK * outputs_per_thread` outputs.
#[kernel(for T in [f32, f64])]
pub unsafe fn conv1d_best<T: Sample>(input: &[T], mask: &[T], border: u32, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => filter::<T, 4, 8>(input, mask, border, output),
            _ => filter::<T, 2, 4>(input, mask, border, output),
        }
    }
}

/// Implements the kernel for vectors of `W` elements and `V` outputs per thread.
///
/// # Safety
/// The requirements are those of [`conv1d_best()`].
#[inline(always)]
unsafe fn filter<T: Sample, const W: usize, const V: usize>(input: &[T], mask: &[T], border: u32, output: *mut T) {
    let tid = thread::thread_idx_x();
    let first = thread::block_idx_x() * BLOCK * V as u32;
    let half = mask.len() / 2;
    let moved = half.next_multiple_of(W) - half;
    let groups = groups(moved + mask.len(), V);
    let frame = Frame { samples: input.len() as u32, channels: 1, taps: mask.len() as u32, border };
    let taps = dynamic_shared_mem::<T>();
    // SAFETY: the launch gave room for the mask and the tile.
    let tile = unsafe { taps.add(groups * V) }.cast::<Vector<T, W>>();

    let mut j = tid as usize;
    while j < groups * V {
        let tap = j.wrapping_sub(moved);
        // SAFETY: the index is inside the mask.
        unsafe { taps.add(j).write(if tap < mask.len() { *mask.get_unchecked(tap) } else { T::ZERO }) };
        j += BLOCK as usize;
    }
    // SAFETY: the tile has room for these vectors.
    unsafe {
        let vectors = (BLOCK as usize + groups) * (V / W);
        load_tile::<T, W>(tile, vectors, input, first as i32 - (half + moved) as i32, frame);
    }
    thread::sync_threads(); // mask and tile are complete before any thread reads what others loaded

    // SAFETY: the vectors are inside the tile and were written before the barrier.
    let group = |g: usize| unsafe { load_group::<T, W, V>(tile, tid as usize + g) };
    // SAFETY: the index is inside the mask, which was written before the barrier.
    let tap = |j: usize| unsafe { taps.add(j).read() };
    let is_tap = |j: usize| j.wrapping_sub(moved) < mask.len();
    let mut sums = [T::ZERO; V];
    let (mut near, mut far) = (group(0), group(1));
    unroll!(j < V => {
        if is_tap(j) {
            add_tap(&mut sums, &near, &far, j, tap(j));
        }
    });
    // Whole groups are processed in pairs, so that no values have to be moved between registers.
    let mut g = 1;
    while g + 2 < groups {
        near = group(g + 1);
        unroll!(j < V => { add_tap(&mut sums, &far, &near, j, tap(g * V + j)) });
        far = group(g + 2);
        unroll!(j < V => { add_tap(&mut sums, &near, &far, j, tap((g + 1) * V + j)) });
        g += 2;
    }
    // The last one or two groups.
    while g < groups {
        near = far;
        far = group(g + 1);
        unroll!(j < V => {
            if is_tap(g * V + j) {
                add_tap(&mut sums, &near, &far, j, tap(g * V + j));
            }
        });
        g += 1;
    }

    let whole = first as usize + BLOCK as usize * V <= input.len() && output.addr().is_multiple_of(16);
    // SAFETY: no other block writes this block's outputs.
    unsafe { store::<T, W, V>(output, first, input.len(), whole, sums) };
}

/// Adds a tap times `V` neighbouring elements, of which `near` holds the first `V - j` from the `j`th on, and `far` the
/// others.
#[inline(always)]
fn add_tap<T: Sample, const V: usize>(sums: &mut [T; V], near: &[T; V], far: &[T; V], j: usize, tap: T) {
    let mut v = 0;
    while v < V {
        let x = if j + v < V { near[j + v] } else { far[(j + v) % V] };
        sums[v] = x.mul_add(tap, sums[v]);
        v += 1;
    }
}

/// The slot of a vector of the tile. Eight lanes read at once, vectors that are two apart, which would be in every
/// second bank. Every other eight vectors are shifted by one, to the banks between.
#[inline(always)]
fn slot(vector: usize) -> usize {
    vector ^ ((vector >> 3) & 1)
}

/// The `V` elements of a group of the tile.
///
/// # Safety
/// The elements were written before.
#[inline(always)]
unsafe fn load_group<T: Sample, const W: usize, const V: usize>(tile: *const Vector<T, W>, group: usize) -> [T; V] {
    let mut values = [T::ZERO; V];
    let mut k = 0;
    while k < V / W {
        // SAFETY: the caller upholds this function's contract.
        let Vector(vector) = unsafe { Vector::load(tile.add(slot(group * (V / W) + k))) };
        let mut w = 0;
        while w < W {
            values[k * W + w] = vector[w];
            w += 1;
        }
        k += 1;
    }
    values
}

/// Loads `vectors` vectors from sample `from` on.
///
/// # Safety
/// `input` is a signal of the frame, of one channel. The tile has room for the vectors, rounded up to a multiple of
/// two.
#[inline(always)]
unsafe fn load_tile<T: Sample, const W: usize>(
    tile: *mut Vector<T, W>,
    vectors: usize,
    input: &[T],
    from: i32,
    frame: Frame,
) {
    let tid = thread::thread_idx_x() as usize;
    let inside = from >= 0 && from as usize + vectors * W <= input.len();
    if inside && input.as_ptr().addr().is_multiple_of(16) {
        // SAFETY: the vector is inside the signal and on a boundary, since `from` is a multiple of W: the tile's start
        // is, and the reach of the mask was rounded up to one.
        let load = |k: usize| unsafe { Vector::<T, W>::load(input.as_ptr().add(from as usize + k * W).cast()) };
        // Two vectors per thread, with both loads in flight before the first value is used; then those of the halo.
        let pair = [load(tid), load(tid + BLOCK as usize)];
        // SAFETY: each vector has a slot.
        unsafe {
            pair[0].store(tile.add(slot(tid)));
            pair[1].store(tile.add(slot(tid + BLOCK as usize)));
        }
        let mut k = tid + 2 * BLOCK as usize;
        while k < vectors {
            // SAFETY: each vector has a slot.
            unsafe { load(k).store(tile.add(slot(k))) };
            k += BLOCK as usize;
        }
        return;
    }
    let mut k = tid;
    while k < vectors {
        // SAFETY: the caller upholds this function's contract.
        let at = |w: usize| unsafe { frame.element(input, from + (k * W + w) as i32, 0) };
        // SAFETY: each vector has a slot.
        unsafe { Vector(core::array::from_fn(at)).store(tile.add(slot(k))) };
        k += BLOCK as usize;
    }
}

/// Writes the outputs of a block; `whole` states that all of them exist and start on a 16-byte boundary.
///
/// # Safety
/// `output` has `len` elements, of which no other block writes these; the whole block reaches this call.
#[inline(always)]
unsafe fn store<T: Sample, const W: usize, const V: usize>(
    output: *mut T,
    first: u32,
    len: usize,
    whole: bool,
    sums: [T; V],
) {
    let tid = thread::thread_idx_x() as usize;
    if !whole {
        let mut v = 0;
        while v < V {
            let at = first as usize + tid * V + v;
            if at < len {
                // SAFETY: the index is that of an output.
                unsafe { output.add(at).write(sums[v]) };
            }
            v += 1;
        }
        return;
    }
    // Of four vectors, the even lane has the first two, and the odd lane the last two. The lanes exchange the even
    // one's second vector for the odd one's first, so that each pair of neighbouring lanes has neighbouring vectors,
    // which fill a sector.
    let odd = tid % 2;
    let mut vectors = [Vector([T::ZERO; W]); 2];
    let mut w = 0;
    while w < W {
        let given = if odd == 1 { sums[w] } else { sums[W + w] };
        // SAFETY: all lanes reach this call: `whole` is the same for the block.
        let taken = unsafe { warp::shuffle_xor(warp::ALL, given, 1) };
        vectors[0].0[w] = if odd == 1 { taken } else { sums[w] };
        vectors[1].0[w] = if odd == 1 { sums[W + w] } else { taken };
        w += 1;
    }
    // SAFETY: the element is inside the output, on a boundary.
    unsafe {
        let at = output.add(first as usize).cast::<Vector<T, W>>().add(2 * (tid - odd) + odd);
        vectors[0].store(at);
        vectors[1].store(at.add(2));
    }
}
