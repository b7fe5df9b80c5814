//! Small products: each warp multiplies the whole tile of a block, with an eighth of the depth (sliced K), and the
//! block adds up the sums of its warps.
//!
//! Latency limits such a product: the launch, one way to memory and back, and instructions that wait for each other. So
//! all copies are under way at once, as far as two stages for each warp hold the depth; a warp waits for its own copies
//! alone, and not for other warps before it has multiplied; and its chain of products is an eighth as long.
//!
//! Source: NVIDIA CUTLASS (sliced K).

use super::Factor;
use super::fill::{ALIGNMENT, BLOCK, ROW, Source};
use super::of_block::{OfBlock, divide};
use super::registers::Registers;
use super::store::{room, store};
use super::sums::Tile;
use crate::tensor::mixed::Sum;
use crate::tensor::mixed::product::Size;
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, sm_80};
use cuda_std::mma::Sums;
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

/// Rows and columns of the tile.
const TILE: u32 = 32;

/// Blocks of 16 of them.
const BLOCKS: usize = (TILE / 16) as usize;

/// Warps of a block, each with a slice of the depth.
const SLICES: u32 = BLOCK / 32;

/// Stages of a warp.
const STAGES: u32 = 2;

/// Bytes of a stage: lines of both factors, or a warp's sums.
const STAGE: u32 = 2 * TILE * ROW;

/// The part of the product that a block computes. Behind the stages there is room for what is stored.
pub const SIZE: Size =
    Size { rows: TILE, columns: TILE, shared: SLICES * STAGES * STAGE + BLOCKS as u32 * room(BLOCKS) + ALIGNMENT };

/// Lines of a factor that a warp copies. (Loads of bytes that lie across the depth, in rows of 32, take two passes over
/// the banks.)
type Lines<P, const ACROSS: bool> = Source<P, ACROSS, TILE, false, 32>;

/// # Safety
/// That of [`mma_best_brief`](super::best::mma_best_brief).
#[inline(always)]
pub unsafe fn run<P: Factor, const A: bool, const B: bool>(of: &OfBlock) {
    const { assert!(STAGE == TILE * TILE * 4, "a stage is room for the sums of a tile") };
    let OfBlock { factors: [a, b], k, pitches: [a_pitch, b_pitch], ref product, .. } = *of;
    // Few tiles find each other's lines in the L2 cache in any order.
    let [row, column] = divide(of.tile, product.n.div_ceil(TILE)).map(|tile| tile * TILE);
    let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
    // SAFETY: the launch has the shared memory.
    let shared = unsafe { SharedAddress::of(dynamic_shared_mem::<u8>()) }.align_up(ALIGNMENT);
    let slice = Slice::<P, A, B> {
        a: Source::new(a, row, [product.m, k], a_pitch, true),
        b: Source::new(b, column, [product.n, k], b_pitch, true),
        stages: shared.add(warp * STAGES * STAGE),
        k,
    };
    // SAFETY: the caller upholds this function's contract; sums are written before the barrier and read after it, and
    // the room behind the stages is one for each of the warps that store.
    unsafe {
        // The slices that have something to add.
        let slices = k.div_ceil(Slice::<P, A, B>::DEPTH).min(SLICES);
        if warp < slices {
            let sums = slice.multiply(warp);
            write(&sums, slice.stages, lane);
        }
        thread::sync_threads(); // all slices' sums are there before they are added up
        if warp < BLOCKS as u32 {
            let sums = add_up::<P>(shared, slices, warp, lane);
            let at = shared.add(SLICES * STAGES * STAGE + warp * room(BLOCKS));
            store::<P, A, B, 1, BLOCKS>(product, &sums, at, [row + warp * 16, column]);
        }
    }
}

/// A warp's slice of the depth: every eighth stage.
struct Slice<P, const A: bool, const B: bool> {
    a: Lines<P, A>,
    b: Lines<P, B>,
    stages: SharedAddress,
    k: u32,
}

impl<P: Factor, const A: bool, const B: bool> Slice<P, A, B> {
    /// Elements of the depth in a stage.
    const DEPTH: u32 = ROW / P::SIZE;

