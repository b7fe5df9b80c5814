//! A warpgroup's sums: how the products of a stage are added to them, and how they leave the registers.

use super::panels::{ROW, Stage};
use crate::tensor::mixed::{Accumulator, Multiply, Precision, Sum};
use crate::unroll::unroll;
use cuda_std::warp;
use cuda_std::warpgroup::commit;

/// Starts the products of a stage for a warpgroup's 64 rows, as a group.
///
/// # Safety
/// The whole warpgroup calls it; the stage is complete, and stays so until the group has been waited for.
#[inline(always)]
pub unsafe fn add<P: Multiply<R>, const R: usize, const A: bool, const B: bool>(
    sums: &mut P::Sums,
    stage: Stage,
    warpgroup: u32,
) {
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        sums.fence();
        unroll!(step < (ROW / 32) as usize => {
            P::add::<A, B>(sums, stage.a(warpgroup), stage.b(0), step as u32);
        });
        commit();
    }
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
