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
//!   for the time of the call, if their rows do not start at multiples of 16 bytes, in large products 128 bytes; and
//!   factors that are not of 16 bits, if they do not lie along `k` (B not stored transposed, A stored transposed).
//! - [`Epilogue`]: scales, an addend, a bias and an activation in the same launch.
//! - *Source*: the kernels are `kernels_gpu::tensor::mixed`.
//!
//! GPUs of compute capability 9.0 and the simulator have the kernels ([`supports`]). Other GPUs, and views that do not
//! start at a multiple of 16 bytes, get the right product slowly, without tensor cores.

mod epilogue;
mod factor;
mod stored;

use crate::backend::{DeviceInfo, Handle, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Scalar;
use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::matmul::{Sizes, elements};
use crate::ptx::library;
use cuda_std::launch::{Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use epilogue::Parameters;
pub use epilogue::{Activation, Epilogue};
use factor::TILES;
pub use factor::{Factor, Kernel, Operand};
use kernels_gpu::tensor::mixed::epilogue::FINISHED;
use kernels_gpu::tensor::mixed::problem::{A_ACROSS, B_ACROSS, BY_ELEMENTS, PLAIN};
use kernels_gpu::tensor::mixed::product::{BLOCK, Size};
use kernels_gpu::tensor::mixed::{COPY_ROWS, ROWS, pad};
use std::marker::PhantomData;
use stored::{Request, Stored, map};

/// Whether a device has the kernels for tensor cores.
pub fn supports(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm == 90) && TILES.iter().all(|(tile, _)| tile.shared <= info.max_shared)
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
    /// `m`, `n`, `k`.
    for_kernels: [u32; 3],
    factors: [Stored<H>; 2],
    kernel: Kernel,
    /// The launch on tensor cores; `None` on devices without them, and if nothing is added.
    shape: Option<Shape>,
    /// The launch without them.
    plain: Shape,
    /// Bits for the storage orders of the factors, which PTX for older GPUs reads.
    orders: u32,
    types: PhantomData<fn(T) -> O>,
}

impl<T: Factor<O>, O: Scalar, H: Handle> Plan<T, O, H> {
    /// Plans products of these sizes.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes from 2^31 - 512 on, which tensor maps do not have, [`Error::OutOfMemory`] if the
    /// device has too little memory for copies of the factors that need one.
    pub fn new(device: &H, sizes: Sizes) -> Result<Self> {
        let (Sizes { m, n, k, transposed }, info) = (sizes, device.backend().info());
        let fits = |n: usize| u32::try_from(n).ok().filter(|n| *n < (1 << 31) - 512);
        let (Some(rows), Some(columns), Some(depth)) = (fits(m), fits(n), fits(k)) else {
            return Err(Error::Argument(format!("sizes are below 2^31 - 512, not {m}x{n}x{k}: multiply in parts")));
        };
        let (tile, size) = fastest(rows, columns, info.multiprocessors);
        let tensor = supports(info) && depth > 0;
        let tiles = u64::from(rows.div_ceil(ROWS)) * u64::from(columns.div_ceil(size.columns));
        let (blocks, elements) = (u64::from(info.multiprocessors), u64::from(rows) * u64::from(columns));
        let [across_a, across_b] = [transposed[0], !transposed[1]];
        let multiplications = tensor.then(|| (m as u128 * n as u128).saturating_mul(k as u128));
        let factor = |lines, across, tile| Request { lines, depth, across, tile, multiplications };
        let order = if T::EITHER { usize::from(across_a) * 2 + usize::from(across_b) } else { 0 };
        let orders = (u32::from(across_a) * A_ACROSS) | (u32::from(across_b) * B_ACROSS);
        let plain = Shape::linear((blocks * 4).min(elements.div_ceil(BLOCK.into())) as u32, BLOCK);
        Ok(Self {
            device: device.clone(),
            sizes,
            for_kernels: [rows, columns, depth],
            factors: [
                Stored::new::<T>(device, &factor(rows, across_a, ROWS))?,
                Stored::new::<T>(device, &factor(columns, across_b, size.columns))?,
            ],
            kernel: T::KERNELS[tile][order],
            shape: tensor.then(|| Shape::linear(blocks.min(tiles) as u32, BLOCK).with_shared(size.shared)),
            plain,
            orders,
            types: PhantomData,
        })
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
        let Parameters { how: finish, alpha, beta, addend, vectors } = epilogue.parameters(&product, [m, n])?;
        let [row_scales, column_scales, bias] = vectors;
        let (finish, [rows, columns, depth]) = (finish | T::HOW, self.for_kernels);
        let factors = [(&self.factors[0], a), (&self.factors[1], b)];
        let mapped = factors.iter().all(|(stored, view)| stored.has_map(view.address()));
        let whole = (n * size_of::<O>()).is_multiple_of(pad::UNIT as usize);
        let by_map = whole && product.address().is_multiple_of(16) && finish & FINISHED == 0;
        let none = TensorMap::new([0; 16]);
        let empty = m == 0 || n == 0;
        let (mut launches, mut maps, mut shape, mut how) = (Vec::new(), [none; 3], self.plain, PLAIN);
        if let (Some(on_tensor_cores), true, false) = (self.shape, mapped, empty) {
            (how, shape) = (if by_map { 0 } else { BY_ELEMENTS }, on_tensor_cores);
            for (i, (stored, view)) in factors.into_iter().enumerate() {
                launches.extend(stored.prepare(view));
                maps[i] = stored.map::<T>(&self.device, view.address())?;
            }
            if by_map {
                maps[2] = map::<O, H>(&self.device, product.address(), [rows, columns], pad::UNIT, COPY_ROWS)?;
            }
        }
        let [a_map, b_map, c_map] = maps;
        // SAFETY: the views borrow the memory, of which these are the bytes.
        let (on_a, on_b, out) =
            unsafe { (Ptr::new(a.address()), Ptr::new(b.address()), PtrMut::new(product.address())) };
        let how = how | finish | self.orders;
        let call = (self.kernel)(
            a_map,
            b_map,
            c_map,
            on_a,
            on_b,
            out,
            rows,
            columns,
            depth,
            how,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        );
        // SAFETY: the matrices have the plan's sizes and the epilogue its lengths, the maps describe them with the
        // kernel's boxes, the launches before write the copies, and block and shared memory are the kernel's.
        let launch = unsafe { Launch::new(call, shape) }.using([a.reads(), b.reads(), product.writes()]);
        let launch = epilogue.views().fold(launch, |launch, view| launch.using([view.reads()]));
        let launch = epilogue.addend.iter().fold(launch, |launch, view| launch.using([view.reads()]));
        let copies = self.factors.iter().filter_map(Stored::copy);
        launches.push(copies.fold(launch, |launch, copy| launch.using([copy.reads()])));
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
        launches.iter().try_for_each(|launch| self.device.run(&library::TENSOR, launch))
    }
}

/// The number of the tile with which the busiest multiprocessor finishes first, and the tile.
fn fastest(rows: u32, columns: u32, multiprocessors: u32) -> (usize, Size) {
    let time = |(tile, speed): (Size, f64)| -> f64 {
        let tiles = u64::from(rows.div_ceil(ROWS)) * u64::from(columns.div_ceil(tile.columns));
        tiles.div_ceil(multiprocessors.into()) as f64 * f64::from(tile.columns) / speed
    };
    let tile = (1..TILES.len()).fold(0, |best, tile| if time(TILES[tile]) < time(TILES[best]) { tile } else { best });
    (tile, TILES[tile].0)
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

    #[test]
    fn tiles_fill_the_device() {
        let columns = |n: u32| fastest(n, n, 132).1.columns;
        assert_eq!([8192, 4096, 3072, 2048, 1280, 1024, 512].map(columns), [256, 256, 192, 256, 128, 64, 64]);
    }
}
