//! Product of matrices of narrow types on tensor cores, with sums in f32 or i32.
//!
//! | factors | product | sums: error bound | *S*: sum of `|a| |b|` |
//! |---|---|---|---|
//! | f16, bf16 | the same, or f32 | `(K + 16) * 2^-23 * S` | products are exact; sums are cut, not rounded |
//! | f32 as tf32 | f32 | `(2^-9 + (K + 24) * 2^-23) * S` | the first 10 bits of the fraction are read |
//! | F8E4M3 | bf16, or f32 | `33 * ceil(K / 32) * 2^-13 * S` | tensor cores keep 13 fractional bits of the largest |
//! | i8 | i32, or rounded to f32 or bf16 | exact; i32 wraps | |
//!
//! - A product of 16 bits has half a unit in the last place of its rounding besides.
//! - Infinities and NaN as IEEE 754 says; sums beyond the product's range become infinities. A product without terms
//!   (`K = 0`) is 0. F8E4M3 has NaN, but no infinities.
//! - *Determinism*: the same bits in every run on one kind of device.
//! - *Batches*: [`mixed_matmul_batched`] and [`Plan::batched`] compute many products of one size in one launch.
//! - *Few tiles*: the depth of a single product whose tiles would leave most of the device idle is divided. The parts
//!   write their sums to scratch memory, and the same launch, which is cooperative, adds these in a fixed order, in f32
//!   or i32, within the bounds above (single warps leave that to a second launch). Batches are not divided.
//! - *Layout*: row-major, A and B also stored transposed, any of the three as parts of larger matrices. Factors are
//!   copied first, which takes as much memory again for the time of the call, if their rows, or the matrices of a
//!   batch, do not start at multiples of 16 bytes. On GPUs of compute capability 9.0 also in large products, if they do
//!   not start at multiples of 128 bytes, and by warpgroups factors that are not of 16 bits, if they do not lie along
//!   `k` (B not stored transposed, A stored transposed). Single warps also copy those whose rows have no whole units of
//!   16 bytes.
//! - [`Epilogue`]: scales, an addend, a bias and an activation in the same launch.
//! - *Source*: the kernels are `kernels_gpu::tensor::mixed` and `kernels_gpu::mma`.
//!
//! GPUs of compute capability 9.0 and the simulator multiply by warpgroups (small products, and larger ones of i8 that
//! would need a turned copy, by single warps), other GPUs from 8.0 on by single warps ([`supports`]), all types but
//! F8E4M3. What is left (earlier GPUs, F8E4M3 on others than 9.0, and on 9.0 larger products of views that do not start
//! at a multiple of 16 bytes) gets the right product slowly, without tensor cores.

mod divided;
mod factor;
mod parts;
pub(crate) mod problem;
mod stored;
mod tile;
mod warpgroups;
mod warps;

use crate::backend::{DeviceInfo, Handle, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Scalar;
pub use crate::epilogue::{Activation, Epilogue};
use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::matmul::{Batch, Sizes};
use crate::ptx::library;
pub use factor::{Factor, JoinKernel, Kernel, Operand, WarpKernel, WarpKernels};
use factor::{TILES, WARP_TILES};
use kernels_gpu::tensor::mixed::ROW;
use problem::Problem;
use std::marker::PhantomData;
#[doc(hidden)]
pub use stored::map;
use tile::{Choice, Join, Tile};
use warpgroups::Warpgroups;
use warps::Warps;

/// Whether a device has kernels for tensor cores; of F8E4M3 only those of compute capability 9.0 have.
pub fn supports(info: &DeviceInfo) -> bool {
    has_warpgroups(info) || warps::supports(info)
}

/// Whether a device has the kernels for warpgroups.
fn has_warpgroups(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm == 90) && tile::fit(&TILES, info)
}

/// Whether single warps compute a batch of `count` products.
fn by_warps<T: Operand>(info: &DeviceInfo, sizes: Sizes, count: usize) -> bool {
    T::WARP_KERNELS.is_some() && warps::supports(info) && (!has_warpgroups(info) || warps::pay::<T>(sizes, count))
}

