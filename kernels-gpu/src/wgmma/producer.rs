//! A third warpgroup copies, one thread of it, and shares nothing with those that multiply but the barriers of the
//! ring: each says for itself when it has read a stage, and neither waits for the other.
//!
//! The warpgroup that copies gives its registers to the others (`setmaxnreg`). They have room for the sums of 256
//! columns then: an element that was copied is a factor of 171 products on average, against 128 with 128 columns.

use super::copies::{Source, fill};
use super::panels::LINES;
use super::plain::plain;
use super::ring;
use super::sums::{multiply, store};
use super::{Bf16, DEPTH, F16, ROWS};
use crate::position::Position;
use crate::product::tile_of_block;
use crate::tensor::mixed::Multiply;
use cuda_std::memory::{SharedAddress, TensorMap};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warpgroup::{self, grow_registers, shrink_registers};

/// The idea in one line.
pub const IDEA: &str = "a warpgroup that only copies gives its registers to two that multiply tiles twice as wide";

/// Warpgroups that multiply.
const WARPGROUPS: u32 = 2;

/// Threads per block.
pub const BLOCK: u32 = (WARPGROUPS + 1) * 128;

/// Columns of a block's tile.
pub const COLUMNS: u32 = 256;

/// Stages: as many as a multiprocessor has room for.
const STAGES: u32 = 4;

type Ring = ring::Ring<COLUMNS, STAGES>;

/// Bytes of dynamic shared memory.
pub const SHARED: u32 = Ring::SHARED;

/// Multiplies two matrices, as [`wgmma_tma`](super::tma::wgmma_tma) does.
///
/// # Safety
/// That of [`wgmma_tma`](super::tma::wgmma_tma), with the constants of this module.
#[kernel(for P in [F16, Bf16], for A in [false, true], for B in [false, true], launch_bounds(BLOCK, 1))]
pub unsafe fn wgmma_producer<P: Multiply<128>, const A: bool, const B: bool>(
    a_map: TensorMap<P>,
    b_map: TensorMap<P>,
    a: *const u16,
    b: *const u16,
    c: *mut u16,
    m: u32,
    n: u32,
    k: u32,
    mapped: u32,
) {
    if !cfg!(target_feature = "sm_90") || mapped == 0 {
        // SAFETY: this kernel has the same contract.
        unsafe { plain::<P, A, B>([a, b], c, [m, n, k]) };
        return;
    }
    // SAFETY: the launch has the shared memory.
    let ring = unsafe { Ring::at(SharedAddress::of(dynamic_shared_mem::<u8>())) };
    let [row, column] = tile_of_block(n, COLUMNS).map(|tile| tile as u32);
    let [row, column] = [row * ROWS, column * COLUMNS];
    if thread::thread_idx_x() == 0 {
        // SAFETY: one thread initialises.
        unsafe { ring.barriers().init(WARPGROUPS) };
    }
    thread::sync_threads(); // the ring's barriers are initialised
    // SAFETY: the whole warp is here.
    let warpgroup = unsafe { warpgroup::index() };
    // SAFETY: the whole warpgroup is on either way; by contract there is room for the product.
    unsafe {
        if warpgroup == 0 {
            shrink_registers::<40>();
            if thread::thread_idx_x() == 0 {
                copy(ring, (Source::<P, A>(a_map), Source::<P, B>(b_map)), [row, column], k);
            }
        } else {
            grow_registers::<232>();
            // One thread says that the warpgroup has read a stage.
            let release = |stage: u32| {
                if thread::thread_idx_x().is_multiple_of(128) {
                    ring.barriers().empty(stage).arrive();
                }
            };
            let mut position = Position::FIRST;
            let sums = multiply::<P, 128, A, B, COLUMNS, STAGES>(ring, &mut position, warpgroup - 1, k, release);
            store::<P, P::Sums>(&sums, c, [m, n], [row + (warpgroup - 1) * LINES, column]);
        }
    }
}

/// Fills the ring with all stages of the tile.
///
/// # Safety
/// One thread of the block calls it.
#[inline(always)]
unsafe fn copy<P: Copy, const A: bool, const B: bool>(
    ring: Ring,
    factors: (Source<P, A>, Source<P, B>),
    [row, column]: [u32; 2],
    k: u32,
) {
    let mut position = Position::FIRST;
    let mut at = 0;
    while at < k {
        let stage = position.stage;
        // SAFETY: after the wait, which the first round passes at once, no warpgroup reads the stage any more.
        unsafe {
            ring.barriers().empty(stage).wait(position.parity ^ 1);
            fill::<P, A, B, COLUMNS>(ring.stage(stage), factors, [row, column, at], ring.barriers().full(stage));
        }
        position.advance(STAGES);
        at += DEPTH;
    }
}
