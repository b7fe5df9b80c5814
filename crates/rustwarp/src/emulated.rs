//! Product of f32 matrices on tensor cores, at the accuracy of f32, several times as fast as
//! [`matmul`](mod@crate::matmul).
//!
//! Each f32 becomes two f16, scaled by a power of two that 64 neighbours of a row of A or a column of B (along `k`)
//! share; three products of them make the product. Sums leave the tensor cores after every 64 elements.
//!
//! - *Error bound*: `(K / 64 + 110) * epsilon * S`, `S` the sum of `|a| |b|`, if the elements of each run of 64 are 0
//!   or within a factor of 2^17 of its largest: 6 of it for the slices, 104 for the tensor cores' sums of 64 (twelve
//!   instructions that add 17 numbers, each cut to 24 bits of the largest), the rest for the sums of these. A smaller
//!   element has an absolute error of 2^-40 of the largest of its run, as in a fixed-point number. Measured errors are
//!   below those of cuBLAS's f32 from `K` = 1024 on (`docs/results/h200`).
//! - Infinities, NaN and elements from 2^105 on take part as in `matmul`; the rows and columns that have them are
//!   computed without tensor cores, slowly.
//! - *Determinism*: the same bits in every run.
//! - *Memory*: as much again as all A and B take, for the time of the call; rows of A count up to multiples of 256,
//!   columns of B of 192, and their depth of 64.
//! - *Batches*: [`Plan::batched`] computes many products of one size in one launch, after one for all A and one for all
//!   B. A factor that all products have is sliced once.
//! - [`Epilogue`]: scales, an addend, a bias and an activation in the same launch.
//! - *Layout*: row-major, A and B also stored transposed, any of the three as parts of larger matrices.
//! - *Source*: H. Ootomo and R. Yokota (2022); the kernels are `kernels_gpu::tensor`.
//!
//! GPUs of compute capability 9.0 and the simulator have the kernels: [`supports`]. [`accuracy`](crate::accuracy) uses
//! them where they are faster: [`pays`].

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::device::Device;
use crate::epilogue::{Epilogue, Parameters};
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::matmul::{Batch, Sizes};
use crate::mixed_matmul::problem::Problem;
use crate::ptx::library;
use kernels_gpu::tensor::{A_TRANSPOSED, B_TRANSPOSED, DEPTH, PIECE, ROW, best, slices};

/// Whether a device has the kernels.
pub fn supports(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm == 90) && info.max_shared >= best::SHARED
}

/// Least number of multiplications for which the kernels are measured to be faster than [`matmul`](mod@crate::matmul)
/// (`docs/results/h200`).
const PAYS: u128 = 1 << 30;

/// Products in which an element of a factor takes part, for factors of one size, that do not pay yet: each element is
/// read, sliced, written and read again.
const USES: u128 = 256;

/// Whether the kernels are faster than [`matmul`](mod@crate::matmul): all products together have 2^30 multiplications
/// or more, and each fills its tiles of 256 x 192 x 64 at least by half and uses each element of its factors in more
/// than 256 multiplications (the harmonic mean of `m` and `n`). (H200, us, and those of `matmul`: 8 of 512 x 512 x 512,
/// 41 and 50; 32 of 384 x 384 x 384, 68 and 90; 64 of 256 x 256 x 256, 56 and 52; 256 x 4096 x 4096, 163 and 182.)
pub const fn pays(sizes: Sizes, batch: Batch) -> bool {
    let (m, n, k) = (sizes.m as u128, sizes.n as u128, sizes.k as u128);
    let each = (m * n).saturating_mul(k);
    let [rows, columns] = [(best::ROWS * best::CLUSTER) as u128, best::COLUMNS as u128];
    let [m_in_tiles, n_in_tiles] = [m.next_multiple_of(rows), n.next_multiple_of(columns)];
    let in_tiles = m_in_tiles.saturating_mul(n_in_tiles).saturating_mul(k.next_multiple_of(PIECE as u128));
    let is_reused = (m * n).saturating_mul(2) > (m + n).saturating_mul(USES);
    each.saturating_mul(batch.count as u128) >= PAYS && each >= in_tiles / 2 && is_reused
}