    /// Starts the copies to a stage, of the elements of the depth from `k` on, if there are any, as a group.
    ///
    /// # Safety
    /// No lane reads the stage; the factors have their elements.
    #[inline(always)]
    unsafe fn fill(&self, stage: SharedAddress, k: u32) {
        if k < self.k {
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                self.a.copy(stage, k);
                self.b.copy(stage.add(TILE * ROW), k);
            }
        }
        sm_80::commit();
    }

    /// The sums of slice `number`. When they are there, no lane reads the stages any more, and no copy is under way:
    /// the group that is not waited for has none.
    ///
    /// # Safety
    /// All lanes of the warp call it together; the factors have their elements, and the stages are the warp's.
    #[inline(always)]
    unsafe fn multiply(&self, number: u32) -> Tile<P, BLOCKS, BLOCKS> {
        let lane = warp::lane_id();
        let a = Registers::<P, A, false>::new(Lines::<P, A>::PITCH, 0, lane);
        let b = Registers::<P, B, true>::new(Lines::<P, B>::PITCH, 0, lane);
        let (mut at, mut stage) = (number * Self::DEPTH, 0);
        // SAFETY: the caller upholds this function's contract; after the waits all copies of a stage are there, and
        // before the next ones all lanes have read it.
        unsafe {
            unroll!(ahead < STAGES as usize => {
                let ahead = ahead as u32;
                self.fill(self.stages.add(ahead * STAGE), at + ahead * SLICES * Self::DEPTH);
            });
            let mut sums = Tile::zero();
            while at < self.k {
                sm_80::wait::<{ STAGES - 1 }>();
                warp::sync_warp(warp::ALL);
                let tile = self.stages.add(stage * STAGE);
                unroll!(step < (ROW / 32) as usize => {
                    let of_a = a.load(tile, step as u32);
                    let of_b = b.load(tile.add(TILE * ROW), step as u32);
                    sums.add(&of_a, &of_b);
                });
                warp::sync_warp(warp::ALL);
                self.fill(tile, at + STAGES * SLICES * Self::DEPTH);
                at += SLICES * Self::DEPTH;
                stage = (stage + 1) % STAGES;
            }
            sums
        }
    }
}

/// Offset of the lane's sums number `index`, of eight rows and columns.
#[inline(always)]
const fn place_of(index: usize, lane: u32) -> u32 {
    (index as u32 * 32 + lane) * 16
}

/// Writes a warp's sums to its first stage.
///
/// # Safety
/// All lanes of the warp call it, and nothing else accesses the stage.
#[inline(always)]
unsafe fn write<P: Factor>(sums: &Tile<P, BLOCKS, BLOCKS>, at: SharedAddress, lane: u32) {
    unroll!(index < 2 * BLOCKS * BLOCKS => {
        let of = sums.0[index / (2 * BLOCKS)][index / 2 % BLOCKS][index % 2].registers();
        // SAFETY: the stage has room.
        unsafe { at.add(place_of(index, lane)).store(of) };
    });
}

/// The sums of all slices for 16 rows, in the order of the slices.
///
/// # Safety
/// The slices have written their sums.
#[inline(always)]
unsafe fn add_up<P: Factor>(shared: SharedAddress, slices: u32, rows: u32, lane: u32) -> Tile<P, 1, BLOCKS> {
    let mut sums = Tile::<P, 1, BLOCKS>::zero();
    let mut slice = 0;
    while slice < slices {
        let from = shared.add(slice * STAGES * STAGE + rows * (STAGE / BLOCKS as u32));
        unroll!(index < 2 * BLOCKS => {
            let sum = &mut sums.0[0][index / 2][index % 2];
            // SAFETY: the caller upholds this function's contract.
            let more: [P::Sum; 4] = unsafe { from.add(place_of(index, lane)).load() };
            let [a, b, c, d] = sum.registers();
            *sum = Sums::from_registers([a.plus(more[0]), b.plus(more[1]), c.plus(more[2]), d.plus(more[3])]);
        });
        slice += 1;
    }
    sums
}
