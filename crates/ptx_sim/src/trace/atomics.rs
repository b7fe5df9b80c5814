//! Work of the units beside the L2 cache that perform atomics on global memory, by cache line.

use crate::observe::Touch;
use std::collections::HashMap;

/// Bytes of a line.
const LINE: u64 = 128;

/// Atomics of a launch on global memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contention {
    /// Work on the line with the most work, in steps of the unit that serves it.
    pub hottest: u64,
    /// Work on all lines.
    pub all: u64,
    /// Number of lines.
    pub lines: u64,
}

/// Work by line.
#[derive(Debug, Default)]
pub(super) struct Atomics {
    lines: HashMap<u64, u64>,
}

impl Atomics {
    /// Adds one request of a warp.
    pub fn add(&mut self, touch: &Touch<'_>) {
        let mut addresses: Vec<u64> = crate::lanes::lanes_of(touch.mask).map(|lane| touch.addresses[lane]).collect();
        addresses.sort_unstable();
        for line in addresses.chunk_by(|a, b| a / LINE == b / LINE) {
            *self.lines.entry(line[0] / LINE).or_default() += steps(line);
        }
    }

    /// Adds another worker's requests.
    pub fn absorb(&mut self, other: Self) {
        for (line, more) in other.lines {
            *self.lines.entry(line).or_default() += more;
        }
    }

    /// Returns the sums.
    pub fn contention(&self) -> Contention {
        Contention {
            hottest: self.lines.values().copied().max().unwrap_or(0),
            all: self.lines.values().sum(),
            lines: self.lines.len() as u64,
        }
    }
}

/// Returns the steps of one request for one line, with its addresses in order: lanes at the same address are served one
/// after the other, and so are up to four addresses. An H200 needs 0.73 ns for each lane at one address (2^24 atomics
/// of 32 lanes at one: 12.3 ms) and 2.4 ns for 4 or more addresses (2^24 at 32 addresses: 1.25 ms), which is 6 and 20
/// steps.
fn steps(addresses: &[u64]) -> u64 {
    let groups = || addresses.chunk_by(|a, b| a == b);
    let most = groups().map(<[u64]>::len).max().unwrap_or(1) as u64;
    (6 * most).max(5 * groups().count().min(4) as u64)
}
