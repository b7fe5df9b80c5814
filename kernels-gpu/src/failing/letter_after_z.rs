//! A histogram of letters in groups of four whose test lets 27 letters through: `{` comes after `z`, and is counted
//! with `y` and `z`.
//!
//! Threehearts 2021 (`docs/sources.md`) tests `pos >= 0 && pos <= 26`; positions are 0 to 25. The counter is there, so
//! no access is out of bounds. Right: `histogram`, rung `shared`.

use cuda_std::{
    atomic::{AtomicU32, Ordering},
    kernel, thread,
};

/// The mistake in one line.
pub const IDEA: &str = "positions 0 to 26 are counted, but letters are 0 to 25: `{` comes after `z`";

/// Groups of four letters.
pub const BINS: usize = 7;

/// Counts the letters of a text in groups of four, wrongly.
///
/// # Safety
/// `output` has `BINS` counters.
#[kernel]
pub unsafe fn failing_letter_after_z(input: &[u8], output: *mut u32) {
    let mut i = thread::global_index();
    while i < input.len() {
        let letter = i32::from(input[i]) - i32::from(b'a');
        // WRONG: 26 letters are 0 to 25.
        if (0..=26).contains(&letter) {
            // SAFETY: 26 / 4 is the last counter, and all threads access them atomically.
            unsafe { AtomicU32::from_ptr(output.add(letter as usize / 4)) }.fetch_add(1, Ordering::Relaxed);
        }
        i += thread::grid_stride();
    }
}
