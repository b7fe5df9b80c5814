//! The tiles come by asynchronous copies, several stages ahead of the products, and each warp multiplies a larger part:
//! 64 by 64 elements in large products, whose registers are loaded while the products of the last 32 bytes of the depth
//! run.
//!
//! - A stage has 64 bytes of the depth. While its first part is multiplied, copies to the stage that was released last
//!   are started; before its last part the block waits for the next stage.
//! - Factors that lie across the depth stay so in shared memory. `ldmatrix` turns elements of 16 bits; those of 32 bits
//!   are loaded one by one, and pairs of bytes are turned and taken apart.
//! - Small products have smaller tiles, and a slice of the depth for each warp (`brief`).
//! - Sums leave through shared memory, with scales, an addend, a bias and an activation on the way.
//! - Tiles that are computed at the same time lie close together, so that their factors are found in the L2 cache.

use super::brief;
pub use super::fill::BLOCK;
use super::fill::{ALIGNMENT, ROW, Source};
use super::of_block::{OfBlock, divide};
use super::registers::Registers;
use super::store::{room, store};
use super::sums::Tile;
use super::{Bf16, F16, Factor, S8, Tf32};
use crate::epilogue::Epilogue;
use crate::tensor::mixed::problem::{Product, depth, place};
use crate::tensor::mixed::product::Size;
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, sm_80};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;

/// The idea in one line.
pub const IDEA: &str = "stages of asynchronous copies, registers loaded one step ahead, warps of 64x64 elements";

/// Stages.
const STAGES: u32 = 4;

/// Parts of a stage: 32 bytes of the depth, as an instruction has.
const STEPS: usize = (ROW / 32) as usize;

/// Bit of `how`: not all first factors start at multiples of 16 bytes.
pub const A_UNALIGNED: u32 = 1;

/// Bit of `how`: not all second factors do.
pub const B_UNALIGNED: u32 = 2;

/// The part with `down` by `BLOCK / 32 / down` warps, of `m` and `n` blocks of 16 rows and columns.
const fn size(down: u32, m: usize, n: usize) -> Size {
    let (rows, columns) = (down * m as u32 * 16, BLOCK / 32 / down * n as u32 * 16);
    let stages = STAGES * (rows + columns) * ROW;
    assert!(stages >= BLOCK / 32 * room(n), "sums leave through the room of the stages");
    Size { rows, columns, shared: stages + ALIGNMENT }
}

macro_rules! kernels {
    ($name:ident $size:ident = $of:expr, $run:ident) => {
        #[doc = concat!("The part of the product that a block of [`", stringify!($name), "`] computes.")]
        pub const $size: Size = $of;

        /// Multiplies pairs of matrices of `P`, `m` by `k` and `k` by `n`. First factors, second factors and products
        /// are each `steps` elements apart. `A`: the first is stored transposed; `B`: the second is not. With `part`
        /// above 0, the products are parts of one: each sums over `part` of the `k` terms, and `steps` leads from part
        /// to part. The product has the type of the factors, or f32 with
        /// [`WIDE`](crate::tensor::mixed::problem::WIDE), of bytes i32; with
        /// [`FINISHED`](crate::epilogue::FINISHED), sums become what
        /// [`Epilogue`](crate::epilogue::Epilogue) says.
        ///
        /// # Safety
        /// [`BLOCK`] threads, one block for each part of each product, with its dynamic shared memory. `a` and `b` have
        /// their elements, in rows of whole units of 16 bytes, in which zeros may follow the elements. Rows of A, B and
        /// the product with its addend are `pitches` apart, multiples of 16 bytes but for the product. `out` has room
        /// for all products of `m * n`, which overlap nothing but, exactly, the addend; the other pointers are null or
        /// have their elements. All `a` and `b` are multiples of 16 bytes; those of [`mma_best_small`] need not be, if
        /// `how` says so. `part` is a multiple of 64 bytes, or 0. A GPU of sm_80 or later.
        #[kernel(
            for P in [F16, Bf16, Tf32, S8], for A in [false, true], for B in [false, true], launch_bounds(BLOCK, 1)
        )]
        pub unsafe fn $name<P: Factor, const A: bool, const B: bool>(
            a: *const u8,
            b: *const u8,
            out: *mut u8,
            m: u32,
            n: u32,
            k: u32,
            part: u32,
            steps: [u64; 3],
            pitches: [u32; 3],
            how: u32,
            alpha: f32,
            beta: f32,
            addend: *const u8,
            row_scales: *const f32,
            column_scales: *const f32,
            bias: *const f32,
        ) {
            let epilogue = Epilogue { alpha, beta, addend, row_scales, column_scales, bias };
            let [a_pitch, b_pitch, pitch] = pitches;
            let first = Product { out, m, n, pitch, how, epilogue };
            let each = m.div_ceil($size.rows) * n.div_ceil($size.columns);
            let [number, tile] = divide(thread::block_idx_x(), each);
            let k = depth(part, number, k).len() as u32;
            let [of_a, of_b, of_out] = steps.map(|step| u64::from(number) * step);
            let bytes = |elements: u64| elements as usize * size_of::<P::Bits>();
            let factors = [a.wrapping_add(bytes(of_a)), b.wrapping_add(bytes(of_b))];
            let of_block = OfBlock { tile, factors, k, pitches: [a_pitch, b_pitch], product: first.moved(of_out) };
            // SAFETY: this kernel has the same contract.
            unsafe { $run::<P, A, B>(&of_block) };
        }
    };
}
kernels!(mma_best LARGE = size(2, 4, 4), large);
kernels!(mma_best_brief BRIEF = brief::SIZE, of_slices);
kernels!(mma_best_small SMALL = size(4, 2, 2), small);

