//! Asynchronous copies of a block that are in flight, and its mbarriers.

use super::key::Key;
use super::mbarrier::Mbarrier;
use super::position::Who;
use crate::observe::{Completes, Site};
use crate::program::{Group, Reduce};
use crate::registers::LANES;
use crate::tensor::Tile;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Maximum number of a warp's copies in flight; beyond that the oldest complete early, which PTX allows at any time.
const MOST: usize = 1 << 14;

/// Copies in flight of a block, and its mbarriers.
#[derive(Debug, Default)]
pub struct InFlight {
    /// Queues by warp, in order of issue.
    pub queues: Vec<Vec<Transfer>>,
    /// Number of groups that each lane has committed, by warp: of `cp.async` and of bulk copies.
    groups: Vec<[[u32; LANES]; 2]>,
    /// Marks by word of this block's shared memory.
    marks: Vec<Mark>,
    /// Number of copies that have marked words.
    pub marking: u64,
    /// Number of instructions so far.
    issues: u64,
    /// Mbarriers by byte of shared memory.
    pub mbarriers: BTreeMap<u64, Mbarrier>,
    /// Mbarriers that each warp tested without success last, by warp.
    pub waits: BTreeMap<u32, Waiting>,
}

/// Number of copies that will write or read a word.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mark {
    pub writes: u16,
    pub reads: u16,
}

/// Lanes that found a phase of an mbarrier incomplete.
#[derive(Clone, Copy, Debug)]
pub struct Waiting {
    pub lanes: u32,
    pub site: Site,
    pub mbarrier: Key,
}

/// Source or destination of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// An address of device memory.
    Global(u64),
    /// A byte of a block's shared memory.
    Shared(Key),
}

/// A lane's copy in flight, or its arrival after its copies.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub site: Site,
    /// Ticket of the issuing block.
    pub owner: u64,
    pub warp: u32,
    pub lane: u8,
    pub group: Group,
    pub what: What,
    /// Number of groups that the lane had committed at issue.
    pub number: u32,
    /// Number of the instruction's execution, equal for all its lanes.
    pub issue: u64,
}

/// Effect of a transfer when it completes.
#[derive(Clone, Debug)]
pub enum What {
    /// Bytes are copied.
    Copy {
        to: End,
        /// Number of bytes to write.
        bytes: u32,
        source: Source,
        reduce: Option<Reduce>,
        /// The mbarrier whose pending byte count is decremented.
        signal: Option<Key>,
        /// The box of a tensor that the end in global memory stands for.
        tile: Option<Arc<Tile>>,
    },
    /// The lane arrives at an mbarrier.
    Arrive(Key),
}

/// Source of a copy's bytes.
#[derive(Clone, Debug)]
pub enum Source {
    /// A number of bytes from memory, followed by zeros.
    Memory(End, u32),
    /// Values from registers.
    Values(Box<[u8]>),
}

impl InFlight {
    /// Whether any word is marked as the source or destination of a copy.
    #[inline(always)]
    pub fn marks_words(&self) -> bool {
        self.marking != 0
    }

    /// Returns a number for a new instruction.
    pub fn issue(&mut self) -> u64 {
        self.issues += 1;
        self.issues
    }

    /// Returns the number of groups that each lane has committed.
    pub fn committed(&mut self, warp: u32, group: Group) -> &mut [u32; LANES] {
        let at = warp as usize;
        if self.groups.len() <= at {
            self.groups.resize(at + 1, [[0; LANES]; 2]);
        }
        &mut self.groups[at][usize::from(group == Group::Bulk)]
    }

    /// Adds a transfer; returns the oldest quarter of the warp's transfers if there are too many.
    pub fn push(&mut self, transfer: Transfer) -> Vec<Transfer> {
        let at = transfer.warp as usize;
        if self.queues.len() <= at {
            self.queues.resize_with(at + 1, Vec::new);
        }
        let queue = &mut self.queues[at];
        queue.push(transfer);
        if queue.len() > MOST { queue.drain(..MOST / 4).collect() } else { Vec::new() }
    }

