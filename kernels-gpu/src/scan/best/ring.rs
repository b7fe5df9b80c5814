//! The same tiles for large inputs on GPUs that copy in bulk (sm_90): persistent blocks, whose tiles arrive in a ring
//! of stages in shared memory while earlier ones wait for what is before them.
//!
//! Each group of warps has one step, and goes through the tiles of the block at its own pace:
//!
//! 1. one thread draws tickets, and starts copies to stages that are free;
//! 2. eight warps add up tiles as they arrive, and publish their totals;
//! 3. one warp looks back: it adds the totals that were published since the block's tile before;
//! 4. eight warps scan the tiles whose prefix is known, and free their stages.
//!
//! Totals are published some tiles ahead of the scan, so look-back finds nearly all of them, and a late tile does not
//! stop the others. (H200, 2^28 f32: 4.0 TB/s of the 4.2 that a copy moves, and 3.0 by a block for each tile. Without
//! any look-back, 4.1. With records of groups of tiles, which takes a second publication, 3.2; with one barrier for all
//! steps instead of four for each stage, 2.6.) The order of all additions is that of
//! [`scan_best()`](super::scan_best()), and so are the bits.
//!
//! Source: the steps are those of NVIDIA's scan with look-ahead (CCCL, 2026: a warp that carries the prefix forward);
//! the fixed order of additions is ours.

use super::rows::{Part, first_of_warp, load_rows, scan_chunk, scan_rows, store_rows};
use super::runs::OneRun;
use super::{BLOCK, ROWS, ahead, load_singly};
use crate::number::Number;
use crate::operator::chunk::width;
use crate::operator::{Operator, Pod};
use crate::position::Position;
use crate::reduce::form::{AsTheyAre, ByKeys, Faster, Form, bits, faster};
use crate::reduce::keys::{Largest, Smallest};
use crate::reduce::{Max, Min, Op, Sum, WARP};
use core::marker::PhantomData;
use core::mem::MaybeUninit;
use cuda_std::memory::{Mbarrier, SharedAddress, copy_bulk, fence_init};
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::{address_space, kernel, thread, warp};

const WARPS: u32 = BLOCK / WARP;

/// Threads per block: those that scan, those that add up, and a warp each that looks back and that copies.
pub const THREADS: u32 = 2 * BLOCK + 2 * WARP;

/// Bytes of input from which this kernel is faster. (H200: f32 at 8 MiB 11.1 us instead of 10.4, at 16 MiB 17.2 instead
/// of 17.5, at 64 MiB 42.7 instead of 51.2.)
pub const LARGE: u64 = 16 << 20;

/// Bytes of dynamic shared memory of [`scan_best_ring()`].
pub const SHARED: u32 = STAGES * (STAGE + 4 * Mbarrier::SIZE);

/// Bytes of a stage, which has a tile.
const STAGE: u32 = BLOCK * 16 * ROWS as u32;

/// Number of stages: as many as fit the shared memory that a block may have.
const STAGES: u32 = 6;

/// Tickets of the tiles in the ring.
#[address_space(shared)]
static mut DRAWN: [MaybeUninit<u64>; STAGES as usize] = [MaybeUninit::uninit(); STAGES as usize];

/// For each stage the totals of the warps, and the sum before the tile.
#[address_space(shared)]
static mut TOTALS: [MaybeUninit<u64>; (STAGES * SLOTS) as usize] = [MaybeUninit::uninit(); (STAGES * SLOTS) as usize];

const SLOTS: u32 = WARPS + 1;

/// Scans the input as [`scan_best()`](super::scan_best()) does. `tiles` is the number of tiles.
///
/// # Safety
/// [`THREADS`] threads, [`SHARED`] bytes of dynamic shared memory, and a GPU of sm_90; `input` starts on 16 bytes;
/// `output` has as many elements and does not overlap it; `state` is as for [`scan_best()`](super::scan_best()).
#[kernel(launch_bounds(THREADS, 1), for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_best_ring<O: Op<T>, T: Number>(
    input: &[T],
    exclusive: u32,
    state: *mut u64,
    output: *mut T,
    tiles: u32,
) {
    // SAFETY: the caller upholds this function's contract; numbers with keys are `f64`.
    unsafe {
        let places = output.cast();
        match const { (width(size_of::<T>()), faster::<O, T>()) } {
            (_, Faster::ByLargest) => {
                Block::<ByKeys<Largest>, _, 2>::new(bits(input), state, tiles).run(exclusive, places);
            }
            (_, Faster::BySmallest) => {
                Block::<ByKeys<Smallest>, _, 2>::new(bits(input), state, tiles).run(exclusive, places);
            }
            (4, Faster::AsTheyAre) => {
                Block::<AsTheyAre<O>, T, 4>::new(input, state, tiles).run(exclusive, output);
            }
            _ => Block::<AsTheyAre<O>, T, 2>::new(input, state, tiles).run(exclusive, output),
        }
    }
}

