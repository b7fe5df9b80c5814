//! Dot products of streamed vectors.

use super::cut::Cut;
use super::pipeline::run;
use super::reduce::{Values, planned};
use super::settings::{Settings, Total};
use super::source::Source;
use crate::device::Device;
use crate::dot::{Plan, Real};
use crate::element::Element;
use crate::error::Result;
use crate::launch::Tuning;
use crate::reduce::Sum;
use kernels_gpu::operator::Operator;
use std::ops::Range;

/// Dot product of the elements of `T` in the same range of two sources. NaN in, NaN out; without elements it is 0.
///
/// The products of neighbouring ranges are added, which adds one to the larger of their depths.
///
/// - *Error bound*: that of [`dot`](mod@crate::dot), with [`Total::depth`] for `d`.
/// - *Determinism*: bits fixed by the number of elements, the chunk and the grid.
///
/// # Errors
/// Those of [`reduce()`](super::reduce()).
pub fn dot<T: Element + Real>(
    device: &Device,
    sources: [&dyn Source; 2],
    elements: Range<u64>,
    settings: &Settings<'_>,
) -> Result<Total<T>> {
    let cut = Cut::new::<T>(device, &sources, elements, settings, 0)?;
    let mut values = Values::new(device, &cut)?;
    let mut plan = None;
    run::<T>(device, &sources, &cut, &[], settings, |slots| {
        let plan = planned(&mut plan, slots.len, || Plan::<T>::new(device, slots.len, Tuning::default()))?;
        values.depth = values.depth.max(plan.depth());
        let vectors = [slots.memory[0].view(..slots.len)?, slots.memory[1].view(..slots.len)?];
        plan.launch(vectors, values.of_chunk(slots.number)?)
    })?;
    values.total(Sum::identity(), Sum::combine)
}
