//! Streams and events.

use super::accessed::Work;
use super::clock::{Clock, Token};
use super::graph::Capture;
use super::handle::Handle;
use super::operation::Operation;
use super::order::Position;
use crate::code::Code;
use std::collections::VecDeque;
use std::sync::Arc;
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
    /// What its next item comes after, if races are searched for.
    pub clock: Clock,
    /// The item that runs.
    pub work: Option<Arc<Work>>,
    /// The node of a graph that runs.
    pub node: Option<Arc<Position>>,
    /// Whether a function of the host runs.
    pub busy: bool,
    /// Whether the program has destroyed it; it ends with its work.
    pub destroyed: bool,
    /// The capture that it is part of.
    pub capture: Option<Capture>,
    /// Why deferred work was refused, until a call returns it.
    pub refused: Option<Code>,
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
            clock: Clock::default(),
            work: None,
            node: None,
            busy: false,
            destroyed: false,
            capture: None,
            refused: None,
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
    /// What comes before the record, and the record.
    pub clock: Clock,
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

/// Work that waits.
pub struct Item {
    pub operation: Operation,
    /// Items of other streams that have to end first.
    pub after: Vec<Token>,
    pub work: Option<Arc<Work>>,
}