/// What tests and ladders choose instead of the plan; by default nothing.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Forced {
    /// Whether single warps multiply, also where warpgroups are faster, or these where single warps are.
    pub warps: Option<bool>,
    /// The number of the part of the product that a block computes, below [`TILES`], or [`WARP_TILES`] for single
    /// warps.
    pub tile: Option<usize>,
    /// Elements of the depth that are summed at a time, a multiple of those of 128 bytes; 0 for all.
    pub part: Option<u32>,
}

impl Forced {
    /// # Errors
    /// [`Error::Argument`] for a tile that does not exist, and for parts of a batch or of no whole stages.
    fn require<T: Operand>(self, batch: Batch, tiles: &[Tile]) -> Result<()> {
        if let Some(tile) = self.tile.filter(|tile| *tile >= tiles.len()) {
            return Err(Error::Argument(format!("there is no tile {tile}: choose one below {}", tiles.len())));
        }
        let (part, stage) = (self.part.unwrap_or(0), ROW / size_of::<T>() as u32);
        if part != 0 && (batch.count != 1 || !part.is_multiple_of(stage)) {
            return Err(Error::Argument(format!(
                "{} products cannot have parts of {part}: divide a single product into multiples of {stage}",
                batch.count
            )));
        }
        Ok(())
    }

    fn choose<T: Operand>(self, tiles: &[Tile], join: Join, problem: &Problem, info: &DeviceInfo) -> Choice {
        let fastest = |tiles| tile::fastest(tiles, join, problem, ROW / size_of::<T>() as u32, info.multiprocessors);
        let best = match self.tile {
            Some(tile) => Choice { tile, ..fastest(&tiles[tile..=tile]) },
            None => fastest(tiles),
        };
        Choice { part: self.part.unwrap_or(best.part), ..best }
    }
}

/// The product of A, `m` x `k`, and B, `k` x `n`: a matrix of `m` x `n`.
///
/// # Errors
/// [`Error::Mismatch`] if a buffer does not have the length of its matrix, [`Error::Argument`] for sizes of about 2^31
/// and more, [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the
/// errors of the device.
pub fn mixed_matmul<'a, T: Factor<O>, O: Scalar>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
) -> Result<Buffer<O>> {
    mixed_matmul_batched(a, b, sizes, Batch::SINGLE)
}

/// The products of a batch of matrices A, `m` x `k`, and B, `k` x `n`: matrices of `m` x `n`, which follow each other
/// without gaps.
///
/// # Errors
/// [`Error::Argument`] if the batch leaves gaps between products (see [`mixed_matmul_batched_into`]), and the errors of
/// that function.
pub fn mixed_matmul_batched<'a, T: Factor<O>, O: Scalar>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
    batch: Batch,
) -> Result<Buffer<O>> {
    let (a, b) = (a.into(), b.into());
    let mut output = a.device().uninit::<O>(batch.without_gaps(sizes)?)?;
    mixed_matmul_batched_into(a, b, sizes, batch, &mut output)?;
    Ok(output)
}

/// Writes the product of A and B to a matrix of `m` x `n`, without waiting, in the stream of the device of the product.
///
/// # Errors
/// Those of [`mixed_matmul()`].
pub fn mixed_matmul_into<'a, T: Factor<O>, O: Scalar>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
    product: impl Into<ViewMut<'a, O>>,
) -> Result<()> {
    mixed_matmul_batched_into(a, b, sizes, Batch::SINGLE, product)
}

/// Writes the products of a batch, without waiting, in the stream of the device of the products. A, B and the products
/// have [`Batch::spans`] elements. Elements of gaps between products are not written.
///
/// # Errors
/// [`Error::Mismatch`] for memory of another length, [`Error::Argument`] for products that overlap, for about 2^31
/// products and more, and for more tiles than a grid can have, and those of [`mixed_matmul()`].
pub fn mixed_matmul_batched_into<'a, T: Factor<O>, O: Scalar>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
    batch: Batch,
    products: impl Into<ViewMut<'a, O>>,
) -> Result<()> {
    let (a, b, products) = (a.into(), b.into(), products.into());
    b.require_on(products.device(), "B")?;
    Plan::batched(products.device(), sizes, batch)?.launch([a, b], products)
}

