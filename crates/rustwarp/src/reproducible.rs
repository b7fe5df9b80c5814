//! A sum of floats whose bits are fixed by the length alone.
//!
//! [`reduce::sum`](crate::reduce::sum) adds in an order that depends on the number of multiprocessors and on where the
//! memory begins. Here the order follows from the number of elements: the same elements give the same bits on every
//! GPU, on the simulator, with every grid and at every address. `kernels_gpu::reduce::fixed_tree` defines the order, in
//! which a CPU can add, too. Integers do not need it: their sums have the same bits in any order.
//!
//! - *Error bound*: `d * epsilon * sum of |x|`, where `d` is [`Plan::depth`]. NaN in, NaN out; the sum of no elements
//!   is 0.
//! - *Determinism*: bits fixed by length only.
//! - *Source*: the pairwise sum of N. Higham, "Accuracy and Stability of Numerical Algorithms", 4.2, over leaves. The
//!   kernel is `kernels_gpu::reduce::fixed_tree`.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{Launch, Tuning};
use crate::pending::Pending;
use crate::ptx::library;
use kernels_gpu::reduce::fixed_tree::{self, BLOCK, BLOCKS_PER_SM, leaves, reduce_fixed_tree};

/// The types that have kernels.
pub use kernels_gpu::reduce::fixed_tree::Rounded;

/// Sum of all elements; 0 for an empty input.
///
/// # Errors
/// [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn sum<'a, T: Element + Rounded>(input: impl Into<View<'a, T>>) -> Result<T> {
    let input = input.into();
    on(input.device(), input)
}

/// Writes the [`sum`] to the output of one element, without waiting, in the stream of the output's device.
///
/// # Errors
/// Those of [`Plan::launch`].
pub fn sum_into<'a, T: Element + Rounded>(
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (input, output) = (input.into(), output.into());
    Plan::new(output.device(), input.len(), Tuning::default())?.launch(input, output)
}

fn on<T: Element + Rounded>(device: &Device, input: View<'_, T>) -> Result<T> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<T>(1)?;
    sum_into(input, &mut output)?;
    Ok(output.read(1)?[0])
}

fn on_async<T: Element + Rounded>(device: &Device, input: View<'_, T>) -> Result<Pending<T>> {
    input.require_on(device, "the input")?;
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<T>(1)?;
    sum_into(input, &mut output)?;
    device.fetch((&output).into(), |values| values[0])
}

/// The sum of a number of elements of `T`, with its launch configuration and scratch memory. It can be launched any
/// number of times, without further allocations.
pub struct Plan<T, H: Handle = Device> {
    n: usize,
    grid: u32,
    partials: Memory<T, H>,
    /// The ticket, which is 0 between launches.
    ticket: Memory<u32, H>,
}

impl<T: Element + Rounded, H: Handle> Plan<T, H> {
    /// Plans the sum of `n` elements. The tuning does not change its bits; the number of threads per block is part of
    /// the order, and cannot be overridden.
    ///
    /// # Errors
    /// [`Error::Argument`] for a tuning that the kernel does not support, [`Error::OutOfMemory`] if the device has less
    /// memory free.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        Ok(Self {
            n,
            grid: grid(device.backend().info(), n, tuning)?,
            partials: Memory::uninit(device.clone(), leaves(n), "partial results")?,
            ticket: Memory::zeros(device.clone(), 1, "ticket")?,
        })
    }

    /// Largest number of additions in a chain from an element to the result.
    pub fn depth(&self) -> u64 {
        fixed_tree::depth(self.n, size_of::<T>())
    }

    /// The launch that writes the sum of the input to the output, which has one element. Without elements it does
    /// nothing.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for memory of another length, [`Error::OtherDevice`] for memory of another device.
    pub fn prepare<'a>(
        &'a self,
        input: impl Into<View<'a, T, H>>,
        output: impl Into<View<'a, T, H>>,
    ) -> Result<Launch<'a>> {
        let (device, input, output) = (self.ticket.device(), input.into(), output.into());
        input.require(device, self.n, "the input")?;
        output.require_output(device, 1, &[input.span()])?;
        let call = reduce_fixed_tree::<T>(input.slice(self.n), self.partials.ptr(), self.ticket.ptr(), output.ptr());
        // SAFETY: a partial result per leaf, and a ticket that is 0 and that every launch leaves at 0.
        let launch = unsafe { Launch::new(call, Shape::linear(self.grid, BLOCK)) };
        Ok(launch.using([input.reads(), self.partials.writes(), self.ticket.writes(), output.writes()]))
    }
}

impl<T: Element + Rounded> Plan<T> {
    /// Starts the sum of the input into the output, which has one element, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.ticket.device().upload(&[T::ZERO])?),
            _ => self.ticket.device().run(&library::REDUCE, &launch),
        }
    }
}

/// Bytes of scratch memory of a [`Plan`] for `n` elements of `T`.
pub fn scratch_bytes<T>(n: usize) -> u64 {
    (leaves(n) * size_of::<T>() + size_of::<u32>()) as u64
}

/// Number of blocks: at most one for each leaf, and as many as fit the device.
fn grid(info: &DeviceInfo, n: usize, tuning: Tuning) -> Result<u32> {
    if tuning.block.is_some_and(|block| block != BLOCK) {
        return Err(Error::Argument(format!("a block of this sum has {BLOCK} threads, on which its bits depend")));
    }
    let fill = info.multiprocessors * BLOCKS_PER_SM;
    let grid = tuning.blocks()?.unwrap_or_else(|| fill.min(leaves(n) as u32));
    Ok(if n == 0 { 0 } else { grid })
}

impl Device {
    /// [`reproducible::sum`](sum) of a buffer of this device: bits fixed by length only.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`sum`].
    pub fn sum_reproducible<'a, T: Element + Rounded>(&self, input: impl Into<View<'a, T>>) -> Result<T> {
        let input = input.into();
        input.require_on(self, "the input")?;
        on(self, input)
    }

    /// Starts [`reproducible::sum`](sum), whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::sum_reproducible`].
    pub fn sum_reproducible_async<'a, T: Element + Rounded>(
        &self,
        input: impl Into<View<'a, T>>,
    ) -> Result<Pending<T>> {
        on_async(self, input.into())
    }
}
