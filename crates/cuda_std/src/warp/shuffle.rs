//! Shuffles: a lane reads a register of another lane.

use cuda_std_macros::gpu_only;

#[cfg(target_arch = "nvptx64")]
use crate::intrinsics as nvvm;

/// A value that lanes can exchange: 8 to 128 bits, moved as one to four 32-bit words.
///
/// # Safety
/// The type must be `Copy`, without padding, valid for every bit pattern, and 1, 2, 4, 8, 12 or 16 bytes long.
pub unsafe trait WarpShuffleValue: Copy {}

macro_rules! values {
    ($($t:ty)*) => { $(
        // SAFETY: a number: no padding, any bits.
        unsafe impl WarpShuffleValue for $t {}
    )* };
}
values!(u8 i8 u16 i16 u32 i32 u64 i64 u128 i128 usize isize f32 f64);

/// Where a lane reads from.
#[cfg(target_arch = "nvptx64")]
#[derive(Clone, Copy)]
enum From {
    Down,
    Up,
    Xor,
    Idx,
}

/// The word of the lane that `from` and `operand` name.
#[cfg(target_arch = "nvptx64")]
#[inline(always)]
unsafe fn word(from: From, mask: u32, value: u32, operand: u32, clamp: u32) -> u32 {
    // SAFETY: the caller of the public function promises that the lanes of the mask are here.
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
    const { assert!(matches!(size_of::<T>(), 1 | 2 | 4 | 8 | 12 | 16), "`WarpShuffleValue` promises these sizes") };
    // SAFETY: `WarpShuffleValue` promises a type without padding that any bits are valid for, so it may be taken apart
    // into words and put together again; the lanes of the mask are the caller's promise.
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

/// The value of lane `lane + delta`, or the own value where that lane is beyond the warp.
///
/// # Safety
/// Every lane of `mask`, this one among them, must come here with the same mask. The value is unspecified when the lane
/// read from is not in it.
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_down<T: WarpShuffleValue>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { shuffle(From::Down, mask, value, delta, 31) }
}

/// The value of lane `lane - delta`, or the own value where there is none.
///
/// # Safety
/// As for [`shuffle_down`].
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { shuffle(From::Up, mask, value, delta, 0) }
}

/// The value of lane `lane ^ lane_mask`.
///
/// # Safety
/// As for [`shuffle_down`].
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_xor<T: WarpShuffleValue>(mask: u32, value: T, lane_mask: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { shuffle(From::Xor, mask, value, lane_mask, 31) }
}

/// The value of lane `lane % 32`.
///
/// # Safety
/// As for [`shuffle_down`].
#[must_use]
#[gpu_only]
pub unsafe fn shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, lane: u32) -> T {
    // SAFETY: the caller's promise.
    unsafe { shuffle(From::Idx, mask, value, lane, 31) }
}

/// [`shuffle_down`] within parts of `width` lanes, under the Rust-GPU project's name. Returns also whether that lane is
/// in this one's part.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_down<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller's promise.
    let value = unsafe { shuffle(From::Down, mask, value, delta, part.segments | 31) };
    (value, part.lane + (delta & 31) <= part.last)
}

/// [`shuffle_up`] within parts of `width` lanes, under the Rust-GPU project's name. Returns also whether that lane is
/// in this one's part.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_up<T: WarpShuffleValue>(mask: u32, value: T, delta: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller's promise.
    let value = unsafe { shuffle(From::Up, mask, value, delta, part.segments) };
    (value, part.lane >= part.first + (delta & 31))
}

/// [`shuffle_xor`] within parts of `width` lanes, under the Rust-GPU project's name. Returns also whether that lane is
/// in this one's part, or in one before it.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_xor<T: WarpShuffleValue>(mask: u32, value: T, lane_mask: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller's promise.
    let value = unsafe { shuffle(From::Xor, mask, value, lane_mask, part.segments | 31) };
    (value, part.lane ^ (lane_mask & 31) <= part.last)
}

/// [`shuffle_idx`] within parts of `width` lanes, under the Rust-GPU project's name: lane `lane % width` of this one's
/// part.
///
/// # Safety
/// As for [`shuffle_down`].
///
/// # Panics
/// Unless `width` is 1, 2, 4, 8, 16 or 32.
#[must_use]
#[gpu_only]
pub unsafe fn warp_shuffle_idx<T: WarpShuffleValue>(mask: u32, value: T, lane: u32, width: u32) -> (T, bool) {
    let part = Part::of(width);
    // SAFETY: the caller's promise.
    let value = unsafe { shuffle(From::Idx, mask, value, lane, part.segments | 31) };
    (value, true)
}

/// The part of the warp that this lane is in.
#[cfg(target_arch = "nvptx64")]
struct Part {
    lane: u32,
    first: u32,
    last: u32,
    /// The parts as the instruction wants them: the fixed bits of a lane's number, shifted by 8.
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
