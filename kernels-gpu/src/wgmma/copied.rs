//! All threads of a block copy the tiles of both factors, 64 of the depth at a time, to shared memory, in the order
//! that the instruction expects (the swizzle of [`Tile`](cuda_std::warpgroup::Tile)); then its two warpgroups multiply
//! 64 rows each, and wait.
//!
//! Tensor cores read shared memory by another way than the threads write it (the async proxy), so a fence comes
//! between. Copies and products take turns; only a second block on the same multiprocessor can do the one during the
//! other.

use super::panels::{LINES, ROW, Stage};
use super::plain::plain;
use super::sums::store;
use super::{Bf16, DEPTH, F16, ROWS};
use crate::product::tile_of_block;
use crate::tensor::mixed::{Accumulator, Multiply};
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, fence_copies};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warpgroup;

/// The idea in one line.
pub const IDEA: &str = "two warpgroups multiply tiles in shared memory, which all threads copy there and fence";

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Columns of a block's tile.
pub const COLUMNS: u32 = 128;

/// Bytes of dynamic shared memory, with those that align the tiles.
pub const SHARED: u32 = 1024 + Stage::bytes(COLUMNS);

/// Elements of a unit of 16 bytes.
const UNIT: u32 = 8;

/// Multiplies two matrices of `P`, `m` by `k` and `k` by `n`, all row-major; `A`: the first is stored transposed; `B`:
/// the second is not.
///
/// # Safety
/// [`BLOCK`] threads, [`SHARED`] bytes of dynamic shared memory, one block per tile of [`ROWS`] by [`COLUMNS`]; `a` has
/// `m * k` elements, `b` `k * n`, and `c` room for `m * n`, which overlaps neither; `k` is at most `u32::MAX - DEPTH`.
#[kernel(for P in [F16, Bf16], for A in [false, true], for B in [false, true], launch_bounds(BLOCK, 2))]
pub unsafe fn wgmma_copied<P: Multiply<64>, const A: bool, const B: bool>(
    a: *const u16,
    b: *const u16,
    c: *mut u16,
    m: u32,
    n: u32,
    k: u32,
) {
    if !cfg!(target_feature = "sm_90") {
        // SAFETY: this kernel has the same contract.
        unsafe { plain::<P, A, B>([a, b], c, [m, n, k]) };
        return;
    }
    // SAFETY: the launch has the shared memory.
    let stage = unsafe { Stage(SharedAddress::of(dynamic_shared_mem::<u8>()).align_up(1024)) };
    // SAFETY: the whole warp is here.
    let warpgroup = unsafe { warpgroup::index() };
    let [row, column] = tile_of_block(n, COLUMNS).map(|tile| tile as u32);
    let [row, column] = [row * ROWS, column * COLUMNS];
    let mut sums = P::Sums::zero();
    let mut at = 0;
    while at < k {
        // SAFETY: the stage is this block's, and no thread reads it; the factors have their elements.
        unsafe {
            unroll!(panel < (ROWS / LINES) as usize => {
                fill::<A>(stage.a(panel as u32), a, [m, k], [row + panel as u32 * LINES, at]);
            });
            unroll!(panel < (COLUMNS / LINES) as usize => {
                fill::<B>(stage.b(panel as u32), b, [n, k], [column + panel as u32 * LINES, at]);
            });
        }
        fence_copies();
        thread::sync_threads(); // the stage is complete before any warpgroup multiplies it
        // SAFETY: the whole warpgroup is here.
        unsafe {
            P::add_tiles::<A, B>(&mut sums, stage.a(warpgroup), stage.b(0));
            sums.wait();
        }
        thread::sync_threads(); // both warpgroups have read the stage before the next round overwrites it
        at += DEPTH;
    }
    // SAFETY: by contract there is room for the product.
    unsafe { store::<P, P::Sums>(&sums, c, [m, n], [row + warpgroup * LINES, column]) };
}

/// Copies a panel of a factor of `lines` by `depth`, stored across the depth if `ACROSS`: the lines from `line` on,
/// with the depth from `k` on; zeros beyond the edges.
///
/// # Safety
/// All threads of the block call it together, and nothing else accesses the panel; the factor has its elements.
#[inline(always)]
unsafe fn fill<const ACROSS: bool>(
    panel: SharedAddress,
    factor: *const u16,
    [lines, depth]: [u32; 2],
    [line, k]: [u32; 2],
) {
    let ([rows, columns], [first_row, first_column]) =
        if ACROSS { ([depth, lines], [k, line]) } else { ([lines, depth], [line, k]) };
    let aligned = columns.is_multiple_of(UNIT) && factor.addr().is_multiple_of(16);
    let mut index = thread::thread_idx_x();
    while index < LINES * ROW / 16 {
        let (row, unit) = (index / (ROW / 16), index % (ROW / 16));
        let (from, first) = (first_row + row, first_column + unit * UNIT);
        // SAFETY: the elements are inside the matrix; the unit is inside the panel, and this thread's.
        unsafe {
            let there = if from < rows { columns.saturating_sub(first) } else { 0 };
            let at = factor.wrapping_add(from as usize * columns as usize + first as usize);
            panel.add(row * ROW + (unit ^ (row % 8)) * 16).store(read(at, there, aligned));
        }
        index += BLOCK;
    }
}

/// Reads a unit, of which `there` elements exist: at once, if `aligned` says that rows consist of whole units at
/// multiples of their size.
///
/// # Safety
/// These elements are there.
#[inline(always)]
unsafe fn read(at: *const u16, there: u32, aligned: bool) -> u128 {
    if aligned && there > 0 {
        // SAFETY: by contract the unit is there, at a multiple of its size.
        return unsafe { at.cast::<u128>().read() };
    }
    let (mut bits, mut i) = (0, 0);
    while i < there.min(UNIT) {
        // SAFETY: by contract the element is there.
        bits |= u128::from(unsafe { at.add(i as usize).read() }) << (i * 16);
        i += 1;
    }
    bits
}
