//! The rung to use: [`short`] masks in registers, and 64 bytes of neighbouring outputs per thread for longer ones, over
//! a tile in shared memory.
//!
//! - With V outputs per thread (16 of 4 bytes, 8 of 8), V taps take V new elements and V taps from shared memory for
//!   V * V multiply-adds: the elements of the step before are still in registers.
//! - The tile starts on a 16-byte boundary, up to three elements before the first one under the mask. The mask is
//!   shifted accordingly, and the places before its first and after its last tap are skipped, so that an element that
//!   is infinite or NaN has no effect beyond its reach.
//! - The elements of two channels lie side by side. They are filtered as one row, by taps that are two elements apart:
//!   half as many taps for as many elements.
//! - Lanes read vectors that are four apart; `slot` spreads them over all banks.
//! - Outputs pass through the tile, so that a warp's stores fill whole lines.
//! - Blocks are small and end after one tile: while some load, others multiply.
//!
//! [`interleaved`] is the kernel for signals of more channels.

use super::Frame;
use crate::filter::Sample;
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, U32x4, Vector, copy_async, copy_async_commit, copy_async_wait};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread, warp};

pub mod interleaved;
pub mod short;

/// The idea in one line.
pub const IDEA: &str = "short masks in registers; else 16 neighbouring outputs per thread share each load from a tile";

/// Threads per block.
pub const BLOCK: u32 = 64;

/// Registers of a thread: 16 blocks fit on a multiprocessor. (With 72, 2^26 elements of f64 by 31 taps take 281 us
/// instead of 271 on an H200; f32 the same.)
pub const REGISTERS: u32 = 64;

/// Vectors of outputs per thread, and of elements in a group.
const EACH: u32 = 4;

/// Elements of `bytes` bytes of a block's outputs.
pub const fn outputs_per_block(bytes: usize) -> u32 {
    BLOCK * EACH * 16 / bytes as u32
}

/// Bytes of shared memory for a mask of this number of taps, of elements of this size in one or two channels.
pub const fn shared_bytes(mask: u32, channels: u32, bytes: usize) -> u32 {
    // The mask may be shifted by a vector less one tap.
    let step = step(channels, 16 / bytes as u32);
    let groups = (mask + step - 1).div_ceil(EACH * step);
    // The tile has one group per thread and, after the last one, as many as the mask.
    (groups + BLOCK + groups) * EACH * 16
}

/// The taps after which a row of `channels` (1 or 2) elements has moved by a vector of `width` elements.
const fn step(channels: u32, width: u32) -> u32 {
    width / channels
}

/// Filters a signal of `C` channels.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; the mask has a tap, the input an element. There is a block
/// of [`BLOCK`] threads, with [`shared_bytes`], for each [`outputs_per_block`].
#[kernel(for T in [f32, f64], for C in [1, 2], max_registers(REGISTERS))]
pub unsafe fn conv1d_best<T: Sample, const C: usize>(input: &[T], mask: &[T], border: u32, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => filter::<T, 4, 16, C>(input, mask, border, output),
            _ => filter::<T, 2, 8, C>(input, mask, border, output),
        }
    }
}

