//! One thread copies whole panels by tensor maps, into a ring of three stages: a copy needs one instruction and no
//! register. While a stage is multiplied, the next two are on their way.
//!
//! Both warpgroups go through the ring in step: when both have multiplied a stage, which a barrier of the block tells,
//! the thread fills it again. The products of the next stage are already under way then.

use super::copies::{Source, fill};
use super::panels::LINES;
use super::plain::plain;
use super::ring;
use super::sums::store;
use super::{Bf16, DEPTH, F16, ROWS};
use crate::position::Position;
use crate::product::tile_of_block;
use crate::tensor::mixed::{Accumulator, Multiply};
use cuda_std::memory::{SharedAddress, TensorMap};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warpgroup::{self, wait_but};

/// The idea in one line.
pub const IDEA: &str = "one thread copies panels by tensor maps into a ring of three stages, ahead of the products";

/// Threads per block.
pub const BLOCK: u32 = 256;

/// Columns of a block's tile.
pub const COLUMNS: u32 = 128;

/// Stages: as many as two blocks of a multiprocessor have room for.
const STAGES: u32 = 3;

type Ring = ring::Ring<COLUMNS, STAGES>;

/// Bytes of dynamic shared memory.
pub const SHARED: u32 = Ring::SHARED;

/// Multiplies two matrices of `P`, `m` by `k` and `k` by `n`, all row-major; `A`: the first is stored transposed; `B`:
/// the second is not. Without tensor cores if `mapped` is 0, since there are no maps of factors that do not start at a
/// multiple of 16 bytes, and in PTX for other GPUs than those of sm_90.
///
/// # Safety
/// [`BLOCK`] threads, [`SHARED`] bytes of dynamic shared memory, one block per tile of [`ROWS`] by [`COLUMNS`]; the
/// maps describe the factors, as they are stored, with boxes of [`LINES`] rows of 128 bytes and swizzles of 128, if
/// `mapped` is not 0, and the sizes are then below 2^31 - 512; `a` has `m * k` elements, `b` `k * n`, and `c` room for
/// `m * n`, which overlaps neither.
#[kernel(for P in [F16, Bf16], for A in [false, true], for B in [false, true], launch_bounds(BLOCK, 2))]
pub unsafe fn wgmma_tma<P: Multiply<64>, const A: bool, const B: bool>(
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
    let factors = (Source::<P, A>(a_map), Source::<P, B>(b_map));
    let leader = thread::thread_idx_x() == 0;
    // SAFETY: the whole warp is here.
    let warpgroup = unsafe { warpgroup::index() };
    let [row, column] = tile_of_block(n, COLUMNS).map(|tile| tile as u32);
    let [row, column] = [row * ROWS, column * COLUMNS];
    if leader {
        // SAFETY: one thread initialises, and fills stages that nothing reads yet.
        unsafe {
            ring.barriers().init(1);
            let mut stage = 0;
            while stage < STAGES && stage * DEPTH < k {
                fill::<P, A, B, COLUMNS>(
                    ring.stage(stage),
                    factors,
                    [row, column, stage * DEPTH],
                    ring.barriers().full(stage),
                );
                stage += 1;
            }
        }
    }
    thread::sync_threads(); // the ring's barriers are initialised
    let mut sums = P::Sums::zero();
    let mut position = Position::FIRST;
    let mut at = 0;
    while at < k {
        let stage = ring.stage(position.stage);
        // SAFETY: the whole warpgroup is here, and the stage is full after the wait.
        unsafe {
            ring.barriers().full(position.stage).wait(position.parity);
            P::add_tiles::<A, B>(&mut sums, stage.a(warpgroup), stage.b(0));
            wait_but::<1>();
        }
        thread::sync_threads(); // both warpgroups have multiplied the stage before this one
        // The depth that comes to that stage next.
        let next = at + (STAGES - 1) * DEPTH;
        if leader && at > 0 && next < k {
            let free = position.previous(STAGES);
            // SAFETY: no warpgroup reads the stage.
            unsafe {
                fill::<P, A, B, COLUMNS>(ring.stage(free), factors, [row, column, next], ring.barriers().full(free))
            };
        }
        position.advance(STAGES);
        at += DEPTH;
    }
    // SAFETY: the whole warpgroup is here; by contract there is room for the product.
    unsafe {
        sums.wait();
        store::<P, P::Sums>(&sums, c, [m, n], [row + warpgroup * LINES, column]);
    }
}
