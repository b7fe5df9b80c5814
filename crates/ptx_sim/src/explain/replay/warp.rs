//! A warp and its block while they are replayed.

use super::copies::Copies;
use super::ready::Ready;
use crate::program::Group;
use crate::trace::WarpTrace;
use std::collections::HashMap;
use std::rc::Rc;

/// A block that runs.
pub(super) struct Running {
    /// Number of the block.
    pub number: u64,
    pub live: u32,
    /// Warps at the barrier, each with the time of its arrival.
    pub arrived: Vec<(usize, f64)>,
    pub end: f64,
}

/// A warp.
pub(super) struct Warp<'t> {
    pub trace: &'t WarpTrace,
    pub block: usize,
    pub partition: usize,
    /// First step of the stretch that it executes, the order in it, and its position there.
    pub base: usize,
    pub window: Rc<[u16]>,
    pub next: usize,
    /// Index of the step that it executes, and of the next one of its signals.
    pub at: usize,
    pub signal: usize,
    pub started: f64,
    /// Cycle of the last instruction, and the first cycle at which the next one may be issued.
    pub last: f64,
    pub free: f64,
    /// The cycle up to which its waiting has been put down to causes.
    pub blamed: f64,
    /// When the registers of each function are available.
    pub ready: HashMap<u32, Vec<Ready>>,
    /// When the result of its last instruction is available.
    pub result: Ready,
    /// Bytes of its last load from shared memory, with the loads that are part of it, and wavefronts of these so far.
    pub arriving: (u32, u32),
    /// When all its accesses to memory are complete.
    pub settled: f64,
    copies: [Copies; 2],
    pub products: Copies,
}

impl<'t> Warp<'t> {
    pub fn new(trace: &'t WarpTrace, block: usize, partition: usize, at: f64) -> Self {
        Self {
            trace,
            block,
            partition,
            base: 0,
            window: Rc::new([]),
            next: 0,
            at: 0,
            signal: 0,
            started: at,
            last: at,
            free: at,
            blamed: at,
            ready: HashMap::new(),
            result: Ready::default(),
            arriving: (0, 0),
            settled: at,
            copies: Default::default(),
            products: Copies::default(),
        }
    }

    /// Its copies that belong to groups of a kind.
    pub fn copies(&mut self, group: Group) -> &mut Copies {
        &mut self.copies[usize::from(group == Group::Bulk)]
    }

    /// The cycle at which it ends; instructions that were not recorded are assumed to continue at the same rate.
    pub fn end(&self) -> f64 {
        let recorded = self.trace.steps.len().max(1) as f64;
        self.started + (self.last - self.started) * (self.trace.total as f64 / recorded).max(1.0)
    }
}
