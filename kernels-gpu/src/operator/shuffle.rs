//! Shuffles of values of any size, by words of 4 bytes.

use super::MAX_BYTES;
use cuda_std::warp;

use crate::unroll::unroll;
use bytemuck::Pod;

/// Moves a value word by word.
#[inline(always)]
fn by_words<T: Pod>(value: T, word: impl Fn(u32) -> u32) -> T {
    const { assert!(size_of::<T>() <= MAX_BYTES, "values of operators have at most 64 bytes") };
    let mut words = [0_u32; MAX_BYTES / 4];
    // SAFETY: the words have room for the value, whose bytes are all initialised.
    unsafe { words.as_mut_ptr().cast::<T>().write_unaligned(value) };
    unroll!(i < const { size_of::<T>().div_ceil(4) } => { words[i] = word(words[i]) });
    // SAFETY: the words hold the bytes of a value, and every bit pattern is one.
    unsafe { words.as_ptr().cast::<T>().read_unaligned() }
}

/// Returns the value of the lane `delta` above this one, or this lane's own value where the warp has no such lane.
///
/// # Safety
/// All 32 lanes of the warp call it together.
#[inline(always)]
pub unsafe fn down<T: Pod>(value: T, delta: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { by_words(value, |word| warp::shuffle_down(warp::ALL, word, delta)) }
}

/// Returns the value of the lane `delta` below this one, or this lane's own value where the warp has no such lane.
///
/// # Safety
/// That of [`down`].
#[inline(always)]
pub unsafe fn up<T: Pod>(value: T, delta: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { by_words(value, |word| warp::shuffle_up(warp::ALL, word, delta)) }
}

/// Returns the value of the lane whose number is this lane's number XOR `mask`.
///
/// # Safety
/// That of [`down`].
#[inline(always)]
pub unsafe fn xor<T: Pod>(value: T, mask: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { by_words(value, |word| warp::shuffle_xor(warp::ALL, word, mask)) }
}

/// Returns the value of lane `lane % 32`.
///
/// # Safety
/// That of [`down`].
#[inline(always)]
pub unsafe fn idx<T: Pod>(value: T, lane: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { by_words(value, |word| warp::shuffle_idx(warp::ALL, word, lane)) }
}

/// Combines this lane's value with that of the lane whose number differs in the bit `distance`, the lower lane's first.
///
/// # Safety
/// That of [`down`].
#[inline(always)]
pub unsafe fn combine_across<O: super::Operator<T>, T: Pod>(value: T, distance: u32) -> T {
    // SAFETY: the caller upholds this function's contract.
    let other = unsafe { xor(value, distance) };
    let (first, second) = if warp::lane_id() & distance == 0 { (value, other) } else { (other, value) };
    O::combine(first, second)
}

#[cfg(test)]
mod tests {
    use super::by_words;

    #[test]
    fn values_of_every_size_keep_their_bytes() {
        fn moved<const N: usize>() {
            let value: [u8; N] = core::array::from_fn(|i| i as u8 + 1);
            assert_eq!(by_words(value, |word| word), value);
            assert_eq!(by_words(value, |word| !word), value.map(|byte| !byte));
        }
        moved::<1>();
        moved::<2>();
        moved::<3>();
        moved::<4>();
        moved::<5>();
        moved::<8>();
        moved::<12>();
        moved::<16>();
        moved::<20>();
        moved::<24>();
        moved::<32>();
        moved::<64>();
    }
}
