//! The rung to use: large tiles, asynchronous copies, and no tests in the main loop.
//!
//! - A block computes 256x128 elements, a thread 16x8 of them: 24 elements from shared memory serve 128
//!   multiplications, and a step of the main loop is 92 % multiplications (f32; the rest is six 16-byte loads per step,
//!   copies, and counting).
//! - Tiles of A and B lie in a ring of three stages. Copies (`cp.async`) to one stage overlap the multiplications from
//!   another; they need no registers, and one barrier per tile is enough. See `product`.
//! - Both tiles have a row per `k`, so that a step reads runs of 16 bytes; a factor that is stored the other way is
//!   turned by the copies themselves. See `feed`.
//! - The elements of the next step are loaded while those of this one are multiplied.
//! - A tile at the edge is moved inside the product, and the partial tile of the depth comes first, so the main loop
//!   needs no bounds tests. Some products are computed by a plain loop: those smaller than a tile along a side whose
//!   factor is turned (see `layout::least`), and for some tiles those with rows off 16 bytes.
//! - Blocks cover the product in bands, so that those that run together share their rows and columns in the L2
//!   cache. The products of a batch follow each other, so that many small ones fill the device.
//! - Small products need more and smaller tiles to fill the device; groups of threads then share the depth of a tile
//!   (`SLICES`).
//! - Sums leave from the registers, or through shared memory where they are scaled, added to a matrix, or end off 16
//!   bytes (see `store`).
//! - Batches of small products have blocks of two warps, which run the same pipeline, or of one warp (see `few`), many
//!   of which share a multiprocessor.
//!
//! Since sm_80, f64 is multiplied by the tensor cores, which round as the other units do: see `engine`. Older GPUs
//! multiply f64 as they do f32, and run the same code with synchronous copies.
//!
//! Sources: NVIDIA CUTLASS (multi-stage pipelines, odd tile first, sliced K); S. Gray's maxas wiki on SGEMM; V. Volkov
//! (2010).

use super::Factor;
use crate::epilogue::Epilogue;
use cuda_std::kernel;
use finish::Division;
use layout::{least, room};
use matrices::Matrices;
use product::product;

mod as_stored;
mod engine;
mod feed;
mod few;
mod finish;
mod layout;
mod matrices;
mod product;
mod store;

/// The idea in one line.
pub const IDEA: &str =
    "256x128 tiles, 16x8 per thread, asynchronous copies, tensor cores for f64, blocks in L2's order";

/// Tile of the product that a block computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile {
    /// Rows.
    pub rows: u32,
    /// Columns.
    pub columns: u32,
    /// Bytes of dynamic shared memory of a block.
    pub shared: u32,
    /// Whether the kernel is also fast if rows of a factor that is not turned start off 16-byte boundaries.
    pub any: bool,
    /// Threads of a block.
    pub threads: u32,
    /// Groups of threads that share the depth.
    pub slices: u32,
    /// Whether several blocks can compute a tile, each from a part of the depth.
    pub divides: bool,
    /// The least rows and columns of a product that is computed by a pipeline of copies, for factors that are not
    /// turned, and for those that are.
    pub least: [[u32; 2]; 2],
}

impl Tile {
    /// Whether a product of this many rows and columns is computed by a pipeline of copies; else by a plain loop, which
    /// takes several times as long.
    pub fn is_pipelined(&self, [rows, columns]: [usize; 2], turned: [bool; 2]) -> bool {
        let [of_rows, of_columns] = [0, 1].map(|side| self.least[usize::from(turned[side])][side] as usize);
        of_rows <= rows && of_columns <= columns
    }
}

