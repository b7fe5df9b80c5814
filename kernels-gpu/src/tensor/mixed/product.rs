//! The kernel: one thread copies, two warpgroups multiply and store, until no tile is left.
//!
//! - A block computes tiles of 128 rows and 64 to 256 columns. One thread of the first warpgroup fills a ring of stages
//!   with boxes of both factors, 64 of the depth each; the warpgroup gives its registers to the others.
//! - The other two warpgroups multiply 64 rows each. A stage is released when the products of the next have started, so
//!   that the tensor cores never wait for the threads.
//! - Each warp rounds its sums, 16 rows of 128 bytes at a time, to shared memory in the order of a swizzled box, and
//!   one thread stores the box. Two stores are under way while the next is written, and the other warpgroup multiplies.
//! - Tiles that are computed at the same time lie close together, so that their factors are found in the L2 cache.

use super::accumulator::{Accumulator, Sum};
use super::parts::add_up;
use super::precision::{Bf16, E4m3, F16, Multiply, Precision, S8, Tf32};
use super::problem::{A_ACROSS, B_ACROSS, BY_ELEMENTS, Batch, Item, PLAIN, Parts, Problem, Product};
use super::ring::{ROW, ROWS, Ring, WARPGROUPS, lines, shared};
use super::store::store;
use crate::epilogue::{Epilogue, FINISHED};
use crate::position::Position;
use crate::unroll::unroll;
use cuda_std::memory::{SharedAddress, TensorMap, wait_copies_read};
use cuda_std::prelude::*;
use cuda_std::shared::dynamic_shared_mem;
use cuda_std::warpgroup::{self, Sums, grow_registers, shrink_registers, wait_but};

/// The idea in one line.
pub const IDEA: &str = "tensor maps feed a ring of stages: one thread copies, two warpgroups multiply and store boxes";

/// Threads per block.
pub const BLOCK: u32 = (WARPGROUPS + 1) * 128;

/// The part of the product that a block computes at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// Its rows.
    pub rows: u32,
    /// Its columns.
    pub columns: u32,
    /// Dynamic shared memory of the launch, in bytes.
    pub shared: u32,
}

const fn size<S: Accumulator>() -> Size {
    Size { rows: ROWS, columns: S::COLUMNS, shared: shared::<S>() }
}

/// Defines the kernels for tiles with a number of columns.
macro_rules! kernels {
    ($half:ident $along:ident $size:ident $registers:literal) => {
        #[doc = concat!("The tile of [`", stringify!($half), "`] and [`", stringify!($along), "`].")]
        pub const $size: Size = size::<Sums<$registers>>();

        /// Multiplies `count` pairs of matrices of `P`, `m` by `k` and `k` by `n`. `A`: the first is stored transposed;
        /// `B`: the second is not. With `part` above 0 there is one pair, whose product is the sum of `count` parts:
        /// each is over `part` of the `k` terms, and the blocks add them up in their order.
        ///
        /// The maps have swizzles of 128 bytes and boxes whose rows have 128 bytes, with 16 rows for C. A factor that
        /// lies along the depth has a box of all its rows in a tile ([`lines`] of 128 of A, of the tile's columns of
        /// B), another boxes of 64 rows. `a` and `b`, which `how` = [`PLAIN`] takes instead, are the matrices; A, B and
        /// C with its addend each lie `steps` elements apart, and their rows in memory `pitches`. C has the type of the
        /// factors, or f32 with [`WIDE`](super::problem::WIDE).
        ///
        /// With [`FINISHED`] the sums become `alpha * row_scales[i] * column_scales[j] * sum + beta * addend[i][j] +
        /// bias[j]`, where null pointers stand for parameters that change nothing.
        ///
        /// # Safety
        /// [`BLOCK`] threads, any number of blocks; the maps describe matrices of these sizes, one if `how`
        /// says that it is shared, and `out` has room for products of `m * n` elements, the map's, which overlap
        /// nothing but, exactly, the addend. `part` is a multiple of 128 bytes, or 0; with it both factors are shared,
        /// `count * part` is `k` or more, `(count - 1) * part` less, the launch is cooperative and has a block for each
        /// part of each tile, `sums` has [`room`](super::parts::room) for each, and `words` has one for each tile,
        /// which was 0 before the first launch; one launch at a time uses them. The other pointers are null or have
        /// their elements. Without [`PLAIN`]: a GPU of sm_90, and the tile's dynamic shared memory; with it, neither
        /// maps nor parts are used, but `a` and `b` have their elements.
        #[kernel(for P in [F16, Bf16], for A in [false, true], for B in [false, true], launch_bounds(BLOCK, 1))]
        pub unsafe fn $half<P: Multiply<$registers>, const A: bool, const B: bool>(
            a_map: TensorMap<P>,
            b_map: TensorMap<P>,
            c_map: TensorMap,
            a: *const u8,
            b: *const u8,
            out: *mut u8,
            m: u32,
            n: u32,
            k: u32,
            count: u32,
            part: u32,
            sums: *mut u32,
            words: *mut u32,
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
            let product = Product { out, m, n, pitch, how, epilogue };
            let (pitches, batch) = ([a_pitch, b_pitch], Batch { count, steps });
            let parts = Parts { depth: part, sums, words };
            let problem = Problem { a: a_map, b: b_map, c: c_map, k, pitches, batch, parts, product };
            // SAFETY: this kernel has the same contract.
            unsafe { run::<P, $registers, A, B>(&problem, a, b) };
        }

        /// Multiplies pairs of matrices of `P`, `m` by `k` and `k` by `n`, the second stored transposed; with
        /// [`PLAIN`], both as `how` says. C is f32, of bytes i32; of floats of 8 bits it is bf16 without
        /// [`WIDE`](super::problem::WIDE), and with [`FINISHED`] of bytes, too.
        ///
        /// # Safety
        #[doc = concat!("That of [`", stringify!($half), "`].")]
        #[kernel(for P in [Tf32, E4m3, S8], launch_bounds(BLOCK, 1))]
        pub unsafe fn $along<P: Multiply<$registers>>(
            a_map: TensorMap<P>,
            b_map: TensorMap<P>,
            c_map: TensorMap,
            a: *const u8,
            b: *const u8,
            out: *mut u8,
            m: u32,
            n: u32,
            k: u32,
            count: u32,
            part: u32,
            sums: *mut u32,
            words: *mut u32,
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
            let product = Product { out, m, n, pitch, how, epilogue };
            let (pitches, batch) = ([a_pitch, b_pitch], Batch { count, steps });
            let parts = Parts { depth: part, sums, words };
            let problem = Problem { a: a_map, b: b_map, c: c_map, k, pitches, batch, parts, product };
            // SAFETY: this kernel has the same contract.
            unsafe { run::<P, $registers, false, false>(&problem, a, b) };
        }
    };
}
kernels!(tensor_half_256 tensor_along_256 COLUMNS_256 128);
kernels!(tensor_half_192 tensor_along_192 COLUMNS_192 96);
kernels!(tensor_half_128 tensor_along_128 COLUMNS_128 64);
kernels!(tensor_half_64 tensor_along_64 COLUMNS_64 32);

