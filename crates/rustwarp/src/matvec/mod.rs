//! Product of a matrix and a vector: `y[i] = sum over k of a[i][k] * x[k]`, of any sizes; the matrix also stored
//! transposed, and as a part of a larger one. [`gemv`] scales the product and adds it to a vector, in the same launch.
//!
//! Entries of f16 and bf16 are multiplied and added as f32, and so is their product. A product without terms is 0.
//!
//! - *Error bound*: `d * epsilon * sum of |a| |x|`, where `d` is [`Plan::depth`] and `epsilon` that of the product's
//!   type, and half the smallest positive number of that type for each product that underflows.
//! - *Determinism*: the same bits on every run on devices with the same number of multiprocessors, where matrix and
//!   vector have the same places between 16-byte boundaries.
//! - *Source*: those of `kernels_gpu::matvec`; the kernels are its `best` and `columns`.

mod config;

use crate::backend::{Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::{Element, Scalar, Value, require_layout};
use crate::error::{Error, Result};
use crate::launch::Launch;
use crate::matmul::{self, elements, small};
use crate::ptx::library;
use config::{Config, by_columns, by_rows};
use cuda_std::launch::Slice;
use cuda_std::math::Float;
use kernels_gpu::matvec::{ALIGNED, Bf16, Entry, F16, SHIFTED, SINGLE, STREAMED, best, columns};

/// Sizes and storage of a matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sizes {
    /// Rows of the matrix: the length of the product.
    pub rows: usize,
    /// Columns of the matrix: the length of the vector.
    pub columns: usize,
    /// Whether the matrix is stored transposed, as `columns` x `rows`.
    pub transposed: bool,
    /// Elements from the start of one row in memory to the start of the next, as the matrix is stored. 0: rows follow
    /// each other without gaps. More than a row has: the matrix is a part of a larger one. In CBLAS this is `lda`, with
    /// `CblasRowMajor`.
    pub leading_dimension: usize,
}

impl Sizes {
    /// Elements from the first of the matrix to the last, with those between rows: what its memory has.
    ///
    /// # Errors
    /// [`Error::Argument`] for more elements than memory has, and for a leading dimension that is less than a row.
    pub fn span(&self) -> Result<usize> {
        let [matrix, ..] = self.of_product().spans()?;
        Ok(matrix)
    }

    /// The sizes of the product of the matrix and a matrix of one column.
    fn of_product(&self) -> matmul::Sizes {
        matmul::Sizes {
            m: self.rows,
            n: 1,
            k: self.columns,
            transposed: [self.transposed, false],
            leading_dimensions: [self.leading_dimension, 0, 0],
        }
    }
}

/// A type of entries: `f32`, `f64`, `half::f16` and `half::bf16`.
pub trait Operand: Scalar {
    /// The type of the product: f64 for f64, else f32.
    type Output: Element + Float;

    /// The type's name among the kernels.
    #[doc(hidden)]
    type Entry: Entry<Sum = Self::Output>;
}

macro_rules! operands {
    ($($t:ty: $entry:ty, $output:ty;)*) => { $(
        impl Operand for $t {
            type Output = $output;
            type Entry = $entry;
        }
    )* };
}
operands! { f32: f32, f32; f64: f64, f64; half::f16: F16, f32; half::bf16: Bf16, f32; }

/// The product of a matrix of `rows` x `columns` and a vector of `columns`: a vector of `rows`.
///
/// # Errors
/// [`Error::Mismatch`] if a buffer does not have the length that the sizes give, [`Error::Argument`] for sizes beyond
/// 2^32 - 1 and for a leading dimension that is less than a row, [`Error::OtherDevice`] for buffers of two devices,
/// [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn matvec<'a, T: Operand>(
    matrix: impl Into<View<'a, T>>,
    vector: impl Into<View<'a, T>>,
    sizes: Sizes,
) -> Result<Buffer<T::Output>> {
    let (matrix, vector) = (matrix.into(), vector.into());
    matvec_on(matrix.device(), matrix, vector, sizes)
}

/// Writes the product of a matrix and a vector to `rows` elements, without waiting, in the stream of the product's
/// device.
///
/// # Errors
/// Those of [`matvec()`].
pub fn matvec_into<'a, T: Operand>(
    matrix: impl Into<View<'a, T>>,
    vector: impl Into<View<'a, T>>,
    sizes: Sizes,
    product: impl Into<ViewMut<'a, T::Output>>,
) -> Result<()> {
    let (matrix, vector, product) = (matrix.into(), vector.into(), product.into());
    vector.require_on(product.device(), "the vector")?;
    let (Sizes { rows, columns, .. }, span, have) = (sizes, sizes.span()?, matrix.len());
    if span != have {
        return Err(Error::Mismatch(format!(
            "{have} elements are not a matrix of {rows}x{columns}, which has {span} with those between its rows"
        )));
    }
    Plan::<T>::new(product.device(), sizes)?.launch(matrix, vector, product)
}

