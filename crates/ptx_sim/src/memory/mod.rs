//! Device memory: which addresses are allocated, to whom, and which no longer are.
//!
//! Addresses are never used twice, so an access after `free` is always recognised; a red zone follows every allocation,
//! so an access past the end never hits a neighbour.

pub mod address;
pub mod cells;
mod owner;
mod snapshot;
pub mod storage;
pub mod transfer;

pub use owner::{Event, Owner};
pub use snapshot::{Snapshot, View};

use crate::texture::Texture;
use address::{GLOBAL, NULL_PAGE};
use cells::define_range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use storage::Storage;

const ALIGN: u64 = 512;
/// Freed allocations that are remembered by name.
const REMEMBERED: usize = 4096;
/// Bytes that kernels may have allocated at once, and in how many pieces.
const HEAP: (u64, u64) = (1 << 30, 1 << 16);
/// Variables beyond this have no shadow: it would be filled when they are placed.
const LARGE: u64 = 1 << 28;

/// One allocation, also after it was freed.
#[derive(Clone, Debug)]
pub struct Allocation {
    pub base: u64,
    pub size: u64,
    pub name: Arc<str>,
    pub owner: Owner,
    /// The thread that freed it; `None` for the host, and before.
    pub freed: Option<Event>,
    /// Constant memory: kernels may not write it, and reach it through their constant space alone.
    pub constant: bool,
    /// `None` once freed.
    pub storage: Option<Arc<Storage>>,
    /// Which of it is written: a cell per word. `None`: all of it counts as written.
    pub shadow: Option<Arc<Storage>>,
}

/// All device memory. Workers look into a [`Snapshot`] and come here when that is out of date.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Table>,
    /// Changes whenever the table does.
    generation: AtomicU64,
    /// Number of the launch that runs, or ran last.
    pub launch: u64,
    /// Texture and surface objects, by handle.
    pub textures: Vec<Texture>,
}

#[derive(Debug)]
struct Table {
    /// By address.
    list: Vec<Allocation>,
    next: u64,
    freed: usize,
    /// New memory gets a shadow.
    tracked: bool,
    /// Bytes and pieces that kernels have allocated.
    heap: (u64, u64),
    /// Counts changes other than one more allocation at the end.
    reshaped: u64,
}

/// What went wrong in [`Memory::free`].
#[derive(Clone, Debug)]
pub enum FreeError {
    /// Freed before.
    Twice(Box<Allocation>),
    /// Allocated by a kernel and freed by the host, or the other way round.
    Foreign(Box<Allocation>),
    /// Not the start of an allocation.
    Unknown,
}

impl Memory {
    /// Nothing is allocated; `tracked`: what is written is remembered.
    pub fn new(tracked: bool) -> Self {
        let table = Table { list: Vec::new(), next: GLOBAL, freed: 0, tracked, heap: (0, 0), reshaped: 0 };
        Self { table: RwLock::new(table), generation: AtomicU64::new(1), launch: 0, textures: Vec::new() }
    }

    /// The address of new zeroed memory; `None` when the host has not that much.
    pub fn alloc(&self, size: u64, name: &str) -> Option<u64> {
        self.place(&mut self.write(), size, name, Owner::Host)
    }

    /// The same for a kernel; `None` when the heap of the device is used up.
    pub fn alloc_on_heap(&self, size: u64, name: &str, by: Event) -> Option<u64> {
        let mut table = self.write();
        let (bytes, pieces) = (table.heap.0.checked_add(size)?, table.heap.1 + 1);
        if bytes > HEAP.0 || pieces > HEAP.1 {
            return None;
        }
        let base = self.place(&mut table, size, name, Owner::Kernel(by))?;
        table.heap = (bytes, pieces);
        Some(base)
    }

    /// The same for a variable, all of which is written.
    pub fn alloc_variable(&self, size: u64, name: &str) -> Option<u64> {
        let mut table = self.write();
        let tracked = std::mem::replace(&mut table.tracked, false);
        table.tracked = tracked && size <= LARGE;
        let base = self.place(&mut table, size, name, Owner::Program);
        table.tracked = tracked;
        base
    }

    fn place(&self, table: &mut Table, size: u64, name: &str, owner: Owner) -> Option<u64> {
        let storage = Arc::new(Storage::zeroed(size)?);
        let base = table.next;
        table.next = base.checked_add(size)?.checked_add(2 * ALIGN - 1)? / ALIGN * ALIGN;
        let shadow = if table.tracked { Some(Arc::new(Storage::zeroed(size.div_ceil(4))?)) } else { None };
        let (name, storage) = (name.into(), Some(storage));
        table.list.push(Allocation { base, size, name, owner, freed: None, constant: false, storage, shadow });
        Some(base)
    }