/// A block with its ring.
struct Block<'a, F, T, const W: usize> {
    input: &'a [T],
    state: *mut u64,
    tiles: u32,
    stages: *mut u8,
    first: SharedAddress,
    form: PhantomData<F>,
}

impl<'a, F: Form<T>, T: Pod, const W: usize> Block<'a, F, T, W> {
    const ELEMENTS: usize = BLOCK as usize * ROWS * W;

    #[inline(always)]
    unsafe fn new(input: &'a [T], state: *mut u64, tiles: u32) -> Self {
        let stages = dynamic_shared_mem::<u8>();
        // SAFETY: this is shared memory.
        Self { input, state, tiles, stages, first: unsafe { SharedAddress::of(stages) }, form: PhantomData }
    }

    /// Barrier `kind` of a stage: 0 when it is full, 1 when its totals are there, 2 when its prefix is there, 3 when it
    /// is empty.
    #[inline(always)]
    fn barrier(&self, kind: u32, stage: u32) -> Mbarrier {
        // SAFETY: the barriers are behind the stages, aligned to 8.
        unsafe { Mbarrier::at(self.first.add(STAGES * STAGE)).add(kind * STAGES + stage) }
    }

    #[inline(always)]
    fn drawn(&self, stage: u32) -> *mut u64 {
        (&raw mut DRAWN).cast::<u64>().wrapping_add(stage as usize)
    }

    #[inline(always)]
    fn slot(&self, stage: u32, k: u32) -> *mut T {
        (&raw mut TOTALS).cast::<u64>().wrapping_add((stage * SLOTS + k) as usize).cast()
    }

    #[inline(always)]
    fn is_whole(&self, number: u32) -> bool {
        (number as usize + 1) * Self::ELEMENTS <= self.input.len()
    }

    #[inline(always)]
    unsafe fn run(&self, exclusive: u32, output: *mut T) {
        if !cfg!(target_feature = "sm_90") {
            return;
        }
        let tid = thread::thread_idx_x();
        // SAFETY: see the steps.
        unsafe {
            let warp = warp::shuffle_idx(warp::ALL, tid / WARP, 0);
            if tid == 0 {
                let mut stage = 0;
                while stage < STAGES {
                    self.barrier(0, stage).init(1);
                    self.barrier(1, stage).init(WARPS);
                    self.barrier(2, stage).init(1);
                    // The warps that scan, the one that looks back, and the one that publishes.
                    self.barrier(3, stage).init(WARPS + 2);
                    stage += 1;
                }
                fence_init();
            }
            thread::sync_threads(); // the barriers are initialised
            if warp < WARPS {
                self.scan(warp, exclusive, output);
            } else if warp < 2 * WARPS {
                self.add_up(warp - WARPS);
            } else if warp == 2 * WARPS {
                self.look_back();
            } else if tid.is_multiple_of(WARP) {
                self.copy();
            }
        }
    }

    /// Draws tickets and fills stages.
    #[inline(always)]
    unsafe fn copy(&self) {
        let draws = self.tiles + thread::grid_dim_x();
        let mut position = Position::FIRST;
        // SAFETY: one thread per block; it draws until there are no tiles left.
        unsafe {
            let mut drawn = ahead::draw(self.state, draws);
            loop {
                let stage = position.stage;
                // The first round finds the stages empty: the phase before the first counts as ended.
                self.barrier(3, stage).wait(position.parity ^ 1);
                self.drawn(stage).write(drawn);
                let number = drawn as u32;
                if number >= self.tiles {
                    self.barrier(0, stage).arrive();
                    return;
                }
                // The next ticket is on its way while the copy starts.
                let next = ahead::draw(self.state, draws);
                if self.is_whole(number) {
                    let first = number as usize * Self::ELEMENTS;
                    let (from, to) = (self.input.as_ptr().add(first), self.first.add(stage * STAGE));
                    let full = self.barrier(0, stage);
                    full.arrive_expecting(STAGE);
                    copy_bulk(to, from, STAGE, full);
                } else {
                    // The last tile is read from memory.
                    self.barrier(0, stage).arrive();
                }
                drawn = next;
                position.advance(STAGES);
            }
        }
    }

    /// Waits for a stage, and returns the ticket of its tile if there is one.
    ///
    /// # Safety
    /// The whole warp goes through the stages.
    #[inline(always)]
    unsafe fn arrived(&self, position: Position) -> Option<u64> {
        // SAFETY: the thread that copies wrote the ticket before it arrived.
        let drawn = unsafe {
            self.barrier(0, position.stage).wait(position.parity);
            self.drawn(position.stage).read()
        };
        ((drawn as u32) < self.tiles).then_some(drawn)
    }