/// The parameters of a kernel below, in the order of `product`'s, and its [`Tile`]. The limits of registers were
/// measured on an H200: below 128 two blocks share a multiprocessor, and up to its limit ptxas loads early instead of
/// saving registers.
macro_rules! tile {
    ($(#[$doc:meta])* $kernel:ident $constant:ident $t:ident:
        $bm:literal $bn:literal $bk:literal, $tm:literal $tn:literal,
        $stages:literal $slices:literal $threads:literal, $w:literal $any:literal
        $(, max_registers $most:literal)?) => {
        $(#[$doc])*
        pub const $constant: Tile = Tile {
            rows: $bm,
            columns: $bn,
            shared: (room::<$t>([$bm, $bn], $bk, $stages) * size_of::<$t>()) as u32,
            any: $any,
            threads: $threads,
            slices: $slices,
            divides: true,
            least: least([$bm, $bn], $threads),
        };

        /// Multiplies matrices: for product `i` those from elements `i * steps` of `a` and `b`, to `c`. Their rows in
        /// memory start every `pitches` elements. A is turned on its way when it is not stored transposed, B when it
        /// is. With [`FINISHED`](crate::epilogue::FINISHED) in `how`, sums become what [`Epilogue`] says.
        ///
        /// # Safety
        /// A grid along x only. Every product's A has `m * k` elements in `a`, its B `k * n` in `b`, and `c` room for
        /// its `m * n`, which overlap neither those of other products nor `a` and `b`; the tile's threads and shared
        /// memory; one block for each of the first `whole` tiles of all products, and one per part of `depth` of each
        /// other tile; with several parts, room in `sums` for each, and a ticket per tile that has them, which is 0 and
        /// stays so; the addends lie as the products do, which overlap them exactly or not at all, and the other
        /// pointers of the epilogue are null or have their elements.
        #[cfg_attr(
            target_feature = "sm_90",
            kernel($(max_registers($most),)? for T in [$t], for TURN_A in [false, true], for TURN_B in [false, true])
        )]
        #[cfg_attr(
            not(target_feature = "sm_90"),
            kernel(for T in [$t], for TURN_A in [false, true], for TURN_B in [false, true])
        )]
        pub unsafe fn $kernel<T: Factor, const TURN_A: bool, const TURN_B: bool>(
            a: &[T],
            b: &[T],
            c: *mut T,
            m: u32,
            n: u32,
            k: u32,
            steps: [u64; 3],
            pitches: [u32; 3],
            depth: u32,
            whole: u32,
            sums: *mut T,
            tickets: *mut u32,
            how: u32,
            alpha: T,
            beta: T,
            addend: *const u8,
            row_scales: *const T,
            column_scales: *const T,
            bias: *const T,
        ) {
            let matrices = Matrices { sizes: [m, n, k], steps, pitches };
            let parts = Division { depth, whole, sums, tickets };
            let epilogue = Epilogue { alpha, beta, addend, row_scales, column_scales, bias };
            // SAFETY: the caller upholds this function's contract.
            unsafe {
                product::<T, $bm, $bn, $bk, $tm, $tn, $stages, $slices, $threads, $w, $any, TURN_A, TURN_B>(
                    a, b, c, matrices, parts, how, epilogue,
                )
            };
        }
    };
}
tile! {
    /// The f32 kernel for products that fill the device with such tiles.
    matmul_best_large LARGE f32: 256 128 16, 16 8, 3 1 256, 4 false
}
tile! {
    /// The f32 kernel for smaller products.
    matmul_best_small SMALL f32: 128 64 32, 8 8, 3 2 256, 4 true, max_registers 126
}
tile! {
    /// The f32 kernel for products with few such tiles, and for devices with little shared memory.
    matmul_best_tiny TINY f32: 64 64 32, 8 8, 3 4 256, 4 false, max_registers 128
}
tile! {
    /// The f32 kernel for products that have fewer of the tiles above than the device has multiprocessors: each warp
    /// computes the whole tile from an eighth of a stage's depth.
    matmul_best_short SHORT f32: 32 64 64, 8 8, 3 8 256, 4 true, max_registers 128
}
tile! {
    /// The same for products with few columns.
    matmul_best_tall TALL f32: 64 32 64, 16 4, 3 8 256, 4 true, max_registers 128
}
tile! {
    /// The f32 kernel for the smallest products; each warp computes the whole tile, as in `short`.
    matmul_best_mini MINI f32: 32 32 64, 8 4, 3 8 256, 4 true
}
tile! {
    /// The f32 kernel for batches: two warps, many of which share a multiprocessor, so that the copies of some overlap
    /// the multiplications of others.
    matmul_best_pair PAIR f32: 64 64 16, 8 8, 3 1 64, 4 true
}
tile! {
    /// The f64 kernel for products that fill the device with such tiles. Without a limit of registers it is 1 to 3 %
    /// slower on an H200.
    matmul_best_large_double LARGE_DOUBLE f64: 128 128 16, 8 8, 3 1 256, 2 false, max_registers 208
}
tile! {
    /// The f64 kernel for smaller products, and for devices with little shared memory.
    matmul_best_small_double SMALL_DOUBLE f64: 64 64 16, 4 8, 3 2 256, 2 true
}
tile! {
    /// The f64 kernel for products with few tiles.
    matmul_best_tall_double TALL_DOUBLE f64: 64 32 64, 8 4, 3 4 256, 2 true
}
tile! {
    /// The f64 kernel for the smallest products.
    matmul_best_mini_double MINI_DOUBLE f64: 32 32 64, 4 4, 3 4 256, 2 true
}
tile! {
    /// The f64 kernel for batches of small products, as `pair`.
    matmul_best_pair_double PAIR_DOUBLE f64: 32 32 16, 4 4, 3 1 64, 2 true
}

/// The f32 kernel for batches of the smallest products: one warp. (Two warps with a tile of 64x64 would take 168
/// registers, and be slower than `pair`.)
pub const SINGLE: Tile = Tile {
    rows: as_stored::X as u32,
    columns: as_stored::X as u32,
    shared: few::shared::<f32>(),
    any: true,
    threads: as_stored::THREADS as u32,
    slices: 1,
    divides: false,
    least: [[1; 2]; 2],
};

/// Multiplies matrices, as the kernels above, but for `depth`, `whole`, `sums` and `tickets`,
/// which are not used.
///
/// # Safety
/// As above, with one block per tile of each product.
#[kernel(for T in [f32], for ALONG_A in [false, true], for ALONG_B in [false, true])]
pub unsafe fn matmul_best_single<T: Factor, const ALONG_A: bool, const ALONG_B: bool>(
    a: &[T],
    b: &[T],
    c: *mut T,
    m: u32,
    n: u32,
    k: u32,
    steps: [u64; 3],
    pitches: [u32; 3],
    _depth: u32,
    _whole: u32,
    _sums: *mut T,
    _tickets: *mut u32,
    how: u32,
    alpha: T,
    beta: T,
    addend: *const u8,
    row_scales: *const T,
    column_scales: *const T,
    bias: *const T,
) {
    let matrices = Matrices { sizes: [m, n, k], steps, pitches };
    let epilogue = Epilogue { alpha, beta, addend, row_scales, column_scales, bias };
    // SAFETY: the caller upholds this function's contract.
    unsafe { few::few::<T, ALONG_A, ALONG_B>(a, b, c, matrices, how, epilogue) };
}