    /// Constant memory at a place that the caller chose in the constant window.
    pub fn alloc_constant(&self, base: u64, size: u64, name: &str) -> Option<()> {
        let storage = Some(Arc::new(Storage::zeroed(size)?));
        let mut table = self.write();
        let at = table.list.partition_point(|allocation| allocation.base < base);
        let (name, owner) = (name.into(), Owner::Program);
        let constant = Allocation { base, size, name, owner, freed: None, constant: true, storage, shadow: None };
        table.list.insert(at, constant);
        table.reshaped += 1;
        Some(())
    }

    /// Gives memory back: for a thread, or else for the host. What a running worker still has of it stays valid until
    /// the launch ends.
    pub fn free(&self, base: u64, by: Option<Event>) -> Result<(), FreeError> {
        let mut table = self.write();
        let at = table.list.binary_search_by_key(&base, |allocation| allocation.base);
        let at = at.map_err(|_| FreeError::Unknown)?;
        let allocation = &mut table.list[at];
        if !allocation.owner.may_free(by) {
            return Err(FreeError::Foreign(Box::new(allocation.clone())));
        }
        if allocation.storage.take().is_none() {
            return Err(FreeError::Twice(Box::new(allocation.clone())));
        }
        allocation.freed = by;
        if let Owner::Kernel(_) = allocation.owner {
            let size = allocation.size;
            table.heap = (table.heap.0 - size, table.heap.1 - 1);
        }
        table.freed += 1;
        table.reshaped += 1;
        if table.freed > 2 * REMEMBERED {
            table.forget();
        }
        Ok(())
    }

    /// From now on it is remembered what is written, or no longer: then all of it counts as written.
    pub fn track(&self, tracked: bool) {
        let mut table = self.write();
        table.tracked = tracked;
        table.reshaped += 1;
        if !tracked {
            table.list.iter_mut().for_each(|allocation| allocation.shadow = None);
        }
    }

    /// Bytes that the host has written.
    pub fn define(&self, address: u64, bytes: u64) {
        let table = self.read();
        if let Some(allocation) = table.at_or_before(address)
            && let Some(shadow) = &allocation.shadow
        {
            define_range(shadow, address - allocation.base, bytes);
        }
    }

    /// Looks at the cells of the allocation that an address lies in, and the offset there, if what is written is
    /// remembered.
    pub fn with_shadow<R>(&self, address: u64, look: impl FnOnce(&Storage, u64) -> R) -> Option<R> {
        let table = self.read();
        let allocation = table.at_or_before(address)?;
        Some(look(allocation.shadow.as_deref()?, address - allocation.base))
    }

    /// The live allocation that holds `size` bytes at `address`, and the offset there.
    pub fn find(&self, address: u64, size: u64) -> Option<(Arc<Storage>, u64)> {
        let table = self.read();
        let allocation = table.at_or_before(address)?;
        let offset = address - allocation.base;
        let fits = offset.checked_add(size)? <= allocation.size;
        let storage = allocation.storage.as_ref().filter(|_| fits)?;
        Some((storage.clone(), offset))
    }

    /// A freed allocation that an address lies in.
    pub fn freed_at(&self, address: u64) -> Option<Allocation> {
        let table = self.read();
        let allocation = table.at_or_before(address)?;
        let inside = address - allocation.base < allocation.size;
        (inside && allocation.storage.is_none()).then(|| allocation.clone())
    }

    /// Shows the allocations that are not freed, by address.
    pub fn each_live(&self, show: impl FnMut(&Allocation)) {
        self.read().list.iter().filter(|allocation| allocation.storage.is_some()).for_each(show);
    }

    /// The allocation that [`Memory::describe`] speaks of.
    pub fn nearest(&self, address: u64) -> Option<Allocation> {
        (address >= NULL_PAGE).then(|| self.read().near(address).cloned()).flatten()
    }

    /// Where an address lies relative to the nearest allocation, in words.
    pub fn describe(&self, address: u64) -> String {
        let table = self.read();
        if address < NULL_PAGE {
            return format!("{address} bytes from null");
        }
        let Some(near) = table.near(address) else { return "nothing is allocated".to_owned() };
        let (name, size) = (&near.name, near.size);
        let freed = if near.storage.is_none() { ", which was freed" } else { "" };
        let Some(offset) = address.checked_sub(near.base) else {
            return format!("{} bytes before `{name}` ({size} bytes){freed}", near.base - address);
        };
        match offset.checked_sub(size) {
            None => format!("at byte {offset} of `{name}` ({size} bytes){freed}"),
            Some(0) => format!("right after the end of `{name}` ({size} bytes){freed}"),
            Some(over) => format!("{over} bytes past the end of `{name}` ({size} bytes){freed}"),
        }
    }

