//! Which blocks are recorded, and how much of them.

use crate::observe::BlockShape;

/// Options of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Trace {
    /// Which blocks are recorded, instruction by instruction: those whose number, `%ctaid.x` fastest, is a multiple of
    /// this. With a device's number of multiprocessors they are the blocks that one of them gets.
    pub every: u32,
    /// Maximum number of recorded warps; the first block and one of the last ones are always recorded.
    pub warps: u32,
    /// Maximum number of recorded instructions per warp, up to eight times as many where few warps are recorded;
    /// further ones are only counted.
    pub steps: u32,
}

impl Default for Trace {
    fn default() -> Self {
        Self { every: 132, warps: 192, steps: 1 << 14 }
    }
}

impl Trace {
    /// Maximum number of recorded instructions of each warp of this launch: where few warps are recorded, each may have
    /// more, so that blocks which run to the end of the launch are known to their end.
    pub(super) fn steps(&self, shape: &BlockShape) -> u32 {
        let blocks: u64 = shape.grid.iter().map(|&n| u64::from(n)).product();
        let recorded = (blocks.div_ceil(self.every.max(1).into()) + 1) * u64::from(shape.warps.max(1));
        self.steps.saturating_mul((u64::from(self.warps) / recorded).clamp(1, 8) as u32)
    }

    /// Why a block is recorded, if it is.
    pub(super) fn records(&self, shape: &BlockShape) -> Option<Why> {
        let blocks: u64 = shape.grid.iter().map(|&n| u64::from(n)).product();
        let every = u64::from(self.every.max(1));
        let before = shape.ticket / every * u64::from(shape.warps);
        let chosen = shape.ticket.is_multiple_of(every) && before + u64::from(shape.warps) <= u64::from(self.warps);
        match () {
            () if chosen || shape.ticket == 0 => Some(Why::Chosen),
            () if shape.ticket + LAST >= blocks => Some(Why::Last),
            () => None,
        }
    }
}

/// Number of the last blocks of which the one that did the most is kept: any block that runs at the end may be the one
/// that does what is left. Of a grid whose blocks all run until the end, it may be an earlier one, which is missed.
const LAST: u64 = 64;

/// Why a block is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    /// Its number is a multiple of [`Trace::every`], and there is room for its warps.
    Chosen,
    /// It may be the one that ends last.
    Last,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_warps_have_more_steps() {
        let shape = |blocks: u32, warps: u32| BlockShape {
            ticket: 0,
            cluster: 0,
            grid: [blocks, 1, 1],
            block: [0; 3],
            threads: [32 * warps, 1, 1],
            warps,
            shared_bytes: 0,
        };
        let steps = |blocks, warps| Trace { every: 132, warps: 192, steps: 100 }.steps(&shape(blocks, warps));
        // Two blocks of 16 warps are recorded, then 12 of 16, and two of two.
        assert_eq!((steps(132, 16), steps(132 * 11, 16), steps(132, 2)), (600, 100, 800));
    }
}
