//! A stretch of neighbouring elements of one segment, which a block reduces.

use crate::operator::{Operator, Pod, chunk::Chunk};

/// Vectors that a thread loads before it waits for the first.
const ROWS: usize = 4;

/// Largest number of additions in a chain from an element to the share of one of `threads` in `len` elements of this
/// size.
pub const fn depth(len: u64, threads: u64, bytes: usize) -> u64 {
    let width = (16 / bytes) as u64;
    // Rounds, the pairs of vectors of a round, the elements of a vector, and those before and after all vectors.
    len.div_ceil(threads * ROWS as u64 * width) + 1 + ROWS.ilog2() as u64 + width + 2
}

/// The share of thread `me` of `threads` in the elements: 16-byte vectors `me`, `me + threads`, …, `ROWS` of them in
/// flight, and at most one of the elements before the first boundary of 16 bytes and one of those after the last.
#[inline(always)]
pub fn share<O: Operator<T>, T: Pod>(values: &[T], me: usize, threads: usize) -> T {
    const { assert!(matches!(size_of::<T>(), 4 | 8) && size_of::<T>() == align_of::<T>()) };
    match size_of::<T>() {
        4 => share_of_vectors::<O, T, 4>(values, me, threads),
        _ => share_of_vectors::<O, T, 2>(values, me, threads),
    }
}

#[inline(always)]
fn share_of_vectors<O: Operator<T>, T: Pod, const W: usize>(values: &[T], me: usize, threads: usize) -> T {
    // SAFETY: a chunk is an array of `T`, and any bits of `T`s are a chunk.
    let (head, chunks, tail) = unsafe { values.align_to::<Chunk<T, W>>() };
    let mut sums = [O::identity(); W];
    let mut i = me;
    while i + (ROWS - 1) * threads < chunks.len() {
        // SAFETY: `i + row * threads` is below the length for every `row < ROWS`, and chunks lie on boundaries.
        let round = core::array::from_fn(|row| unsafe { *chunks.get_unchecked(i + row * threads) });
        sums = add::<O, T, W>(sums, tree::<O, T, W>(round));
        i += ROWS * threads;
    }
    if i < chunks.len() {
        // Past the end the last chunk is loaded and not used: a load that no branch guards can start at once.
        let last = chunks.len() - 1;
        // SAFETY: `last` is an index, and chunks lie on boundaries.
        let mut round: [Chunk<T, W>; ROWS] =
            core::array::from_fn(|row| unsafe { *chunks.get_unchecked(last.min(i + row * threads)) });
        let mut row = 1;
        while row < ROWS {
            if i + row * threads > last {
                round[row] = Chunk([O::identity(); W]);
            }
            row += 1;
        }
        sums = add::<O, T, W>(sums, tree::<O, T, W>(round));
    }
    let mut sum = sums[0];
    let mut w = 1;
    while w < W {
        sum = O::combine(sum, sums[w]);
        w += 1;
    }
    if me < head.len() {
        sum = O::combine(sum, head[me]);
    }
    if me < tail.len() {
        sum = O::combine(sum, tail[me]);
    }
    sum
}

/// Combines the vectors of a round pairwise.
#[inline(always)]
fn tree<O: Operator<T>, T: Pod, const W: usize>([a, b, c, d]: [Chunk<T, W>; ROWS]) -> [T; W] {
    add::<O, T, W>(add::<O, T, W>(a.0, b.0), add::<O, T, W>(c.0, d.0))
}

#[inline(always)]
fn add<O: Operator<T>, T: Pod, const W: usize>(mut a: [T; W], b: [T; W]) -> [T; W] {
    let mut w = 0;
    while w < W {
        a[w] = O::combine(a[w], b[w]);
        w += 1;
    }
    a
}
