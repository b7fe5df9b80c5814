//! The first-level cache of a multiprocessor: lines of four sectors, the least recently used line is replaced.

use std::collections::{BTreeMap, HashMap};

/// Sectors per line.
const SECTORS: u64 = 4;

/// A cache with the times at which its sectors arrive.
#[derive(Debug)]
pub(super) struct Cache {
    most: usize,
    lines: HashMap<u64, Line>,
    /// Lines by their last use.
    used: BTreeMap<u64, u64>,
    clock: u64,
}

#[derive(Debug, Default)]
struct Line {
    last: u64,
    /// Arrival of each sector, in cycles; infinite if it is not there.
    arrivals: [f64; SECTORS as usize],
}

impl Cache {
    pub fn new(bytes: u64) -> Self {
        Self { most: (bytes / 128).max(1) as usize, lines: HashMap::new(), used: BTreeMap::new(), clock: 0 }
    }

    /// Returns when a sector is there, if it is or is on its way.
    pub fn find(&mut self, sector: u64) -> Option<f64> {
        let line = self.lines.get_mut(&(sector / SECTORS))?;
        let arrival = line.arrivals[(sector % SECTORS) as usize];
        self.clock += 1;
        self.used.remove(&line.last);
        line.last = self.clock;
        self.used.insert(self.clock, sector / SECTORS);
        arrival.is_finite().then_some(arrival)
    }

    /// Adds a sector that arrives at a time.
    pub fn insert(&mut self, sector: u64, arrival: f64) {
        self.clock += 1;
        let number = sector / SECTORS;
        let line = self.lines.entry(number).or_insert_with(|| Line { last: 0, arrivals: [f64::INFINITY; 4] });
        line.arrivals[(sector % SECTORS) as usize] = arrival;
        self.used.remove(&line.last);
        line.last = self.clock;
        self.used.insert(self.clock, number);
        if self.lines.len() > self.most
            && let Some((_, oldest)) = self.used.pop_first()
        {
            self.lines.remove(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_recently_used_line_is_replaced() {
        let mut cache = Cache::new(256);
        cache.insert(0, 1.0);
        cache.insert(4, 2.0);
        assert_eq!((cache.find(0), cache.find(1)), (Some(1.0), None));
        cache.insert(8, 3.0);
        assert_eq!((cache.find(0), cache.find(4), cache.find(8)), (Some(1.0), None, Some(3.0)));
    }
}
