//! One warp: positions of its lanes, and their reconvergence points.
//!
//! Lanes that run together form a [`Split`]. When a split diverges at a branch, a [`Join`] is created at the branch's
//! reconvergence point, which waits for all of its lanes; exited lanes are not waited for. A call creates a join at the
//! instruction after it. Splits run one at a time, the newest first. Two splits that reach the same instruction of the
//! same frame merge.

use super::frame::Frame;
use crate::program::{Collective, Site};
use crate::registers::Slot;
use std::collections::BTreeSet;

/// Marks lanes without a join, which run to the end of the kernel.
pub const NO_JOIN: u32 = u32::MAX;

/// Lanes at the same instruction of the same frame.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Split {
    pub frame: u32,
    pub pc: u32,
    pub mask: u32,
    /// The reconvergence point of these lanes: index into [`Warp::joins`].
    pub join: u32,
    pub state: State,
}

/// Whether a split can run, or what it waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Ready,
    /// Waits at a block barrier for the rest of the warp or of the block.
    Barrier {
        id: u32,
    },
    /// Waits at the cluster barrier.
    ClusterBarrier,
    /// Waits for the warpgroup's products below a number.
    Warpgroup {
        until: u64,
    },
    /// Waits for the other lanes of a `*.sync` instruction's mask.
    Collective {
        mask: u32,
        kind: Collective,
    },
}

/// A reconvergence point at which lanes wait for each other.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Join {
    pub frame: u32,
    pub pc: u32,
    /// The join of the lanes after they have reconverged.
    pub parent: u32,
    /// Lanes that have to arrive; 0 marks a free entry.
    pub expected: u32,
    /// Lanes that have arrived.
    pub arrived: u32,
}

/// State of a warp's lanes at the cluster barrier.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct AtClusterBarrier {
    /// Lanes that have arrived at the incomplete barrier.
    pub arrived: u32,
    /// Lanes that have not waited yet for the completed barrier.
    pub passed: u32,
}

/// State of one warp.
#[derive(Debug, Default, Hash)]
pub struct Warp {
    /// Index in the block.
    pub index: u32,
    /// Lanes that have not exited.
    pub live: u32,
    pub splits: Vec<Split>,
    pub joins: Vec<Join>,
    pub frames: Vec<Frame>,
    /// Local memory: 32-bit words by address, one per lane.
    pub local: Vec<[u32; 32]>,
    /// Lanes at the cluster barrier.
    pub cluster: AtClusterBarrier,
    /// Initialisation state of local memory, while it is checked: a cell per word and lane.
    pub states: Vec<[u8; 32]>,
    /// Registers of asynchronous products that were accessed since the last `wgmma.fence`: frame and row.
    pub accessed: BTreeSet<(u32, Slot)>,
    /// Whether the warp has executed a `wgmma.fence`.
    pub fenced: bool,
    /// The barrier at which this warp has been counted.
    pub waits_at: Option<u32>,
    /// Whether lanes were released from a join before all had arrived, to let others make progress.
    pub broken: bool,
    /// Whether the running slice, or its last iteration of a loop, read memory or a clock in a way typical of waiting.
    pub polled: bool,
    /// Whether it changed memory that other blocks can see.
    pub wrote: bool,
    /// Whether it stored to `.shared` memory of its block.
    pub stored: bool,
    /// The slice ends at a jump backwards while it looks like waiting and no more than this is left of it.
    pub patience: u64,
    /// Number of consecutive full slices without a sign of waiting.
    pub stale: u32,
}

impl Warp {
    /// Returns the pc at which a split stops at its join; `u32::MAX` if the join is in another frame or there is none.
    #[inline]
    pub fn join_pc(&self, split: &Split) -> u32 {
        match self.joins.get(split.join as usize) {
            Some(join) if join.frame == split.frame => join.pc,
            _ => u32::MAX,
        }
    }

    /// Returns the instruction that a split is at.
    pub fn site(&self, split: &Split) -> Site {
        Site { function: self.frames[split.frame as usize].function, pc: split.pc }
    }

    /// Removes and returns the newest split that can run.
    #[inline]
    pub fn pick(&mut self) -> Option<Split> {
        self.ready().map(|at| self.splits.remove(at))
    }

    /// Returns the index of the newest split that can run.
    #[inline]
    pub fn ready(&self) -> Option<usize> {
        self.splits.iter().rposition(|split| split.state == State::Ready)
    }

    /// Whether the slice that has run looks like waiting: a thread that waits for another one reads memory repeatedly
    /// and changes nothing.
    pub fn waits(&self) -> bool {
        self.polled && !self.wrote && !self.stored
    }

