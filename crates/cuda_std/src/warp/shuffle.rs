//! Shuffles: a lane reads a register of another lane.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// Types that lanes can exchange: 8 to 128 bits, moved as one to four 32-bit words.
///
/// # Safety
/// The type must be `Copy`, without padding, valid for every bit pattern, and 1, 2, 4, 8, 12 or 16 bytes long.
pub unsafe trait WarpShuffleValue: Copy {}

macro_rules! values {
    ($($t:ty)*) => { $(
        // SAFETY: a primitive number has no padding and is valid for every bit pattern.
        unsafe impl WarpShuffleValue for $t {}
    )* };
}
values!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64);
#[cfg(feature = "half")]
values!(half::f16 half::bf16);

/// How a lane finds its source lane.
#[cfg(target_arch = "nvptx64")]
#[derive(Clone, Copy)]
enum From {
    Down,
    Up,
    Xor,
    Idx,
}

/// Returns the `value` of the lane that `from` and `operand` select.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn word(from: From, mask: u32, value: u32, operand: u32, clamp: u32) -> u32 {
    // SAFETY: by the contract of the public functions all lanes of the mask reach this call.
    unsafe {
        match from {
            From::Down => nvvm::shfl_down(mask, value, operand, clamp),
            From::Up => nvvm::shfl_up(mask, value, operand, clamp),
            From::Xor => nvvm::shfl_bfly(mask, value, operand, clamp),
            From::Idx => nvvm::shfl_idx(mask, value, operand, clamp),
        }
    }
}

#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn shuffle<T: WarpShuffleValue>(from: From, mask: u32, value: T, operand: u32, clamp: u32) -> T {
    use core::mem::transmute_copy;
    const {
        assert!(matches!(size_of::<T>(), 1 | 2 | 4 | 8 | 12 | 16), "`WarpShuffleValue` requires one of these sizes");
    }
    // SAFETY: a `WarpShuffleValue` has no padding and is valid for every bit pattern, so it can be split into words and
    // joined again; by contract all lanes of the mask reach this call.
    unsafe {
        match size_of::<T>() {
            1 => transmute_copy(&(word(from, mask, u32::from(transmute_copy::<T, u8>(&value)), operand, clamp) as u8)),
            2 => {
                transmute_copy(&(word(from, mask, u32::from(transmute_copy::<T, u16>(&value)), operand, clamp) as u16))
            }
            4 => transmute_copy(&word(from, mask, transmute_copy(&value), operand, clamp)),
            8 => {
                let bits: u64 = transmute_copy(&value);
                let low = word(from, mask, bits as u32, operand, clamp);
                let high = word(from, mask, (bits >> 32) as u32, operand, clamp);
                transmute_copy(&(u64::from(high) << 32 | u64::from(low)))
            }
            12 => transmute_copy(&transmute_copy::<T, [u32; 3]>(&value).map(|w| word(from, mask, w, operand, clamp))),
            _ => transmute_copy(&transmute_copy::<T, [u32; 4]>(&value).map(|w| word(from, mask, w, operand, clamp))),
        }
    }
}

/// Returns the value of the lane `delta` above this one, or this lane's own value where the warp has no such lane.
///
/// # Safety
/// Every lane of `mask`, this one included, must reach this call with the same mask. The result is unspecified if the
/// source lane is not in the mask.
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_down<T: WarpShuffleValue>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { shuffle(From::Down, mask, value, delta, 31) }
}

/// Returns the value of the lane `delta` below this one, or this lane's own value where the warp has no such lane.
///
/// # Safety
/// As for [`shuffle_down`].
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { shuffle(From::Up, mask, value, delta, 0) }
}

/// Returns the value of the lane whose index is this lane's index XOR `lane_mask`.
///
/// # Safety
/// As for [`shuffle_down`].
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_xor<T: WarpShuffleValue>(mask: u32, value: T, lane_mask: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { shuffle(From::Xor, mask, value, lane_mask, 31) }
}

/// Returns the value of lane `lane % 32`.
///
/// # Safety
/// As for [`shuffle_down`].
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, lane: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { shuffle(From::Idx, mask, value, lane, 31) }
}

/// Performs [`shuffle_down`] within parts of `width` lanes, with the Rust-GPU project's signature. Also returns whether
/// the source lane is in this lane's part.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Panics unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller upholds this function's contract.
    let value = unsafe { shuffle(From::Down, mask, value, delta, part.segments | 31) };
    (value, part.lane + (delta & 31) <= part.last)
}

/// Performs [`shuffle_up`] within parts of `width` lanes, with the Rust-GPU project's signature. Also returns whether
/// the source lane is in this lane's part.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Panics unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller upholds this function's contract.
    let value = unsafe { shuffle(From::Up, mask, value, delta, part.segments) };
    (value, part.lane >= part.first + (delta & 31))
}

/// Performs [`shuffle_xor`] within parts of `width` lanes, with the Rust-GPU project's signature. Also returns whether
/// the source lane is in this lane's part or in an earlier one.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Panics unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(mask: u32, value: T, lane_mask: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller upholds this function's contract.
    let value = unsafe { shuffle(From::Xor, mask, value, lane_mask, part.segments | 31) };
    (value, part.lane ^ (lane_mask & 31) <= part.last)
}

/// Performs [`shuffle_idx`] within parts of `width` lanes, with the Rust-GPU project's signature: the source is lane
/// `lane % width` of this lane's part. The second value is always true.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Panics unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, lane: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller upholds this function's contract.
    let value = unsafe { shuffle(From::Idx, mask, value, lane, part.segments | 31) };
    (value, true)
}

/// The part of the warp that contains this lane.
#[cfg(target_arch = "nvptx64")]
struct Part {
    lane: u32,
    first: u32,
    last: u32,
    /// Encoding of the parts in the instruction's operand: the lane bits that stay fixed, shifted left by 8.
    segments: u32,
}

#[cfg(target_arch = "nvptx64")]
impl Part {
    #[inline(always)]
    fn of(width: u32) -> Self {
        assert!(width.is_power_of_two() && width <= 32, "a part of a warp is 1, 2, 4, 8, 16 or 32 lanes");
        let lane = nvvm::lane_id();
        let first = lane & !(width - 1);
        Self { lane, first, last: first + width - 1, segments: (32 - width) << 8 }
    }
}
