//! The rung to use: one launch at the speed of memory, with the same bits in every run.
//!
//! - Each thread has `UNROLL` 16-byte loads of each vector in flight, and a running sum for each element of a vector,
//!   so that no addition waits for another of its round.
//! - Elements before the first 16-byte boundary of `a` and after the last one are multiplied singly, so the vectors may
//!   start at any element. If `b` is aligned differently, no boundary suits both: then single elements are loaded, as
//!   many at once.
//! - The block that starts last adds the sums of all blocks, in the order of the blocks.

use super::Real;
use crate::reduce::{Sum, gather::Gather};
use cuda_std::{kernel, memory::Vector, thread};

/// The idea in one line.
pub const IDEA: &str = "16-byte loads in flight, one launch, and the block that starts last finishes in a fixed order";

/// Default number of threads per block; a multiple of 32, at most 1024.
pub const BLOCK: u32 = 512;

/// Blocks per multiprocessor: enough for the loads in flight; more would only add to the work of the block that
/// gathers.
pub const BLOCKS_PER_SM: u32 = 2;

/// Bytes of each vector that one block reads alone, as measured on an H200. Several blocks would read them sooner, but
/// then wait for each other.
pub const ALONE_BYTES: u64 = 1 << 15;

/// Loads of each vector in flight per thread.
// tune: 2 4 8
pub const UNROLL: usize = 4;

/// Writes the dot product to `output[0]`.
///
/// # Safety
/// The block is a multiple of 32; `words` are those of [`Gather::start`] for results of type `T`.
#[kernel(for T in [f32, f64])]
pub unsafe fn dot_best<T: Real>(a: &[T], b: &[T], words: *mut u64, output: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    let gather = unsafe { Gather::start(words) };
    let sum = match size_of::<T>() {
        4 => thread_share::<T, 4>(a, b),
        _ => thread_share::<T, 2>(a, b),
    };
    // SAFETY: every thread of the grid reaches this call, in blocks of whole warps.
    if let Some(sum) = unsafe { gather.reduce::<Sum, T>(sum) } {
        // SAFETY: only one thread of the grid takes this branch.
        unsafe { output.write(sum) };
    }
}

/// The thread's part of the sum, for elements of which `W` fill 16 bytes.
#[inline(always)]
fn thread_share<T: Real, const W: usize>(a: &[T], b: &[T]) -> T {
    let n = a.len().min(b.len());
    let me = thread::global_index();
    let (a, b) = (a.as_ptr(), b.as_ptr());
    if !(a.addr() ^ b.addr()).is_multiple_of(16) {
        // SAFETY: both vectors have `n` elements.
        let [sum] = unsafe { rounds::<T, 1>(n, me, |i| ([a.add(i).read()], [b.add(i).read()])) };
        return sum;
    }
    let (head, vectors) = Vector::<T, W>::parts(a, n);
    // SAFETY: after `head` elements both are on a 16-byte boundary (or there is no vector), and
    // `head + vectors * W <= n`.
    let sums = unsafe {
        let (a, b) = (a.add(head).cast::<Vector<T, W>>(), b.add(head).cast::<Vector<T, W>>());
        rounds::<T, W>(vectors, me, |i| (Vector::load(a.add(i)).0, Vector::load(b.add(i)).0))
    };
    let mut sum = sums[0];
    let mut j = 1;
    while j < W {
        sum = sum.add(sums[j]);
        j += 1;
    }
    let tail = head + vectors * W;
    // SAFETY: `head <= n`, and what is left after the vectors ends at `n`.
    unsafe {
        if me < head {
            sum = a.add(me).read().mul_add(b.add(me).read(), sum);
        }
        if me < n - tail {
            sum = a.add(tail + me).read().mul_add(b.add(tail + me).read(), sum);
        }
    }
    sum
}

/// Sums of products for each element of a vector, over vectors `me`, `me + threads`, `me + 2 * threads`, … of `count`,
/// in rounds of [`UNROLL`] loads that do not wait for each other. Only the last round checks where the vectors end.
/// # Safety
/// `load` may be called for any vector below `count`.
#[inline(always)]
unsafe fn rounds<T: Real, const W: usize>(count: usize, me: usize, load: impl Fn(usize) -> ([T; W], [T; W])) -> [T; W] {
    let threads = thread::grid_stride();
    let mut sums = [T::ZERO; W];
    let mut i = me;
    while i + (UNROLL - 1) * threads < count {
        let round: [_; UNROLL] = core::array::from_fn(|k| load(i + k * threads));
        sums = add::<T, W>(sums, round);
        i += UNROLL * threads;
    }
    if i < count {
        // Past the end the last vector is loaded and not used: a load that no branch guards can start at once.
        let last = count - 1;
        let mut round: [_; UNROLL] = core::array::from_fn(|k| load(last.min(i + k * threads)));
        let mut k = 1;
        while k < UNROLL {
            if i + k * threads > last {
                round[k] = ([T::ZERO; W], [T::ZERO; W]);
            }
            k += 1;
        }
        sums = add::<T, W>(sums, round);
    }
    sums
}

/// Adds the products of a round in two chains side by side. With one chain the first product would be the most urgent,
/// and ptxas would start it before the last loads.
#[inline(always)]
fn add<T: Real, const W: usize>(mut sums: [T; W], round: [([T; W], [T; W]); UNROLL]) -> [T; W] {
    const { assert!(UNROLL.is_multiple_of(2)) };
    let mut j = 0;
    while j < W {
        let (mut even, mut odd) = (T::ZERO, T::ZERO);
        let mut k = 0;
        while k < UNROLL {
            even = round[k].0[j].mul_add(round[k].1[j], even);
            odd = round[k + 1].0[j].mul_add(round[k + 1].1[j], odd);
            k += 2;
        }
        sums[j] = sums[j].add(even.add(odd));
        j += 1;
    }
    sums
}
