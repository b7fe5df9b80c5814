//! Host memory that a launch takes for registers, stacks and shared memory: counted before it is taken, so that a
//! program that asks for too much of it is stopped and the host's memory is not exhausted.

use crate::registers::{LANES, Rows};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// What the workers of a launch have taken. They give nothing back before the launch ends, but use it again.
#[derive(Debug)]
pub struct Budget {
    taken: AtomicU64,
    limit: u64,
}

impl Budget {
    /// Nothing is taken.
    pub fn new(limit: u64) -> Self {
        Self { taken: AtomicU64::new(0), limit }
    }

    /// Counts bytes that have been taken.
    pub fn take(&self, bytes: u64) {
        self.taken.fetch_add(bytes, Relaxed);
    }

    /// Is there room for so many more?
    pub fn has(&self, bytes: u64) -> bool {
        self.taken.load(Relaxed).saturating_add(bytes) <= self.limit
    }
}

/// Bytes of a warp's registers.
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
