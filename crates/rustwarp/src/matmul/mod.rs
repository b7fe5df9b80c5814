//! Matrix product: `c[i][j] = sum over k of a[i][k] * b[k][j]`, row-major, of any sizes; A and B also stored
//! transposed, and any of the three as parts of larger matrices. A [`Batch`] of products of one size is one launch.
//! [`gemm()`] scales products and adds them to matrices, [`Plan::launch_with`] finishes them as an [`Epilogue`] says;
//! both in the same launch.
//!
//! - *Error bound*: `K * epsilon * sum of |a| |b|`. A product without terms (`K = 0`) is 0.
//! - *Determinism*: the same bits on every run on devices for which the same tile, parts and number of whole tiles are
//!   chosen. Where tiles are divided, equal products of a batch may differ in their last bits.
//! - *Source*: tiles in shared memory and registers as in S. Boehm, "How to Optimize a CUDA Matmul Kernel" (2022), with
//!   asynchronous copies. The kernels are `kernels_gpu::matmul::best`; products of f32 are rounded as f32, without
//!   TF32.

mod batch;
mod choice;
mod gemm;
mod sizes;
mod tile;

use crate::backend::{Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
pub use crate::epilogue::Activation;
use crate::epilogue::{self, Parameters};
use crate::error::{Error, Result};
use crate::launch::{Launch, require_grid};
use crate::ptx::library;
pub use batch::Batch;
use choice::Division;
pub use gemm::gemm;
pub use sizes::Sizes;
pub(crate) use sizes::{elements, small};
pub use tile::{Kernel, Real, Tile};

/// How sums of f32 or f64 become the elements of a product, in that type.
pub type Epilogue<'a, T, H = Device> = epilogue::Epilogue<'a, T, H, T>;

/// The product of A, `m` x `k`, and B, `k` x `n`: a matrix of `m` x `n`.
///
/// # Errors
/// [`Error::Mismatch`] if a buffer does not have the length of its matrix, [`Error::Argument`] for sizes beyond 2^32 -
/// 1, for a leading dimension that is less than a row, and for gaps between the rows of the product;
/// [`Error::OtherDevice`] for buffers of two devices, [`Error::NoPtx`] if the kernels are not built, and the errors of
/// the device.
pub fn matmul<'a, T: Real>(a: impl Into<View<'a, T>>, b: impl Into<View<'a, T>>, sizes: Sizes) -> Result<Buffer<T>> {
    let (a, b) = (a.into(), b.into());
    matmul_on(a.device(), a, b, sizes)
}

/// Writes the product of A and B to a matrix of `m` x `n`, without waiting, in the stream of the device of the product.
/// Elements of gaps between its rows are not written.
///
/// # Errors
/// Those of [`matmul()`], but for gaps.
pub fn matmul_into<'a, T: Real>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
    product: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (a, b, product) = (a.into(), b.into(), product.into());
    b.require_on(product.device(), "B")?;
    let ([of_a, of_b, _], [stored_a, stored_b, _]) = (sizes.spans()?, sizes.stored());
    for (name, have, span, [rows, columns]) in [("A", a.len(), of_a, stored_a), ("B", b.len(), of_b, stored_b)] {
        if have != span {
            let needed = format!("a matrix of {rows}x{columns} has {span} with those between its rows");
            return Err(Error::Mismatch(format!("{name} has {have} elements, and {needed}")));
        }
    }
    Plan::new(product.device(), sizes, None)?.launch([a, b], product)
}

/// The products of a batch, which follow each other without gaps.
///
/// Many small products fill a device that one of them does not.
///
/// # Errors
/// [`Error::Argument`] if the batch leaves gaps between products (see [`matmul_batched_into`]), and the errors of that
/// function.
pub fn matmul_batched<'a, T: Real>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
    batch: Batch,
) -> Result<Buffer<T>> {
    let (a, b) = (a.into(), b.into());
    matmul_batched_on(a.device(), a, b, sizes, batch)
}

/// Writes the products of a batch, without waiting, in the stream of the device of the products. A, B and the products
/// have [`Batch::spans`] elements. Elements of gaps between products and their rows are not written.
///
/// # Errors
/// [`Error::Mismatch`] for memory of another length, [`Error::Argument`] for products that overlap, and for more blocks
/// than a grid can have, and those of [`matmul()`].
pub fn matmul_batched_into<'a, T: Real>(
    a: impl Into<View<'a, T>>,
    b: impl Into<View<'a, T>>,
    sizes: Sizes,
    batch: Batch,
    products: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let products = products.into();
    Plan::batched(products.device(), sizes, batch, None)?.launch([a.into(), b.into()], products)
}

