//! A stream of a [`Device`](crate::Device), allocations, and the order of streams that use the same allocation.
//!
//! An allocation belongs to the stream in which it was made: its home. Work of another stream first waits, on the
//! device, for the work of the home stream so far, and leaves a mark behind itself: later work of the home stream waits
//! for it, and so does the release. Streams that only read do not wait for each other. A single stream never waits.

use super::allocation::{Allocation, Mark};
use super::interface::Backend;
use super::stream::Stream;
use super::streams::Streams;
use crate::error::{Error, Result};
use crate::sync::lock;
use std::sync::{Arc, Mutex};

/// One stream of a device, with the memory that its capture uses.
pub struct Queue {
    stream: Arc<Stream>,
    /// What the work of a capture has used so far; `None` outside of captures. It is locked while work is started, so
    /// that a capture contains all of it or nothing.
    capture: Mutex<Option<Vec<Used>>>,
}

/// Memory that work uses.
#[derive(Clone, Copy)]
pub(crate) struct Use<'a> {
    pub allocation: &'a Arc<Allocation>,
    pub writes: bool,
}

/// Memory that a graph uses, which lives as long as the graph.
#[derive(Clone)]
pub(crate) struct Used {
    pub allocation: Arc<Allocation>,
    pub writes: bool,
}

impl std::fmt::Debug for Use<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let how = if self.writes { "writes" } else { "reads" };
        write!(f, "{how} {:#x}", self.allocation.address)
    }
}

impl Used {
    pub fn borrowed(&self) -> Use<'_> {
        Use { allocation: &self.allocation, writes: self.writes }
    }
}

impl Queue {
    /// The queue of a stream.
    pub(crate) fn new(backend: Arc<dyn Backend>) -> Self {
        Self { stream: Arc::new(Stream::new(backend)), capture: Mutex::default() }
    }

    /// The stream.
    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// The stream's backend.
    pub(crate) fn backend(&self) -> &dyn Backend {
        self.stream.backend()
    }

    /// Events, pinned memory and graphs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a backend without them.
    pub(crate) fn streams(&self) -> Result<&dyn Streams> {
        self.stream.streams()
    }

    /// Starts work of this stream that uses the memory, behind the work of other streams that it conflicts with. In a
    /// capture, keeps the memory for the graph instead.
    ///
    /// # Errors
    /// Those of `start`; [`Error::Device`] if the driver fails; [`Error::Argument`] in a capture, for memory that is
    /// lent for one call.
    pub(crate) fn work<R>(&self, uses: &[Use<'_>], start: impl FnOnce() -> Result<R>) -> Result<R> {
        let mut capture = lock(&self.capture);
        if let Some(list) = &mut *capture {
            uses.iter().try_for_each(|used| keep(list, *used))?;
            return start();
        }
        self.wait_for_conflicts(uses)?;
        let result = start();
        // Work that failed may have started in part.
        let marked = self.mark(uses);
        result.and_then(|result| marked.map(|()| result))
    }

    /// Orders the work that the caller starts next in this stream, as [`Queue::work`] does: behind this, all that the
    /// stream launches counts as work that uses the memory.
    ///
    /// # Errors
    /// Those of [`Queue::work`].
    pub(crate) fn announce(&self, used: Use<'_>) -> Result<()> {
        match &mut *lock(&self.capture) {
            Some(list) => return keep(list, used),
            None => self.wait_for_conflicts(&[used])?,
        }
        if used.allocation.is_foreign_to(&self.stream) {
            used.allocation.note(self.stream.number(), Mark::tail(&self.stream), used.writes);
        }
        Ok(())
    }

    /// Makes this stream wait for the work of other streams that conflicts with these uses.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails, [`Error::Capturing`] in a capture.
    pub(crate) fn wait_for_conflicts(&self, uses: &[Use<'_>]) -> Result<()> {
        let mut followed = Vec::new();
        for used in uses {
            if let Some(home) = used.allocation.home()
                && used.allocation.is_foreign_to(&self.stream)
                && !followed.contains(&home.number())
            {
                self.stream.follow(home)?;
                followed.push(home.number());
            }
            used.allocation.wait_for_others(&self.stream, used.writes)?;
        }
        Ok(())
    }

    /// Leaves a mark behind the work that this stream has just started, for the memory of other streams.
    fn mark(&self, uses: &[Use<'_>]) -> Result<()> {
        let mut foreign = uses.iter().filter(|used| used.allocation.is_foreign_to(&self.stream)).peekable();
        let Some(first) = foreign.peek() else { return Ok(()) };
        let mark = match Mark::event(&self.stream, first.allocation.home()) {
            Ok(mark) => mark,
            Err(error) => {
                // Without a mark nothing would wait for the work.
                self.backend().synchronize()?;
                return Err(error);
            }
        };
        foreign.for_each(|used| used.allocation.note(self.stream.number(), mark.clone(), used.writes));
        Ok(())
    }

    /// Whether the stream's work is captured.
    pub(crate) fn is_capturing(&self) -> bool {
        lock(&self.capture).is_some()
    }

    /// Begins a capture.
    ///
    /// # Errors
    /// [`Error::Capturing`] in a capture, [`Error::Device`] if the driver fails.
    pub(crate) fn begin_capture(&self) -> Result<()> {
        let mut capture = lock(&self.capture);
        self.streams()?.begin_capture()?;
        *capture = Some(Vec::new());
        Ok(())
    }

    /// Ends a capture, and returns the graph with the memory that it uses.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver rejects what was captured.
    pub(crate) fn end_capture(&self) -> Result<(u64, Vec<Used>)> {
        let used = lock(&self.capture).take().unwrap_or_default();
        let graph = self.streams()?.end_capture();
        // The memory of a rejected capture is freed after the capture has ended.
        graph.map(|graph| (graph, used))
    }
}

/// Adds memory to the list of a capture, once.
///
/// # Errors
/// [`Error::Argument`] for memory that is lent for one call.
pub(crate) fn keep(list: &mut Vec<Used>, used: Use<'_>) -> Result<()> {
    if used.allocation.is_lent() {
        return Err(Error::Argument(
            "a graph would use memory after it was given back: take it over, or copy it, and use that".to_owned(),
        ));
    }
    match list.iter_mut().find(|known| Arc::ptr_eq(&known.allocation, used.allocation)) {
        Some(known) => known.writes |= used.writes,
        None => list.push(Used { allocation: Arc::clone(used.allocation), writes: used.writes }),
    }
    Ok(())
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({})", self.backend().info().device)
    }
}
