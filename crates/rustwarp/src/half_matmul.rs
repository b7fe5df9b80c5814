//! Product of matrices of `f16` or `bf16` on tensor cores: sums in f32, rounded once to the type of the factors.
//!
//! - *Error bound*: `(K + 16) * 2^-23 * S`, `S` the sum of `|a| |b|`, for the sums (tensor cores cut sums instead of
//!   rounding them), and half a unit in the last place of the result for its rounding. Products are exact.
//! - Infinities and NaN as IEEE 754 says; sums beyond the type's range become infinities. A product without terms
//!   (`K = 0`) is 0.
//! - *Determinism*: the same bits in every run on one kind of device.
//! - *Layout*: row-major, A and B also stored transposed. Factors whose rows do not start at multiples of 16 bytes (a
//!   length that 8 does not divide), in large products 128 bytes, are copied first, which takes as much memory again
//!   for the time of the call.
//! - *Source*: the kernels are `kernels_gpu::tensor::half`.
//!
//! GPUs of compute capability 9.0 and the simulator have the kernels ([`supports`]). Other GPUs, and views that do not
//! start at a multiple of 16 bytes, get the right product slowly, without tensor cores.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, TensorLayout, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Scalar;
use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::matmul::{Sizes, elements};
use crate::ptx::library;
use cuda_std::launch::{Call, Ptr, PtrMut};
use cuda_std::memory::TensorMap;
use kernels_gpu::tensor::half::product::{self, BLOCK, BY_ELEMENTS, PLAIN, Size};
use kernels_gpu::tensor::half::{Bf16, COPY_ROWS, DEPTH, F16, ROWS, pad};

/// Whether a device has the kernels for tensor cores.
pub fn supports(info: &DeviceInfo) -> bool {
    info.sm.is_none_or(|sm| sm == 90) && TILES.iter().all(|(tile, _)| tile.shared <= info.max_shared)
}

/// A launcher of a kernel. It is public for the ladders, which list its entry.
#[doc(hidden)]
pub type Kernel = for<'a> fn(
    TensorMap,
    TensorMap,
    TensorMap,
    Ptr<'a, u16>,
    Ptr<'a, u16>,
    PtrMut<'a, u16>,
    u32,
    u32,
    u32,
    u32,
) -> Call<'a>;

/// The kernels of a type: of each tile, by whether A and whether B lies across the depth.
#[doc(hidden)]
pub type Kernels = [[[Kernel; 2]; 2]; TILES.len()];

/// The tiles, with their relative speed for a multiprocessor that has enough of them, measured on an H200.
const TILES: [(Size, f64); 4] = [
    (product::COLUMNS_256, 1.0),
    (product::COLUMNS_192, 0.95),
    (product::COLUMNS_128, 0.85),
    (product::COLUMNS_64, 0.6),
];

/// `half::f16` and `half::bf16`.
pub trait Half: Scalar {
    /// The kernels. They are public for the ladders, which list their entries.
    #[doc(hidden)]
    const KERNELS: Kernels;
}

macro_rules! kernels {
    ($($kernel:ident)*; $half:ident) => {
        [$([
            [product::$kernel::<$half, false, false>, product::$kernel::<$half, false, true>],
            [product::$kernel::<$half, true, false>, product::$kernel::<$half, true, true>],
        ]),*]
    };
}

impl Half for half::f16 {
    const KERNELS: Kernels = kernels!(tensor_half_256 tensor_half_192 tensor_half_128 tensor_half_64; F16);
}

impl Half for half::bf16 {
    const KERNELS: Kernels = kernels!(tensor_half_256 tensor_half_192 tensor_half_128 tensor_half_64; Bf16);
}

/// The product of A, `m` x `k`, and B, `k` x `n`: a matrix of `m` x `n`.
///
/// # Errors
/// [`Error::Mismatch`] if a buffer does not have the length of its matrix, [`Error::Argument`] for sizes of about 2^31
/// and more, [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the
/// errors of the device.
pub fn half_matmul<'a, T: Half>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
) -> Result<Buffer<T>> {
    let (a, b) = (a.into(), b.into());
    let mut output = a.device().uninit::<T>(elements(sizes.m, sizes.n)?)?;
    half_matmul_into(a, b, sizes, &mut output)?;
    Ok(output)
}