/// The matrices A or B in slices: their scratch memory, and the launch that fills it.
struct Sliced<H: Handle> {
    /// 16 bytes at a time, as bulk copies take them.
    slices: Memory<u128, H>,
    scales: Memory<u128, H>,
    /// Rows of a matrix A or columns of a matrix B.
    lines: u32,
    /// With those that fill the last tile.
    padded: u32,
    /// Number of matrices, and elements from one to the next.
    matrices: (u32, u64),
    /// Lines of a tile.
    tile: u32,
    /// Whether neighbours in memory belong to different lines.
    across: bool,
    /// Elements from one row in memory to the next.
    pitch: u32,
    shape: Shape,
}

impl<H: Handle> Sliced<H> {
    /// Plans the slices of factor 0 or 1 with this many lines, in tiles of `tile`, to a multiple of `multiple`.
    fn new(
        device: &H,
        problem: &Problem,
        factor: usize,
        lines: u32,
        [tile, multiple]: [u32; 2],
        across: bool,
    ) -> Result<Self> {
        let too_large = || Error::Argument("a factor is too large for the GPU: multiply in parts".to_owned());
        let (depth, matrices, pitch) = (problem.depth, problem.matrices(factor), problem.pitches[factor]);
        let padded = lines.checked_next_multiple_of(multiple).ok_or_else(too_large)?;
        let all = padded.checked_mul(matrices.0).ok_or_else(too_large)?;
        let pieces = depth.div_ceil(PIECE) as usize;
        let words = (all as usize).checked_mul(pieces).ok_or_else(too_large)?;
        // Units of 16 bytes of the tiles' rows: two tiles to a piece.
        let row = (PIECE / DEPTH * ROW / 16) as usize;
        let blocks = u64::from(all / slices::LINES) * u64::from(depth.div_ceil(slices::SPAN));
        let grid = require_grid(blocks, "a factor of this size", "multiply in parts")?;
        Ok(Self {
            slices: Memory::uninit(device.clone(), words.checked_mul(row).ok_or_else(too_large)?, "slices")?,
            scales: Memory::uninit(device.clone(), words / 4, "scales")?,
            lines,
            padded,
            matrices,
            tile,
            across,
            pitch,
            shape: Shape::linear(grid, slices::BLOCK),
        })
    }

    fn prepare<'a>(&'a self, factor: &View<'a, f32, H>, depth: u32) -> Launch<'a> {
        let kernel = if self.across { slices::tensor_slices::<true> } else { slices::tensor_slices::<false> };
        let (slices, scales) = (self.slices.ptr(), self.scales.ptr());
        let (lines, pitch, padded, tile) = (self.lines, self.pitch, self.padded, self.tile);
        let (count, step) = self.matrices;
        let call = kernel(factor.slice(factor.len()), slices, scales, lines, depth, pitch, padded, tile, count, step);
        // SAFETY: the factors have the plan's sizes, scratch memory the padded size, and every part of it a block.
        let launch = unsafe { Launch::new(call, self.shape) };
        launch.using([factor.reads(), self.slices.writes(), self.scales.writes()])
    }
}

/// A product of matrices of one size, or a batch, with its scratch memory. It can be launched any number of times.
pub struct Plan<H: Handle = Device> {
    device: H,
    /// Elements of A, of B and of the products.
    spans: [usize; 3],
    problem: Problem,
    /// Bits that say how A and B are stored.
    stored: u32,
    factors: [Sliced<H>; 2],
    shape: Shape,
}

impl<H: Handle> Plan<H> {
    /// Plans products of these sizes: [`Plan::batched`] for one product.
    ///
    /// # Errors
    /// Those of [`Plan::batched`].
    pub fn new(device: &H, sizes: Sizes) -> Result<Self> {
        Self::batched(device, sizes, Batch::SINGLE)
    }

