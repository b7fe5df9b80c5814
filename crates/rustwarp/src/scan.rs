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
//! - *Source*: D. Merrill and M. Garland, "Single-pass Parallel Prefix Scan with Decoupled Look-back" (2016). The
//!   kernel is `kernels_gpu::scan::best`.

use crate::backend::{self, Backend, Shape};
use crate::buffer::Buffer;
use crate::device::Device;
use crate::element::Element;
use crate::error::{Error, Result};
use crate::handle::Handle;
use crate::launch::{Launch, MAX_GRID};
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::reduce::{Max, Min, Op, Sum};
use kernels_gpu::scan::best;

/// Whether an element is part of its own sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The element is part of its own sum.
    Inclusive,
    /// The element is not part of its own sum.
    Exclusive,
}

/// Running sums.
///
/// # Errors
/// [`Error::NoPtx`] if the kernels are not built, [`Error::Usage`] for more elements than a grid can take, and the
/// errors of the device.
pub fn sums<T: Element>(input: &Buffer<T>, kind: Kind) -> Result<Buffer<T>> {
    scan::<Sum, T>(input, kind)
}

/// Running maxima.
///
/// # Errors
/// Those of [`sums`].
pub fn maxima<T: Element>(input: &Buffer<T>, kind: Kind) -> Result<Buffer<T>> {
    scan::<Max, T>(input, kind)
}

/// Running minima.
///
/// # Errors
/// Those of [`sums`].
pub fn minima<T: Element>(input: &Buffer<T>, kind: Kind) -> Result<Buffer<T>> {
    scan::<Min, T>(input, kind)
}

fn scan<O: Op<T>, T: Element>(input: &Buffer<T>, kind: Kind) -> Result<Buffer<T>> {
    let (device, n) = (input.device(), input.len());
    let plan = Plan::new::<T>(n as u64)?;
    let state = State::new(device.backend(), &plan)?;
    let output = device.uninit::<T>(n)?;
    let launch = state.launch::<O, T>(&plan, input.slice(n), kind, output.ptr());
    launch.run(device.backend(), device.family("scan")?)?;
    // The state is released on return.
    device.synchronize()?;
    Ok(output)
}

/// Grid of one scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Number of blocks, one per tile; 0 for an empty input.
    pub grid: u32,
    /// Number of 64-bit words of state.
    pub words: u64,
    /// Largest number of additions in a chain from an element to a result.
    pub depth: u64,
    /// Rows of 16-byte chunks in a tile, which determine the kernel.
    rows: usize,
}

impl Plan {
    /// Plans a grid for `n` elements.
    ///
    /// # Errors
    /// [`Error::Usage`] for more elements than a grid can take.
    pub fn new<T>(n: u64) -> Result<Self> {
        let bytes = size_of::<T>();
        let rows = if n.saturating_mul(bytes as u64) <= best::SMALL { best::FEW_ROWS } else { best::ROWS };
        let tiles = n.div_ceil(best::tile(rows, bytes).into());
        if tiles > MAX_GRID {
            return Err(Error::Usage(format!(
                "{n} elements need {tiles} blocks, and a grid has at most {MAX_GRID}: scan them in parts"
            )));
        }
        if tiles == 0 {
            return Ok(Self { grid: 0, words: 0, depth: 0, rows });
        }
        let words = best::state_words(tiles, bytes);
        Ok(Self { grid: tiles as u32, words, depth: depth::<T>(tiles), rows })
    }

    /// Threads per block.
    pub fn block(&self) -> u32 {
        best::BLOCK
    }
}

/// Length of the longest chain: twice through a chunk, over lanes, rows and warps, over the tiles of a group, along the
/// groups, and from there to the element.
fn depth<T>(tiles: u64) -> u64 {
    let (chunk, warps) = (16 / size_of::<T>() as u64, u64::from(best::BLOCK) / 32);
    2 * chunk + 5 + best::ROWS as u64 + warps + 5 + tiles.div_ceil(u64::from(best::GROUP)) + 4
}

/// Device memory that a scan needs beside input and output: tickets and records, which successive launches may share.
pub struct State<'d> {
    words: backend::Buffer<'d, u64>,
}

impl<'d> State<'d> {
    /// Allocates the memory that the plan needs.
    ///
    /// # Errors
    /// [`Error::Usage`] if the device has less memory free.
    pub fn new(device: &'d dyn Backend, plan: &Plan) -> Result<Self> {
        Ok(Self { words: backend::Buffer::from_slice(device, &vec![0; plan.words as usize], "state")? })
    }

    /// Writes the scan of the input to the output, which has the same length and does not overlap it.
    pub fn launch<'a, O: Op<T>, T: Element>(
        &'a self,
        plan: &Plan,
        input: Slice<'a, T>,
        kind: Kind,
        output: PtrMut<'a, T>,
    ) -> Launch<'a> {
        assert!(plan.words as usize <= self.words.len(), "the state belongs to a smaller plan");
        let [few, many] = calls::<O, T>(input, kind, self.words.ptr(), output);
        let call = if plan.rows == best::FEW_ROWS { few } else { many };
        // SAFETY: the block is the kernel's, every tile has a block, and the state was 0 before the first launch.
        unsafe { Launch::new(call, Shape::linear(plan.grid, best::BLOCK)) }
    }
}

/// The two kernels: for inputs of at most [`best::SMALL`] bytes, and for others.
pub fn calls<'a, O: Op<T>, T: Element>(
    input: Slice<'a, T>,
    kind: Kind,
    state: PtrMut<'a, u64>,
    output: PtrMut<'a, T>,
) -> [Call<'a>; 2] {
    let exclusive = u32::from(kind == Kind::Exclusive);
    [
        best::scan_best::<O, T, { best::FEW_ROWS }>(input, exclusive, state, output),
        best::scan_best::<O, T, { best::ROWS }>(input, exclusive, state, output),
    ]
}

impl Device {
    /// Inclusive running [`sums`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`sums`].
    pub fn inclusive_scan<T: Element>(&self, input: &Buffer<T>) -> Result<Buffer<T>> {
        self.require(input, "the input")?;
        sums(input, Kind::Inclusive)
    }

    /// Exclusive running [`sums`] of a buffer of this device.
    ///
    /// # Errors
    /// Those of [`Device::inclusive_scan`].
    pub fn exclusive_scan<T: Element>(&self, input: &Buffer<T>) -> Result<Buffer<T>> {
        self.require(input, "the input")?;
        sums(input, Kind::Exclusive)
    }
}
