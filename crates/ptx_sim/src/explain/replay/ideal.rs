//! The sectors that a kernel would access if each of its requests touched no more sectors than its bytes need.

use crate::program::{Op, Program};
use crate::trace::{BlockTrace, Step, WarpTrace};

/// Sectors of requests, each as many as its bytes need. The kernel moves the same data, so as large a share of them is
/// new as of what it really accesses, at most all.
#[derive(Debug)]
pub(super) struct Ideal {
    /// Share of the sectors that no request accessed before, of loads and of stores.
    new: [f64; 2],
    owed: [f64; 2],
    /// Number of the last new sector.
    last: [u64; 2],
}

impl Ideal {
    pub fn new(program: &Program, blocks: &[&BlockTrace]) -> Self {
        // Numbers that no address has.
        let last = [1 << 60, 1 << 61];
        Self { new: [share(program, blocks, false), share(program, blocks, true)], owed: [0.0; 2], last }
    }

    /// The sectors of a request that accesses this number of bytes.
    pub fn sectors(&mut self, bytes: u32, stores: bool) -> Vec<u64> {
        let (kind, count) = (usize::from(stores), bytes.div_ceil(32));
        // Requests of several sectors begin with a line.
        let mut begins = count > 1;
        let sector = |_| {
            self.owed[kind] += self.new[kind];
            if self.owed[kind] >= 0.999_999 {
                self.owed[kind] -= 1.0;
                let next = self.last[kind] + 1;
                self.last[kind] = if begins { next.next_multiple_of(4) } else { next };
                begins = false;
            }
            self.last[kind]
        };
        let mut sectors: Vec<u64> = (0..count).map(sector).collect();
        sectors.dedup();
        sectors
    }
}

/// Number of different sectors that the blocks access, by stores or by other instructions.
pub(in crate::explain) fn different_sectors(program: &Program, blocks: &[&BlockTrace], by_stores: bool) -> usize {
    let ranges = requests(program, blocks, by_stores).flat_map(|(warp, step)| {
        let (first, count) = step.sectors;
        &warp.sectors[first as usize..(first + count) as usize]
    });
    let signals = blocks.iter().flat_map(|block| &block.warps).flat_map(|warp| &warp.signals);
    let copied = signals.flat_map(|signal| if by_stores { &signal.writes } else { &signal.reads });
    let copied = copied.flat_map(|&(first, count)| first..first + count);
    let mut sectors: Vec<u64> = ranges.copied().chain(copied).collect();
    sectors.sort_unstable();
    sectors.dedup();
    sectors.len()
}

/// Different sectors over the sectors that the bytes of all requests need.
fn share(program: &Program, blocks: &[&BlockTrace], of_stores: bool) -> f64 {
    let needs = |(_, step): (_, &Step)| u64::from(step.bytes.div_ceil(32).min(step.sectors.1));
    let ideal: u64 = requests(program, blocks, of_stores).map(needs).sum();
    (different_sectors(program, blocks, of_stores) as f64 / ideal.max(1) as f64).min(1.0)
}

/// The steps that access global memory, by stores or by other instructions.
fn requests<'t>(
    program: &Program,
    blocks: &[&'t BlockTrace],
    by_stores: bool,
) -> impl Iterator<Item = (&'t WarpTrace, &'t Step)> {
    let stores = |step: &Step| {
        let function = program.functions.get(step.function as usize);
        let inst = function.and_then(|function| function.code.get(step.pc as usize));
        inst.is_some_and(|inst| matches!(inst.op, Op::Store(_)))
    };
    let steps =
        blocks.iter().flat_map(|block| &block.warps).flat_map(|warp| warp.steps.iter().map(move |step| (warp, step)));
    steps.filter(move |(_, step)| step.sectors.1 > 0 && stores(step) == by_stores)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn new_requests_are_whole_lines() {
        let mut ideal = Ideal { new: [1.0, 0.5], owed: [0.0; 2], last: [1 << 60, 1 << 61] };
        for _ in 0..3 {
            let sectors = ideal.sectors(128, false);
            assert_eq!(sectors.len(), 4);
            assert!(sectors.iter().all(|sector| sector / 4 == sectors[0] / 4), "{sectors:?}");
        }
        // Half of what is stored was stored before.
        let stored: Vec<u64> = (0..8).flat_map(|_| ideal.sectors(32, true)).collect();
        let mut different = stored.clone();
        different.dedup();
        assert!((4..=5).contains(&different.len()), "{stored:?}");
    }
}
