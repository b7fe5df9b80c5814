//! Scan by key: the [`scan`](mod@crate::scan) of each run of equal neighbouring keys. Each element becomes the sum,
//! maximum or minimum of the elements of its run up to it (inclusive), or of those before it (exclusive; the first one
//! of a run becomes the identity).
//!
//! Keys need not be sorted: a run ends where a key differs from the one before, and a key that comes again begins
//! another run. Keys that mark segments by their first element, 0 elsewhere, are made into run numbers by an inclusive
//! [`scan::sums`](crate::scan::sums). What is said there of wrapping, NaN and zeros is true of each run.
//!
//! ```no_run
//! use rustwarp::scan::Kind;
//!
//! let device = rustwarp::Device::default()?;
//! let accounts = device.upload(&[7_u32, 7, 7, 3, 3, 7])?;
//! let payments = device.upload(&[1.0_f32, 2.0, 3.0, 10.0, 20.0, 4.0])?;
//! let balances = rustwarp::scan_by_key::sums(&accounts, &payments, Kind::Inclusive)?;
//! assert_eq!(balances.download()?, [1.0, 3.0, 6.0, 10.0, 30.0, 4.0]);
//! # Ok::<(), rustwarp::Error>(())
//! ```
//!
//! - *Error bound*: a float sum differs from the exact one by at most `d * epsilon * sum of |x|` over the elements of
//!   its run up to it, where `d` is [`Plan::depth`]; maxima and minima are exact.
//! - *Determinism*: the same bits on every run on every device.
//! - *Choice*: a block for each tile; small inputs have shorter tiles.
//! - *Source*: J. T. Schwartz, "Ultracomputers" (1980); S. Sengupta, M. Harris and M. Garland, "Efficient Parallel Scan
//!   Algorithms for GPUs" (2008); look-back as in [`scan`](mod@crate::scan). The kernel is
//!   `kernels_gpu::scan_by_key::best`.

use crate::backend::{Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::Result;
use crate::launch::Launch;
use crate::ptx::library;
use crate::reduce::{Max, Min, Op, Sum};
use crate::scan::{Config, Kind, longest_chain};
use bytemuck::Pod;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::scan_by_key::best;
use std::marker::PhantomData;

/// Types of keys: `u32 i32 u64 i64`.
pub trait Key: Pod + sealed::Key {}

mod sealed {
    use super::Element;

    /// Keys are only compared, so that signed ones have the kernels of unsigned ones.
    pub trait Key {
        type Bits: Element;
    }
}

macro_rules! key {
    ($($key:ty as $bits:ty),*) => { $(
        impl Key for $key {}

        impl sealed::Key for $key {
            type Bits = $bits;
        }
    )* };
}

key!(u32 as u32, i32 as u32, u64 as u64, i64 as u64);

/// Running sums of each run of equal keys.
///
/// # Errors
/// [`Error::Mismatch`](crate::Error::Mismatch) for keys and values of different lengths,
/// [`Error::OtherDevice`](crate::Error::OtherDevice) if they are not on one device,
/// [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, [`Error::Argument`](crate::Error::Argument) for
/// more elements than a grid can take, and the errors of the device.
pub fn sums<'a, K: Key, T: Element>(
    keys: impl Into<View<'a, K>>,
    values: impl Into<View<'a, T>>,
    kind: Kind,
) -> Result<Buffer<T>> {
    scan::<Sum, K, T>(keys.into(), values.into(), kind)
}

/// Running maxima of each run of equal keys.
///
/// # Errors
/// Those of [`sums`].
pub fn maxima<'a, K: Key, T: Element>(
    keys: impl Into<View<'a, K>>,
    values: impl Into<View<'a, T>>,
    kind: Kind,
) -> Result<Buffer<T>> {
    scan::<Max, K, T>(keys.into(), values.into(), kind)
}

/// Running minima of each run of equal keys.
///
/// # Errors
/// Those of [`sums`].
pub fn minima<'a, K: Key, T: Element>(
    keys: impl Into<View<'a, K>>,
    values: impl Into<View<'a, T>>,
    kind: Kind,
) -> Result<Buffer<T>> {
    scan::<Min, K, T>(keys.into(), values.into(), kind)
}

