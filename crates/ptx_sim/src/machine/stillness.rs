//! How long nothing has changed: of one worker, and of all.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

/// What the workers of a launch know of each other.
#[derive(Debug, Default)]
pub struct Stillness {
    pub epoch: AtomicU64,
    /// Workers that have not left.
    active: AtomicU64,
    /// An epoch, and how many workers came back to an earlier state within it.
    repeating: Mutex<(u64, u64)>,
}

/// What a worker knows of itself.
#[derive(Debug, Default)]
pub struct Watch {
    pub epoch: u64,
    /// Rounds within the epoch.
    pub rounds: u64,
    /// The state at the round that was a power of two; Brent's way to find a cycle of any length.
    pub earlier: Option<u64>,
    pub published: bool,
}

impl Stillness {
    /// Called once, before the workers start.
    pub fn start(&self, workers: u64) {
        self.active.store(workers, SeqCst);
    }

    /// Something changed that others may see. Called after the change: whoever sees the old epoch later has seen the
    /// change too.
    pub fn changed(&self) {
        self.epoch.fetch_add(1, SeqCst);
    }

    /// A worker has nothing left to do.
    pub fn leave(&self) {
        self.active.fetch_sub(1, SeqCst);
        self.changed();
    }

    /// One more worker repeats itself; true when all do.
    pub fn publish(&self, epoch: u64) -> bool {
        let mut repeating = self.repeating.lock().unwrap_or_else(PoisonError::into_inner);
        if repeating.0 < epoch {
            *repeating = (epoch, 0);
        }
        if repeating.0 == epoch {
            repeating.1 += 1;
        }
        *repeating == (epoch, self.active.load(SeqCst)) && self.epoch.load(SeqCst) == epoch
    }
}
