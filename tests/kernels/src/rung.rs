//! Rungs of the ladders as they would be with pointers and without views: a test compares the rungs' instructions with
//! these.

use cuda_std::atomic::{AtomicU64, Ordering};
use cuda_std::math::Float;
use cuda_std::{kernel, thread};

/// The twin of `scan_naive` for sums.
#[kernel]
pub unsafe fn rung_scan_naive(input: &[f32], shift: usize, step: usize, output: *mut f32) {
    let i = thread::global_index();
    if i >= input.len() {
        return;
    }
    // SAFETY: `j` is at most `i`, which is below the length.
    let element = |j: usize| if j >= shift { unsafe { *input.get_unchecked(j - shift) } } else { 0.0 };
    let mut value = element(i);
    if i >= step {
        value += element(i - step);
    }
    // SAFETY: `output` is as long as `input`, and no other thread has this `i`.
    unsafe { output.add(i).write(value) };
}

/// The twin of `reduce_pairwise` for sums.
#[kernel]
pub unsafe fn rung_reduce_pairwise(input: &[f32], output: *mut f32) {
    let half = input.len().div_ceil(2);
    let i = thread::global_index();
    if i < half {
        // SAFETY: below the length; the element after it, half the vector away, is tested for.
        let (first, second) = unsafe {
            let second = if i + half < input.len() { *input.get_unchecked(i + half) } else { 0.0 };
            (*input.get_unchecked(i), second)
        };
        // SAFETY: no other thread has this element of the output.
        unsafe { output.add(i).write(first + second) };
    }
}

/// The twin of `reduce_find` for `u64`.
#[kernel]
pub unsafe fn rung_reduce_find(input: &[u64], wanted: &[u64], place: *mut u64) {
    // SAFETY: `wanted` has an element; and during the launch every access to `place[0]` is atomic.
    let (wanted, place) = unsafe { (*wanted.get_unchecked(0), AtomicU64::from_ptr(place)) };
    let mut i = thread::global_index();
    while i < input.len() && (i as u64) < place.load(Ordering::Relaxed) {
        // SAFETY: below the length.
        if unsafe { *input.get_unchecked(i) } == wanted {
            place.fetch_min(i as u64, Ordering::Relaxed);
            return;
        }
        i += thread::grid_stride();
    }
}

/// Adds 1 to a bin.
///
/// # Safety
/// `counts` has more than `bin` elements, which other threads change by atomics only.
#[inline(always)]
unsafe fn count(counts: *mut u64, bin: u32) {
    // SAFETY: the caller upholds this function's contract.
    let counter = unsafe { AtomicU64::from_ptr(counts.add(bin as usize)) };
    counter.fetch_add(1, Ordering::Relaxed);
}

/// The twin of `histogram_contiguous` for bytes.
#[kernel]
pub unsafe fn rung_histogram_contiguous(input: &[u8], bins: u32, counts: *mut u64) {
    let share = input.len().div_ceil(thread::grid_stride().max(1));
    let mut i = thread::global_index() * share;
    let end = input.len().min(i + share);
    while i < end {
        // SAFETY: the index is below the length.
        let bin = u32::from(unsafe { *input.get_unchecked(i) });
        if bin < bins {
            // SAFETY: `bin` is a bin of the result.
            unsafe { count(counts, bin) };
        }
        i += 1;
    }
}

/// The twin of `histogram_interleaved` for bytes.
#[kernel]
pub unsafe fn rung_histogram_interleaved(input: &[u8], bins: u32, counts: *mut u64) {
    let mut i = thread::global_index();
    while i < input.len() {
        // SAFETY: the index is below the length.
        let bin = u32::from(unsafe { *input.get_unchecked(i) });
        if bin < bins {
            // SAFETY: `bin` is a bin of the result.
            unsafe { count(counts, bin) };
        }
        i += thread::grid_stride();
    }
}

