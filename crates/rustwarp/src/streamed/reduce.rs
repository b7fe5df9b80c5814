//! Reductions of streamed elements.

use super::cut::Cut;
use super::pipeline::run;
use super::settings::{Settings, Total};
use super::source::Source;
use crate::device::Device;
use crate::element::Element;
use crate::error::Result;
use crate::launch::Tuning;
use crate::reduce::{Op, Plan};
use std::ops::Range;

/// Reduces the elements of `T` in the range by `O`: [`Sum`](crate::reduce::Sum), [`Max`](crate::reduce::Max) or
/// [`Min`](crate::reduce::Min). NaN in, NaN out; integer sums wrap; without elements the value is the identity.
///
/// The values of neighbouring ranges are combined by [`Operator::combine`](kernels_gpu::operator::Operator::combine) of
/// `O`, which adds one to the larger of their depths.
///
/// - *Error bound*: that of [`reduce`](mod@crate::reduce), with [`Total::depth`] for `d`: the values of the chunks are
///   added in order.
/// - *Determinism*: bits fixed by the number of elements, the chunk and the grid.
///
/// # Errors
/// Those of [`for_each_chunk`](super::for_each_chunk), and [`Error::NoPtx`](crate::Error::NoPtx) if the kernels are not
/// built.
pub fn reduce<O: Op<T>, T: Element>(
    device: &Device,
    source: &dyn Source,
    elements: Range<u64>,
    settings: &Settings<'_>,
) -> Result<Total<T>> {
    let cut = Cut::new::<T>(device, &[source], elements, settings, 0)?;
    let mut values = Values::new(device, &cut)?;
    let mut plan = None;
    run::<T>(device, &[source], &cut, &[], settings, |slots| {
        let plan = planned(&mut plan, slots.len, || Plan::<O, T>::new(device, slots.len, Tuning::default()))?;
        values.depth = values.depth.max(plan.depth());
        plan.launch(slots.memory[0].view(..slots.len)?, values.of_chunk(slots.number)?)
    })?;
    values.total(O::identity(), O::combine)
}

/// The plan for chunks of this length: the last one, or a new one.
pub(super) fn planned<P>(last: &mut Option<(usize, P)>, len: usize, plan: impl FnOnce() -> Result<P>) -> Result<&P> {
    let (_, plan) = match last.take().filter(|(length, _)| *length == len) {
        Some(same) => last.insert(same),
        None => last.insert((len, plan()?)),
    };
    Ok(plan)
}

/// The values of the chunks, on the device.
pub(super) struct Values<T> {
    memory: crate::Buffer<T>,
    /// Largest number of additions within a chunk.
    pub depth: u64,
}

impl<T: Element> Values<T> {
    pub fn new(device: &Device, cut: &Cut) -> Result<Self> {
        Ok(Self { memory: device.uninit(cut.chunks() as usize)?, depth: 0 })
    }

    /// The memory for the value of a chunk.
    pub fn of_chunk(&mut self, number: u64) -> Result<crate::ViewMut<'_, T>> {
        let number = number as usize;
        self.memory.view_mut(number..number + 1)
    }

    /// Waits for the values, and combines them in order.
    pub fn total(&self, identity: T, combine: fn(T, T) -> T) -> Result<Total<T>> {
        let values = self.memory.download()?;
        let depth = self.depth + (values.len() as u64).saturating_sub(1);
        Ok(Total { value: values.into_iter().reduce(combine).unwrap_or(identity), depth })
    }
}