    /// Plans batches of products.
    ///
    /// # Errors
    /// [`Error::Argument`] on devices without the kernels, for sizes from 2^31 - 512 on and as many products, for
    /// leading dimensions that are less than a row or beyond 2^32 - 1, for products that overlap, and for more than a
    /// grid can have; [`Error::OutOfMemory`] if the device has too little memory for the slices.
    pub fn batched(device: &H, sizes: Sizes, batch: Batch) -> Result<Self> {
        let ([a_transposed, b_transposed], info) = (sizes.transposed, device.backend().info());
        if !supports(info) {
            return Err(Error::Argument(format!(
                "products of f32 on tensor cores need a GPU of compute capability 9.0, and {} is none: use `matmul`",
                info.name
            )));
        }
        let (problem, spans) = (Problem::new(sizes, batch)?, batch.spans(sizes)?);
        let (cluster, Problem { rows, columns, count, .. }) = (best::ROWS * best::CLUSTER, problem);
        let tiles = u64::from(rows.div_ceil(cluster)) * u64::from(columns.div_ceil(best::COLUMNS));
        let tiles = require_grid(tiles.saturating_mul(count.into()), "the product", "multiply in parts")?;
        // A block per multiprocessor, in whole clusters.
        let clusters = (info.multiprocessors / best::CLUSTER).clamp(1, tiles.max(1));
        let grid = if tiles == 0 { 0 } else { clusters * best::CLUSTER };
        Ok(Self {
            device: device.clone(),
            spans,
            problem,
            stored: (u32::from(a_transposed) * A_TRANSPOSED) | (u32::from(b_transposed) * B_TRANSPOSED),
            factors: [
                Sliced::new(device, &problem, 0, rows, [best::ROWS, cluster], a_transposed)?,
                Sliced::new(device, &problem, 1, columns, [best::COLUMNS; 2], !b_transposed)?,
            ],
            shape: Shape::linear(grid, best::BLOCK).with_shared(best::SHARED),
        })
    }

    /// The launches that write the product of A and B, or those of a batch, in order. Those of a product without
    /// elements do nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        factors: [impl Into<View<'a, f32, H>>; 2],
        product: impl Into<View<'a, f32, H>>,
    ) -> Result<[Launch<'a>; 3]> {
        self.prepare_with(factors, &Epilogue::default(), product)
    }

    /// [`Plan::prepare`] with an epilogue.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], also for the epilogue's memory, and [`Error::Mismatch`] if the product overlaps it.
    pub fn prepare_with<'a>(
        &'a self,
        [a, b]: [impl Into<View<'a, f32, H>>; 2],
        epilogue: &Epilogue<'a, f32, H>,
        product: impl Into<View<'a, f32, H>>,
    ) -> Result<[Launch<'a>; 3]> {
        let (a, b, product) = (a.into(), b.into(), product.into());
        epilogue.require(&self.device, self.spans, [a, b], product)?;
        let Problem { rows, columns, depth, count, steps, pitches } = self.problem;
        let Parameters { how, alpha, beta, addend, vectors: [row_scales, column_scales, bias] } =
            epilogue.parameters(&product, [rows, columns].map(|n| n as usize))?;
        let [sliced_a, sliced_b] = &self.factors;
        let call = best::tensor_best(
            sliced_a.slices.slice(sliced_a.slices.len()),
            sliced_b.slices.slice(sliced_b.slices.len()),
            sliced_a.scales.slice(sliced_a.scales.len()),
            sliced_b.scales.slice(sliced_b.scales.len()),
            a.slice(a.len()),
            b.slice(b.len()),
            product.ptr(),
            rows,
            columns,
            depth,
            count,
            steps,
            pitches,
            self.stored,
            how,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        );
        // SAFETY: the matrices and their slices have the plan's sizes and the epilogue its lengths, products do not
        // overlap (see `Batch::spans`), the launches before write the slices, and block, shared memory and grid are
        // the kernel's.
        let launch = unsafe { Launch::new(call, self.shape) };
        let scratch = [sliced_a.slices.reads(), sliced_b.slices.reads()];
        let scales = [sliced_a.scales.reads(), sliced_b.scales.reads()];
        let launch = launch.using([a.reads(), b.reads(), product.writes()]).using(scratch).using(scales);
        Ok([sliced_a.prepare(&a, depth), sliced_b.prepare(&b, depth), epilogue.read_by(launch)])
    }
}

impl Plan {
    /// Starts the product of A and B, or those of a batch, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &'a self,
        factors: [impl Into<View<'a, f32>>; 2],
        product: impl Into<ViewMut<'a, f32>>,
    ) -> Result<()> {
        self.launch_with(factors, &Epilogue::default(), product)
    }

    /// [`Plan::launch`] with an epilogue.
    ///
    /// # Errors
    /// Those of [`Plan::launch`].
    pub fn launch_with<'a>(
        &'a self,
        factors: [impl Into<View<'a, f32>>; 2],
        epilogue: &Epilogue<'a, f32>,
        product: impl Into<ViewMut<'a, f32>>,
    ) -> Result<()> {
        let (factors, product): ([View<'_, f32>; 2], ViewMut<'_, f32>) = (factors.map(Into::into), product.into());
        let launches = self.prepare_with(factors, epilogue, product.as_view())?;
        launches.iter().try_for_each(|launch| self.device.run(&library::TENSOR, launch))
    }
}
