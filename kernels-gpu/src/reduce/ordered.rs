//! Reduction by an operator that does not commute: [`best`](super::best) for values that have to stay in order.
//!
//! - Every warp has a contiguous share of the input, and reads it in rows of 32 neighbouring chunks, one per lane.
//! - Reducing each row by its own tree would take five shuffles. Instead lanes exchange halves: a lane gives its
//!   neighbour half of its rows and gets the other half of the neighbour's, so that after three steps eight rows are
//!   spread over the lanes, and then all shuffles work on one value. That is 12 shuffles for eight rows instead of 40,
//!   and each of them combines a left part with a right part.
//! - The results of warps, blocks and the grid are combined in order: see `collective`.

use super::{WARP, collective::element_or};
use crate::{
    operator::{
        Operator, Pod,
        chunk::{Chunk, fits, most_rows},
        shuffle,
    },
    unroll::unroll,
};
use cuda_std::{thread, warp};

/// Most rows that a warp reads together.
const ROWS: usize = 8;

/// The warp's share of elements of which `W` are a chunk, each converted by `map`, in lane 0; the identity in others.
///
/// # Safety
/// Every thread of the grid calls it, in blocks of whole warps.
#[inline(always)]
pub unsafe fn warp_share<O: Operator<T>, I: Pod, T: Pod, const W: usize>(
    input: &[I],
    map: impl Fn(I) -> T + Copy,
) -> T {
    let rows = const {
        let rows = most_rows(size_of::<Chunk<I, W>>());
        if rows < ROWS { rows } else { ROWS }
    };
    let lane = warp::lane_id() as usize;
    // Chunks between boundaries are loaded as such; if the input begins elsewhere, there are none.
    let aligned = const { fits(size_of::<I>()) } && input.as_ptr().addr().is_multiple_of(16);
    let chunks = if aligned { input.len() / W } else { 0 };
    let tile = rows * WARP as usize;
    let tiles = input.len().div_ceil(W).div_ceil(tile);
    let warps = thread::grid_dim_x() as usize * (thread::block_dim_x() / WARP) as usize;
    let warps = warps.max(1); // spares the test for a division by 0
    let me = thread::global_index() / WARP as usize;
    let (each, more) = (tiles / warps, tiles % warps);
    let begin = me * each + me.min(more);
    let end = begin + each + usize::from(me < more);

    let mut result = O::identity();
    let mut number = begin;
    while number < end {
        let first = number * tile + lane;
        let mut values = [O::identity(); ROWS];
        if (number + 1) * tile <= chunks {
            // SAFETY: all chunks of the tile are inside the input and on boundaries.
            let loaded: [Chunk<I, W>; ROWS] = core::array::from_fn(|row| unsafe {
                Chunk::load(input.as_ptr().add((first + row % rows * WARP as usize) * W).cast())
            });
            unroll!(row < ROWS => {
                if row < rows {
                    values[row] = in_order::<O, I, T, W>(loaded[row], map);
                }
            });
        } else {
            unroll!(row < ROWS => {
                let mut k = 0;
                while row < rows && k < W {
                    let i = (first + row * WARP as usize) * W + k;
                    values[row] = O::combine(values[row], element_or(input, i, map, O::identity()));
                    k += 1;
                }
            });
        }
        // SAFETY: the whole warp reaches this call: it has the same tiles.
        result = O::combine(result, unsafe { rows_reduce::<O, T>(values, rows) });
        number += 1;
    }
    if lane == 0 { result } else { O::identity() }
}

/// The values of a chunk, combined in order.
#[inline(always)]
fn in_order<O: Operator<T>, I: Pod, T: Pod, const W: usize>(chunk: Chunk<I, W>, map: impl Fn(I) -> T + Copy) -> T {
    let mut value = map(chunk.0[0]);
    unroll!(k < W => {
        if k > 0 {
            value = O::combine(value, map(chunk.0[k]));
        }
    });
    value
}

/// Reduces `rows` rows of a value per lane, row by row and in each row lane by lane; every lane gets the result.
///
/// # Safety
/// All lanes of the warp call it together, with the same number of rows, a power of two of at most [`ROWS`].
#[inline(always)]
unsafe fn rows_reduce<O: Operator<T>, T: Pod>(mut values: [T; ROWS], rows: usize) -> T {
    const { assert!(ROWS == 8) };
    let mut distance = 1;
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if rows == 8 {
            values = exchange::<O, T, 4>(values, distance);
            distance *= 2;
        }
        if rows >= 4 {
            values = exchange::<O, T, 2>(values, distance);
            distance *= 2;
        }
        if rows >= 2 {
            values = exchange::<O, T, 1>(values, distance);
            distance *= 2;
        }
    }
    // Each lane has one row over a group of `rows` neighbouring lanes: now over the groups, from left to right.
    let mut value = values[0];
    while distance < WARP {
        // SAFETY: the caller upholds this function's contract.
        value = unsafe { shuffle::combine_across::<O, T>(value, distance) };
        distance *= 2;
    }
    // The bit that was used last distinguishes neighbouring rows.
    distance = rows as u32;
    while distance > 1 {
        distance /= 2;
        // SAFETY: the caller upholds this function's contract.
        value = unsafe { shuffle::combine_across::<O, T>(value, distance) };
    }
    value
}

/// Exchanges halves of `2 * HALF` rows with the lane whose number differs in the bit `distance`: the lower lane keeps
/// the lower rows, and combines each with the other lane's.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn exchange<O: Operator<T>, T: Pod, const HALF: usize>(mut values: [T; ROWS], distance: u32) -> [T; ROWS] {
    let upper = warp::lane_id() & distance != 0;
    unroll!(k < HALF => {
        let (low, high) = (values[k], values[k + HALF]);
        // SAFETY: the caller upholds this function's contract.
        let got = unsafe { shuffle::xor(if upper { low } else { high }, distance) };
        let (first, second) = if upper { (got, high) } else { (low, got) };
        values[k] = O::combine(first, second);
    });
    values
}