    /// Removes and returns the transfers of a warp that `which` selects.
    pub fn take(&mut self, warp: u32, which: impl Fn(&Transfer) -> bool) -> Vec<Transfer> {
        match self.queues.get_mut(warp as usize) {
            Some(queue) if !queue.is_empty() => queue.extract_if(.., |transfer| which(transfer)).collect(),
            _ => Vec::new(),
        }
    }

    /// Removes and returns the transfers that signal an mbarrier, and those that these wait for.
    pub fn take_signalling(&mut self, mbarrier: Key) -> Vec<Transfer> {
        let mut taken = Vec::new();
        for warp in 0..self.queues.len() {
            // An arrival follows the lane's earlier copies.
            let mut behind = [0; LANES];
            for transfer in &self.queues[warp] {
                if matches!(transfer.what, What::Arrive(key) if key == mbarrier) {
                    behind[usize::from(transfer.lane) % LANES] = transfer.issue;
                }
            }
            taken.extend(self.take(warp as u32, |transfer| match &transfer.what {
                What::Copy { signal: Some(key), .. } if *key == mbarrier => true,
                What::Copy { .. } | What::Arrive(_) => {
                    transfer.group == Group::Copy && transfer.issue <= behind[usize::from(transfer.lane) % LANES]
                }
            }));
        }
        taken
    }

    /// Removes and returns all transfers.
    pub fn take_all(&mut self) -> Vec<Transfer> {
        self.queues.iter_mut().flat_map(std::mem::take).collect()
    }

    /// Whether a transfer in flight signals an mbarrier.
    pub fn signals(&self, mbarrier: Key) -> bool {
        self.queues.iter().flatten().any(|transfer| match &transfer.what {
            What::Copy { signal, .. } => *signal == Some(mbarrier),
            What::Arrive(key) => *key == mbarrier,
        })
    }

    /// Changes the marks of the words that a copy accesses.
    pub fn mark(&mut self, shared_bytes: u64, start: u64, bytes: u32, change: impl Fn(&mut Mark)) {
        if self.marks.is_empty() {
            self.marks.resize(shared_bytes.div_ceil(4) as usize, Mark::default());
        }
        let end = (start + u64::from(bytes)).div_ceil(4) as usize;
        self.marks.iter_mut().take(end).skip(start as usize / 4).for_each(change);
    }

    /// Returns the first lane with a word that a copy will write, or, if the access changes memory, will read.
    pub fn first_marked(
        &self,
        addresses: &[u64; LANES],
        mask: u32,
        bytes: u32,
        changes: bool,
    ) -> Option<(usize, bool)> {
        (0..LANES).filter(|lane| mask >> lane & 1 != 0).find_map(|lane| {
            let (start, end) = (addresses[lane] / 4, (addresses[lane] + u64::from(bytes)).div_ceil(4));
            let marks = self.marks.get(start as usize..end as usize)?;
            if marks.iter().any(|mark| mark.writes != 0) {
                return Some((lane, true));
            }
            (changes && marks.iter().any(|mark| mark.reads != 0)).then_some((lane, false))
        })
    }
}

impl Transfer {
    /// Returns what threads wait for before they use the transfer's memory.
    pub fn completes(&self) -> Completes {
        match &self.what {
            What::Copy { signal: Some(key), .. } | What::Arrive(key) => key.completes(),
            What::Copy { signal: None, .. } => Completes::Group,
        }
    }

    /// Whether the transfer combines its bytes with those of its destination.
    pub fn reduces(&self) -> bool {
        matches!(self.what, What::Copy { reduce: Some(_), .. })
    }

    /// Returns the range of a block's shared memory that the transfer writes, or reads.
    pub fn range(&self, block: u64, writes: bool) -> Option<(u64, u32)> {
        let What::Copy { to, bytes, source, .. } = &self.what else { return None };
        let found = match (writes, source) {
            (true, _) => (*to, *bytes),
            (false, Source::Memory(from, kept)) => (*from, *kept),
            (false, Source::Values(_)) => return None,
        };
        match found {
            (End::Shared(key), bytes) if key.block == block => Some((key.offset, bytes)),
            _ => None,
        }
    }
}

impl From<&Transfer> for Who {
    fn from(transfer: &Transfer) -> Self {
        Self { block: transfer.owner, warp: transfer.warp, lane: usize::from(transfer.lane), site: transfer.site }
    }
}