    /// What workers look into.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot::of(&self.read(), &self.generation)
    }

    fn read(&self) -> RwLockReadGuard<'_, Table> {
        self.table.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, Table> {
        let guard = self.table.write().unwrap_or_else(PoisonError::into_inner);
        self.generation.fetch_add(1, Ordering::Release);
        guard
    }
}

impl Table {
    fn at_or_before(&self, address: u64) -> Option<&Allocation> {
        let at = self.list.partition_point(|allocation| allocation.base <= address);
        self.list.get(at.checked_sub(1)?)
    }

    /// The allocation that an address lies in, or else the nearest one; of two as near the one before.
    fn near(&self, address: u64) -> Option<&Allocation> {
        let at = self.list.partition_point(|allocation| allocation.base <= address);
        let before = at.checked_sub(1).and_then(|at| self.list.get(at));
        let after = self.list.get(at);
        let behind = before.map_or(u64::MAX, |allocation| (address - allocation.base).saturating_sub(allocation.size));
        let ahead = after.map_or(u64::MAX, |allocation| allocation.base - address);
        if before.is_some() && behind <= ahead { before } else { after }
    }

    /// Drops the records of the allocations freed longest ago.
    fn forget(&mut self) {
        let mut surplus = self.freed - REMEMBERED;
        self.list.retain(|allocation| {
            let drop = surplus > 0 && allocation.storage.is_none();
            surplus -= usize::from(drop);
            !drop
        });
        self.freed = REMEMBERED;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_where_they_lie() {
        let memory = Memory::new(false);
        let a = memory.alloc(100, "a").expect("alloc");
        let b = memory.alloc(8, "b").expect("alloc");
        assert_eq!(a % 256, 0);
        assert!(b >= a + 100 + 256);
        assert_eq!(memory.describe(a + 40), "at byte 40 of `a` (100 bytes)");
        assert_eq!(memory.describe(a + 100), "right after the end of `a` (100 bytes)");
        assert_eq!(memory.describe(a + 104), "4 bytes past the end of `a` (100 bytes)");
        assert_eq!(memory.describe(b - 4), "4 bytes before `b` (8 bytes)");
        assert_eq!(memory.describe(12), "12 bytes from null");
        memory.free(a, None).expect("free");
        assert!(memory.describe(a).contains("was freed"));
        assert!(memory.freed_at(a + 99).is_some());
        assert!(matches!(memory.free(a, None), Err(FreeError::Twice(_))));
        assert!(matches!(memory.free(b + 4, None), Err(FreeError::Unknown)));
        assert!(memory.find(b, 8).is_some() && memory.find(b, 9).is_none());
    }

    #[test]
    fn an_overrun_never_hits_a_neighbour() {
        let memory = Memory::new(false);
        let allocated: Vec<(u64, u64)> =
            (0..1500).map(|size| (memory.alloc(size, "a").expect("alloc"), size)).collect();
        for &(base, size) in &allocated {
            let mut around = (size..size + 512).map(|at| base + at).chain(base - 512..base);
            assert!(around.all(|address| memory.find(address, 1).is_none()), "{size}");
        }
    }

    #[test]
    fn who_allocated_frees() {
        let memory = Memory::new(false);
        let site = crate::program::Site { function: 0, pc: 0 };
        let thread = crate::stop::Thread { block: [0; 3], thread: [0; 3] };
        let event = Event { program: 0, launch: 1, site, thread };
        let host = memory.alloc(8, "host").expect("alloc");
        let kernel = memory.alloc_on_heap(8, "kernel", event).expect("alloc");
        assert!(matches!(memory.free(host, Some(event)), Err(FreeError::Foreign(_))));
        assert!(matches!(memory.free(kernel, None), Err(FreeError::Foreign(_))));
        memory.free(host, None).expect("the host's own");
        memory.free(kernel, Some(event)).expect("the kernel's own");
        assert!(matches!(memory.free(kernel, Some(event)), Err(FreeError::Twice(_))));
    }

    #[test]
    fn a_snapshot_notices_changes() {
        let memory = Memory::new(false);
        let a = memory.alloc(100, "a").expect("alloc");
        let mut snapshot = memory.snapshot();
        assert!(snapshot.find(a + 99).is_some() && snapshot.find(a + 100).is_none());
        assert!(!snapshot.refresh(&memory));
        memory.free(a, None).expect("free");
        assert!(snapshot.refresh(&memory) && snapshot.find(a).is_none());
    }
}
