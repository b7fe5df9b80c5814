//! Limit on the host memory of a launch for registers, stacks and shared memory. Memory is counted before it is
//! allocated, so that a program with excessive demands is stopped before it exhausts the host's memory.

use crate::registers::{LANES, Rows};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Memory allocated by the workers of a launch. Workers reuse it and free it only at the end of the launch.
#[derive(Debug)]
pub struct Budget {
    taken: AtomicU64,
    limit: u64,
}

impl Budget {
    /// Creates a budget of which nothing is used.
    pub fn new(limit: u64) -> Self {
        Self { taken: AtomicU64::new(0), limit }
    }

    /// Counts allocated bytes.
    pub fn take(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Relaxed);
    }

    /// Whether `bytes` more fit into the budget.
    pub fn has(&self, bytes: u64) -> bool {
        self.taken.load(Relaxed).saturating_add(bytes) <= self.limit
    }
}

/// Returns the size of a warp's registers in bytes.
pub fn register_bytes(rows: Rows) -> u64 {
    let lanes = LANES as u64;
    u64::from(rows.w32) * 4 * lanes + u64::from(rows.w64) * 8 * lanes + u64::from(rows.pred) * 4
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn room_ends_at_the_limit() {
        let budget = Budget::new(100);
        budget.take(60);
        assert!(budget.has(40) && !budget.has(41) && !budget.has(u64::MAX));
    }

    #[test]
    fn registers_are_counted_by_row() {
        assert_eq!(register_bytes(Rows { w32: 1, w64: 1, pred: 1 }), 128 + 256 + 4);
    }
}
