//! A convolution of bytes whose sum is right but is stored as a byte: 258 becomes 2, and the brightest pixels turn
//! dark.
//!
//! Threehearts 2021 (`docs/sources.md`) writes `out[…] = (uchar) pvalue`. Its histogram has counters of `uchar`, too:
//! they overflow at 255. Right: `picture`, rung `pixel`, which limits results to 255.

use cuda_std::{kernel, thread};

/// The mistake in one line.
pub const IDEA: &str = "a sum of bytes is written as a byte: results above 255 wrap";

/// Sums every three neighbours, wrongly.
///
/// # Safety
/// `output` has as many elements as `input`.
#[kernel]
pub unsafe fn failing_bytes_overflow(input: &[u8], output: *mut u8) {
    let i = thread::global_index();
    if i < input.len() {
        let at = |i: usize| if i < input.len() { u32::from(input[i]) } else { 0 };
        let sum = at(i.wrapping_sub(1)) + at(i) + at(i + 1);
        // WRONG: at most 255 fits, so use `sum.min(255)`.
        let byte = sum as u8;
        // SAFETY: each element has a result.
        unsafe { output.add(i).write(byte) };
    }
}