fn matmul_on<T: Real>(device: &Device, a: View<'_, T>, b: View<'_, T>, sizes: Sizes) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(Batch::SINGLE.without_gaps(sizes)?)?;
    matmul_into(a, b, sizes, &mut output)?;
    Ok(output)
}

fn matmul_batched_on<T: Real>(
    device: &Device,
    a: View<'_, T>,
    b: View<'_, T>,
    sizes: Sizes,
    batch: Batch,
) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(batch.without_gaps(sizes)?)?;
    matmul_batched_into(a, b, sizes, batch, &mut output)?;
    Ok(output)
}

/// A product of matrices of one size, or a batch, with its tile and launch configuration. It can be launched any number
/// of times.
pub struct Plan<T: 'static, H: Handle = Device> {
    device: H,
    /// Elements of A, of B and of the product.
    spans: [usize; 3],
    /// `m`, `n`, `k`.
    for_kernels: [u32; 3],
    /// Elements from one A, B and product to the next.
    steps: [u64; 3],
    /// Elements from one row in memory of each to the next.
    pitches: [u32; 3],
    kernel: Kernel<T>,
    /// Depth of the part that a block computes, but for the first tiles.
    depth: u32,
    /// The first tiles, which are not divided.
    whole: u32,
    /// The sums of each part of each other tile, if there are several.
    sums: Memory<T, H>,
    /// The tickets, which are 0 between launches.
    tickets: Memory<u32, H>,
    shape: Shape,
}

impl<T: Real, H: Handle> Plan<T, H> {
    /// Plans products of these sizes: [`Plan::batched`] for one product.
    ///
    /// # Errors
    /// Those of [`Plan::batched`].
    pub fn new(device: &H, sizes: Sizes, tile: Option<&Tile<T>>) -> Result<Self> {
        Self::batched(device, sizes, Batch::SINGLE, tile)
    }

    /// Plans batches of products of these sizes with this tile, or with the tile expected to be fastest among those
    /// that fit the device: a block for each tile of each product, or several that divide its depth, if there are few
    /// or if few are left after some rounds of whole tiles.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes and leading dimensions beyond 2^32 - 1, for a leading dimension less than a row,
    /// for a tile that does not fit, if none does, for more blocks than a grid can have, and for products that overlap;
    /// [`Error::OutOfMemory`] if the device has less memory free.
    pub fn batched(device: &H, sizes: Sizes, batch: Batch, tile: Option<&Tile<T>>) -> Result<Self> {
        let (Sizes { m, n, k, transposed, .. }, info) = (sizes, device.backend().info());
        let (spans, pitches) = (batch.spans(sizes)?, sizes.pitches()?);
        let ([rows, columns, terms], pitches) = (small([m, n, k])?, small(pitches)?);
        let tiles = T::tiles();
        let allowed =
            |candidate: &&Tile<T>| candidate.fits(info) && tile.is_none_or(|tile| tile.name() == candidate.name());
        let fitting = tiles.iter().filter(allowed);
        let Some(Division { tile, whole, depth }) = choice::fastest(fitting, &sizes, &batch, info.multiprocessors)
        else {
            let shared = info.max_shared;
            return Err(Error::Argument(format!(
                "matmul needs more shared memory per block than the {shared} bytes of this device"
            )));
        };
        let tiles = u64::from(rows.div_ceil(tile.size().rows)) * u64::from(columns.div_ceil(tile.size().columns));
        let (tiles, parts) = (tiles.saturating_mul(batch.count as u64), u64::from(choice::parts(&sizes, depth)));
        let what = match batch.count {
            1 => format!("a product of {m}x{n}"),
            count => format!("a batch of {count} products of {m}x{n}"),
        };
        let left = tiles.saturating_sub(whole.into());
        let grid = require_grid(left.saturating_mul(parts).saturating_add(whole.into()), &what, "multiply in parts")?;
        let (shared_tiles, elements) =
            if parts > 1 { (left as usize, (tile.size().rows * tile.size().columns) as usize) } else { (0, 0) };
        // A is turned when it is not transposed, B when it is: see `kernels_gpu::matmul::best`.
        let turned = [usize::from(!transposed[0]), usize::from(transposed[1])];
        Ok(Self {
            device: device.clone(),
            spans,
            for_kernels: [rows, columns, terms],
            steps: batch.steps.map(|step| step as u64),
            pitches,
            kernel: tile.kernel(turned),
            depth,
            whole,
            sums: Memory::uninit(device.clone(), shared_tiles * parts as usize * elements, "partial sums")?,
            tickets: Memory::zeros(device.clone(), shared_tiles, "tickets")?,
            shape: Shape::linear(grid, tile.size().threads).with_shared(tile.size().shared),
        })
    }

