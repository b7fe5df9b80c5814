//! The rung to use: three kernels, chosen by the number of bins and channels.
//!
//! - Up to [`LANE_BINS`] bins, [`lanes`]: every lane has counters of its own, so that no two lanes of a warp contend,
//!   whatever the data.
//! - For bytes in interleaved channels, [`channels`]: counters per lane and channel.
//! - For more bins, [`windows`]: a block counts the bins that fit in the maximum of shared memory; if not all of them
//!   fit, neighbouring blocks read the same elements and each counts the bins of its window.
//!
//! All load 16 bytes at a time, several of them in flight per thread; elements before the first 16-byte boundary
//! and after the last one are counted singly, so the slice may start at any element.

use super::Sample;
use cuda_std::memory::U32x4;

pub mod channels;
pub mod lanes;
pub mod windows;

/// The idea in one line.
pub const IDEA: &str = "counters per lane, or bins spread over several blocks; 16-byte loads in flight; one launch";

/// Maximum number of bins that are counted by lane, with 128 bytes of shared memory each.
pub const LANE_BINS: u32 = 256;

/// Calls `visit` with the elements of worker `me` of `workers`, which together visit each element once.
///
/// # Safety
/// There are at least 16 workers.
#[inline(always)]
unsafe fn for_each<T: Sample, const UNROLL: usize>(input: &[T], me: usize, workers: usize, mut visit: impl FnMut(T)) {
    let (head, vectors, tail) = U32x4::split_words(input);
    for_each_vector::<UNROLL>(vectors, me, workers, |words| T::unpack(words, &mut visit));
    // Head and tail are shorter than a vector, which has at most 16 elements.
    if me < head.len() {
        // SAFETY: the index is below the length.
        visit(unsafe { *head.get_unchecked(me) });
    }
    if me < tail.len() {
        // SAFETY: the index is below the length.
        visit(unsafe { *tail.get_unchecked(me) });
    }
}

/// Calls `visit` with the vectors `me`, `me + workers`, …, loaded in rounds of `UNROLL` (4 or 8) independent loads.
#[inline(always)]
fn for_each_vector<const UNROLL: usize>(vectors: &[U32x4], me: usize, workers: usize, mut visit: impl FnMut([u32; 4])) {
    const { assert!(UNROLL == 4 || UNROLL == 8) };
    // SAFETY: it is called only with indices of vectors, which are aligned and are not written meanwhile.
    let load = |i: usize| unsafe { U32x4::load(vectors.as_ptr().add(i)).0 };
    let four = |i: usize| [load(i), load(i + workers), load(i + 2 * workers), load(i + 3 * workers)];
    let mut i = me;
    while UNROLL == 8 && i + 7 * workers < vectors.len() {
        let (near, far) = (four(i), four(i + 4 * workers));
        visit_four(near, &mut visit);
        visit_four(far, &mut visit);
        i += 8 * workers;
    }
    while i + 3 * workers < vectors.len() {
        visit_four(four(i), &mut visit);
        i += 4 * workers;
    }
    while i < vectors.len() {
        visit(load(i));
        i += workers;
    }
}

/// Visits four vectors. The code is written out, because LLVM would keep a loop of this length, whose index would place
/// the vectors in local memory.
#[inline(always)]
fn visit_four([a, b, c, d]: [[u32; 4]; 4], visit: &mut impl FnMut([u32; 4])) {
    visit(a);
    visit(b);
    visit(c);
    visit(d);
}
