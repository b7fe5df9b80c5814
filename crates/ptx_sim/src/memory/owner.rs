//! The owner of an allocation, and the thread that freed it.

use crate::program::Site;
use crate::stop::Thread;

/// Who allocated memory, and so who may free it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The user of the machine.
    Host,
    /// A module: its variables.
    Program,
    /// A thread that called `malloc`.
    Kernel(Event),
}

impl Owner {
    /// May `free` be called, by this thread or else by the host?
    pub fn may_free(self, by: Option<Event>) -> bool {
        match self {
            Owner::Host => by.is_none(),
            Owner::Program => false,
            Owner::Kernel(_) => by.is_some(),
        }
    }
}

/// A thread's call of `malloc` or `free`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Number of the program among those that the machine has seen: memory outlives it.
    pub program: usize,
    /// Number of the launch.
    pub launch: u64,
    pub site: Site,
    pub thread: Thread,
}
