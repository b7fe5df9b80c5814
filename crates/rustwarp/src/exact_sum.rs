//! Correctly rounded sums of floats: the exact sum of all elements, rounded once, to nearest with ties to even.
//!
//! NaN, or infinities of both signs, give NaN; an infinity gives that infinity. An exact sum of 0 is +0, also of
//! elements that are all -0, and an empty input gives 0. Only the rounded sum overflows: no order of additions does.
//!
//! - *Error bound*: half a unit in the last place of the result.
//! - *Determinism*: correctly rounded: the same bits for any order of the elements, on any device, and on the CPU
//!   ([`on_cpu`]).
//! - *Speed*, for large inputs on GPUs with an f64 unit for every second lane: that of memory, whatever the elements;
//!   for f64 9 % less if they, their sum and the errors of the additions extend over 106 bits or more.
//! - *Source*: U. Kulisch's superaccumulator, below expansions of S. Collange, D. Defour, S. Graillat, R. Iakymchuk
//!   (2015) and sums by exponent. The kernel is `kernels_gpu::exact_sum::best`.

use crate::backend::{DeviceInfo, Handle, Memory, Shape, View, ViewMut};
use crate::device::{Device, VALUE};
use crate::element::Element;
use crate::error::{Error, Result};
use crate::launch::{LastBlock, Launch, Tuned, Tuning};
use crate::pending::Pending;
use crate::ptx::library;
use cuda_std::launch::{Call, PtrMut, Slice};
use kernels_gpu::exact_sum::{self, WORDS, best, digit_count};

/// The types that have kernels.
pub use kernels_gpu::exact_sum::Real;

/// Correctly rounded sum of all elements; 0 for an empty input.
///
/// # Errors
/// [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
pub fn exact_sum<'a, T: Element + Real>(input: impl Into<View<'a, T>>) -> Result<T> {
    let input = input.into();
    on(input.device(), input)
}

/// Writes the [`exact_sum()`] to the output of one element, without waiting, in the stream of the output's device.
///
/// # Errors
/// [`Error::Mismatch`] for an output of another length, [`Error::OtherDevice`] for an input of another device, and
/// those of [`exact_sum()`].
pub fn exact_sum_into<'a, T: Element + Real>(
    input: impl Into<View<'a, T>>,
    output: impl Into<ViewMut<'a, T>>,
) -> Result<()> {
    let (input, output) = (input.into(), output.into());
    Plan::<T>::new(output.device(), input.len(), Tuning::default())?.launch(input, output)
}

/// The same sum, with the same bits, on the CPU; on one thread.
pub fn on_cpu<T: Element + Real>(input: &[T]) -> T {
    exact_sum::on_host(input)
}

fn on<T: Element + Real>(device: &Device, input: View<'_, T>) -> Result<T> {
    device.refuse_in_capture(VALUE)?;
    let mut output = device.uninit::<T>(1)?;
    exact_sum_into(input, &mut output)?;
    Ok(output.read(1)?[0])
}

/// An exact sum of a number of elements of `T`, with its launch configuration and scratch memory. It can be launched
/// any number of times, without further allocations.
pub struct Plan<T, H: Handle = Device> {
    n: usize,
    shape: Shape,
    partials: Memory<[T; 2], H>,
    /// The digits of the total, which are 0 between launches.
    total: Memory<i64, H>,
    /// The ticket and the special values, which are 0 between launches.
    words: Memory<u32, H>,
}

impl<T: Element + Real, H: Handle> Plan<T, H> {
    /// Plans a sum of `n` elements.
    ///
    /// # Errors
    /// [`Error::Argument`] for a tuning that the kernel does not support, [`Error::OutOfMemory`] if the device has less
    /// memory free.
    pub fn new(device: &H, n: usize, tuning: Tuning) -> Result<Self> {
        let shape = shape::<T>(device.backend().info(), n as u64, tuning)?;
        Ok(Self {
            n,
            shape,
            partials: Memory::uninit(device.clone(), shape.grid[0] as usize, "partial sums")?,
            total: Memory::zeros(device.clone(), digit_count(size_of::<T>()), "digits of the total")?,
            words: Memory::zeros(device.clone(), WORDS, "ticket and special values")?,
        })
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
        self.call(best::exact_sum_best::<T>, 1, input.into(), output.into())
    }

    /// The launch of a kernel that writes `len` elements of a finished sum to the output.
    fn call<'a, R>(
        &'a self,
        kernel: Kernel<T, R>,
        len: usize,
        input: View<'a, T, H>,
        output: View<'a, R, H>,
    ) -> Result<Launch<'a>> {
        let device = self.words.device();
        input.require(device, self.n, "the input")?;
        output.require_output(device, len, &[input.span()])?;
        let [total, words] = [self.total.writes(), self.words.writes()];
        let scratch = (self.total.ptr(), self.words.ptr(), self.partials.ptr());
        let call = kernel(input.slice(self.n), scratch.0, scratch.1, scratch.2, output.ptr());
        // SAFETY: whole warps with their shared memory, a partial sum per block, no thread with more elements than it
        // can add, a total and words that are 0 and that every launch leaves at 0, and an output with as many elements
        // as the kernel writes.
        let launch = unsafe { Launch::new(call, self.shape) };
        Ok(launch.using([input.reads(), self.partials.writes(), output.writes()]).using([total, words]))
    }
}