/// Index of the source of a place of a signal, as `kernels_gpu::conv1d` defines it: its frame is the number of samples,
/// of channels and of taps, and the border.
#[inline(always)]
fn source([samples, channels, taps, border]: [u32; 4], place: i32) -> Option<u32> {
    if (place as u32) < samples * channels {
        return Some(place as u32);
    }
    if border == 0 {
        return None;
    }
    let (channels, reach) = (channels.max(1), taps / 2);
    let later = (place + (reach * channels) as i32) as u32;
    let position = (later / channels) as i32 - reach as i32;
    let last = samples as i32 - 1;
    let sample = match border {
        _ if (position as u32) < samples => position as u32,
        1 => position.max(0).min(last) as u32,
        _ => {
            let period = (2 * last as u32).max(1);
            let phase = position.unsigned_abs() % period;
            phase.min(period - phase)
        }
    };
    Some(sample * channels + later % channels)
}

/// The twin of `conv1d_basic`.
#[kernel]
pub unsafe fn rung_conv1d_basic(input: &[f32], mask: &[f32], frame: [u32; 4], output: *mut f32) {
    let i = thread::index_1d();
    if i as usize >= input.len() {
        return;
    }
    let [_, channels, taps, _] = frame;
    let mut under = i as i32 - (taps / 2 * channels) as i32;
    let mut sum = 0.0;
    let mut j = 0;
    while j < mask.len() {
        let element = match source(frame, under) {
            // SAFETY: `source` gives places in the signal.
            Some(at) => unsafe { *input.get_unchecked(at as usize) },
            None => 0.0,
        };
        sum = Float::mul_add(element, mask[j], sum);
        under += channels as i32;
        j += 1;
    }
    // SAFETY: the index is that of an output, and no other thread has it.
    unsafe { output.add(i as usize).write(sum) };
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, slice};
    use std::vec::Vec;

    let n = 301;
    let x: Vec<f32> = (0..n).map(|i| i as f32).collect();
    let scanned: Vec<f32> = (0..n).map(|i| x[i] + if i >= 4 { x[i - 4] } else { 0.0 }).collect();
    let half = n.div_ceil(2);
    let halved: Vec<f32> = (0..half).map(|i| x[i] + x.get(i + half).unwrap_or(&0.0)).collect();
    let places: Vec<u64> = (0..n as u64).collect();
    let bytes: Vec<u8> = (0..n).map(|i| (i % 7) as u8).collect();
    let counts: Vec<u64> = (0..5).map(|bin| bytes.iter().filter(|&&byte| byte == bin).count() as u64).collect();
    let count = |name: &str| Case::new(name, 2, 32).input(&bytes).updated(&[0_u64; 5], &counts);
    let mask = [1.0_f32, 10.0, 100.0];
    let clamped = |i: usize| x[i.clamp(1, n) - 1] + 10.0 * x[i] + 100.0 * x[(i + 1).min(n - 1)];
    let filtered: Vec<f32> = (0..n).map(clamped).collect();
    std::vec![
        Case::new("rung_scan_naive", 5, 64).input(&x).output(&scanned).calls(move |at| rung_scan_naive(
            slice(at[0], n),
            0,
            4,
            out(at[1])
        )),
        Case::new("rung_reduce_pairwise", 3, 64)
            .input(&x)
            .output(&halved)
            .calls(move |at| rung_reduce_pairwise(slice(at[0], n), out(at[1]))),
        Case::new("rung_reduce_find", 2, 32)
            .input(&places)
            .input(&[77_u64])
            .updated(&[u64::MAX], &[77_u64])
            .calls(move |at| rung_reduce_find(slice(at[0], n), slice(at[1], 1), out(at[2]))),
        count("rung_histogram_contiguous").calls(move |at| rung_histogram_contiguous(slice(at[0], n), 5, out(at[1]))),
        count("rung_histogram_interleaved").calls(move |at| rung_histogram_interleaved(slice(at[0], n), 5, out(at[1]))),
        Case::new("rung_conv1d_basic", 5, 64)
            .input(&x)
            .input(&mask)
            .output(&filtered)
            .calls(move |at| { rung_conv1d_basic(slice(at[0], n), slice(at[1], 3), [n as u32, 1, 3, 1], out(at[2])) }),
    ]
}