/// Implements the kernel for vectors of `W` elements and `V` outputs per thread.
///
/// # Safety
/// The requirements are those of [`conv1d_best()`].
#[inline(always)]
unsafe fn filter<T: Sample, const W: usize, const V: usize, const C: usize>(
    input: &[T],
    mask: &[T],
    border: u32,
    output: *mut T,
) {
    let tid = thread::thread_idx_x();
    let (n, taps, half) = (input.len() as u32, mask.len() as u32, mask.len() as u32 / 2);
    let step = step(C as u32, W as u32);
    let moved = half.wrapping_neg() % step;
    let groups = (moved + taps).div_ceil(EACH * step);
    let frame = Frame { samples: n / C as u32, channels: C as u32, taps, border };
    let padded = dynamic_shared_mem::<Vector<T, W>>();
    // SAFETY: the launch gave room for the mask and the tile.
    let tile = unsafe { padded.add((groups * EACH) as usize) };
    let first = thread::block_idx_x() * (BLOCK * V as u32);
    let from = first as i32 - ((half + moved) * C as u32) as i32;
    // SAFETY: the tile has room for these vectors.
    unsafe { load_tile::<T, W>(tile, (BLOCK + groups) * EACH, input, from, frame) };
    // A vector has the taps by which the mask moves over a vector of elements: half as many for two channels.
    let mut j = tid;
    while j < groups * EACH * W as u32 {
        let (vector, place) = (j / W as u32, j % W as u32);
        let tap = (vector * step + place).wrapping_sub(moved);
        // SAFETY: the index is inside the mask, and the place inside the padded one.
        unsafe {
            let value = if place < step && tap < taps { *mask.get_unchecked(tap as usize) } else { T::ZERO };
            padded.cast::<T>().add(j as usize).write(value);
        }
        j += BLOCK;
    }
    copy_async_commit();
    copy_async_wait::<0>();
    thread::sync_threads(); // mask and tile are complete before any thread reads what others loaded

    // SAFETY: the vectors are inside the tile and were written before the barrier.
    let group = |g: u32| unsafe { load_group::<T, W, V>(tile, tid + g) };
    let mask = Mask { padded, first: moved, end: moved + taps };
    let mut sums = [T::ZERO; V];
    let mut near = group(0);
    let mut g = 0;
    // In pairs, so that no values have to be moved between registers.
    loop {
        let far = group(g + 1);
        // SAFETY: the taps were written before the barrier.
        unsafe { mask.add_group::<V, C>(g, &near, &far, &mut sums) };
        if g + 1 == groups {
            break;
        }
        near = group(g + 2);
        // SAFETY: as above.
        unsafe { mask.add_group::<V, C>(g + 1, &far, &near, &mut sums) };
        g += 2;
        if g == groups {
            break;
        }
    }
    // SAFETY: no other block writes this block's outputs.
    unsafe { store::<T, W, V>(output, first, n, sums, tile) };
}

/// A mask in shared memory, padded to whole groups of vectors.
#[derive(Clone, Copy)]
struct Mask<T, const W: usize> {
    padded: *const Vector<T, W>,
    /// The places of the first tap, and after the last one.
    first: u32,
    end: u32,
}

impl<T: Sample, const W: usize> Mask<T, W> {
    /// Adds the taps of a group times the elements from each of `near` on, which go on in `far`.
    ///
    /// # Safety
    /// The taps were written.
    #[inline(always)]
    unsafe fn add_group<const V: usize, const C: usize>(self, g: u32, near: &[T; V], far: &[T; V], sums: &mut [T; V]) {
        let step = step(C as u32, W as u32);
        unroll!(k < EACH as usize => {
            let vector = g * EACH + k as u32;
            let from = vector * step;
            if from < self.end {
                // SAFETY: the vector is inside the padded mask.
                let Vector(taps) = unsafe { Vector::load(self.padded.add(vector as usize)) };
                if from >= self.first && from + step <= self.end {
                    unroll!(j < W / C => { add_tap(sums, near, far, k * W + j * C, taps[j]) });
                } else {
                    unroll!(j < W / C => {
                        if from + (j as u32) >= self.first && from + (j as u32) < self.end {
                            add_tap(sums, near, far, k * W + j * C, taps[j]);
                        }
                    });
                }
            }
        });
    }
}

/// Adds a tap times `V` neighbouring elements from `near[from]` on, of which `far` holds those after `near`.
#[inline(always)]
fn add_tap<T: Sample, const V: usize>(sums: &mut [T; V], near: &[T; V], far: &[T; V], from: usize, tap: T) {
    let mut v = 0;
    while v < V {
        let x = if from + v < V { near[from + v] } else { far[(from + v) % V] };
        sums[v] = x.mul_add(tap, sums[v]);
        v += 1;
    }
}

/// The slot of a vector of the tile. Eight lanes read at once, vectors that are four apart, which would be in two of
/// the eight places that a line of banks has. The vectors of a group are exchanged in one of four ways, which change
/// after every second group and repeat after 32 vectors.
#[inline(always)]
fn slot(vector: u32) -> u32 {
    vector ^ ((vector >> 3) & 3)
}