/// # Safety
/// That of [`tensor_half_256`].
#[inline(always)]
unsafe fn run<P: Multiply<R>, const R: usize, const A: bool, const B: bool>(
    problem: &Problem<P>,
    a: *const u8,
    b: *const u8,
) {
    if !cfg!(target_feature = "sm_90") || problem.product.how & PLAIN != 0 {
        // SAFETY: the caller upholds this function's contract.
        unsafe { plain::<P>(problem, a.cast(), b.cast(), [A, B]) };
        return;
    }
    // SAFETY: the launch has the shared memory, and all threads of the block reach the barrier.
    unsafe {
        let ring = Ring::<P::Sums>::at(SharedAddress::of(dynamic_shared_mem::<u8>()));
        if thread::thread_idx_x() == 0 {
            problem.a.prefetch();
            problem.b.prefetch();
            if problem.product.how & (BY_ELEMENTS | FINISHED) == 0 {
                problem.c.prefetch();
            }
            ring.barriers().init(WARPGROUPS);
        }
        thread::sync_threads();
        let warpgroup = warpgroup::index();
        if warpgroup == 0 {
            shrink_registers::<40>();
            if thread::thread_idx_x() == 0 {
                fill::<P, P::Sums, A, B>(problem, ring);
            }
        } else {
            grow_registers::<232>();
            multiply::<P, R, A, B>(problem, ring, warpgroup - 1);
        }
    }
}

/// Computes the product element by element, in the order of the depth. `across`: how the factors are stored.
///
/// # Safety
/// That of [`tensor_half_256`] with [`PLAIN`].
#[inline(always)]
unsafe fn plain<P: Precision>(problem: &Problem<P>, a: *const P::Bits, b: *const P::Bits, across: [bool; 2]) {
    let Problem { k, batch, product, .. } = problem;
    let Product { m, n, how, .. } = *product;
    let (m, n, [a_pitch, b_pitch]) = (m as usize, n as usize, problem.pitches.map(|pitch| pitch as usize));
    let across = [across[0] || how & A_ACROSS != 0, across[1] || how & B_ACROSS != 0];
    // Without `max` the compiler would keep a panic for a division by 0.
    let (columns, each) = (n.max(1), (m * n).max(1));
    let mut i = thread::global_index();
    // A product whose depth is to be divided is computed as a whole.
    let count = if problem.parts.depth == 0 { batch.count } else { 1 };
    while i < each * count as usize {
        let (number, index) = (i / each, i % each);
        let [a_first, b_first, out_first] = batch.steps.map(|step| number * step as usize);
        let (row, column) = (index / columns, index % columns);
        // Start, and distance from one of the depth to the next.
        let (a_start, along_a) = if across[0] { (row, a_pitch) } else { (row * a_pitch, 1) };
        let (b_start, along_b) = if across[1] { (column, b_pitch) } else { (column * b_pitch, 1) };
        let (a, b) = (a.wrapping_add(a_first), b.wrapping_add(b_first));
        let (mut sum, mut at) = (P::Sum::ZERO, 0);
        while at < *k as usize {
            // SAFETY: both elements are inside their matrices.
            let (x, y) = unsafe { (*a.add(a_start + at * along_a), *b.add(b_start + at * along_b)) };
            sum = P::multiply_add(x, y, sum);
            at += 1;
        }
        // SAFETY: the element is inside the product, and this thread's.
        unsafe { product.moved(out_first as u64).write::<P>([row as u32, column as u32], sum) };
        i += thread::grid_stride();
    }
}