/// `y = alpha * matrix * vector + beta * y`, without waiting, in the stream of the device of `y`: what BLAS calls
/// `gemv`, for row-major matrices and vectors without gaps. With a `beta` of 0, `y` is not read: what is there may be
/// NaN.
///
/// Its error is at most `(d + 2) * epsilon * (sum of |alpha| |a| |x| + |beta| |y|)`.
///
/// ```
/// use rustwarp::Device;
/// use rustwarp::matvec::{Sizes, gemv};
///
/// let device = Device::sim()?;
/// let (a, x) = (device.upload(&[1.0_f32, 2.0])?, device.upload(&[3.0_f32, 4.0])?);
/// let mut y = device.upload(&[100.0_f32])?;
/// gemv(2.0, &a, &x, 1.0, &mut y, Sizes { rows: 1, columns: 2, ..Sizes::default() })?;
/// assert_eq!(y.download()?, [2.0 * (1.0 * 3.0 + 2.0 * 4.0) + 100.0]);
/// # Ok::<(), rustwarp::Error>(())
/// ```
///
/// # Errors
/// Those of [`matvec()`].
pub fn gemv<'a, T: Operand>(
    alpha: T::Output,
    matrix: impl Into<View<'a, T>>,
    vector: impl Into<View<'a, T>>,
    beta: T::Output,
    y: impl Into<ViewMut<'a, T::Output>>,
    sizes: Sizes,
) -> Result<()> {
    let y = y.into();
    Plan::<T>::new(y.device(), sizes)?.launch_scaled(matrix, vector, [alpha, beta], y)
}

fn matvec_on<T: Operand>(
    device: &Device,
    matrix: View<'_, T>,
    vector: View<'_, T>,
    sizes: Sizes,
) -> Result<Buffer<T::Output>> {
    let mut product = device.uninit::<T::Output>(sizes.rows)?;
    matvec_into(matrix, vector, sizes, &mut product)?;
    Ok(product)
}

/// A product of a matrix of one size and a vector, with its launch configuration and scratch memory. It can be launched
/// any number of times, without further allocations.
pub struct Plan<T: Operand, H: Handle = Device> {
    sizes: Sizes,
    /// Elements of the matrix, and from one row in memory to the next.
    span: usize,
    pitch: u32,
    /// Whether the matrix is kept in the L2 cache.
    keeps: bool,
    /// The launch by loads of 16 bytes, and that by single elements.
    configs: [Config; 2],
    partials: Memory<T::Output, H>,
    /// The tickets, which are 0 between launches.
    tickets: Memory<u32, H>,
}

impl<T: Operand, H: Handle> Plan<T, H> {
    /// Plans products of matrices of this size.
    ///
    /// # Errors
    /// [`Error::Argument`] for sizes beyond 2^32 - 1, and for a leading dimension that is less than a row,
    /// [`Error::OutOfMemory`] if the device has less memory free.
    pub fn new(device: &H, sizes: Sizes) -> Result<Self> {
        let Sizes { rows, columns, transposed, .. } = sizes;
        if u32::try_from(rows).is_err() || u32::try_from(columns).is_err() {
            return Err(Error::Argument(format!("matvec takes sizes up to 2^32 - 1, not {rows}x{columns}")));
        }
        let [pitch, ..] = small(sizes.of_product().pitches()?)?;
        let bytes = elements(rows, columns)?.saturating_mul(size_of::<T>());
        let config = |width| match transposed {
            false => by_rows(device.backend().info(), [rows as u64, columns as u64], width),
            true => by_columns(device.backend().info(), [rows as u64, columns as u64], width),
        };
        let configs = [config(16 / size_of::<T>() as u64)?, config(1)?];
        let most = |part: fn(&Config) -> usize| configs.iter().map(part).max().unwrap_or(0).max(1);
        Ok(Self {
            sizes,
            span: sizes.span()?,
            pitch,
            keeps: bytes as u64 <= device.backend().info().l2,
            configs,
            partials: Memory::uninit(device.clone(), most(|config| config.partials), "partial sums")?,
            tickets: Memory::zeros(device.clone(), most(|config| config.tickets), "tickets")?,
        })
    }

    /// Sets whether the matrix is kept in the L2 cache, by default if the cache has room for it: then a second product
    /// reads it from there. Otherwise other data stay in the cache. (Rows that do not start on 16-byte boundaries are
    /// always loaded as if they were kept.)
    pub fn keeping(self, keeps: bool) -> Self {
        Self { keeps, ..self }
    }

    /// Upper bound of the roundings in a chain to an element of the result: products, each fused with its addition, and
    /// additions.
    pub fn depth(&self) -> u64 {
        self.configs.iter().map(|config| config.depth).max().unwrap_or(0)
    }