/// Writes the running [`sums`] to the output, without waiting. This and the functions below run in the stream of the
/// output's device.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn sums_into<'a, K: Key, T: Element>(
    keys: impl Into<View<'a, K>>,
    values: impl Into<View<'a, T>>,
    kind: Kind,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    scan_into::<Sum, K, T>(keys.into(), values.into(), kind, output.into())
}

/// Writes the running [`maxima`] to the output, without waiting.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn maxima_into<'a, K: Key, T: Element>(
    keys: impl Into<View<'a, K>>,
    values: impl Into<View<'a, T>>,
    kind: Kind,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    scan_into::<Max, K, T>(keys.into(), values.into(), kind, output.into())
}

/// Writes the running [`minima`] to the output, without waiting.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn minima_into<'a, K: Key, T: Element>(
    keys: impl Into<View<'a, K>>,
    values: impl Into<View<'a, T>>,
    kind: Kind,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    scan_into::<Min, K, T>(keys.into(), values.into(), kind, output.into())
}

fn scan<O: Op<T>, K: Key, T: Element>(keys: View<'_, K>, values: View<'_, T>, kind: Kind) -> Result<Buffer<T>> {
    let mut output = values.device().uninit::<T>(values.len())?;
    scan_into::<O, K, T>(keys, values, kind, (&mut output).into())?;
    Ok(output)
}

fn scan_into<O: Op<T>, K: Key, T: Element>(
    keys: View<'_, K>,
    values: View<'_, T>,
    kind: Kind,
    output: ViewMut<'_, T>,
) -> Result<()> {
    Plan::<O, K, T>::new(output.device(), values.len(), kind)?.launch(keys, values, output)
}

/// A scan of a number of elements of `T` by keys of type `K` and the operation `O`, with its launch configuration and
/// scratch memory. It can be launched any number of times, without further allocations.
pub struct Plan<O, K, T, H: Handle = Device> {
    n: usize,
    kind: Kind,
    config: Config,
    /// Tickets and records, which successive launches share.
    state: Memory<u64, H>,
    operation: PhantomData<(O, K, T)>,
}

impl<O: Op<T>, K: Key, T: Element, H: Handle> Plan<O, K, T, H> {
    /// Plans a scan of `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for more elements than a grid can take, and if the device has less
    /// memory free.
    pub fn new(device: &H, n: usize, kind: Kind) -> Result<Self> {
        let config = config::<T>(n)?;
        let state = Memory::zeros(device.clone(), config.words, "state")?;
        Ok(Self { n, kind, config, state, operation: PhantomData })
    }

    /// Largest number of additions in a chain from an element to a result.
    pub fn depth(&self) -> u64 {
        longest_chain(self.config.grid, self.config.rows, size_of::<T>())
    }

    /// The launch that writes the scan of the values to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        keys: impl Into<View<'a, K, H>>,
        values: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (keys, values, output) = (keys.into(), values.into(), output.into());
        keys.require(self.state.device(), self.n, "the keys")?;
        values.require(self.state.device(), self.n, "the values")?;
        output.require_output(self.state.device(), self.n, &[keys.span(), values.span()])?;
        let [few, many] =
            calls::<O, K, T>(keys.slice(self.n), values.slice(self.n), self.kind, self.state.ptr(), output.ptr());
        let call = if self.config.rows == best::FEW_ROWS { few } else { many };
        // SAFETY: the block is the kernel's, every tile has one, there are as many keys as values, and the state was 0
        // before the first launch and is left by the kernel as the next one needs it.
        let launch = unsafe { Launch::new(call, Shape::linear(self.config.grid, best::BLOCK)) };
        Ok(launch.using([keys.reads(), values.reads(), self.state.writes(), output.writes()]))
    }
}

impl<O: Op<T>, K: Key, T: Element> Plan<O, K, T> {
    /// Starts the scan of the values into the output, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors
    /// of the device.
    pub fn launch<'a>(
        &self,
        keys: impl Into<View<'a, K>>,
        values: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'a, T>>,
    ) -> Result<()> {
        let (keys, values, output) = (keys.into(), values.into(), output.into());
        self.state.device().run(&library::SCAN_BY_KEY, &self.prepare(keys, values, output.as_view())?)
    }
}