/// Fills the ring with all stages of all tiles of the block.
///
/// # Safety
/// One thread of the block calls it.
#[inline(always)]
unsafe fn fill<P: Precision, S: Accumulator, const A: bool, const B: bool>(problem: &Problem<P>, ring: Ring<S>) {
    /// Bytes of a box of 64 by 64.
    const BOX: u32 = 64 * ROW;
    let items = problem.items::<S>();
    let Product { m, n, .. } = problem.product;
    let mut position = Position::FIRST;
    let mut index = thread::block_idx_x();
    while index < items {
        let Item { product, row, column, depth, .. } = problem.item::<S>(index);
        let [of_a, of_b] = problem.factors(product);
        // Boxes beyond the edges are not copied: they would take as long as others.
        let second = A && row + 64 < m;
        let bytes_of_a = if A { if second { 2 * BOX } else { BOX } } else { lines(ROWS, m) * ROW };
        let bytes_of_b =
            if B { (n - column).div_ceil(64).min(S::COLUMNS / 64) * BOX } else { lines(S::COLUMNS, n) * ROW };
        let mut k = depth.start;
        while k < depth.end {
            let (a, b, full) = (ring.a(position.stage), ring.b(position.stage), ring.barriers().full(position.stage));
            // SAFETY: after the wait, which the first round passes at once, no warpgroup reads the stage any more. The
            // boxes have the announced bytes.
            unsafe {
                ring.barriers().empty(position.stage).wait(position.parity ^ 1);
                full.arrive_expecting(bytes_of_a + bytes_of_b);
                if A {
                    problem.a.copy_in(a, [row, k, of_a], full);
                    if second {
                        problem.a.copy_in(a.add(BOX), [row + 64, k, of_a], full);
                    }
                } else {
                    problem.a.copy_in(a, [k, row, of_a], full);
                }
                if B {
                    unroll!(part < (S::COLUMNS / 64) as usize => {
                        let part = part as u32;
                        if column + part * 64 < n {
                            problem.b.copy_in(b.add(part * BOX), [column + part * 64, k, of_b], full);
                        }
                    });
                } else {
                    problem.b.copy_in(b, [k, column, of_b], full);
                }
            }
            position.advance(S::STAGES);
            k += P::DEPTH;
        }
        index += thread::grid_dim_x();
    }
}

/// Multiplies and stores the 64 rows of a warpgroup in all tiles of the block.
///
/// # Safety
/// All threads of the warpgroup call it together.
#[inline(always)]
unsafe fn multiply<P: Multiply<R>, const R: usize, const A: bool, const B: bool>(
    problem: &Problem<P>,
    ring: Ring<P::Sums>,
    warpgroup: u32,
) {
    let warp = warpgroup * 4 + thread::thread_idx_x() / 32 % 4;
    // One thread says that the warpgroup has read a stage, if there is one.
    let release = |stage: u32, there: bool| {
        if there && thread::thread_idx_x().is_multiple_of(128) {
            // SAFETY: this warpgroup's products with the stage have been waited for.
            unsafe { ring.barriers().empty(stage).arrive() };
        }
    };
    let items = problem.items::<P::Sums>();
    let (mut position, mut copy) = (Position::FIRST, 0);
    let mut index = thread::block_idx_x();
    while index < items {
        let item = problem.item::<P::Sums>(index);
        let Item { product, row, column, ref depth, .. } = item;
        let mut sums = P::Sums::zero();
        let mut k = depth.start;
        while k < depth.end {
            // SAFETY: the whole warpgroup is here, and the stage is full after the wait.
            unsafe {
                ring.barriers().full(position.stage).wait(position.parity);
                let (a, b) = (ring.rows_of_a(position.stage, warpgroup), ring.b(position.stage));
                P::add_tiles::<A, B>(&mut sums, a, b);
                wait_but::<1>();
            }
            release(position.previous(P::Sums::STAGES), k > depth.start);
            position.advance(P::Sums::STAGES);
            k += P::DEPTH;
        }
        // SAFETY: the whole warpgroup is here.
        unsafe { sums.wait() };
        release(position.previous(P::Sums::STAGES), k > depth.start);
        // SAFETY: the whole warp is here; by contract of the kernel there is room for the product, and for the sums of
        // parts, of which each block has one.
        unsafe {
            if problem.parts.depth == 0 {
                store::<P, P::Sums>(problem, &sums, ring, warp, &mut copy, [column, row + warp * 16, product]);
            } else {
                add_up(problem, &sums, &item, warp);
            }
        }
        index += thread::grid_dim_x();
    }
    // Shared memory stays until the last stores have read it.
    wait_copies_read::<0>();
}
