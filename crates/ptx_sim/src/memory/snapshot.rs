//! The live allocations at some moment: what a worker looks up addresses in without a lock.

use super::storage::Storage;
use super::{Allocation, Memory, Table};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A live allocation.
#[derive(Clone, Debug)]
pub struct View {
    pub base: u64,
    pub size: u64,
    pub constant: bool,
    pub storage: Arc<Storage>,
    /// See [`Allocation::shadow`].
    pub shadow: Option<Arc<Storage>>,
}

impl View {
    fn of(allocation: &Allocation) -> Option<Self> {
        let storage = allocation.storage.clone()?;
        let Allocation { base, size, constant, .. } = *allocation;
        Some(Self { base, size, constant, storage, shadow: allocation.shadow.clone() })
    }

    /// Do bytes that start behind the allocation's base end inside it?
    #[inline(always)]
    pub fn holds(&self, address: u64, bytes: u64) -> bool {
        let offset = address.wrapping_sub(self.base);
        offset < self.size && bytes <= self.size - offset
    }
}

/// The live allocations at some moment, by address.
#[derive(Debug)]
pub struct Snapshot {
    views: Vec<View>,
    /// Allocations of the table that it has looked at, and the table's count of other changes then.
    seen: usize,
    reshaped: u64,
    last: usize,
    /// Where the instructions with these last bits of their index looked the last time.
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

    /// Brings the snapshot up to date; cheap when nothing changed. True when something did.
    #[inline]
    pub fn refresh(&mut self, memory: &Memory) -> bool {
        let stale = self.generation != memory.generation.load(Ordering::Acquire);
        if stale {
            self.update(memory);
        }
        stale
    }

    /// Takes the new allocations over, all being well: a kernel that allocates in a loop must not copy the list each
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

    /// The same as [`Snapshot::find`], which then finds it too; an instruction tends to stay in one allocation.
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

    /// The allocation that an address lies in.
    #[inline(always)]
    pub fn find(&mut self, address: u64) -> Option<&View> {
        let hit = self.views.get(self.last).is_some_and(|view| address.wrapping_sub(view.base) < view.size);
        if !hit {
            self.last = search(&self.views, address)?;
        }
        self.views.get(self.last)
    }

    /// The same without remembering the answer.
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
