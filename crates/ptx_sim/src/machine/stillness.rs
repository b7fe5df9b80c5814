//! Detection of periods without changes, by one worker and by all.

use std::sync::atomic::{AtomicU64, Ordering::SeqCst};
use std::sync::{Mutex, PoisonError};

/// State shared by the workers of a launch for livelock detection.
#[derive(Debug, Default)]
pub struct Stillness {
    pub epoch: AtomicU64,
    /// Number of workers that have not ended.
    active: AtomicU64,
    /// An epoch, and the number of workers that repeated an earlier state within it.
    repeating: Mutex<(u64, u64)>,
}

/// A worker's own state for livelock detection.
#[derive(Debug, Default)]
pub struct Watch {
    pub epoch: u64,
    /// Number of rounds within the epoch.
    pub rounds: u64,
    /// Value of the worker's clock when the epoch began.
    pub clock: u64,
    /// Whether a block has stored to its own `.shared` memory since.
    pub stored: bool,
    /// Hashes of the parts of the state at the last round that was a power of two: Brent's algorithm for finding a
    /// cycle of any length.
    pub earlier: Vec<u64>,
    /// Number of parts that were hashed since.
    pub hashed: u64,
    pub published: bool,
}

impl Stillness {
    /// Sets the number of workers, once before they start.
    pub fn start(&self, workers: u64) {
        self.active.store(workers, SeqCst);
    }

    /// Begins a new epoch after a change that others can see. A worker that still reads the old epoch has not missed
    /// the change.
    pub fn changed(&self) {
        self.epoch.fetch_add(1, SeqCst);
    }

    /// Records that a worker has ended.
    pub fn leave(&self) {
        self.active.fetch_sub(1, SeqCst);
        self.changed();
    }

    /// Records that one more worker repeats its states; returns true when all do.
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