/// Products of matrices of one size, with their tile, and with scratch memory if they need some. It can be launched any
/// number of times.
pub struct Plan<T, O = T, H: Handle = Device> {
    device: H,
    /// Rows and columns of a product.
    size: [usize; 2],
    /// Elements of all matrices A, of all B and of the products.
    spans: [usize; 3],
    way: Way<H>,
    types: PhantomData<fn(T) -> O>,
}

/// How the product is computed.
enum Way<H: Handle> {
    /// By warpgroups, or without tensor cores by each thread.
    Warpgroups(Warpgroups<H>),
    /// By single warps.
    Warps(Warps<H>),
}

impl<T: Factor<O>, O: Scalar, H: Handle> Plan<T, O, H> {
    /// Number of the parts of a product that blocks of warpgroups compute.
    #[doc(hidden)]
    pub const TILES: usize = TILES.len();
    /// Number of the parts of a product that blocks of single warps compute.
    #[doc(hidden)]
    pub const WARP_TILES: usize = WARP_TILES.len();

    /// Plans products of these sizes.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes from 2^31 - 512 on, for leading dimensions that are less than a row or above
    /// `u32::MAX`, and for more tiles than a grid can have;
    /// [`Error::OutOfMemory`] if the device has too little memory for copies of the factors that need one, and for the
    /// sums of parts of a product.
    pub fn new(device: &H, sizes: Sizes) -> Result<Self> {
        Self::batched(device, sizes, Batch::SINGLE)
    }

    /// Plans batches of products.
    ///
    /// # Errors
    /// Those of [`Plan::new`], and [`Error::Argument`] for products that overlap, and for about 2^31 products and more.
    pub fn batched(device: &H, sizes: Sizes, batch: Batch) -> Result<Self> {
        Self::forced(device, sizes, batch, Forced::default())
    }

    /// Plans batches of products with these choices.
    ///
    /// # Errors
    /// Those of [`Plan::batched`], and [`Error::Argument`] for choices that the type, the device or the batch does not
    /// have.
    #[doc(hidden)]
    pub fn forced(device: &H, sizes: Sizes, batch: Batch, forced: Forced) -> Result<Self> {
        let (problem, spans) = (Problem::new(sizes, batch)?, batch.spans(sizes)?);
        let warps = forced.warps.unwrap_or_else(|| by_warps::<T>(device.backend().info(), sizes, batch.count));
        forced.require::<T>(batch, if warps { &WARP_TILES } else { &TILES })?;
        let way = if warps {
            Way::Warps(Warps::new::<T>(device, problem, sizes.transposed, forced)?)
        } else {
            Way::Warpgroups(Warpgroups::new::<T>(device, problem, sizes.transposed, forced)?)
        };
        Ok(Self { device: device.clone(), size: [sizes.m, sizes.n], spans, way, types: PhantomData })
    }

    /// The launches that write the product of A and B, in order. Those of a product without elements do nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        factors: [impl Into<View<'a, T, H>>; 2],
        product: impl Into<View<'a, O, H>>,
    ) -> Result<Vec<Launch<'a>>> {
        self.prepare_with(factors, &Epilogue::default(), product)
    }

    /// [`Plan::prepare`] with an epilogue.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], and [`Error::Argument`] for an epilogue of sums of i32.
    pub fn prepare_with<'a>(
        &'a self,
        [a, b]: [impl Into<View<'a, T, H>>; 2],
        epilogue: &Epilogue<'a, O, H>,
        product: impl Into<View<'a, O, H>>,
    ) -> Result<Vec<Launch<'a>>> {
        let (a, b, product) = (a.into(), b.into(), product.into());
        epilogue.require(&self.device, self.spans, [a, b], product)?;
        if !O::DTYPE.is_float() && !epilogue.is_identity() {
            return Err(Error::Argument("sums of i32 have no epilogue: ask for a product of f32 or bf16".to_owned()));
        }
        let mut parameters = epilogue.parameters(&product, self.size)?;
        parameters.how |= T::HOW;
        // SAFETY: the matrices have the plan's sizes and the epilogue its lengths.
        let mut launches = unsafe {
            match &self.way {
                Way::Warpgroups(way) => way.prepare::<T, O>(&self.device, [a, b], parameters, product)?,
                Way::Warps(way) => way.prepare([a, b], parameters, product),
            }
        };
        if let Some(last) = launches.pop() {
            launches.push(epilogue.read_by(last));
        }
        Ok(launches)
    }
}

