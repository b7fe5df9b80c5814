//! A warpgroup's sums of a tile: how the stages of a ring are added to them, and how they leave the registers.

use super::panels::DEPTH;
use super::ring::Ring;
use crate::position::Position;
use crate::tensor::mixed::{Accumulator, Multiply, Precision, Sum};
use crate::unroll::unroll;
use cuda_std::warp;
use cuda_std::warpgroup::wait_but;

/// The sums of a warpgroup's 64 rows of a tile over a depth of `k`, from the stages that come next in the ring. A stage
/// is released when the products of the next have started, so that the tensor cores do not wait for the threads. The
/// last stage is not released here: a kernel that computes one tile has no use for it.
///
/// # Safety
/// The whole warpgroup calls it, and `release` gives a stage back for it.
#[inline(always)]
pub unsafe fn multiply<
    P: Multiply<R>,
    const R: usize,
    const A: bool,
    const B: bool,
    const COLUMNS: u32,
    const STAGES: u32,
>(
    ring: Ring<COLUMNS, STAGES>,
    position: &mut Position,
    warpgroup: u32,
    k: u32,
    release: impl Fn(u32),
) -> P::Sums {
    let mut sums = P::Sums::zero();
    let mut at = 0;
    while at < k {
        let stage = ring.stage(position.stage);
        // SAFETY: the whole warpgroup is here, and the stage is full after the wait.
        unsafe {
            ring.barriers().full(position.stage).wait(position.parity);
            P::add_tiles::<A, B>(&mut sums, stage.a(warpgroup), stage.b(0));
            wait_but::<1>();
        }
        if at > 0 {
            release(position.previous(STAGES));
        }
        position.advance(STAGES);
        at += DEPTH;
    }
    // SAFETY: the whole warpgroup is here.
    unsafe { sums.wait() };
    sums
}

/// Stores a warpgroup's 64 rows from `row` and `column` on, two neighbours at a time. A warp's store reaches 16 bytes,
/// half a sector, of each of eight rows: the way through shared memory that `tensor`'s `best` takes is faster.
///
/// # Safety
/// The whole warpgroup calls it; `c` has room for the `m * n` elements of the product, of which nothing else accesses
/// these.
#[inline(always)]
pub unsafe fn store<P: Precision, S: Accumulator<Sum = P::Sum>>(
    sums: &S,
    c: *mut u16,
    [m, n]: [u32; 2],
    [row, column]: [u32; 2],
) {
    let (warp, lane) = (cuda_std::thread::thread_idx_x() / 32 % 4, warp::lane_id());
    let (row, column) = (row + warp * 16 + lane / 4, column + lane % 4 * 2);
    // Pairs can be stored at once if all of them start at multiples of their size.
    let pairs = n.is_multiple_of(2) && c.addr().is_multiple_of(4);
    unroll!(block < (S::COLUMNS / 8) as usize => {
        unroll!(half < 2 => {
            let (row, column) = (row + half as u32 * 8, column + block as u32 * 8);
            let first = block * 4 + half * 2;
            let pair = P::pack(sums.get(first).float(), sums.get(first + 1).float());
            if row < m && column < n {
                let at = c.wrapping_add(row as usize * n as usize + column as usize);
                // SAFETY: the elements are inside the product.
                unsafe {
                    if pairs {
                        at.cast::<u32>().write(pair);
                    } else {
                        at.write(pair as u16);
                        if column + 1 < n {
                            at.add(1).write((pair >> 16) as u16);
                        }
                    }
                }
            }
        });
    });
}
