//! Scans of streamed elements: each chunk continues the one before.

use super::cut::Cut;
use super::pipeline::run;
use super::reduce::planned;
use super::results::{RESULTS, Results};
use super::settings::{Settings, Total};
use super::sink::Sink;
use super::source::Source;
use crate::backend::{Handle, View};
use crate::device::Device;
use crate::element::Element;
use crate::error::Result;
use crate::reduce::{Op, Sum};
use crate::scan::{Kind, Plan, head};
use std::ops::Range;

/// Scans the elements of `T` in the range by `O`, continuing from `carry`, which is the identity where the range is the
/// first one. The result of element `i` is written to the sink from byte `i * size_of::<T>()` on, as it would be for
/// element `i` of a whole source.
///
/// The total is that of the carry and all elements of the range: the carry of the range behind it. Where ranges are
/// scanned at the same time, [`reduce()`](super::reduce()) gives the values from which their carries are combined.
///
/// - *Error bound*: a float sum differs from the exact one by at most `d * epsilon * sum of |x|` up to its index, where
///   the carry counts as an element and `d` is [`Total::depth`], or [`scan_depth`](depth); maxima and minima are exact.
/// - *Determinism*: bits fixed by the number of elements and the chunk, on every device.
///
/// # Errors
/// Those of [`reduce()`](super::reduce()); [`Error::Stream`](crate::Error::Stream) for results that cannot be written,
/// of which others may have been.
pub fn scan<O: Op<T>, T: Element>(
    device: &Device,
    source: &dyn Source,
    elements: Range<u64>,
    kind: Kind,
    carry: T,
    sink: &dyn Sink,
    settings: &Settings<'_>,
) -> Result<Total<T>> {
    let cut = Cut::new::<T>(device, &[source], elements, settings, RESULTS)?;
    // The head of a chunk has identities, and at last the carry.
    let head = head::<T>();
    // The results belong to the stream that computes: a copy of one waits for the work so far, and not for other
    // copies.
    let one = || device.uninit::<T>(head + cut.chunk);
    let mut results = (0..RESULTS).map(|_| one()).collect::<Result<Vec<_>>>()?;
    let mut carried = device.upload(&[carry])?;
    let (mut plan, mut depth) = (None, 0);

    std::thread::scope(|scope| {
        let mut written = Results::start(scope, device, sink, cut.piece, cut.writers)?;
        run::<T>(device, &[source], &cut, &vec![O::identity(); head], settings, |slots| {
            let end = head + slots.len;
            let (input, result) = (&slots.memory[0], &mut results[slots.number as usize % RESULTS]);
            copy_in_stream_of(device, carried.view(..)?, input.view(head - 1..head)?)?;
            let plan = planned(&mut plan, end, || Plan::<O, T>::new(device, end, Kind::Inclusive))?;
            plan.launch(input.view(..end)?, result.view_mut(..end)?)?;
            depth += plan.depth();
            carried.view_mut(..)?.copy_from(result.view(end - 1..end)?)?;
            // An element's exclusive result is the inclusive one of the element before: of the carry for the first.
            let start = if kind == Kind::Exclusive { head - 1 } else { head };
            written.send(slots.first, result.view(start..start + slots.len)?)
        })?;
        written.finish()?;
        Ok(Total { value: carried.download()?[0], depth })
    })
}

/// Largest number of additions in a chain from an element to a result of [`scan()`] with the same arguments.
///
/// # Errors
/// Those of [`scan()`] for its arguments.
pub fn depth<T: Element>(
    device: &Device,
    source: &dyn Source,
    elements: Range<u64>,
    settings: &Settings<'_>,
) -> Result<u64> {
    let cut = Cut::new::<T>(device, &[source], elements, settings, RESULTS)?;
    let plan = Plan::<Sum, T>::new(device, head::<T>() + cut.chunk, Kind::Inclusive)?;
    Ok(cut.chunks() * plan.depth())
}

/// Copies elements in the stream of this handle, which need not be that of either memory.
fn copy_in_stream_of<T>(device: &Device, from: View<'_, T>, to: View<'_, T>) -> Result<()> {
    debug_assert_eq!(from.bytes(), to.bytes());
    // SAFETY: both are memory of this device, of one size, and of two allocations.
    let copy = || unsafe { device.backend().copy(to.address(), from.address(), from.bytes()) };
    device.queue().work(&[from.reads(), to.writes()], copy)
}
