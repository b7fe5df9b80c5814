//! What a lane scans of a warp's part: chunks of several rows, or as many neighbouring elements.
//!
//! Memory is read and written in rows of chunks, one for each lane, and rows are scanned in place where that is cheap:
//! the warp scans once for each row. Where it is not, the part goes through shared memory, so that each lane has
//! neighbouring elements (CUB calls that a blocked arrangement): it scans them one after the other, and the warp scans
//! once. With an odd number of rows neither way has bank conflicts, but for keys of 8 bytes beside values of 4 bytes.

use crate::operator::Pod;
use crate::operator::chunk::{read, write};
use crate::reduce::WARP;
use crate::unroll::unroll;
use cuda_std::warp;

/// The chunks of a lane in `R` rows of `W` elements, as `S` times `V` neighbours: the same, or all of a lane's part.
///
/// # Safety
/// All lanes of the warp call it together; `scratch` is shared memory for the part of this warp, on a boundary of 16
/// bytes, that no other warp accesses. It is not used if the lane scans rows.
#[inline(always)]
pub unsafe fn gather<T: Pod, const W: usize, const R: usize, const V: usize, const S: usize>(
    rows: [[T; W]; R],
    scratch: *mut T,
) -> [[T; V]; S] {
    const { assert!(V == W && S == R || V == W * R && S == 1) };
    if const { V == W } {
        return core::array::from_fn(|s| core::array::from_fn(|v| rows[s][v]));
    }
    let lane = warp::lane_id() as usize;
    // SAFETY: the caller upholds this function's contract; between the barriers lanes write places of their own.
    unsafe {
        warp::sync_warp(warp::ALL); // what was read from it before
        unroll!(row < R => { write(scratch.add((row * WARP as usize + lane) * W), rows[row]) });
        warp::sync_warp(warp::ALL); // separates these writes from the reads
        neighbours::<T, W, R, V, S>(scratch)
    }
}

/// What [`gather()`] returned, once more: registers are few while the block looks back.
///
/// # Safety
/// As for [`gather()`]; nothing was written to the scratch memory since.
#[inline(always)]
pub unsafe fn neighbours<T: Pod, const W: usize, const R: usize, const V: usize, const S: usize>(
    scratch: *const T,
) -> [[T; V]; S] {
    let mut own = [[T::zeroed(); V]; S];
    unroll!(row < R => {
        // SAFETY: the caller upholds this function's contract.
        let chunk: [T; W] = unsafe { read(scratch.add(warp::lane_id() as usize * V + row * W)) };
        unroll!(k < W => { own[0][row * W + k] = chunk[k] });
    });
    own
}

/// Neighbours as chunks of rows, the inverse of [`gather()`].
///
/// # Safety
/// As for [`gather()`]; what each lane has gathered was read last from there.
#[inline(always)]
pub unsafe fn scatter<T: Pod, const V: usize, const W: usize, const R: usize>(
    own: [T; V],
    scratch: *mut T,
) -> [[T; W]; R] {
    let lane = warp::lane_id() as usize;
    // SAFETY: as in `gather`; a lane writes where no other one has read since.
    unsafe {
        unroll!(row < R => {
            if const { V == W * R } {
                let chunk: [T; W] = core::array::from_fn(|k| own[row * W + k]);
                write(scratch.add(lane * V + row * W), chunk);
            }
        });
        warp::sync_warp(warp::ALL); // separates these writes from the reads
        core::array::from_fn(|row| read(scratch.add((row * WARP as usize + lane) * W)))
    }
}
