//! Parameters with names that other items of the expansion have.

use cuda_std::prelude::*;

/// `out[i] = scale * input[i]`, where the factor has the kernel's name, and a number the name of a length.
#[kernel]
pub fn parameters_scale(parameters_scale: u32, input: &[u32], input_len: u32, mut out: DisjointSlice<u32>) {
    let i = thread::unique_index();
    if let (Some(x), Some(out)) = (input.get(i.get()), out.get_mut(i)) {
        *out = parameters_scale * x + input_len;
    }
}

/// The same for a slice, a view and a pointer with the kernel's name.
#[kernel(for T in [u32])]
pub fn parameters_slice<T: Copy + Send + Sync>(parameters_slice: &[T], mut out: DisjointSlice<T>) {
    let i = thread::unique_index();
    if let (Some(x), Some(out)) = (parameters_slice.get(i.get()), out.get_mut(i)) {
        *out = *x;
    }
}

/// Writes each thread's number within its block through a view with the kernel's name, and a tile of `TILE` elements,
/// whose name in upper case is that of the constant.
#[kernel(for TILE in [32, 64])]
pub fn parameters_view<const TILE: usize>(mut parameters_view: DisjointSlice<u32>, tile: SharedTile<u32, TILE>) {
    let tile = tile.put(thread::thread_idx_x());
    let last = (TILE - 1) as u32 - thread::thread_idx_x();
    if let (Some(value), Some(out)) = (tile.get(last as usize), parameters_view.get_mut(thread::unique_index())) {
        *out = value;
    }
}

/// Writes 7.
///
/// # Safety
/// The pointer is valid for a write, and the launch has one thread.
#[kernel]
pub unsafe fn parameters_pointer(parameters_pointer: *mut u32) {
    // SAFETY: no other thread writes it.
    unsafe { *parameters_pointer = 7 };
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice, view};
    use std::vec::Vec;

    let numbers: Vec<u32> = (0..40).collect();
    let scaled: Vec<u32> = numbers.iter().map(|x| 3 * x + 5).collect();
    let reversed = |n: u32| (0..n).rev().collect::<Vec<u32>>();
    std::vec![
        Case::new("parameters_scale", 2, 32).input(&numbers).output(&scaled).calls(|b| parameters_scale(
            3,
            slice(b[0], 40),
            5,
            view(b[1], 40)
        )),
        Case::new("parameters_slice", 2, 32)
            .input(&numbers)
            .output(&numbers)
            .calls(|b| parameters_slice::<u32>(slice(b[0], 40), view(b[1], 40))),
        Case::new("parameters_view of 32", 1, 32)
            .output(&reversed(32))
            .calls(|b| parameters_view::<32>(view(b[0], 32))),
        Case::new("parameters_view of 64", 1, 64)
            .output(&reversed(64))
            .calls(|b| parameters_view::<64>(view(b[0], 64))),
        Case::new("parameters_pointer", 1, 1).output(&[7u32]).calls(|b| parameters_pointer(out(b[0]))),
    ]
}