/// Writes the product of A and B to a matrix of `m` x `n`, without waiting, in the stream of the device of the product.
///
/// # Errors
/// Those of [`half_matmul()`].
pub fn half_matmul_into<'a, T: Half>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
    product: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (a, b, product) = (a.into(), b.into(), product.into());
    b.require_on(product.device(), "B")?;
    Plan::new(product.device(), sizes)?.launch([a, b], product)
}

/// How a factor lies in memory: rows of a length.
struct Stored<H: Handle> {
    rows: u32,
    columns: u32,
    /// Rows of a box, whose columns are 64.
    box_rows: u32,
    /// A copy with rows that start at multiples of 16 bytes, if those of the factor do not.
    padded: Option<Memory<u128, H>>,
}

impl<H: Handle> Stored<H> {
    /// Plans a copy of the factor if its rows have no multiple of `multiple` elements.
    fn new(device: &H, [rows, columns]: [u32; 2], box_rows: u32, multiple: Option<u32>) -> Result<Self> {
        let units = elements(rows as usize, (columns.next_multiple_of(pad::LINE) / pad::UNIT) as usize)?;
        let needed = units > 0 && multiple.is_some_and(|multiple| !columns.is_multiple_of(multiple));
        let padded = needed.then(|| Memory::uninit(device.clone(), units, "a factor with longer rows")).transpose()?;
        Ok(Self { rows, columns, box_rows, padded })
    }

    /// The launch that makes the copy.
    fn prepare<'a, T: Half>(&'a self, factor: View<'a, T, H>) -> Result<Option<Launch<'a>>> {
        let Some(padded) = &self.padded else { return Ok(None) };
        // SAFETY: the bits of a `T` are a u16.
        let from = unsafe { Ptr::new(factor.address()) };
        let call = pad::tensor_half_pad(from, padded.ptr(), self.rows, self.columns);
        // SAFETY: the factor has these rows, and the copy room for the longer ones.
        let launch = unsafe { Launch::new(call, Shape::linear(self.rows.min(PAD_BLOCKS), pad::BLOCK)) };
        Ok(Some(launch.using([factor.reads(), padded.writes()])))
    }

    /// The map of the factor at this address, or of its copy.
    fn map<T: Half>(&self, device: &H, address: u64) -> Result<TensorMap> {
        let address = self.padded.as_ref().map_or(address, Memory::address);
        let multiple = if self.padded.is_some() { pad::LINE } else { pad::UNIT };
        map::<T, H>(device, address, [self.rows, self.columns], multiple, self.box_rows)
    }

    /// Whether a map of the factor at this address is possible.
    fn has_map(&self, address: u64) -> bool {
        self.padded.is_some() || address.is_multiple_of(16)
    }
}

/// Least number of multiplications for which a copy of a factor with rows of whole cache lines costs less than it saves
/// (`docs/results/h200`).
const COPY_PAYS: u128 = 1 << 32;

/// Blocks that copy a factor: enough to fill any GPU, each with several rows.
const PAD_BLOCKS: u32 = 4096;

/// The map of a matrix whose rows start at multiples of this number of elements.
fn map<T: Half, H: Handle>(
    device: &H,
    address: u64,
    [rows, columns]: [u32; 2],
    multiple: u32,
    box_rows: u32,
) -> Result<TensorMap> {
    let layout = TensorLayout {
        dtype: T::DTYPE,
        address,
        sizes: [columns.into(), rows.into()],
        stride: 2 * u64::from(columns.next_multiple_of(multiple)),
        block: [64, box_rows],
        swizzle: 128,
    };
    device.backend().tensor_map(&layout)
}

/// A product of matrices of one size, with its tile, and with its scratch memory if it needs some. It can be launched
/// any number of times.
pub struct Plan<T, H: Handle = Device> {
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
    element: std::marker::PhantomData<fn(T)>,
}

