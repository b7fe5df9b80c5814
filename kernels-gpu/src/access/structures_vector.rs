//! Array of structures, where a lane loads 16 bytes at once: four `f32`, a whole point. A request accesses 16 sectors
//! and uses every byte of them, where the rung with single fields needs four requests.
//!
//! Structures of 16 bytes on 16-byte boundaries therefore need no other layout if all fields are used.

use super::double;
use crate::number::Number;
use cuda_std::{kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str = "a whole structure per lane in one 16-byte load: every byte used, a quarter of the requests";

/// Doubles all elements.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; the launch has at least four threads, and one for each 16
/// bytes.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_structures_vector<T: Number>(input: &[T], output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        match size_of::<T>() {
            4 => vectors::<T, 4>(input, output),
            _ => vectors::<T, 2>(input, output),
        }
    }
}

/// Implements the kernel for elements of which `W` fill 16 bytes.
///
/// # Safety
/// The requirements are those of [`access_structures_vector()`].
#[inline(always)]
unsafe fn vectors<T: Number, const W: usize>(input: &[T], output: *mut T) {
    let me = thread::global_index();
    let (head, vectors, tail) = Vector::<T, W>::split(input);
    let aligned = output.addr() % 16 == input.as_ptr().addr() % 16;
    if !aligned {
        // `input` and `output` cannot both be on a boundary at the same element.
        let mut i = me;
        while i < input.len() {
            // SAFETY: the index is below the length, and no other thread has it.
            unsafe { double(input, i, output) };
            i += thread::grid_stride();
        }
        return;
    }
    if me < vectors.len() {
        // SAFETY: `me` is the index of a vector, which `output` has too, with the same alignment.
        unsafe {
            let Vector(values) = Vector::load(vectors.as_ptr().add(me));
            let doubled = core::array::from_fn(|k| values[k].add(values[k]));
            Vector(doubled).store(output.add(head.len()).cast::<Vector<T, W>>().add(me));
        }
    }
    if me < head.len() {
        // SAFETY: the index is below the length, and no other thread has it.
        unsafe { double(input, me, output) };
    }
    if me < tail.len() {
        // SAFETY: as for the elements before the vectors.
        unsafe { double(input, input.len() - 1 - me, output) };
    }
}
