//! Scan, or prefix sum: each element becomes the sum, maximum or minimum of all elements up to it (inclusive), or of
//! all before it (exclusive; the first one becomes the identity).
//!
//! Integer sums wrap. From the first NaN on everything is NaN, for every operation; the maximum of -0 and +0 is +0, the
//! minimum -0. The identities are 0, the type's lowest value (-inf), its highest value (+inf). The scan of an empty
//! input is empty.
//!
//! - *Error bound*: a float sum differs from the exact one by at most `d * epsilon * sum of |x|` up to its index, where
//!   `d` is [`Plan::depth`]; maxima and minima are exact.
//! - *Determinism*: the same bits on every run on every device.
//! - *Choice*: a block for each tile; for large inputs on GPUs of compute capability 9.0 persistent blocks with bulk
//!   copies, which add in the same order.
//! - *Source*: D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016). The
//!   kernels are `kernels_gpu::scan::{best, best::ring}`.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::Result;
use crate::launch::{Launch, require_grid};
use crate::ptx::library;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::scan::best::{self, ring};
use std::marker::PhantomData;

/// Whether an element is part of its own sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The element is part of its own sum.
    Inclusive,
    /// The element is not part of its own sum.
    Exclusive,
}

/// Number of elements in front of those of a part of a scan, which continues the parts before: identities, and at last
/// the carry. They fill 16 bytes, so that kernels read the part at multiples of 16 bytes.
pub(crate) const fn head<T>() -> usize {
    16 / size_of::<T>()
}

/// Running sums.
///
/// # Errors
/// [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, [`Error::Argument`](crate::Error::Argument) for
/// more elements than a grid can take, and the errors of the device.
pub fn sums<'a, T: Element>(input: impl Into<View<'a, T>>, kind: Kind) -> Result<Buffer<T>> {
    let input = input.into();
    scan::<Sum, T>(input.device(), input, kind)
}

/// Running maxima.
///
/// # Errors
/// Those of [`sums`].
pub fn maxima<'a, T: Element>(input: impl Into<View<'a, T>>, kind: Kind) -> Result<Buffer<T>> {
    let input = input.into();
    scan::<Max, T>(input.device(), input, kind)
}

/// Running minima.
///
/// # Errors
/// Those of [`sums`].
pub fn minima<'a, T: Element>(input: impl Into<View<'a, T>>, kind: Kind) -> Result<Buffer<T>> {
    let input = input.into();
    scan::<Min, T>(input.device(), input, kind)
}

/// Writes the running [`sums`] to the output, without waiting. This and the functions below run in the stream of the
/// output's device.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn sums_into<'a, T: Element>(
    input: impl Into<View<'a, T>>,
    kind: Kind,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    scan_into::<Sum, T>(input.into(), kind, output.into())
}

/// Writes the running [`maxima`] to the output, without waiting.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn maxima_into<'a, T: Element>(
    input: impl Into<View<'a, T>>,
    kind: Kind,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    scan_into::<Max, T>(input.into(), kind, output.into())
}

/// Writes the running [`minima`] to the output, without waiting.
///
/// # Errors
/// Those of [`Plan::new`] and [`Plan::launch`].
pub fn minima_into<'a, T: Element>(
    input: impl Into<View<'a, T>>,
    kind: Kind,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    scan_into::<Min, T>(input.into(), kind, output.into())
}

fn scan<O: Op<T>, T: Element>(device: &Device, input: View<'_, T>, kind: Kind) -> Result<Buffer<T>> {
    let mut output = device.uninit::<T>(input.len())?;
    scan_into::<O, T>(input, kind, (&mut output).into())?;
    Ok(output)
}

fn scan_into<O: Op<T>, T: Element>(input: View<'_, T>, kind: Kind, output: ViewMut<'_, T>) -> Result<()> {
    Plan::<O, T>::new(output.device(), input.len(), kind)?.launch(input, output)
}

/// A scan of a number of elements of `T` by the operation `O`, with its kernel, launch configuration and scratch
/// memory. It can be launched any number of times, without further allocations.
pub struct Plan<O, T, H: Handle = Device> {
    n: usize,
    kind: Kind,
    config: Config,
    /// Number of persistent blocks, which large inputs on 16 bytes get instead of a block for each tile; 0 if the
    /// device or the size has none.
    persistent: u32,
    /// Tickets and records, which successive launches share.
    state: Memory<u64, H>,
    operation: PhantomData<(O, T)>,
}

impl<O: Op<T>, T: Element, H: Handle> Plan<O, T, H> {
    /// Plans a scan of `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`](crate::Error::Argument) for more elements than a grid can take, and if the device has less
    /// memory free.
    pub fn new(device: &H, n: usize, kind: Kind) -> Result<Self> {
        Self::with_ring_from(device, n, kind, ring::LARGE)
    }

    /// The same, with persistent blocks from this many bytes on: tests have shorter inputs.
    #[doc(hidden)]
    pub fn with_ring_from(device: &H, n: usize, kind: Kind, bytes: u64) -> Result<Self> {
        let config = config::<T>(n)?;
        let state = Memory::zeros(device.clone(), config.words, "state")?;
        let large = (n * size_of::<T>()) as u64 >= bytes;
        let persistent = if large { persistent(device.backend().info(), ring::SHARED, config.grid) } else { 0 };
        Ok(Self { n, kind, config, persistent, state, operation: PhantomData })
    }

    /// Largest number of additions in a chain from an element to a result.
    pub fn depth(&self) -> u64 {
        longest_chain(self.config.grid, best::ROWS, size_of::<T>())
    }