    /// How the kernels load a matrix and a vector that start at these addresses.
    fn mode(&self, matrix: u64, vector: u64) -> u32 {
        let Sizes { rows, columns, transposed, .. } = self.sizes;
        let (line, pitch) =
            (size_of::<T>() * if transposed { rows } else { columns }, size_of::<T>() * self.pitch as usize);
        let starts = matrix.is_multiple_of(16) && (transposed || vector.is_multiple_of(16));
        // The last vector of a line that is not whole would reach into the next one.
        let aligned = pitch.is_multiple_of(16) && (!transposed || line.is_multiple_of(16));
        match starts {
            true if aligned && self.keeps => ALIGNED,
            true if aligned => STREAMED,
            true if line >= 32 => SHIFTED,
            _ => SINGLE,
        }
    }

    /// The launch that writes the product of the matrix and the vector. For a product without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        matrix: impl Into<View<'a, T, H>>,
        vector: impl Into<View<'a, T, H>>,
        product: impl Into<View<'a, T::Output, H>>,
    ) -> Result<Launch<'a>> {
        self.prepare_scaled(matrix, vector, Self::as_it_is(), product)
    }

    /// The factors of the product and of what is there, if the product is written as it is.
    fn as_it_is() -> [T::Output; 2] {
        [1, 0].map(|number| <T::Output as Element>::round(Value::Int(number)))
    }

    /// The launch that writes `alpha` times the product of the matrix and the vector, plus `beta` times what is there:
    /// see [`gemv`].
    ///
    /// # Errors
    /// Those of [`Plan::prepare`].
    pub fn prepare_scaled<'a>(
        &'a self,
        matrix: impl Into<View<'a, T, H>>,
        vector: impl Into<View<'a, T, H>>,
        [alpha, beta]: [T::Output; 2],
        product: impl Into<View<'a, T::Output, H>>,
    ) -> Result<Launch<'a>> {
        let (matrix, vector, product) = (matrix.into(), vector.into(), product.into());
        let (device, Sizes { rows, columns, transposed, .. }) = (self.tickets.device(), self.sizes);
        matrix.require(device, self.span, "the matrix")?;
        vector.require(device, columns, "the vector")?;
        product.require_output(device, rows, &[matrix.span(), vector.span()])?;
        let mode = self.mode(matrix.address(), vector.address());
        let Config { grid, lanes, pieces, piece, .. } = self.configs[usize::from(mode == SINGLE)];
        const { require_layout::<T, <T::Entry as kernels_gpu::number::Entry>::Bits>() };
        // SAFETY: the memory lives as long as the views, which the launch borrows; entries of 16 bits are taken as
        // integers of the same layout.
        let (a, x) = unsafe { (Slice::new(matrix.address(), self.span), Slice::new(vector.address(), columns)) };
        let (y, rows, columns, pitch) = (product.ptr(), rows as u32, columns as u32, self.pitch);
        let (partials, tickets) = (self.partials.ptr(), self.tickets.ptr());
        let kernel = if transposed { columns::matvec_columns::<T::Entry> } else { best::matvec_best::<T::Entry> };
        let call = kernel(a, x, y, rows, columns, pitch, alpha, beta, lanes, pieces, piece, mode, partials, tickets);
        // SAFETY: the sizes are the views', the launch is the plan's for this storage order and these boundaries, and
        // every launch leaves the tickets at 0.
        let launch = unsafe { Launch::new(call, Shape::linear(grid, best::BLOCK)) };
        let scratch = [self.partials.writes(), self.tickets.writes()];
        Ok(launch.using([matrix.reads(), vector.reads(), product.writes()]).using(scratch))
    }
}

impl<T: Operand> Plan<T> {
    /// Starts the product, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(
        &self,
        matrix: impl Into<View<'a, T>>,
        vector: impl Into<View<'a, T>>,
        product: impl Into<ViewMut<'a, T::Output>>,
    ) -> Result<()> {
        self.launch_scaled(matrix, vector, Self::as_it_is(), product)
    }

    /// Starts `alpha` times the product, plus `beta` times what is there, in stream order: see [`gemv`].
    ///
    /// # Errors
    /// Those of [`Plan::launch`].
    pub fn launch_scaled<'a>(
        &self,
        matrix: impl Into<View<'a, T>>,
        vector: impl Into<View<'a, T>>,
        scales: [T::Output; 2],
        product: impl Into<ViewMut<'a, T::Output>>,
    ) -> Result<()> {
        let (matrix, vector, product): (View<'_, T>, View<'_, T>, ViewMut<'_, T::Output>) =
            (matrix.into(), vector.into(), product.into());
        let launch = self.prepare_scaled(matrix, vector, scales, product.as_view())?;
        self.tickets.device().run(&library::MATVEC, &launch)
    }
}

impl Device {
    /// [`matvec`] of buffers of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`matvec()`].
    pub fn matvec<'a, T: Operand>(
        &self,
        matrix: impl Into<View<'a, T>>,
        vector: impl Into<View<'a, T>>,
        sizes: Sizes,
    ) -> Result<Buffer<T::Output>> {
        let (matrix, vector) = (matrix.into(), vector.into());
        matrix.require_on(self, "the matrix")?;
        matvec_on(self, matrix, vector, sizes)
    }
}