    /// Number of blocks: one for each part of each tile of each product.
    pub fn blocks(&self) -> u32 {
        self.shape.grid[0]
    }

    /// The launch that writes the product of A and B, or those of a batch. For products without elements it does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        factors: [impl Into<View<'a, T, H>>; 2],
        product: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        self.prepare_with(factors, &Epilogue::default(), product)
    }

    /// [`Plan::prepare`] with an epilogue.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], also for the epilogue's memory, and [`Error::Mismatch`] if the product overlaps it.
    pub fn prepare_with<'a>(
        &'a self,
        [a, b]: [impl Into<View<'a, T, H>>; 2],
        epilogue: &Epilogue<'a, T, H>,
        product: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (a, b, product) = (a.into(), b.into(), product.into());
        epilogue.require(&self.device, self.spans, [a, b], product)?;
        let [m, n, k] = self.for_kernels;
        let Parameters { how, alpha, beta, addend, vectors: [row_scales, column_scales, bias] } =
            epilogue.parameters(&product, [m, n].map(|n| n as usize))?;
        let (steps, pitches) = (self.steps, self.pitches);
        let (on_a, on_b) = (a.slice(a.len()), b.slice(b.len()));
        let (sums, tickets) = (self.sums.ptr(), self.tickets.ptr());
        let call = (self.kernel)(
            on_a,
            on_b,
            product.ptr(),
            m,
            n,
            k,
            steps,
            pitches,
            self.depth,
            self.whole,
            sums,
            tickets,
            how,
            alpha,
            beta,
            addend,
            row_scales,
            column_scales,
            bias,
        );
        // SAFETY: the operands have the matrices of all products of the batch, whose products do not overlap (see
        // `Batch::spans`), and the epilogue its lengths; the grid is along x, the block is the kernel's, every part of
        // each tile of each product has a block and, if there are several, room for its sums, and the shared memory is
        // the tile's; every launch leaves the tickets at 0.
        let launch = unsafe { Launch::new(call, self.shape) };
        let scratch = [self.sums.writes(), self.tickets.writes()];
        Ok(epilogue.read_by(launch.using([a.reads(), b.reads(), product.writes()]).using(scratch)))
    }
}

impl<T: Real> Plan<T> {
    /// Starts the product of A and B, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &'a self,
        factors: [impl Into<View<'a, T>>; 2],
        product: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        self.launch_with(factors, &Epilogue::default(), product)
    }

    /// [`Plan::launch`] with an epilogue.
    ///
    /// ```
    /// use rustwarp::matmul::{Activation, Epilogue, Plan, Sizes};
    /// use rustwarp::{Device, View};
    ///
    /// let device = Device::sim()?;
    /// let (a, b) = (device.upload(&[1.0_f32, 2.0])?, device.upload(&[3.0_f32, -1.0, 4.0, -5.0])?);
    /// let (bias, mut c) = (device.upload(&[0.5_f32, 1.0])?, device.uninit(2)?);
    /// let plan = Plan::new(&device, Sizes { m: 1, n: 2, k: 2, ..Sizes::default() }, None)?;
    /// let epilogue = Epilogue { bias: Some(View::from(&bias)), activation: Activation::Relu, ..Epilogue::default() };
    /// plan.launch_with([&a, &b], &epilogue, &mut c)?;
    /// assert_eq!(c.download()?, [1.0 * 3.0 + 2.0 * 4.0 + 0.5, 0.0]);
    /// # Ok::<(), rustwarp::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of [`Plan::launch`].
    pub fn launch_with<'a>(
        &'a self,
        factors: [impl Into<View<'a, T>>; 2],
        epilogue: &Epilogue<'a, T>,
        product: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (factors, product): ([View<'_, T>; 2], ViewMut<'_, T>) = (factors.map(Into::into), product.into());
        self.device.run(&library::MATMUL, &self.prepare_with(factors, epilogue, product.as_view())?)
    }
}

impl Device {
    /// [`matmul`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`matmul()`].
    pub fn matmul<'a, T: Real>(
        &self,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        sizes: Sizes,
    ) -> Result<Buffer<T>> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "A")?;
        matmul_on(self, a, b, sizes)
    }

    /// [`matmul_batched`] of buffers of this device.
    ///
    /// # Errors
    /// Those of [`matmul_batched()`].
    pub fn matmul_batched<'a, T: Real>(
        &self,
        a: impl Into<View<'a, T>>,
        b: impl Into<View<'a, T>>,
        sizes: Sizes,
        batch: Batch,
    ) -> Result<Buffer<T>> {
        let (a, b) = (a.into(), b.into());
        a.require_on(self, "A")?;
        matmul_batched_on(self, a, b, sizes, batch)
    }
}
