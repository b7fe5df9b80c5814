//! One warp: which lanes are where, and where they meet again.
//!
//! Lanes that run together are a [`Split`]. When a split parts at a branch, a [`Join`] is made at the branch's meeting
//! point that waits for all of them; lanes that exit are no longer waited for. A call is a join too: at the instruction
//! after it. Splits run one at a time, the newest first. Two splits that happen to reach the same instruction of the
//! same frame merge.

use super::frame::Frame;
use crate::program::Collective;

/// No join: these lanes run to the end of the kernel.
pub const NO_JOIN: u32 = u32::MAX;

/// Lanes at the same instruction of the same frame.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Split {
    pub frame: u32,
    pub pc: u32,
    pub mask: u32,
    /// Where these lanes meet others: index into [`Warp::joins`].
    pub join: u32,
    pub state: State,
}

/// What a split waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum State {
    Ready,
    /// A block barrier, for the rest of the warp or of the block.
    Barrier {
        id: u32,
    },
    /// The barrier of the cluster.
    ClusterBarrier,
    /// The other lanes of a `*.sync` instruction's mask.
    Collective {
        mask: u32,
        kind: Collective,
    },
}

/// A place where lanes wait for each other.
#[derive(Clone, Copy, Debug, Hash)]
pub struct Join {
    pub frame: u32,
    pub pc: u32,
    /// The join of the lanes after they have met.
    pub parent: u32,
    /// Lanes that are to come; 0 marks a free entry.
    pub expected: u32,
    /// Lanes that have come.
    pub arrived: u32,
}

/// Lanes of a warp at the cluster's barrier.
#[derive(Clone, Copy, Debug, Default, Hash)]
pub struct AtClusterBarrier {
    /// Arrived, and the barrier is not complete.
    pub arrived: u32,
    /// The barrier is complete, and they have not waited for it yet.
    pub passed: u32,
}

/// The lanes of one warp.
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
    /// Lanes at the cluster's barrier.
    pub cluster: AtClusterBarrier,
    /// Which of it is written, while that is checked: a cell per word and lane.
    pub states: Vec<[u8; 32]>,
    /// The barrier that this warp has been counted at.
    pub waits_at: Option<u32>,
    /// Lanes had to be let go from a join before all had come, so that others could go on.
    pub broken: bool,
    /// The running slice looked at memory or a clock in a way that is used to wait.
    pub polled: bool,
    /// The running slice changed memory that others see.
    pub wrote: bool,
    /// Full slices in a row that didn't look like waiting.
    pub stale: u32,
}

impl Warp {
    /// The pc at which a split stops to wait for others; `u32::MAX` when in another frame or nowhere.
    #[inline]
    pub fn join_pc(&self, split: &Split) -> u32 {
        match self.joins.get(split.join as usize) {
            Some(join) if join.frame == split.frame => join.pc,
            _ => u32::MAX,
        }
    }

    /// Takes the newest split that can run.
    #[inline]
    pub fn pick(&mut self) -> Option<Split> {
        self.ready().map(|at| self.splits.remove(at))
    }

    /// The newest split that can run.
    #[inline]
    pub fn ready(&self) -> Option<usize> {
        self.splits.iter().rposition(|split| split.state == State::Ready)
    }

    /// Adds a join below `parent`; reuses `parent` when it is the same place.
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

    /// Parts `split` into `groups` of (pc, lanes) that meet again at `meeting`.
    pub fn part(&mut self, split: Split, meeting: Option<u32>, groups: impl DoubleEndedIterator<Item = (u32, u32)>) {
        let join = match meeting {
            Some(pc) => self.open_join(split.frame, pc, split.join, split.mask),
            None => split.join,
        };
        for (pc, mask) in groups.rev() {
            self.splits.push(Split { pc, mask, join, ..split });
        }
    }

    /// Lanes have reached their join; they go on from there once all have.
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

    /// Lanes will not come to the joins from `from` up to, but not including, `until`.
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

    /// Lanes have ended.
    pub fn exit(&mut self, split: &Split, mask: u32, freed: impl FnMut(&mut Frame)) {
        self.live &= !mask;
        self.leave(split.join, NO_JOIN, mask);
        self.unwind(split.frame, None, mask, freed);
    }

    /// Takes lanes out of `frame` and of its callers up to, but not including, `until`.
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

    /// The first join of the chain that is not in `frame`: where a return from `frame` leads.
    pub fn join_outside(&self, frame: u32, mut join: u32) -> u32 {
        while let Some(entry) = self.joins.get(join as usize) {
            if entry.frame != frame {
                break;
            }
            join = entry.parent;
        }
        join
    }

    /// Is another ready split at this instruction?
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

    /// Lets the lanes go that wait at a join for lanes that don't come: those nearest to `stuck`, else the newest.
    /// False when nobody waits.
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

    /// Forgets everything but the memory it has. All lanes have exited.
    pub fn reset(&mut self) {
        self.splits.clear();
        self.joins.clear();
        self.frames.clear();
        self.local.clear();
        self.states.clear();
        (self.waits_at, self.broken, self.stale) = (None, false, 0);
        self.cluster = AtClusterBarrier::default();
    }

    /// A free entry for a frame.
    pub fn new_frame(&mut self) -> u32 {
        match self.frames.iter().position(|frame| frame.lanes == 0) {
            Some(free) => free as u32,
            None => {
                self.frames.push(Frame::default());
                self.frames.len() as u32 - 1
            }
        }
    }

    /// Makes sure that local memory reaches `top`.
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