    /// Adds a join below `parent`; reuses `parent` if it is at the same place.
    pub fn open_join(&mut self, frame: u32, pc: u32, parent: u32, expected: u32) -> u32 {
        if let Some(join) = self.joins.get(parent as usize)
            && (join.frame, join.pc) == (frame, pc)
        {
            return parent;
        }
        let join = Join { frame, pc, parent, expected, arrived: 0 };
        match self.joins.iter().position(|join| join.expected == 0) {
            Some(free) => {
                self.joins[free] = join;
                free as u32
            }
            None => {
                self.joins.push(join);
                self.joins.len() as u32 - 1
            }
        }
    }

    /// Divides `split` into `groups` of (pc, lanes) that reconverge at `meeting`.
    pub fn part(&mut self, split: Split, meeting: Option<u32>, groups: impl DoubleEndedIterator<Item = (u32, u32)>) {
        let join = match meeting {
            Some(pc) => self.open_join(split.frame, pc, split.join, split.mask),
            None => split.join,
        };
        for (pc, mask) in groups.rev() {
            self.splits.push(Split { pc, mask, join, ..split });
        }
    }

    /// Records lanes that have reached their join; they continue from there once all have arrived.
    pub fn arrive(&mut self, join: u32, mask: u32) {
        self.joins[join as usize].arrived |= mask;
        self.settle(join);
    }

    fn settle(&mut self, index: u32) {
        let join = &mut self.joins[index as usize];
        if join.expected != 0 && join.arrived == join.expected {
            let split =
                Split { frame: join.frame, pc: join.pc, mask: join.arrived, join: join.parent, state: State::Ready };
            *join = Join { expected: 0, arrived: 0, ..*join };
            self.splits.push(split);
        }
    }

    /// Removes lanes from the joins from `from` up to, but not including, `until`.
    pub fn leave(&mut self, from: u32, until: u32, mask: u32) {
        let mut index = from;
        while index != until && index != NO_JOIN {
            let join = &mut self.joins[index as usize];
            let parent = join.parent;
            join.expected &= !mask;
            self.settle(index);
            index = parent;
        }
    }

    /// Ends lanes.
    pub fn exit(&mut self, split: &Split, mask: u32, freed: impl FnMut(&mut Frame)) {
        self.live &= !mask;
        self.leave(split.join, NO_JOIN, mask);
        self.unwind(split.frame, None, mask, freed);
    }

    /// Removes lanes from `frame` and its callers up to, but not including, `until`.
    pub fn unwind(&mut self, frame: u32, until: Option<u32>, mask: u32, mut freed: impl FnMut(&mut Frame)) {
        let mut next = Some(frame);
        while let Some(index) = next.filter(|&index| Some(index) != until) {
            let frame = &mut self.frames[index as usize];
            next = frame.caller.map(|(caller, _)| caller);
            frame.lanes &= !mask;
            if frame.lanes == 0 {
                freed(frame);
            }
        }
    }

    /// Returns the first join of the chain outside `frame`, where a return from `frame` leads.
    pub fn join_outside(&self, frame: u32, mut join: u32) -> u32 {
        while let Some(entry) = self.joins.get(join as usize) {
            if entry.frame != frame {
                break;
            }
            join = entry.parent;
        }
        join
    }

    /// Whether another ready split is at this instruction.
    pub fn meets(&self, frame: u32, pc: u32) -> bool {
        self.splits.iter().any(|other| other.state == State::Ready && (other.frame, other.pc) == (frame, pc))
    }

    /// Merges every ready split at the same instruction into `split`.
    pub fn absorb(&mut self, split: &mut Split) {
        let same = |other: &Split, split: &Split| {
            other.state == State::Ready && (other.frame, other.pc) == (split.frame, split.pc)
        };
        while let Some(at) = self.splits.iter().position(|other| same(other, split)) {
            let other = self.splits.remove(at);
            let common = self.common_join(split.join, other.join);
            self.leave(split.join, common, split.mask);
            self.leave(other.join, common, other.mask);
            split.mask |= other.mask;
            split.join = common;
        }
    }

    fn common_join(&self, a: u32, b: u32) -> u32 {
        let mut candidate = a;
        while candidate != NO_JOIN {
            let mut other = b;
            while other != NO_JOIN {
                if other == candidate {
                    return candidate;
                }
                other = self.joins[other as usize].parent;
            }
            candidate = self.joins[candidate as usize].parent;
        }
        NO_JOIN
    }