impl<T: Element + Real> Plan<T> {
    /// Starts the sum of the input, which is written to the output of one element, in stream order.
    ///
    /// # Errors
    /// Those of [`Plan::prepare`], [`Error::NoPtx`] if the kernels are not built, and the errors of the device.
    pub fn launch<'a>(&self, input: impl Into<View<'a, T>>, output: impl Into<ViewMut<'a, T>>) -> Result<()> {
        let (input, mut output) = (input.into(), output.into());
        let launch = self.prepare(input, output.as_view())?;
        match self.n {
            0 => output.copy_from(&self.words.device().upload(&[T::ZERO])?),
            _ => self.words.device().run(&library::EXACT_SUM, &launch),
        }
    }

    /// Starts the sum of the input, whose digits and special values are written to the output, which is 0, in stream
    /// order: see [`round_totals`](kernels_gpu::exact_sum::round_totals).
    pub(crate) fn launch_digits<'a>(
        &self,
        input: impl Into<View<'a, T>>,
        output: impl Into<ViewMut<'a, i64>>,
    ) -> Result<()> {
        let output = output.into();
        let words = exact_sum::total_words(size_of::<T>());
        let launch = self.call(best::exact_sum_digits::<T>, words, input.into(), output.as_view())?;
        self.words.device().run(&library::EXACT_SUM, &launch)
    }
}

/// A launcher of a kernel that finishes the sum as an `R`.
type Kernel<T, R> =
    for<'a> fn(Slice<'a, T>, PtrMut<'a, i64>, PtrMut<'a, u32>, PtrMut<'a, [T; 2]>, PtrMut<'a, R>) -> Call<'a>;

/// Most threads per block for which the device has shared memory.
fn largest_block<T: Real>(info: &DeviceInfo) -> u32 {
    info.max_shared / best::warp_bytes(size_of::<T>()) * 32
}

/// Default number of threads per block: fewer than the tuned number where shared memory is small.
pub fn default_block<T: Real>(info: &DeviceInfo) -> u32 {
    best::BLOCK.min(largest_block::<T>(info))
}

/// The shape of a launch for `n` elements.
fn shape<T: Real>(info: &DeviceInfo, n: u64, tuning: Tuning) -> Result<Shape> {
    let bytes = size_of::<T>();
    let tuned = Tuned { block: default_block::<T>(info), blocks_per_sm: best::blocks_per_sm(bytes), alone: 0 };
    let LastBlock { block, grid, .. } = LastBlock::new(info, n, 16 / bytes as u32, tuned, tuning)?;
    let shared = block / 32 * best::warp_bytes(bytes);
    if shared > info.max_shared {
        let most = largest_block::<T>(info);
        return Err(Error::Argument(format!("a block of an exact sum has at most {most} threads on this device")));
    }
    // More blocks than run at the same time do no harm; fewer are refused if their threads would get too many elements.
    let most = best::most_per_thread(bytes) / 2 * u64::from(block);
    let grid = if tuning.grid.is_none() { u64::from(grid).max(n.div_ceil(most)) } else { grid.into() };
    if grid > exact_sum::MAX_GRID.into() || n.div_ceil(most) > grid {
        return Err(Error::Argument(format!(
            "an exact sum of {n} elements takes {} to {} blocks of {block}, not {grid}",
            n.div_ceil(most),
            exact_sum::MAX_GRID
        )));
    }
    Ok(Shape::linear(grid as u32, block).with_shared(shared))
}

impl Device {
    /// [`exact_sum()`] of a buffer of this device.
    ///
    /// # Errors
    /// [`Error::OtherDevice`] for a buffer of another device, and those of [`exact_sum()`].
    pub fn exact_sum<'a, T: Element + Real>(&self, input: impl Into<View<'a, T>>) -> Result<T> {
        let input = input.into();
        input.require_on(self, "the input")?;
        on(self, input)
    }

    /// Starts [`exact_sum()`], whose result is awaited.
    ///
    /// # Errors
    /// Those of [`Device::exact_sum`].
    pub fn exact_sum_async<'a, T: Element + Real>(&self, input: impl Into<View<'a, T>>) -> Result<Pending<T>> {
        let input = input.into();
        input.require_on(self, "the input")?;
        self.refuse_in_capture(VALUE)?;
        let mut output = self.uninit::<T>(1)?;
        exact_sum_into(input, &mut output)?;
        self.fetch((&output).into(), |values| values[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::simulator;

    #[test]
    fn shapes_bound_the_elements_of_a_thread() {
        let mut info = simulator();
        (info.multiprocessors, info.max_shared) = (132, 227 << 10);
        let of =
            |n, block, grid| shape::<f32>(&info, n, Tuning { block, grid }).map(|shape| (shape.grid[0], shape.shared));
        assert_eq!(of(1 << 28, None, None).expect("a shape"), (132 * 3, 64 << 10));
        assert_eq!(of(0, None, None).expect("a shape").0, 0);
        // 2^20 blocks of 256 threads with 2^21 elements each.
        assert_eq!(of(1 << 49, None, None).expect("a shape").0, 1 << 20);
        assert!(of((1 << 49) + 1, None, None).is_err());
        assert_eq!(of(1 << 28, Some(32), Some(4)).expect("a shape"), (4, 8 << 10));
        assert!(of((1 << 28) + 1, Some(32), Some(4)).is_err());
        assert!(of(1, Some(1024), None).is_err() && of(1, None, Some(1 << 21)).is_err());
        let f64s = shape::<f64>(&info, 1 << 28, Tuning::default()).expect("a shape");
        assert_eq!((f64s.grid[0], f64s.shared), (132 * 2, 8 * 42 * 32 * 8));
        // Where shared memory is small, so is the block.
        info.max_shared = 64 << 10;
        let small = shape::<f64>(&info, 1 << 28, Tuning::default()).expect("a shape");
        assert_eq!((small.block[0], small.shared), (192, 6 * 42 * 32 * 8));
    }
}