    /// Adds up tiles, and publishes their totals.
    #[inline(always)]
    unsafe fn add_up(&self, warp: u32) {
        let lane = thread::thread_idx_x() % WARP;
        let mut position = Position::FIRST;
        // SAFETY: the whole warp goes through the stages, each of which has arrived.
        unsafe {
            while let Some(drawn) = self.arrived(position) {
                let stage = position.stage;
                let (_, part) = self.part(warp, stage, drawn as u32);
                warp::sync_warp(warp::ALL); // all lanes have read the stage before one of them arrives for the warp
                if lane == 0 {
                    self.slot(stage, warp).write(part.total);
                    self.barrier(1, stage).arrive();
                }
                if warp == 0 {
                    self.barrier(1, stage).wait(position.parity);
                    if lane == 0 {
                        ahead::publish::<T>(self.state, drawn, self.total(stage, WARPS));
                        self.barrier(3, stage).arrive();
                    }
                }
                warp::sync_warp(warp::ALL);
                position.advance(STAGES);
            }
        }
    }

    /// The total of the first warps of a stage.
    #[inline(always)]
    unsafe fn total(&self, stage: u32, warps: u32) -> T {
        let mut sum = F::Operator::identity();
        let mut k = 0;
        while k < warps {
            // SAFETY: by contract they are there.
            sum = F::Operator::combine(sum, unsafe { self.slot(stage, k).read() });
            k += 1;
        }
        sum
    }

    /// Finds the sum before each tile, from the totals that were published since the block's tile before.
    #[inline(always)]
    unsafe fn look_back(&self) {
        let lane = thread::thread_idx_x() % WARP;
        let mut position = Position::FIRST;
        let (mut group, mut before_group) = (0, F::Operator::identity());
        // SAFETY: the whole warp goes through the stages.
        unsafe {
            while let Some(drawn) = self.arrived(position) {
                let stage = position.stage;
                let sum = ahead::advance::<F::Operator, T>(self.state, drawn, &mut group, &mut before_group);
                warp::sync_warp(warp::ALL); // all lanes have read the ticket before one of them arrives for the warp
                if lane == 0 {
                    self.slot(stage, WARPS).write(sum);
                    self.barrier(2, stage).arrive();
                    self.barrier(3, stage).arrive();
                }
                warp::sync_warp(warp::ALL);
                position.advance(STAGES);
            }
        }
    }

    /// Scans the tiles.
    #[inline(always)]
    unsafe fn scan(&self, warp: u32, exclusive: u32, output: *mut T) {
        let lane = thread::thread_idx_x() % WARP;
        let mut position = Position::FIRST;
        // SAFETY: the whole warp goes through the stages.
        unsafe {
            while let Some(drawn) = self.arrived(position) {
                let stage = position.stage;
                let number = drawn as u32;
                let (chunks, part) = self.part(warp, stage, number);
                self.barrier(2, stage).wait(position.parity);
                self.barrier(1, stage).wait(position.parity);
                let carry = F::Operator::combine(self.slot(stage, WARPS).read(), self.total(stage, warp));
                warp::sync_warp(warp::ALL);
                if lane == 0 {
                    self.barrier(3, stage).arrive();
                }
                let before = part.after::<F::Operator>(carry);
                let scanned = |row: usize| scan_chunk::<F, T, W>(chunks[row], 0, before[row], exclusive);
                let first = number as usize * Self::ELEMENTS + first_of_warp::<W, ROWS>(warp) + lane as usize * W;
                store_rows::<T, OneRun, W, ROWS>(output, first, self.input.len(), self.is_whole(number), scanned);
                position.advance(STAGES);
            }
        }
    }

    /// The lane's chunks of a tile, from its stage, or for the last tile from memory; and the scan of the warp's part.
    ///
    /// # Safety
    /// The whole warp calls it; the tile has arrived, and stays.
    #[inline(always)]
    unsafe fn part(&self, warp: u32, stage: u32, number: u32) -> ([[T; W]; ROWS], Part<T, ROWS>) {
        let own = first_of_warp::<W, ROWS>(warp) + (thread::thread_idx_x() % WARP) as usize * W;
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            let chunks = if self.is_whole(number) {
                let at = self.stages.wrapping_add((stage * STAGE) as usize).cast::<T>().add(own);
                load_rows::<T, W, ROWS>(at, |chunk| chunk.map(F::value))
            } else {
                load_singly::<F, T, OneRun, W, ROWS>(self.input, number as usize * Self::ELEMENTS + own)
            };
            (chunks, scan_rows::<F::Operator, T, OneRun, W, ROWS>(&chunks, 0))
        }
    }
}
