//! The live allocations at some time, in which a worker looks up addresses without a lock.

use super::storage::Storage;
use super::{Allocation, Memory, Owner, Table};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A live allocation in a snapshot.
#[derive(Clone, Debug)]
pub struct View {
    pub base: u64,
    pub size: u64,
    pub constant: bool,
    /// Whether a kernel allocated it, by `malloc`.
    pub heap: bool,
    pub storage: Arc<Storage>,
    /// Initialisation state: see [`Allocation::shadow`].
    pub shadow: Option<Arc<Storage>>,
}

impl View {
    fn of(allocation: &Allocation) -> Option<Self> {
        let storage = allocation.storage.clone()?;
        let Allocation { base, size, constant, .. } = *allocation;
        let heap = matches!(allocation.owner, Owner::Kernel(_));
        Some(Self { base, size, constant, heap, storage, shadow: allocation.shadow.clone() })
    }

    /// Whether bytes that start after the allocation's base end inside it.
    #[inline(always)]
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.base);
        offset < self.size && bytes <= self.size - offset
    }
}

/// The live allocations at some time, sorted by address.
#[derive(Debug)]
pub struct Snapshot {
    views: Vec<View>,
    /// Number of the table's allocations that have been copied, and the table's count of other changes at that time.
    seen: usize,
    reshaped: u64,
    last: usize,
    /// Last allocation found for instructions with the same low bits of their index.
    recent: [u32; RECENT],
    generation: u64,
}

const RECENT: usize = 32;

impl Snapshot {
    pub(super) fn of(table: &Table, generation: &AtomicU64) -> Self {
        Self {
            views: table.list.iter().filter_map(View::of).collect(),
            seen: table.list.len(),
            reshaped: table.reshaped,
            last: 0,
            recent: [0; RECENT],
            generation: generation.load(Ordering::Acquire),
        }
    }

    /// Updates the snapshot if it is stale, which is cheap to test. Returns whether it was.
    #[inline]
    pub fn refresh(&mut self, memory: &Memory) -> bool {
        let stale = self.generation != memory.generation.load(Ordering::Acquire);
        if stale {
            self.update(memory);
        }
        stale
    }

    /// Appends new allocations where possible: a kernel that allocates in a loop must not copy the whole list each
    /// time.
    #[cold]
    fn update(&mut self, memory: &Memory) {
        let table = memory.read();
        if table.reshaped == self.reshaped
            && let Some(new) = table.list.get(self.seen..)
        {
            self.views.extend(new.iter().filter_map(View::of));
            self.seen = table.list.len();
            self.generation = memory.generation.load(Ordering::Acquire);
            return;
        }
        drop(table);
        *self = memory.snapshot();
    }

    /// As [`Snapshot::find`], with a cache per instruction, because an instruction tends to stay in one allocation.
    #[inline(always)]
    pub fn find_for(&mut self, pc: u32, address: u64) -> Option<&View> {
        let recent = &mut self.recent[pc as usize % RECENT];
        self.last = *recent as usize;
        let hit = self.views.get(self.last).is_some_and(|view| address.wrapping_sub(view.base) < view.size);
        if !hit {
            let found = search(&self.views, address)?;
            (self.last, *recent) = (found, found as u32);
        }
        self.views.get(self.last)
    }

    /// Returns the allocation that contains an address.
    #[inline(always)]
    pub fn find(&mut self, address: u64) -> Option<&View> {
        let hit = self.views.get(self.last).is_some_and(|view| address.wrapping_sub(view.base) < view.size);
        if !hit {
            self.last = search(&self.views, address)?;
        }
        self.views.get(self.last)
    }

    /// As [`Snapshot::find`], without updating the cache.
    pub fn at(&self, address: u64) -> Option<&View> {
        self.views.get(search(&self.views, address)?)
    }
}

#[cold]
#[inline(never)]
fn search(views: &[View], address: u64) -> Option<usize> {
    let at = views.partition_point(|view| view.base <= address).checked_sub(1)?;
    (address - views[at].base < views[at].size).then_some(at)
}
