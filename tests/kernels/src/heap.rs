//! The heap of kernels: collections, alignment, and memory that is freed.

use cuda_std::prelude::*;

/// A type with more alignment than `malloc` gives.
#[repr(align(64))]
struct Line([u32; 16]);

/// Per thread: the sum of a vector that grows, the address of an aligned box modulo its alignment, the length of a
/// formatted text, and the last element of a vector that was copied.
#[kernel]
pub unsafe fn heap_collections(n: &[u32], out: *mut u32) {
    let i = thread::global_index();
    if i >= n.len() {
        return;
    }
    let mut squares = Vec::new();
    for k in 0..n[i] {
        squares.push(k * k);
    }
    let line = Box::new(Line([n[i]; 16]));
    let text = format!("{} squares", n[i]);
    let copy = squares.clone();
    let row = [
        squares.iter().sum(),
        (&raw const *line as usize % 64) as u32 + line.0[15],
        text.len() as u32,
        copy.last().copied().unwrap_or(u32::MAX),
    ];
    for (k, value) in row.into_iter().enumerate() {
        // SAFETY: `out` has four values per thread.
        unsafe { *out.add(i * 4 + k) = value };
    }
}

/// Allocates and frees in a loop: more in total than a heap of 8 MiB has at a time.
#[kernel]
pub unsafe fn heap_reuses(rounds: u32, out: *mut u32) {
    let mut sum = 0;
    for round in 0..rounds {
        let block: Box<[u32]> = core::iter::repeat_n(round, 1 << 15).collect();
        sum += block[block.len() - 1];
    }
    // SAFETY: one thread is launched, for one value.
    unsafe { *out = sum };
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice};

    let n: Vec<u32> = (0..40).collect();
    let expected: Vec<u32> = n
        .iter()
        .flat_map(|&n| {
            let text = std::format!("{n} squares").len() as u32;
            [(0..n).map(|k| k * k).sum(), n, text, n.checked_sub(1).map_or(u32::MAX, |k| k * k)]
        })
        .collect();
    let count = n.len();
    std::vec![
        Case::new("heap_collections", 2, 32)
            .input(&n)
            .output(&expected)
            .calls(move |b| heap_collections(slice(b[0], count), out(b[1]))),
        Case::new("heap_reuses", 1, 1).output(&[66 * 65 / 2_u32]).calls(|b| heap_reuses(66, out(b[0]))),
    ]
}
