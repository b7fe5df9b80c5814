//! Asynchronous copies of a block that are in flight, and its mbarriers.

use super::key::Key;
use super::mbarrier::Mbarrier;
use crate::observe::Site;
use crate::program::{Group, Reduce};
use crate::registers::LANES;
use std::collections::BTreeMap;

/// Copies of one warp that are in flight at most; beyond that the oldest complete early, as they may at any time.
const MOST: usize = 1 << 14;

/// What a block has in flight, and its mbarriers.
#[derive(Debug, Default)]
pub struct InFlight {
    /// By warp, in order of issue.
    pub queues: Vec<Vec<Transfer>>,
    /// By warp: groups that each lane has committed, of `cp.async` and of bulk copies.
    groups: Vec<[[u32; LANES]; 2]>,
    /// By word of this block's shared memory.
    marks: Vec<Mark>,
    /// Copies that have marked words.
    pub marking: u64,
    /// Instructions so far.
    issues: u64,
    /// By byte of shared memory.
    pub mbarriers: BTreeMap<u64, Mbarrier>,
    /// By warp: what its last unsuccessful tests were for.
    pub waits: BTreeMap<u32, Waiting>,
}

/// Copies that will write and read a word.
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

/// One end of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// An address of device memory.
    Global(u64),
    /// A byte of a block's shared memory.
    Shared(Key),
}

/// One lane's copy, or its arrival behind its copies.
#[derive(Clone, Debug)]
pub struct Transfer {
    pub site: Site,
    /// The issuing block.
    pub owner: u64,
    pub warp: u32,
    pub lane: u8,
    pub group: Group,
    pub what: What,
    /// The lane's groups when it was issued.
    pub number: u32,
    /// The instruction's execution, the same for all its lanes.
    pub issue: u64,
}

/// What comes later.
#[derive(Clone, Debug)]
pub enum What {
    /// Bytes.
    Copy {
        to: End,
        /// Bytes to be written.
        bytes: u32,
        source: Source,
        reduce: Option<Reduce>,
        /// Whose pending bytes go down.
        signal: Option<Key>,
    },
    /// An arrival.
    Arrive(Key),
}

/// Where a copy's bytes come from.
#[derive(Clone, Debug)]
pub enum Source {
    /// So many bytes from memory, then zeros.
    Memory(End, u32),
    /// The bytes themselves: from registers.
    Values(Box<[u8]>),
}

impl InFlight {
    /// Are there words that a copy will write or read?
    #[inline(always)]
    pub fn marks_words(&self) -> bool {
        self.marking != 0
    }

    /// A number for a new instruction.
    pub fn issue(&mut self) -> u64 {
        self.issues += 1;
        self.issues
    }

    /// Groups that a lane has committed.
    pub fn committed(&mut self, warp: u32, group: Group) -> &mut [u32; LANES] {
        let at = warp as usize;
        if self.groups.len() <= at {
            self.groups.resize(at + 1, [[0; LANES]; 2]);
        }
        &mut self.groups[at][usize::from(group == Group::Bulk)]
    }

    /// Adds a transfer; gives the oldest quarter of the warp's back when there are too many.
    pub fn push(&mut self, transfer: Transfer) -> Vec<Transfer> {
        let at = transfer.warp as usize;
        if self.queues.len() <= at {
            self.queues.resize_with(at + 1, Vec::new);
        }
        let queue = &mut self.queues[at];
        queue.push(transfer);
        if queue.len() > MOST { queue.drain(..MOST / 4).collect() } else { Vec::new() }
    }

    /// Takes those of a warp out that `which` chooses.
    pub fn take(&mut self, warp: u32, which: impl Fn(&Transfer) -> bool) -> Vec<Transfer> {
        match self.queues.get_mut(warp as usize) {
            Some(queue) if !queue.is_empty() => queue.extract_if(.., |transfer| which(transfer)).collect(),
            _ => Vec::new(),
        }
    }

    /// Takes those out that signal an mbarrier, and what these wait for.
    pub fn take_signalling(&mut self, mbarrier: Key) -> Vec<Transfer> {
        let mut taken = Vec::new();
        for warp in 0..self.queues.len() {
            // An arrival comes behind the lane's copies before it.
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

    /// Takes everything out.
    pub fn take_all(&mut self) -> Vec<Transfer> {
        self.queues.iter_mut().flat_map(std::mem::take).collect()
    }

    /// Is a transfer on its way that signals an mbarrier?
    pub fn signals(&self, mbarrier: Key) -> bool {
        self.queues.iter().flatten().any(|transfer| match &transfer.what {
            What::Copy { signal, .. } => *signal == Some(mbarrier),
            What::Arrive(key) => *key == mbarrier,
        })
    }

    pub fn mark(&mut self, shared_bytes: u64, start: u64, bytes: u32, change: impl Fn(&mut Mark)) {
        if self.marks.is_empty() {
            self.marks.resize(shared_bytes.div_ceil(4) as usize, Mark::default());
        }
        let end = (start + u64::from(bytes)).div_ceil(4) as usize;
        self.marks.iter_mut().take(end).skip(start as usize / 4).for_each(change);
    }

    /// The first lane with a word that a copy will write, or, if it is about to be changed, read.
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
    /// The range of a block's shared memory that it writes, or reads.
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

/// A thread, and the instruction that it executes or executed.
#[derive(Clone, Copy, Debug)]
pub struct Who {
    /// The block's ticket.
    pub block: u64,
    pub warp: u32,
    pub lane: usize,
    pub site: Site,
}

impl From<&Transfer> for Who {
    fn from(transfer: &Transfer) -> Self {
        Self { block: transfer.owner, warp: transfer.warp, lane: usize::from(transfer.lane), site: transfer.site }
    }
}