/// The `V` elements of a group of the tile.
///
/// # Safety
/// The elements were written before.
#[inline(always)]
unsafe fn load_group<T: Sample, const W: usize, const V: usize>(tile: *const Vector<T, W>, group: u32) -> [T; V] {
    let mut values = [T::ZERO; V];
    let first = slot(group * EACH);
    unroll!(k < EACH as usize => {
        // SAFETY: the caller upholds this function's contract.
        let Vector(vector) = unsafe { Vector::load(tile.add((first ^ k as u32) as usize)) };
        let mut w = 0;
        while w < W {
            values[k * W + w] = vector[w];
            w += 1;
        }
    });
    values
}

/// Starts copies of `vectors` vectors to the tile, from an element on that may be before the signal; where some are
/// outside, or off the boundaries, loads them. The tile is complete when all threads have committed the copies, waited
/// for them, and passed a barrier.
///
/// # Safety
/// `input` is a signal of the frame; `from` is a multiple of W. The tile has room for the vectors, and no thread reads
/// it.
#[inline(always)]
unsafe fn load_tile<T: Sample, const W: usize>(
    tile: *mut Vector<T, W>,
    vectors: u32,
    input: &[T],
    from: i32,
    frame: Frame,
) {
    let tid = thread::thread_idx_x();
    let inside = from >= 0 && from as u32 + vectors * W as u32 <= input.len() as u32;
    if inside && input.as_ptr().addr().is_multiple_of(16) {
        let from = input.as_ptr().wrapping_add(from as usize).cast::<U32x4>().wrapping_add(tid as usize);
        // SAFETY: the slot is inside the tile.
        let to = unsafe { SharedAddress::of(tile.add(slot(tid) as usize)) };
        // SAFETY: the vector is inside the signal, on a boundary, and has a slot.
        let copy = |k: u32| unsafe { copy_async(to.add(k * 16), from.wrapping_add(k as usize)) };
        unroll!(i < EACH as usize => { copy(i as u32 * BLOCK) });
        // The halo.
        let mut k = EACH * BLOCK;
        while k + tid < vectors {
            copy(k);
            k += BLOCK;
        }
        return;
    }
    let mut k = tid;
    while k < vectors {
        let at = |w: usize| match frame.source_at(from + (k * W as u32) as i32 + w as i32) {
            // SAFETY: `source_at` gives places in the signal.
            Some(at) => unsafe { *input.get_unchecked(at as usize) },
            None => T::ZERO,
        };
        // SAFETY: each vector has a slot.
        unsafe { Vector(core::array::from_fn(at)).store(tile.add(slot(k) as usize)) };
        k += BLOCK;
    }
}

/// Writes the outputs of a block, from `first` on.
///
/// # Safety
/// `output` has `len` elements, of which no other block writes these; the whole block reaches this call, and no thread
/// reads the tile afterwards.
#[inline(always)]
unsafe fn store<T: Sample, const W: usize, const V: usize>(
    output: *mut T,
    first: u32,
    len: u32,
    sums: [T; V],
    tile: *mut Vector<T, W>,
) {
    let tid = thread::thread_idx_x();
    if first + BLOCK * V as u32 > len || !output.addr().is_multiple_of(16) {
        let mut v = 0;
        while v < V {
            let at = first + tid * V as u32 + v as u32;
            if at < len {
                // SAFETY: the index is that of an output.
                unsafe { output.add(at as usize).write(sums[v]) };
            }
            v += 1;
        }
        return;
    }
    thread::sync_threads(); // separates the reads of the inputs from the writes of the outputs to the tile
    let mine = slot(tid * EACH);
    unroll!(k < EACH as usize => {
        let vector = Vector::<T, W>(core::array::from_fn(|w| sums[k * W + w]));
        // SAFETY: the slots are those of this thread's outputs.
        unsafe { vector.store(tile.add((mine ^ k as u32) as usize)) };
    });
    // A warp stores its own outputs: each lane a vector beside that of the lane before.
    let vector = tid / 32 * 32 * EACH + tid % 32;
    // SAFETY: the slots are those of the warp's outputs, written before its barrier, and the outputs this block's.
    unsafe {
        warp::sync_warp(warp::ALL);
        let from = tile.add(slot(vector) as usize);
        let to = output.add(first as usize).cast::<Vector<T, W>>().add(vector as usize);
        unroll!(k < EACH as usize => { Vector::load(from.add(k * 32)).store(to.add(k * 32)) });
    }
}
