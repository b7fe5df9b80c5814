//! Sorting first: a block sorts the elements by magnitude in shared memory, and one thread adds them from the smallest
//! to the largest.
//!
//! It is often advised, because small numbers grow before they meet large ones, which would swallow them one by one. It
//! halves the bound on the error of a thread that adds all elements in turn, and no more: a tree of additions is better
//! at a fraction of the cost, and where both signs occur, the order does not help (Higham, "Accuracy and Stability of
//! Numerical Algorithms", 4.2 and 4.3). A sort of a large input moves memory at least ten times as often as the sum.
//! So this rung is for teaching, and takes at most [`BYTES`] of input.
//!
//! The sort is a bitonic network: sequences of two, four, eight, … elements, alternately ascending and descending, are
//! merged by comparing elements at halving distances, which is the same work for every input. Equal magnitudes are
//! ordered by sign, so that the sum does not even depend on the order of the input.
//!
//! - *Error bound*: `(n + 1) / 2 * u / (1 - n * u) * sum(|x|)`, with `u` half the type's epsilon. Each addition has an
//!   error of at most `u` times its result, and the sum of the `k` smallest of `n` magnitudes is at most `k / n` of
//!   all.
//! - *Class*: bits fixed by the elements, in any order, and so by length only.
//!
//! Source: K. E. Batcher, "Sorting Networks and Their Applications" (1968).

use super::fixed_tree::Rounded;
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "a bitonic sort by magnitude, then from small to large: half the error bound of one thread";

/// Default number of threads per block; any number works.
pub const BLOCK: u32 = 512;

/// Largest input in bytes: a block's shared memory.
pub const BYTES: usize = 32 << 10;

/// Bytes of shared memory for `n` elements of this size.
pub const fn shared(n: usize, bytes: usize) -> usize {
    n.next_power_of_two() * bytes
}

/// Adds the input to `output[0]`.
///
/// # Safety
/// The grid is one block; the input has at most [`BYTES`], and dynamic shared memory as many as [`shared`] says.
#[kernel(for T in [f32, f64])]
pub unsafe fn reduce_sorted<T: Magnitude>(input: &[T], output: *mut T) {
    let keys = dynamic_shared_mem::<T::Key>();
    let (tid, block) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let slots = input.len().next_power_of_two();

    let mut i = tid;
    while i < slots {
        let key = input.get(i).map_or(T::LAST, |x| x.key());
        // SAFETY: there are as many slots, and each belongs to one thread.
        unsafe { keys.add(i).write(key) };
        i += block;
    }
    thread::sync_threads(); // all keys are in their slots

    let mut sequence = 2;
    while sequence <= slots {
        let mut distance = sequence / 2;
        while distance > 0 {
            let mut pair = tid;
            while pair < slots / 2 {
                let low = 2 * pair - pair % distance;
                // SAFETY: `low + distance` is below `slots`; the slots of a pair belong to one thread, and were written
                // before a barrier.
                unsafe {
                    let (first, second) = (keys.add(low), keys.add(low + distance));
                    let (a, b) = (first.read(), second.read());
                    if (a > b) == (low & sequence == 0) {
                        first.write(b);
                        second.write(a);
                    }
                }
                pair += block;
            }
            thread::sync_threads(); // this step's slots are written before the next step reads them
            distance /= 2;
        }
        sequence *= 2;
    }

    if tid == 0 {
        let mut sum = T::ZERO;
        let mut i = 0;
        while i < input.len() {
            // SAFETY: the slots were written before the last barrier. Those of no element are behind the others.
            sum = sum.add(T::number(unsafe { keys.add(i).read() }));
            i += 1;
        }
        // SAFETY: one thread of one block writes the output.
        unsafe { output.write(sum) };
    }
}

/// Floats, with keys in the order of their magnitudes, and of two numbers of a magnitude the positive one first.
pub trait Magnitude: Rounded {
    /// The type of the keys.
    type Key: Copy + Ord;
    /// A key that is not below any other.
    const LAST: Self::Key;
    /// The number's key.
    fn key(self) -> Self::Key;
    /// The number with this key.
    fn number(key: Self::Key) -> Self;
}

macro_rules! magnitude {
    ($($t:ty: $key:ty;)*) => { $(
        impl Magnitude for $t {
            type Key = $key;
            const LAST: $key = <$key>::MAX;

            #[inline(always)]
            fn key(self) -> $key {
                self.to_bits().rotate_left(1)
            }
            #[inline(always)]
            fn number(key: $key) -> $t {
                <$t>::from_bits(key.rotate_right(1))
            }
        }
    )* };
}
magnitude! { f32: u32; f64: u64; }

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_have_the_order_of_magnitudes() {
        let ascending = [0.0, -0.0, 5e-324, 1.0, -1.0, -1.5, f64::MAX, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        let keys = ascending.map(Magnitude::key);
        assert!(keys.windows(2).all(|pair| pair[0] < pair[1]));
        assert_eq!(f64::LAST, u64::MAX);
        for (x, key) in ascending.into_iter().zip(keys) {
            assert_eq!(f64::number(key).to_bits(), x.to_bits());
        }
        assert_eq!(f32::number((-2.5_f32).key()), -2.5);
        assert_eq!((shared(1, 4), shared(5, 8), shared(4096, 8)), (4, 64, BYTES));
    }
}