/// # Safety
/// That of [`mma_best`].
#[inline(always)]
unsafe fn large<P: Factor, const A: bool, const B: bool>(of: &OfBlock) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { Block::<P, A, B, { LARGE.rows }, { LARGE.columns }, false>::new(of).run::<4, 4>(of) };
}

/// # Safety
/// That of [`mma_best_small`].
#[inline(always)]
unsafe fn small<P: Factor, const A: bool, const B: bool>(of: &OfBlock) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { Block::<P, A, B, { SMALL.rows }, { SMALL.columns }, true>::new(of).run::<2, 2>(of) };
}

/// # Safety
/// That of [`mma_best_brief`].
#[inline(always)]
unsafe fn of_slices<P: Factor, const A: bool, const B: bool>(of: &OfBlock) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { brief::run::<P, A, B>(of) };
}

/// A block at its part of the product: what a thread copies, and where the stages are.
struct Block<P, const A: bool, const B: bool, const ROWS: u32, const COLUMNS: u32, const ANY: bool> {
    a: Source<P, A, ROWS, ANY>,
    b: Source<P, B, COLUMNS, ANY>,
    stages: SharedAddress,
    row: u32,
    column: u32,
}

impl<P: Factor, const A: bool, const B: bool, const ROWS: u32, const COLUMNS: u32, const ANY: bool>
    Block<P, A, B, ROWS, COLUMNS, ANY>
{
    /// Elements of the depth in a stage.
    const DEPTH: u32 = ROW / P::SIZE;

    /// # Safety
    /// That of [`mma_best`].
    #[inline(always)]
    unsafe fn new(of: &OfBlock) -> Self {
        let OfBlock { factors: [a, b], k, pitches: [a_pitch, b_pitch], .. } = *of;
        let Product { m, n, how, .. } = of.product;
        let [row, column] = place(of.tile, [m.div_ceil(ROWS), n.div_ceil(COLUMNS)], [ROWS, COLUMNS]);
        // SAFETY: the launch has the shared memory.
        let stages = unsafe { SharedAddress::of(dynamic_shared_mem::<u8>()) }.align_up(ALIGNMENT);
        Self {
            a: Source::new(a, row, [m, k], a_pitch, how & A_UNALIGNED == 0),
            b: Source::new(b, column, [n, k], b_pitch, how & B_UNALIGNED == 0),
            stages,
            row,
            column,
        }
    }

    /// The lines of A in a stage.
    #[inline(always)]
    fn of_a(&self, stage: u32) -> SharedAddress {
        self.stages.add(stage * (ROWS + COLUMNS) * ROW)
    }

    /// The lines of B in a stage.
    #[inline(always)]
    fn of_b(&self, stage: u32) -> SharedAddress {
        self.of_a(stage).add(ROWS * ROW)
    }

    /// Starts the copies to a stage, of the elements of the depth from `k` on, as a group.
    ///
    /// # Safety
    /// No thread reads the stage; the factors have their elements.
    #[inline(always)]
    unsafe fn fill(&self, stage: u32, k: u32) {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            self.a.copy(self.of_a(stage), k);
            self.b.copy(self.of_b(stage), k);
        }
        sm_80::commit();
    }

    /// Computes and stores the part, of which each warp has `M` by `N` blocks of 16 rows and columns.
    ///
    /// # Safety
    /// That of [`mma_best`].
    #[inline(always)]
    unsafe fn run<const M: usize, const N: usize>(&self, of: &OfBlock) {
        let (warp, lane) = (thread::thread_idx_x() / 32, warp::lane_id());
        let (rows, columns) = (M as u32 * 16, N as u32 * 16);
        let (down, across) = (warp % (ROWS / rows) * rows, warp / (ROWS / rows) * columns);
        let a = Registers::new(Source::<P, A, ROWS, ANY>::PITCH, down, lane);
        let b = Registers::new(Source::<P, B, COLUMNS, ANY>::PITCH, across, lane);
        // SAFETY: this function has the same contract; after the products the room of the stages is free, and this
        // warp's part of it no other's.
        unsafe {
            let sums = self.multiply::<M, N>(of.k, &a, &b);
            sm_80::wait::<0>();
            thread::sync_threads(); // the room of the stages is used for the sums from here on
            let place = [self.row + down, self.column + across];
            store::<P, A, B, M, N>(&of.product, &sums, self.stages.add(warp * room(N)), place);
        }
    }

    /// The sums of a warp.
    ///
    /// # Safety
    /// That of [`mma_best`].
    #[inline(always)]
    unsafe fn multiply<const M: usize, const N: usize>(
        &self,
        k: u32,
        a: &Registers<P, A, false>,
        b: &Registers<P, B, true>,
    ) -> Tile<P, M, N> {
        let mut filled = 0;
        while filled < STAGES - 1 {
            // SAFETY: no thread has read the stage.
            unsafe { self.fill(filled, filled * Self::DEPTH) };
            filled += 1;
        }
        sm_80::wait::<{ STAGES - 2 }>();
        thread::sync_threads(); // the first stage is complete before any thread reads it
        let mut sums = Tile::<P, M, N>::zero();
        // The registers of two steps: those of one are loaded while the others are multiplied.
        // SAFETY: the stage is complete, and all lanes of the warp are here.
        let (mut of_a, mut of_b) = unsafe { ([a.load(self.of_a(0), 0); 2], [b.load(self.of_b(0), 0); 2]) };
        let (mut reading, mut at) = (0, 0);
        while at < k {
            let released = if reading == 0 { STAGES - 1 } else { reading - 1 };
            unroll!(step < STEPS => {
                if step == STEPS - 1 {
                    reading = if reading == STAGES - 1 { 0 } else { reading + 1 };
                    sm_80::wait::<{ STAGES - 2 }>();
                    // The next stage is complete, and every thread has read all of this one.
                    thread::sync_threads();
                }
                // SAFETY: the stage is complete, the one before has been read, and all lanes of the warp are here.
                unsafe {
                    let next = (step as u32 + 1) % STEPS as u32;
                    of_a[(step + 1) % 2] = a.load(self.of_a(reading), next);
                    of_b[(step + 1) % 2] = b.load(self.of_b(reading), next);
                    if step == 0 {
                        self.fill(released, at + (STAGES - 1) * Self::DEPTH);
                    }
                    sums.add(&of_a[step % 2], &of_b[step % 2]);
                }
            });
            at += Self::DEPTH;
        }
        sums
    }
}