impl<T: Half, H: Handle> Plan<T, H> {
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
        let (a, b) = ([rows, depth], [columns, depth]);
        let stored = |[lines, depth]: [u32; 2], across| if across { [depth, lines] } else { [lines, depth] };
        // Copies of boxes whose rows are not whole cache lines take twice the time.
        let pays = (m as u128 * n as u128).saturating_mul(k as u128) >= COPY_PAYS;
        let multiple = tensor.then_some(if pays { pad::LINE } else { pad::UNIT });
        let part = |lines, across| if across { DEPTH } else { lines };
        Ok(Self {
            device: device.clone(),
            sizes,
            for_kernels: [rows, columns, depth],
            factors: [
                Stored::new(device, stored(a, across_a), part(ROWS, across_a), multiple)?,
                Stored::new(device, stored(b, across_b), part(size.columns, across_b), multiple)?,
            ],
            kernel: T::KERNELS[tile][usize::from(across_a)][usize::from(across_b)],
            shape: tensor.then(|| Shape::linear(blocks.min(tiles) as u32, BLOCK).with_shared(size.shared)),
            plain: Shape::linear((blocks * 4).min(elements.div_ceil(BLOCK.into())) as u32, BLOCK),
            element: std::marker::PhantomData,
        })
    }

    /// The launches that write the product of A and B, in order. Those of a product without elements do nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        [a, b]: [impl Into<View<'a, T, H>>; 2],
        product: impl Into<View<'a, T, H>>,
    ) -> Result<Vec<Launch<'a>>> {
        let (a, b, product) = (a.into(), b.into(), product.into());
        let Sizes { m, n, k, .. } = self.sizes;
        a.require(&self.device, elements(m, k)?, "A")?;
        b.require(&self.device, elements(k, n)?, "B")?;
        product.require_output(&self.device, elements(m, n)?, &[a.span(), b.span()])?;
        let [rows, columns, depth] = self.for_kernels;
        let factors = [(&self.factors[0], a), (&self.factors[1], b)];
        let mapped = factors.iter().all(|(stored, view)| stored.has_map(view.address()));
        let by_map = columns.is_multiple_of(pad::UNIT) && product.address().is_multiple_of(16);
        let none = TensorMap::new([0; 16]);
        let empty = m == 0 || n == 0;
        let (mut launches, mut maps, mut how, mut shape) = (Vec::new(), [none; 3], PLAIN, self.plain);
        if let (Some(on_tensor_cores), true, false) = (self.shape, mapped, empty) {
            (how, shape) = (if by_map { 0 } else { BY_ELEMENTS }, on_tensor_cores);
            for (i, (stored, view)) in factors.into_iter().enumerate() {
                launches.extend(stored.prepare(view)?);
                maps[i] = stored.map::<T>(&self.device, view.address())?;
            }
            if by_map {
                maps[2] = map::<T, H>(&self.device, product.address(), [rows, columns], pad::UNIT, COPY_ROWS)?;
            }
        }
        let bits = |view: View<'a, T, H>| {
            // SAFETY: the view borrows the memory, and the bits of a `T` are a u16.
            unsafe { (Ptr::new(view.address()), PtrMut::new(view.address())) }
        };
        let [a_map, b_map, c_map] = maps;
        let out = bits(product).1;
        let call = (self.kernel)(a_map, b_map, c_map, bits(a).0, bits(b).0, out, rows, columns, depth, how);
        // SAFETY: the matrices have the plan's sizes, the maps describe them with the kernel's boxes, the launches
        // before write the copies, and block and shared memory are the kernel's.
        let launch = unsafe { Launch::new(call, shape) }.using([a.reads(), b.reads(), product.writes()]);
        let copies = self.factors.iter().filter_map(|stored| stored.padded.as_ref());
        launches.push(copies.fold(launch, |launch, copy| launch.using([copy.reads()])));
        Ok(launches)
    }
}

impl<T: Half> Plan<T> {
    /// Starts the product of A and B, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &'a self,
        factors: [impl Into<View<'a, T>>; 2],
        product: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (factors, product): ([View<'_, T>; 2], ViewMut<'_, T>) = (factors.map(Into::into), product.into());
        let launches = self.prepare(factors, product.as_view())?;
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
    /// [`half_matmul`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`half_matmul()`].
    pub fn half_matmul<'a, T: Half>(
        &self,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        sizes: Sizes,
    ) -> Result<Buffer<T>> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "A")?;
        half_matmul(a, b, sizes)
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
