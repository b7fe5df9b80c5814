//! A stream of a [`Device`](crate::Device), allocations, and the order of streams that use the same allocation.
//!
//! An allocation belongs to the stream in which it was made: its home. Work of another stream first waits, on the
//! device, for the work of the home stream so far; later work of the home stream waits for the other one, and so does
//! the release. Streams that only read do not wait for each other. A single stream never waits.

use super::interface::Backend;
use super::streams::Streams;
use crate::error::{Error, Result};
use crate::sync::lock;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// One stream of a device, with the memory that its capture uses.
pub struct Queue {
    backend: Arc<dyn Backend>,
    /// What the work of a capture has used so far; `None` outside of captures.
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
        Self { backend, capture: Mutex::default() }
    }

    /// The stream.
    pub(crate) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// Streams, events, pinned memory and graphs.
    ///
    /// # Errors
    /// [`Error::Unsupported`] for a backend without them.
    pub(crate) fn streams(&self) -> Result<&dyn Streams> {
        self.backend.streams().ok_or_else(|| {
            Error::Unsupported(format!("{} has no streams: open a `Device` of its own", self.backend.info().device))
        })
    }

    /// Orders the work that is launched next in this stream behind the work of other streams that uses the same memory;
    /// in a capture, keeps the memory for the graph instead.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub(crate) fn acquire<'a>(self: &Arc<Self>, uses: impl IntoIterator<Item = Use<'a>>) -> Result<()> {
        let mut capture = lock(&self.capture);
        for used in uses {
            match &mut *capture {
                Some(list) => keep(list, used),
                None => used.allocation.acquire(self, used.writes)?,
            }
        }
        Ok(())
    }

    /// Makes this stream wait for everything that was launched in another one before.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub(crate) fn follow(&self, other: &Self) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Ok(());
        }
        let (own, other) = (self.streams()?, other.streams()?);
        let event = other.event(false)?;
        // SAFETY: the event was made above and is freed below; a stream waits for an event even if that is freed.
        unsafe {
            let waiting = own.wait(event);
            other.free_event(event);
            waiting
        }
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
pub(crate) fn keep(list: &mut Vec<Used>, used: Use<'_>) {
    match list.iter_mut().find(|known| Arc::ptr_eq(&known.allocation, used.allocation)) {
        Some(known) => known.writes |= used.writes,
        None => list.push(Used { allocation: Arc::clone(used.allocation), writes: used.writes }),
    }
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Queue({})", self.backend.info().device)
    }
}

/// Device memory, which is released in the order of its home stream when the last reference is dropped.
pub(crate) struct Allocation {
    pub address: u64,
    /// The stream in which the memory was allocated; `None` if [`Memory`](super::Memory) releases it.
    home: Option<Arc<Queue>>,
    /// The owner of memory that was not allocated by this library.
    foreign: Option<Foreign>,
    /// Other streams whose work used the memory since the home stream last waited for them.
    others: Mutex<Vec<Other>>,
}

/// Memory of another library, which is released with this value.
pub(crate) type Foreign = Box<dyn Any + Send + Sync>;

struct Other {
    queue: Arc<Queue>,
    wrote: bool,
}

impl Allocation {
    /// Memory of this stream.
    pub fn new(address: u64, home: Option<Arc<Queue>>) -> Self {
        Self { address, home, foreign: None, others: Mutex::default() }
    }

    /// Memory of another library, whose work in this stream has been launched.
    pub fn foreign(address: u64, home: Arc<Queue>, owner: Foreign) -> Self {
        Self { address, home: Some(home), foreign: Some(owner), others: Mutex::default() }
    }

    /// Whether `Memory` releases the memory.
    pub fn is_borrowed(&self) -> bool {
        self.home.is_none()
    }

    /// Whether the memory belongs to another library.
    pub fn is_foreign(&self) -> bool {
        self.foreign.is_some()
    }

    /// Makes `user` wait for the earlier uses of the memory that conflict with its own.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn acquire(&self, user: &Arc<Queue>, writes: bool) -> Result<()> {
        let Some(home) = &self.home else { return Ok(()) };
        let at_home = Arc::ptr_eq(home, user);
        let mut others = lock(&self.others);
        if at_home && others.is_empty() {
            return Ok(());
        }
        if !at_home {
            user.follow(home)?;
        }
        for other in others.iter().filter(|other| (writes || other.wrote) && !Arc::ptr_eq(&other.queue, user)) {
            user.follow(&other.queue)?;
        }
        if at_home {
            // Streams that only read are not waited for, unless the memory is written.
            others.retain(|other| !writes && !other.wrote);
        } else if writes {
            *others = vec![Other { queue: Arc::clone(user), wrote: true }];
        } else if !others.iter().any(|other| Arc::ptr_eq(&other.queue, user)) {
            others.push(Other { queue: Arc::clone(user), wrote: false });
        }
        Ok(())
    }

    /// Gives the memory up without releasing it, after the home stream has been ordered behind all uses.
    ///
    /// # Errors
    /// [`Error::Device`] if the driver fails.
    pub fn release(mut self) -> Result<u64> {
        self.join()?;
        (self.home, self.foreign) = (None, None);
        Ok(self.address)
    }

    /// Makes the home stream wait for the others.
    fn join(&self) -> Result<()> {
        let mut others = lock(&self.others);
        if let Some(home) = &self.home {
            others.iter().try_for_each(|other| home.follow(&other.queue))?;
        }
        others.clear();
        Ok(())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.join().is_err() {
            // A stream that is captured waits for no other, and a faulted one for nothing. An error here was left by an
            // earlier launch, which has reported it.
            let others = std::mem::take(&mut *lock(&self.others));
            others.iter().for_each(|other| drop(other.queue.backend().synchronize()));
        }
        if let (Some(home), None) = (&self.home, &self.foreign) {
            // SAFETY: the stream's `alloc` returned the address, and nothing refers to the memory any more.
            unsafe { home.backend().free(self.address) };
        }
    }
}
