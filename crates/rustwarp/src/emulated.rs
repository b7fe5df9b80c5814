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
//! - *Memory*: as much again as A and B take, for the time of the call.
//! - [`Epilogue`]: scales, an addend, a bias and an activation in the same launch.
//! - *Source*: H. Ootomo and R. Yokota (2022); the kernels are `kernels_gpu::tensor`.
//!
//! GPUs of compute capability 9.0 and the simulator have the kernels: [`supports`].

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::device::Device;
use crate::epilogue::{Epilogue, Parameters};
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::matmul::{Sizes, small};
use crate::ptx::library;
use kernels_gpu::tensor::{A_TRANSPOSED, B_TRANSPOSED, DEPTH, PIECE, ROW, best, slices};

/// Whether a device has the kernels.
pub fn supports(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm == 90) && info.max_shared >= best::SHARED
}

/// Least number of multiplications for which the kernels are measured to be faster than [`matmul`](mod@crate::matmul)
/// (`docs/results/h200`).
const PAYS: u128 = 1 << 30;

/// Whether a product is large enough for the kernels to be faster than [`matmul`](mod@crate::matmul).
pub const fn pays(sizes: Sizes) -> bool {
    (sizes.m as u128 * sizes.n as u128).saturating_mul(sizes.k as u128) >= PAYS
}

/// A factor in slices: its scratch memory, and the launch that fills it.
struct Sliced<H: Handle> {
    /// 16 bytes at a time, as bulk copies take them.
    slices: Memory<u128, H>,
    scales: Memory<u128, H>,
    /// Rows of A or columns of B.
    lines: u32,
    /// With those that fill the last tile.
    padded: u32,
    /// Lines of a tile.
    tile: u32,
    /// Whether neighbours in memory belong to different lines.
    across: bool,
    /// Elements from one row in memory to the next.
    pitch: u32,
    shape: Shape,
}

impl<H: Handle> Sliced<H> {
    fn new(device: &H, lines: u32, [tile, multiple]: [u32; 2], depth: u32, across: bool, pitch: u32) -> Result<Self> {
        let too_large = || Error::Argument("a factor is too large for the GPU: multiply in parts".to_owned());
        let padded = lines.checked_next_multiple_of(multiple).ok_or_else(too_large)?;
        let pieces = depth.div_ceil(PIECE) as usize;
        let words = (padded as usize).checked_mul(pieces).ok_or_else(too_large)?;
        // Units of 16 bytes of the tiles' rows: two tiles to a piece.
        let row = (PIECE / DEPTH * ROW / 16) as usize;
        let blocks = u64::from(padded / slices::LINES) * u64::from(depth.div_ceil(slices::SPAN));
        let grid = require_grid(blocks, "a factor of this size", "multiply in parts")?;
        Ok(Self {
            slices: Memory::uninit(device.clone(), words.checked_mul(row).ok_or_else(too_large)?, "slices")?,
            scales: Memory::uninit(device.clone(), words / 4, "scales")?,
            lines,
            padded,
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
        let call = kernel(factor.slice(factor.len()), slices, scales, lines, depth, pitch, padded, tile);
        // SAFETY: the factor has the plan's size, scratch memory the padded size, and every part of it a block.
        let launch = unsafe { Launch::new(call, self.shape) };
        launch.using([factor.reads(), self.slices.writes(), self.scales.writes()])
    }
}

/// A product of matrices of one size, with its scratch memory. It can be launched any number of times.
pub struct Plan<H: Handle = Device> {
    device: H,
    /// Elements of A, of B and of the product.
    spans: [usize; 3],
    /// `m`, `n`, `k`.
    for_kernels: [u32; 3],
    /// Elements from one row in memory of A, of B and of the product to the next.
    pitches: [u32; 3],
    /// Bits that say how A and B are stored.
    stored: u32,
    factors: [Sliced<H>; 2],
    shape: Shape,
}

impl<H: Handle> Plan<H> {
    /// Plans products of these sizes.
    ///
    /// # Errors
    /// [`Error::Argument`] on devices without the kernels, for sizes beyond 2^31, for leading dimensions that are less
    /// than a row or beyond 2^32 - 1, and for more than a grid can have;
    /// [`Error::OutOfMemory`] if the device has too little memory for the slices.
    pub fn new(device: &H, sizes: Sizes) -> Result<Self> {
        let (Sizes { m, n, k, transposed, .. }, info) = (sizes, device.backend().info());
        if !supports(info) {
            return Err(Error::Argument(format!(
                "products of f32 on tensor cores need a GPU of compute capability 9.0, and {} is none: use `matmul`",
                info.name
            )));
        }
        let fits = |n: usize| u32::try_from(n).ok().filter(|n| *n <= 1 << 31);
        let (Some(rows), Some(columns), Some(depth)) = (fits(m), fits(n), fits(k)) else {
            return Err(Error::Argument(format!("sizes are at most 2^31, not {m}x{n}x{k}: multiply in parts")));
        };
        let pitches = small(sizes.pitches()?)?;
        let cluster = best::ROWS * best::CLUSTER;
        let tiles = u64::from(rows.div_ceil(cluster)) * u64::from(columns.div_ceil(best::COLUMNS));
        // A block per multiprocessor, in whole clusters.
        let clusters = u64::from(info.multiprocessors / best::CLUSTER).clamp(1, tiles.max(1));
        let grid = if m == 0 || n == 0 { 0 } else { clusters as u32 * best::CLUSTER };
        Ok(Self {
            device: device.clone(),
            spans: sizes.spans()?,
            for_kernels: [rows, columns, depth],
            pitches,
            stored: (u32::from(transposed[0]) * A_TRANSPOSED) | (u32::from(transposed[1]) * B_TRANSPOSED),
            factors: [
                Sliced::new(device, rows, [best::ROWS, cluster], depth, transposed[0], pitches[0])?,
                Sliced::new(device, columns, [best::COLUMNS; 2], depth, !transposed[1], pitches[1])?,
            ],
            shape: Shape::linear(grid, best::BLOCK).with_shared(best::SHARED),
        })
    }

    /// The launches that write the product of A and B, in order. Those of a product without elements do nothing.
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
        let [rows, columns, depth] = self.for_kernels;
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
            self.pitches,
            self.stored,
            how,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        );
        // SAFETY: the matrices and their slices have the plan's sizes and the epilogue its lengths, the launches before
        // write the slices, and block, shared memory and grid are the kernel's.
        let launch = unsafe { Launch::new(call, self.shape) };
        let scratch = [sliced_a.slices.reads(), sliced_b.slices.reads()];
        let scales = [sliced_a.scales.reads(), sliced_b.scales.reads()];
        let launch = launch.using([a.reads(), b.reads(), product.writes()]).using(scratch).using(scales);
        Ok([sliced_a.prepare(&a, depth), sliced_b.prepare(&b, depth), epilogue.read_by(launch)])
    }
}

impl Plan {
    /// Starts the product of A and B, in stream order.
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