impl<T: Factor<O>, O: Scalar> Plan<T, O> {
    /// Starts the product of A and B, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &'a self,
        factors: [impl Into<View<'a, T>>; 2],
        product: impl Into<ViewMut<'a, O>>,
    ) -> Result<()> {
        self.launch_with(factors, &Epilogue::default(), product)
    }

    /// [`Plan::launch`] with an epilogue.
    ///
    /// # Errors
    /// Those of [`Plan::launch`] and [`Plan::prepare_with`].
    pub fn launch_with<'a>(
        &'a self,
        factors: [impl Into<View<'a, T>>; 2],
        epilogue: &Epilogue<'a, O>,
        product: impl Into<ViewMut<'a, O>>,
    ) -> Result<()> {
        let (factors, product): ([View<'_, T>; 2], ViewMut<'_, O>) = (factors.map(Into::into), product.into());
        let launches = self.prepare_with(factors, epilogue, product.as_view())?;
        let kernels = match self.way {
            Way::Warpgroups(_) => &library::TENSOR,
            Way::Warps(_) => &library::MMA,
        };
        launches.iter().try_for_each(|launch| self.device.run(kernels, launch))
    }
}

impl Device {
    /// [`mixed_matmul`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`mixed_matmul()`].
    pub fn mixed_matmul<'a, T: Factor<O>, O: Scalar>(
        &self,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        sizes: Sizes,
    ) -> Result<Buffer<O>> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "A")?;
        mixed_matmul(a, b, sizes)
    }

    /// [`mixed_matmul_batched`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`mixed_matmul_batched()`].
    pub fn mixed_matmul_batched<'a, T: Factor<O>, O: Scalar>(
        &self,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        sizes: Sizes,
        batch: Batch,
    ) -> Result<Buffer<O>> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "A")?;
        mixed_matmul_batched(a, b, sizes, batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::simulator;

    #[test]
    fn single_warps_compute_where_warpgroups_cannot_or_would_copy() {
        let gpu = |sm, kib: u32| DeviceInfo { sm: Some(sm), max_shared: kib << 10, ..simulator() };
        let sizes = |m, n, k| Sizes { m, n, k, ..Sizes::default() };
        let cube = sizes(1024, 1024, 1024);
        for (sm, kib, expected) in
            [(75, 64, false), (80, 163, true), (86, 99, true), (90, 227, false), (100, 227, true), (120, 99, true)]
        {
            let info = gpu(sm, kib);
            assert_eq!(by_warps::<half::bf16>(&info, cube, 1), expected, "{sm}");
            assert_eq!(by_warps::<f32>(&info, cube, 1), expected, "{sm}");
            assert_eq!(by_warps::<i8>(&info, cube, 1), expected || sm == 90, "{sm}");
            assert!(!by_warps::<float8::F8E4M3>(&info, cube, 1), "{sm}");
            assert_eq!(supports(&info), sm >= 80, "{sm}");
        }
        let along = Sizes { transposed: [false, true], ..cube };
        assert!(!by_warps::<i8>(&gpu(90, 227), along, 1), "no copy is needed");
        assert!(!by_warps::<i8>(&gpu(90, 227), sizes(4096, 16, 16384), 1), "the copy is small");
        assert!(!by_warps::<half::f16>(&simulator(), cube, 1), "the simulator has warpgroups");
        assert!(by_warps::<half::f16>(&simulator(), sizes(64, 64, 64), 1), "a small product");
    }
}