/// Bytes of scratch memory of a [`Plan`] for `n` elements of `T`.
///
/// # Errors
/// [`Error::Argument`](crate::Error::Argument) for more elements than a grid can take.
pub fn scratch_bytes<T>(n: usize) -> Result<u64> {
    Ok((config::<T>(n)?.words * size_of::<u64>()) as u64)
}

/// Configuration for `n` elements of `T`.
fn config<T>(n: usize) -> Result<Config> {
    let bytes = size_of::<T>();
    let few = (n as u64).saturating_mul(bytes as u64) <= best::SMALL;
    Config::new(n, bytes, if few { best::FEW_ROWS } else { best::rows(bytes) }, "a scan by key")
}

/// The two kernels: for at most [`best::SMALL`] bytes of values, and for more. It is public for the ladders, which list
/// their entries.
#[doc(hidden)]
pub fn calls<'a, O: Op<T>, K: Key, T: Element>(
    keys: Slice<'a, K>,
    values: Slice<'a, T>,
    kind: Kind,
    state: PtrMut<'a, u64>,
    output: PtrMut<'a, T>,
) -> [Call<'a>; 2] {
    const { assert!(size_of::<K>() == size_of::<K::Bits>()) };
    // SAFETY: these are the same bytes, every pattern of which is a key of either type.
    let keys = unsafe { Slice::<K::Bits>::new(keys.address(), keys.len()) };
    let exclusive = u32::from(kind == Kind::Exclusive);
    [
        best::scan_by_key_best::<O, T, K::Bits, { best::FEW_ROWS }>(keys, values, exclusive, state, output),
        best::scan_by_key_best::<O, T, K::Bits, { best::MANY }>(keys, values, exclusive, state, output),
    ]
}

impl Device {
    /// Inclusive running [`sums`] of each run of equal keys.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for a buffer of another device, and those of [`sums`].
    #[doc(alias = "inclusive_sum_by_key")]
    #[doc(alias = "segmented_scan")]
    pub fn inclusive_scan_by_key<'a, K: Key, T: Element>(
        &self,
        keys: impl Into<View<'a, K>>,
        values: impl Into<View<'a, T>>,
    ) -> Result<Buffer<T>> {
        let values = values.into();
        values.require_on(self, "the values")?;
        scan::<Sum, K, T>(keys.into(), values, Kind::Inclusive)
    }

    /// Exclusive running [`sums`] of each run of equal keys.
    ///
    /// # Errors
    /// Those of [`Device::inclusive_scan_by_key`].
    #[doc(alias = "exclusive_sum_by_key")]
    pub fn exclusive_scan_by_key<'a, K: Key, T: Element>(
        &self,
        keys: impl Into<View<'a, K>>,
        values: impl Into<View<'a, T>>,
    ) -> Result<Buffer<T>> {
        let values = values.into();
        values.require_on(self, "the values")?;
        scan::<Sum, K, T>(keys.into(), values, Kind::Exclusive)
    }

    /// Running [`maxima`] of each run of equal keys.
    ///
    /// # Errors
    /// Those of [`Device::inclusive_scan_by_key`].
    pub fn scan_maxima_by_key<'a, K: Key, T: Element>(
        &self,
        keys: impl Into<View<'a, K>>,
        values: impl Into<View<'a, T>>,
        kind: Kind,
    ) -> Result<Buffer<T>> {
        let values = values.into();
        values.require_on(self, "the values")?;
        scan::<Max, K, T>(keys.into(), values, kind)
    }

    /// Running [`minima`] of each run of equal keys.
    ///
    /// # Errors
    /// Those of [`Device::inclusive_scan_by_key`].
    pub fn scan_minima_by_key<'a, K: Key, T: Element>(
        &self,
        keys: impl Into<View<'a, K>>,
        values: impl Into<View<'a, T>>,
        kind: Kind,
    ) -> Result<Buffer<T>> {
        let values = values.into();
        values.require_on(self, "the values")?;
        scan::<Min, K, T>(keys.into(), values, kind)
    }
}
