//! Streams and events.

use super::graph::Capture;
use super::handle::Handle;
use super::operation::Operation;
use std::collections::VecDeque;
use std::time::Instant;

/// A stream.
pub struct Stream {
    pub context: Handle,
    pub flags: u32,
    pub priority: i32,
    /// Work that waits.
    pub queue: VecDeque<Item>,
    /// Number of items that were enqueued, and that have ended.
    pub issued: u64,
    pub done: u64,
    /// Whether a function of the host runs.
    pub busy: bool,
    /// Whether the program has destroyed it; it ends with its work.
    pub destroyed: bool,
    /// The capture that it is part of.
    pub capture: Option<Capture>,
}

impl Stream {
    /// Creates a stream without work.
    pub fn new(context: Handle, flags: u32, priority: i32) -> Self {
        Self {
            context,
            flags,
            priority,
            queue: VecDeque::new(),
            issued: 0,
            done: 0,
            busy: false,
            destroyed: false,
            capture: None,
        }
    }

    /// Whether it is ordered with the default stream.
    pub fn is_blocking(&self) -> bool {
        self.flags & 1 == 0
    }
}

/// An event.
pub struct Event {
    pub context: Handle,
    pub flags: u32,
    /// The item that records it; `None` before the first record.
    pub token: Option<Token>,
    /// When it was reached last.
    pub time: Option<Instant>,
    /// The capture that recorded it: its number, and the nodes before the event.
    pub captured: Option<(Handle, Vec<Handle>)>,
}

impl Event {
    /// Whether it has times.
    pub fn is_timed(&self) -> bool {
        self.flags & 2 == 0
    }
}

/// An item of a stream, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    pub stream: Handle,
    pub number: u64,
}

/// Work that waits.
pub struct Item {
    pub operation: Operation,
    /// Items of other streams that have to end first.
    pub after: Vec<Token>,
}
