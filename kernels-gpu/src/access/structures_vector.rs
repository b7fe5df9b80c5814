//! Array of structures again, but a lane takes 16 bytes at once: four `f32`, a whole point. A request touches 16
//! sectors and uses every byte of them, and there is one where the rung with single fields has four.
//!
//! So structures of 16 bytes on 16-byte boundaries need no change of layout where all fields are used.

use super::double;
use crate::number::Number;
use cuda_std::{kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str = "a whole structure per lane in one 16-byte load: every byte used, a quarter of the requests";

/// Doubles all elements.
///
/// # Safety
/// `output` is as long as `input` and does not overlap it; at least four threads, and one for each 16 bytes.
#[kernel(for T in [f32, f64])]
pub unsafe fn access_structures_vector<T: Number>(input: &[T], output: *mut T) {
    // SAFETY: the caller's promise.
    unsafe {
        match size_of::<T>() {
            4 => vectors::<T, 4>(input, output),
            _ => vectors::<T, 2>(input, output),
        }
    }
}

/// The same for elements of which `W` make 16 bytes.
///
/// # Safety
/// As [`access_structures_vector()`].
#[inline(always)]
unsafe fn vectors<T: Number, const W: usize>(input: &[T], output: *mut T) {
    let me = thread::global_index();
    let (head, vectors, tail) = Vector::<T, W>::split(input);
    let aligned = output.addr() % 16 == input.as_ptr().addr() % 16;
    if !aligned {
        // Both sides can't be on a boundary at once.
        let mut i = me;
        while i < input.len() {
            // SAFETY: an index, of this thread alone.
            unsafe { double(input, i, output) };
            i += thread::grid_stride();
        }
        return;
    }
    if me < vectors.len() {
        // SAFETY: an index of the vectors, which `output` has too, on the same boundaries.
        unsafe {
            let Vector(values) = Vector::load(vectors.as_ptr().add(me));
            let doubled = core::array::from_fn(|k| values[k].add(values[k]));
            Vector(doubled).store(output.add(head.len()).cast::<Vector<T, W>>().add(me));
        }
    }
    if me < head.len() {
        // SAFETY: an index, of this thread alone.
        unsafe { double(input, me, output) };
    }
    if me < tail.len() {
        // SAFETY: as above.
        unsafe { double(input, input.len() - 1 - me, output) };
    }
}