    /// The launch that writes the scan of the input to the output. Without elements it does nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`](crate::Error::Mismatch) for memory of another length,
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (input, output) = (input.into(), output.into());
        input.require(self.state.device(), self.n, "the input")?;
        output.require_output(self.state.device(), self.n, &[input.span()])?;
        let tiles = self.config.grid;
        let [few, many, ring] = calls::<O, T>(input.slice(self.n), self.kind, self.state.ptr(), output.ptr(), tiles);
        let by_tile = Shape::linear(tiles, best::BLOCK);
        let (call, shape) = if self.persistent > 0 && input.address().is_multiple_of(16) {
            (ring, Shape::linear(self.persistent, ring::THREADS).with_shared(ring::SHARED))
        } else {
            (if self.config.rows == best::FEW_ROWS { few } else { many }, by_tile)
        };
        // SAFETY: block and shared memory are the kernel's, every tile has a block if each takes one only, and the
        // state was 0 before the first launch and is left by each kernel as the next one needs it.
        let launch = unsafe { Launch::new(call, shape) };
        Ok(launch.using([input.reads(), self.state.writes(), output.writes()]))
    }
}

impl<O: Op<T>, T: Element> Plan<O, T> {
    /// Starts the scan of the input into the output, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not built, and the errors
    /// of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (input, output) = (input.into(), output.into());
        self.state.device().run(&library::SCAN, &self.prepare(input, output.as_view())?)
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
    Config::new(n, bytes, if few { best::FEW_ROWS } else { best::ROWS }, "a scan")
}

/// Configuration of the launch of one scan, also by key and by an operator of a user's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Config {
    /// Number of blocks, one per tile; 0 for an empty input.
    pub grid: u32,
    /// Number of 64-bit words of state.
    pub words: usize,
    /// Rows of chunks in a tile, which determine the kernel.
    pub rows: usize,
}

impl Config {
    /// The configuration for `n` elements of this size in tiles of so many rows; `what` names the scan in the error.
    pub fn new(n: usize, bytes: usize, rows: usize, what: &str) -> Result<Self> {
        let tiles = (n as u64).div_ceil(best::tile(rows, bytes).into());
        let grid = require_grid(tiles, &format!("{what} of {n} elements"), "scan them in parts")?;
        let words = if tiles == 0 { 0 } else { best::state_words(tiles, bytes) as usize };
        Ok(Self { grid, words, rows })
    }
}

/// Length of the longest chain of additions for elements of this size in so many tiles; 0 without any. It goes twice
/// through a lane's neighbours, over lanes, rows and warps, over the tiles of a group, along the groups, and from there
/// to the element.
#[doc(hidden)]
pub fn longest_chain(tiles: u32, rows: usize, bytes: usize) -> u64 {
    let [neighbours, rows] = best::of_lane(rows, bytes).map(|number| number as u64);
    let warps = u64::from(best::BLOCK) / 32;
    let chain = 2 * neighbours + 5 + rows + warps + 5 + u64::from(tiles.div_ceil(best::GROUP)) + 4;
    if tiles == 0 { 0 } else { chain }
}

/// Number of persistent blocks with this much shared memory for a number of tiles: one for each multiprocessor, or none
/// if the device has no kernel for them.
fn persistent(info: &DeviceInfo, shared: u32, tiles: u32) -> u32 {
    let has = info.sm.is_none_or(|sm| sm == 90) && shared <= info.max_shared;
    if has { info.multiprocessors.min(tiles) } else { 0 }
}

/// The three kernels: for inputs of at most [`best::SMALL`] bytes, for others, and for persistent blocks. It is public
/// for the ladders, which list their entries.
#[doc(hidden)]
pub fn calls<'a, O: Op<T>, T: Element>(
    input: Slice<'a, T>,
    kind: Kind,
    state: PtrMut<'a, u64>,
    output: PtrMut<'a, T>,
    tiles: u32,
) -> [Call<'a>; 3] {
    let exclusive = u32::from(kind == Kind::Exclusive);
    [
        best::scan_best::<O, T, { best::FEW_ROWS }>(input, exclusive, state, output),
        best::scan_best::<O, T, { best::ROWS }>(input, exclusive, state, output),
        ring::scan_best_ring::<O, T>(input, exclusive, state, output, tiles),
    ]
}

impl Device {
    /// Inclusive running [`sums`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`](crate::Error::OtherDevice) for a buffer of another device, and those of [`sums`].
    #[doc(alias = "scan_inclusive")]
    #[doc(alias = "prefix_sum")]
    pub fn inclusive_scan<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Buffer<T>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        scan::<Sum, T>(self, input, Kind::Inclusive)
    }

    /// Exclusive running [`sums`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::inclusive_scan`].
    #[doc(alias = "scan_exclusive")]
    pub fn exclusive_scan<'a, T: Element>(&self, input: impl Into<View<'a, T>>) -> Result<Buffer<T>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        scan::<Sum, T>(self, input, Kind::Exclusive)
    }

    /// Running [`maxima`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::inclusive_scan`].
    #[doc(alias = "scan_max")]
    pub fn scan_maxima<'a, T: Element>(&self, input: impl Into<View<'a, T>>, kind: Kind) -> Result<Buffer<T>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        scan::<Max, T>(self, input, kind)
    }

    /// Running [`minima`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::inclusive_scan`].
    #[doc(alias = "scan_min")]
    pub fn scan_minima<'a, T: Element>(&self, input: impl Into<View<'a, T>>, kind: Kind) -> Result<Buffer<T>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        scan::<Min, T>(self, input, kind)
    }
}
