//! Device memory, and the marks of the streams that use it.

use super::stream::Stream;
use crate::error::Result;
use crate::sync::lock;
use std::any::Any;
use std::sync::{Arc, Mutex};

/// Device memory, which is released in the order of its home stream when the last reference is dropped.
pub(crate) struct Allocation {
    pub address: u64,
    /// The stream in which the memory was allocated; `None` if [`Memory`](super::Memory) releases it.
    home: Option<Arc<Stream>>,
    owner: Owner,
    /// The other streams whose work used the memory since the home stream last waited for them.
    others: Mutex<Vec<Other>>,
}

/// Who releases the memory.
pub(crate) enum Owner {
    /// This library.
    Library,
    /// Another library, by dropping this value.
    Other(#[expect(dead_code, reason = "it is dropped with the allocation")] Foreign),
    /// Another library, which lends the memory for as long as a buffer refers to it.
    #[cfg_attr(not(any(test, feature = "cudarc")), expect(dead_code, reason = "what only cudarc lends"))]
    Lender,
}

/// What keeps memory or a context of another library.
pub(crate) type Foreign = Box<dyn Any + Send + Sync>;

/// Another stream that used the memory.
struct Other {
    /// Its number.
    stream: u64,
    mark: Mark,
    wrote: bool,
}

impl Allocation {
    /// Memory of this stream.
    pub fn new(address: u64, home: Option<Arc<Stream>>, owner: Owner) -> Self {
        Self { address, home, owner, others: Mutex::default() }
    }

    /// The stream in which the memory was allocated.
    pub fn home(&self) -> Option<&Arc<Stream>> {
        self.home.as_ref()
    }

    /// Whether `Memory` releases the memory.
    pub fn is_borrowed(&self) -> bool {
        self.home.is_none()
    }

    /// Whether the memory belongs to another library.
    pub fn is_foreign(&self) -> bool {
        !matches!(self.owner, Owner::Library)
    }

    /// Whether the memory is given back when the buffer is dropped, whatever else uses it.
    pub fn is_lent(&self) -> bool {
        matches!(self.owner, Owner::Lender)
    }

    /// Whether the memory belongs to another stream.
    pub fn is_foreign_to(&self, user: &Stream) -> bool {
        self.home.as_ref().is_some_and(|home| home.number() != user.number())
    }

    /// Makes `user` wait for the work of other streams but the home stream that conflicts with its own.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    pub fn wait_for_others(&self, user: &Stream, writes: bool) -> Result<()> {
        let mut others = lock(&self.others);
        for other in others.iter().filter(|other| (writes || other.wrote) && other.stream != user.number()) {
            other.mark.wait(user)?;
        }
        if !self.is_foreign_to(user) {
            // Streams that only read are not waited for, unless the memory is written.
            others.retain(|other| !writes && !other.wrote);
        }
        Ok(())
    }

    /// Notes the mark behind work of another stream.
    pub fn note(&self, stream: u64, mark: Mark, wrote: bool) {
        let mut others = lock(&self.others);
        if let Some(own) = others.iter_mut().find(|other| other.stream == stream) {
            own.wrote |= wrote;
            // The new mark is behind the stream's former one, but for one that moves with all that the stream launches.
            if !matches!(own.mark, Mark::Tail(_)) {
                own.mark = mark;
            }
            return;
        }
        // Work that has ended needs no mark.
        others.retain(|other| !other.mark.is_reached());
        others.push(Other { stream, mark, wrote });
    }

    /// Gives the memory up without releasing it, after the home stream has been ordered behind all uses.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    pub fn release(mut self) -> Result<u64> {
        self.join()?;
        (self.home, self.owner) = (None, Owner::Library);
        Ok(self.address)
    }

    /// Makes the home stream wait for the others.
    fn join(&self) -> Result<()> {
        let mut others = lock(&self.others);
        if let Some(home) = &self.home {
            others.iter().try_for_each(|other| other.mark.wait(home))?;
        }
        others.clear();
        Ok(())
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        if self.join().is_err() {
            // A stream that is captured waits for no other, and a faulted one for nothing.
            lock(&self.others).drain(..).for_each(|other| other.mark.synchronize());
        }
        if let (Some(home), Owner::Library) = (&self.home, &self.owner) {
            // SAFETY: the stream's `alloc` returned the address, and nothing refers to the memory any more.
            unsafe { home.backend().free(self.address) };
        }
    }
}

/// A point behind work of a stream.
#[derive(Clone)]
pub(crate) enum Mark {
    /// An event.
    Event(Arc<Event>),
    /// Whatever the stream has launched when the mark is waited for.
    Tail(Arc<Stream>),
}

/// An event, which is released with the last mark of it.
pub(crate) struct Event {
    /// Any stream of the event's device.
    stream: Arc<Stream>,
    number: u64,
}

impl Mark {
    /// A mark behind everything that was launched in the stream. It keeps `home` open instead of the stream, if that is
    /// a stream of the same device.
    ///
    /// # Errors
    /// [`Error::Device`](crate::Error::Device) if the driver fails.
    pub fn event(of: &Arc<Stream>, home: Option<&Arc<Stream>>) -> Result<Self> {
        let (streams, mut stream) = (of.streams()?, of);
        if let Some(home) = home
            && home.streams()?.id() == streams.id()
        {
            stream = home;
        }
        Ok(Self::Event(Arc::new(Event { stream: Arc::clone(stream), number: streams.event(false)? })))
    }

    /// A mark that moves with the work of the stream.
    pub fn tail(of: &Arc<Stream>) -> Self {
        Self::Tail(Arc::clone(of))
    }

    /// Makes `user` wait for the work, on the device.
    fn wait(&self, user: &Stream) -> Result<()> {
        match self {
            // SAFETY: the event exists as long as its mark.
            Self::Event(event) => unsafe { user.streams()?.wait(event.number) },
            Self::Tail(stream) => user.follow(stream),
        }
    }

    /// Whether the work has ended. After an error that is not known.
    fn is_reached(&self) -> bool {
        match self {
            Self::Event(event) => event.is_reached(),
            Self::Tail(_) => false,
        }
    }

    /// Waits for the work on the host. An error was left by an earlier launch, which has reported it.
    fn synchronize(&self) {
        match self {
            Self::Event(event) => event.synchronize(),
            Self::Tail(stream) => drop(stream.backend().synchronize()),
        }
    }
}

impl Event {
    fn is_reached(&self) -> bool {
        let Ok(streams) = self.stream.streams() else { return false };
        // SAFETY: the event exists as long as this value.
        matches!(unsafe { streams.is_reached(self.number) }, Ok(true))
    }

    fn synchronize(&self) {
        let Ok(streams) = self.stream.streams() else { return };
        // SAFETY: as above.
        drop(unsafe { streams.await_event(self.number) });
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Ok(streams) = self.stream.streams() {
            // SAFETY: a stream of this device recorded the event, and no mark of it is left.
            unsafe { streams.free_event(self.number) };
        }
    }
}
