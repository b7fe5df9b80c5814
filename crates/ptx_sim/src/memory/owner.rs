//! The owner of an allocation, and the thread that freed it.

use crate::program::Site;
use crate::stop::Thread;

/// Owner of an allocation, who may free it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The host program.
    Host,
    /// A module, for its variables.
    Program,
    /// A thread that called `malloc`.
    Kernel(Event),
}

impl Owner {
    /// Whether `free` may be called by this thread, or else by the host.
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
    /// Index of the program among those that the machine has loaded, because allocations outlive it.
    pub program: usize,
    /// Number of the launch.
    pub launch: u64,
    pub site: Site,
    pub thread: Thread,
}
