//! How an input is streamed, and what a run reports.

/// How an input is streamed; the default leaves every choice to the library.
#[derive(Clone, Copy, Default)]
pub struct Settings<'a> {
    /// Bytes of a chunk of each source, at least 16; see [`default_chunk`](super::default_chunk).
    pub chunk: Option<u64>,
    /// Chunks of each source that are on the device at a time, at least 2; 3 by default.
    pub slots: Option<usize>,
    /// Threads that read; by default as many as this machine has processors, and at most 12. On
    /// Linux, 4 of those that read one file wait for its disk at a time.
    pub readers: Option<usize>,
    /// Threads that write results; by default as many as this machine has processors, and at most 4.
    pub writers: Option<usize>,
    /// Called in the calling thread after each piece that has been read.
    pub progress: Option<&'a dyn Fn(Progress)>,
}

/// How much of the input has been read.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Bytes of all sources that have been read.
    pub done: u64,
    /// Bytes of all sources in the range.
    pub total: u64,
}

/// A value of all elements of a range.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Total<T> {
    /// The value.
    pub value: T,
    /// Largest number of additions in a chain from an element to the value, for error bounds.
    pub depth: u64,
}
