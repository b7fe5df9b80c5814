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
//! - *Layout*: row-major, A and B also stored transposed. Factors are copied first, which takes as much memory again
//!   for the time of the call, if their rows do not start at multiples of 16 bytes. On GPUs of compute capability 9.0
//!   also in large products, if they do not start at multiples of 128 bytes, and factors that are not of 16 bits, if
//!   they do not lie along `k` (B not stored transposed, A stored transposed).
//! - [`Epilogue`]: scales, an addend, a bias and an activation in the same launch.
//! - *Source*: the kernels are `kernels_gpu::tensor::mixed` and `kernels_gpu::mma`.
//!
//! GPUs of compute capability 9.0 and the simulator multiply by warpgroups (smaller products of i8 that would need a
//! turned copy, by single warps), other GPUs from 8.0 on by single warps ([`supports`]), all types but F8E4M3. What is
//! left (earlier GPUs, F8E4M3 on others than 9.0, and views that do not start at a multiple of 16 bytes on 9.0) gets
//! the right product slowly, without tensor cores.

mod epilogue;
mod factor;
mod stored;
mod tile;
mod warpgroups;
mod warps;

use crate::backend::{DeviceInfo, Handle, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Scalar;
use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::matmul::{Sizes, elements};
use crate::ptx::library;
pub use epilogue::{Activation, Epilogue};
pub use factor::{Factor, Kernel, Operand, WarpKernel};
use factor::{TILES, WARP_TILES};
use std::marker::PhantomData;
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

/// Whether single warps compute products of these sizes.
fn by_warps<T: Operand>(info: &DeviceInfo, sizes: Sizes) -> bool {
    T::WARP_KERNELS.is_some() && warps::supports(info) && (!has_warpgroups(info) || warps::pay::<T>(sizes))
}

/// The sizes as the kernels take them: `m`, `n` and `k`.
///
/// # Errors
/// [`Error::Argument`] for sizes from 2^31 - 512 on.
fn for_kernels(sizes: Sizes) -> Result<[u32; 3]> {
    let Sizes { m, n, k, .. } = sizes;
    let fits = |n: usize| u32::try_from(n).ok().filter(|n| *n < (1 << 31) - 512);
    match (fits(m), fits(n), fits(k)) {
        (Some(rows), Some(columns), Some(depth)) => Ok([rows, columns, depth]),
        _ => Err(Error::Argument(format!("sizes are below 2^31 - 512, not {m}x{n}x{k}: multiply in parts"))),
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
    let (a, b) = (a.into(), b.into());
    let mut output = a.device().uninit::<O>(elements(sizes.m, sizes.n)?)?;
    mixed_matmul_into(a, b, sizes, &mut output)?;
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
    let (a, b, product) = (a.into(), b.into(), product.into());
    b.require_on(product.device(), "B")?;
    Plan::new(product.device(), sizes)?.launch([a, b], product)
}

/// A product of matrices of one size, with its tile, and with its scratch memory if it needs some. It can be launched
/// any number of times.
pub struct Plan<T, O = T, H: Handle = Device> {
    device: H,
    sizes: Sizes,
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
    /// Number of the parts of a product that blocks of single warps compute.
    #[doc(hidden)]
    pub const WARP_TILES: usize = WARP_TILES.len();

    /// Plans products of these sizes.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes from 2^31 - 512 on, which tensor maps do not have, [`Error::OutOfMemory`] if the
    /// device has too little memory for copies of the factors that need one.
    pub fn new(device: &H, sizes: Sizes) -> Result<Self> {
        if by_warps::<T>(device.backend().info(), sizes) {
            Self::of_warps(device, sizes, None)
        } else {
            Self::of_warpgroups(device, sizes)
        }
    }

    /// Plans products by warpgroups, or on devices without them by each thread.
    ///
    /// # Errors
    /// Those of [`Plan::new`].
    #[doc(hidden)]
    pub fn of_warpgroups(device: &H, sizes: Sizes) -> Result<Self> {
        let way = Way::Warpgroups(Warpgroups::new::<T>(device, sizes)?);
        Ok(Self { device: device.clone(), sizes, way, types: PhantomData })
    }

    /// Plans products by single warps, also where warpgroups are faster; `tile`, below [`Plan::WARP_TILES`], selects
    /// the part of the product that a block computes.
    ///
    /// # Errors
    /// Those of [`Plan::new`], and [`Error::Argument`] for F8E4M3 and for devices that cannot.
    #[doc(hidden)]
    pub fn of_warps(device: &H, sizes: Sizes, tile: Option<usize>) -> Result<Self> {
        let way = Way::Warps(Warps::new::<T>(device, sizes, tile)?);
        Ok(Self { device: device.clone(), sizes, way, types: PhantomData })
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
        let Sizes { m, n, k, .. } = self.sizes;
        a.require(&self.device, elements(m, k)?, "A")?;
        b.require(&self.device, elements(k, n)?, "B")?;
        let mut read = vec![a.span(), b.span()];
        read.extend(epilogue.views().map(|view| view.span()));
        read.extend(epilogue.addend.iter().map(|view| view.span()));
        product.require_output(&self.device, elements(m, n)?, &read)?;
        if !O::DTYPE.is_float() && !epilogue.is_identity() {
            return Err(Error::Argument("sums of i32 have no epilogue: ask for a product of f32 or bf16".to_owned()));
        }
        let mut parameters = epilogue.parameters(&product, [m, n])?;
        parameters.how |= T::HOW;
        // SAFETY: the matrices have the plan's sizes and the epilogue its lengths.
        let mut launches = unsafe {
            match &self.way {
                Way::Warpgroups(way) => way.prepare::<T, O>(&self.device, [a, b], parameters, product)?,
                Way::Warps(way) => way.prepare([a, b], parameters, product),
            }
        };
        if let Some(last) = launches.pop() {
            let last = epilogue.views().fold(last, |launch, view| launch.using([view.reads()]));
            launches.push(epilogue.addend.iter().fold(last, |launch, view| launch.using([view.reads()])));
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
            assert_eq!(by_warps::<half::bf16>(&info, cube), expected, "{sm}");
            assert_eq!(by_warps::<f32>(&info, cube), expected, "{sm}");
            assert_eq!(by_warps::<i8>(&info, cube), expected || sm == 90, "{sm}");
            assert!(!by_warps::<float8::F8E4M3>(&info, cube), "{sm}");
            assert_eq!(supports(&info), sm >= 80, "{sm}");
        }
        let along = Sizes { transposed: [false, true], ..cube };
        assert!(!by_warps::<i8>(&gpu(90, 227), along), "no copy is needed");
        assert!(!by_warps::<i8>(&gpu(90, 227), sizes(4096, 16, 16384)), "the copy is small");
        assert!(!by_warps::<half::f16>(&simulator(), cube), "the simulator has warpgroups");
    }
}