    /// Releases the lanes that wait at a join for lanes which do not arrive: those nearest to `stuck`, or else the
    /// newest. Returns false if no lanes wait.
    pub fn release(&mut self, stuck: Option<u32>) -> bool {
        let mut index = stuck.unwrap_or(NO_JOIN);
        while self.joins.get(index as usize).is_some_and(|join| join.arrived == 0) {
            index = self.joins[index as usize].parent;
        }
        if index == NO_JOIN {
            let Some(newest) = self.joins.iter().rposition(|join| join.arrived != 0) else { return false };
            index = newest as u32;
        }
        let join = &mut self.joins[index as usize];
        let split =
            Split { frame: join.frame, pc: join.pc, mask: join.arrived, join: join.parent, state: State::Ready };
        join.expected &= !join.arrived;
        join.arrived = 0;
        self.splits.push(split);
        self.broken = true;
        true
    }

    /// Clears the state and keeps the memory for reuse. All lanes have exited.
    pub fn reset(&mut self) {
        self.splits.clear();
        self.joins.clear();
        self.frames.clear();
        self.local.clear();
        self.states.clear();
        (self.waits_at, self.broken, self.stale) = (None, false, 0);
        self.cluster = AtClusterBarrier::default();
        self.accessed.clear();
        self.fenced = false;
    }

    /// Returns a free entry for a frame.
    pub fn new_frame(&mut self) -> u32 {
        match self.frames.iter().position(|frame| frame.lanes == 0) {
            Some(free) => free as u32,
            None => {
                self.frames.push(Frame::default());
                self.frames.len() as u32 - 1
            }
        }
    }

    /// Grows local memory to reach at least `top`.
    pub fn reserve_local(&mut self, top: u64) {
        let words = top.div_ceil(4) as usize;
        if self.local.len() < words {
            self.local.resize(words, [0; 32]);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(pc: u32, mask: u32) -> Split {
        Split { frame: 0, pc, mask, join: NO_JOIN, state: State::Ready }
    }

    fn warp() -> Warp {
        let frame = Frame { lanes: u32::MAX, ..Frame::default() };
        Warp { live: u32::MAX, frames: vec![frame], ..Warp::default() }
    }

    #[test]
    fn both_sides_meet() {
        let mut warp = warp();
        warp.part(split(0, 0xff), Some(9), [(1, 0x0f), (5, 0xf0)].into_iter());
        let first = warp.pick().expect("then side");
        assert_eq!((first.pc, first.mask, warp.join_pc(&first)), (1, 0x0f, 9));
        warp.arrive(first.join, first.mask);
        let second = warp.pick().expect("else side");
        assert_eq!((second.pc, second.mask), (5, 0xf0));
        warp.arrive(second.join, second.mask);
        let met = warp.pick().expect("both");
        assert_eq!((met.pc, met.mask, met.join), (9, 0xff, NO_JOIN));
        assert!(warp.pick().is_none());
    }

    #[test]
    fn a_loop_that_loses_lanes_reuses_its_join() {
        let mut warp = warp();
        warp.part(split(0, 0b111), Some(9), [(1, 0b110), (9, 0b001)].into_iter());
        let inner = warp.pick().expect("stays");
        warp.part(inner, Some(9), [(1, 0b100), (9, 0b010)].into_iter());
        assert_eq!(warp.joins.len(), 1);
        assert_eq!(warp.joins[0].expected, 0b111);
    }

    #[test]
    fn exited_lanes_are_not_waited_for() {
        let mut warp = warp();
        warp.part(split(0, 0xff), Some(9), [(1, 0x0f), (5, 0xf0)].into_iter());
        let first = warp.pick().expect("then side");
        let second = warp.pick().expect("else side");
        warp.arrive(second.join, second.mask);
        warp.exit(&first, first.mask, |_| {});
        let met = warp.pick().expect("the rest");
        assert_eq!((met.pc, met.mask), (9, 0xf0));
        assert_eq!(warp.live, 0xffff_fff0);
    }

    #[test]
    fn splits_at_the_same_place_merge() {
        let mut warp = warp();
        warp.part(split(0, 0xff), Some(9), [(1, 0x0f), (5, 0xf0)].into_iter());
        let mut first = warp.pick().expect("then side");
        first.pc = 5;
        warp.absorb(&mut first);
        assert_eq!((first.mask, warp.splits.len()), (0xff, 0));
        warp.arrive(first.join, first.mask);
        assert_eq!(warp.pick().expect("all").mask, 0xff);
    }

    #[test]
    fn waiting_lanes_can_be_released() {
        let mut warp = warp();
        warp.part(split(0, 0b11), Some(9), [(1, 0b01), (9, 0b10)].into_iter());
        let spins = warp.pick().expect("spins");
        let waits = warp.pick().expect("left the loop");
        warp.arrive(waits.join, waits.mask);
        assert!(warp.release(Some(spins.join)));
        let free = warp.pick().expect("released");
        assert_eq!((free.pc, free.mask, free.join), (9, 0b10, NO_JOIN));
        warp.arrive(spins.join, spins.mask);
        assert_eq!(warp.pick().expect("came later").mask, 0b01);
        assert!(!warp.release(None));
    }
}
