//! Device memory: the table of live and freed allocations, and their owners.
//!
//! Addresses of freed memory are reused only when thousands of other allocations have been freed since and the whole
//! range of addresses has been used, so an access after `free` is detected. A red zone follows every allocation, so an
//! access past the end never reaches a neighbour. The host's allocations lie far apart, so an index that is wrong by a
//! factor, or by another buffer's size, does not reach one either: see [`places`].

pub mod address;
pub mod cells;
mod mapped;
mod nearby;
mod owner;
mod places;
mod snapshot;
pub mod storage;
pub mod transfer;
mod undo;

pub use owner::{Event, Owner};
pub use snapshot::{Snapshot, View};
pub use undo::Undo;

use crate::texture::Texture;
use address::{GLOBAL, GLOBAL_END};
use cells::define_range;
use places::{ALIGN, Places};
use std::collections::{HashSet, VecDeque};
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};
use storage::Storage;

/// Number of freed allocations that are kept for reports.
const KEPT_FREED: usize = 4096;
/// Limits on the memory that kernels have allocated at one time: bytes, and number of allocations.
const HEAP: (u64, u64) = (1 << 30, 1 << 16);
/// Size in bytes above which a variable has no shadow, because the shadow would have to be filled when the variable is
/// placed.
const LARGE: u64 = 1 << 28;

/// One allocation, live or freed.
#[derive(Clone, Debug)]
pub struct Allocation {
    pub base: u64,
    pub size: u64,
    pub name: Arc<str>,
    pub owner: Owner,
    /// The thread that freed it; `None` before that, or if the host freed it.
    pub freed: Option<Event>,
    /// Whether it is constant memory, which kernels cannot write and access only through the constant space.
    pub constant: bool,
    /// Its bytes; `None` once freed.
    pub storage: Option<Arc<Storage>>,
    /// Initialisation state, a cell per word. `None` if all of it counts as written.
    pub shadow: Option<Arc<Storage>>,
}

/// All device memory. Workers use a [`Snapshot`] and access this table when the snapshot is out of date.
#[derive(Debug)]
pub struct Memory {
    table: RwLock<Table>,
    /// Incremented whenever the table changes.
    generation: AtomicU64,
    /// Number of the current or latest launch.
    pub launch: u64,
    /// Texture and surface objects, by handle.
    pub textures: Vec<Texture>,
}

#[derive(Debug)]
struct Table {
    /// Allocations sorted by address.
    list: Vec<Allocation>,
    places: Places,
    /// Starts of the freed allocations that are kept, in the order of the frees.
    freed: VecDeque<u64>,
    /// Whether new allocations get a shadow.
    tracked: bool,
    /// Bytes and number of allocations that kernels have allocated.
    heap: (u64, u64),
    /// Number of changes other than appending an allocation.
    reshaped: u64,
}

/// Error of [`Memory::free`].
#[derive(Clone, Debug)]
pub enum FreeError {
    /// The allocation was freed before.
    Twice(Box<Allocation>),
    /// A kernel's allocation freed by the host, or the host's by a kernel.
    Foreign(Box<Allocation>),
    /// The address is not the start of an allocation.
    Unknown,
}

impl Memory {
    /// Creates empty memory with `bytes` addresses from `first` on, or with all that are usual; `tracked` enables
    /// shadows of the initialisation state.
    pub fn new(first: u64, bytes: Option<u64>, tracked: bool) -> Self {
        let first = first.max(GLOBAL);
        let end = bytes.map_or(GLOBAL_END, |bytes| first.saturating_add(bytes));
        let (list, places) = (Vec::new(), Places::new(first..end));
        let table = Table { list, places, freed: VecDeque::new(), tracked, heap: (0, 0), reshaped: 0 };
        Self { table: RwLock::new(table), generation: AtomicU64::new(1), launch: 0, textures: Vec::new() }
    }

    /// Allocates zeroed memory and returns its address; `None` if the host has not enough memory, or no
    /// addresses are left that are far from all others.
    pub fn alloc(&self, size: u64, name: &str) -> Option<u64> {
        self.place(&mut self.write(), size, name, Owner::Host)
    }

    /// Allocates for a kernel; `None` if the device's heap is exhausted.
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

    /// Allocates a variable, all of which counts as written.
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
        let shadow = if table.tracked { Some(Arc::new(Storage::zeroed(size.div_ceil(4))?)) } else { None };
        let base = table.places.take(size, ALIGN, matches!(owner, Owner::Kernel(_)))?;
        let (name, storage) = (name.into(), Some(storage));
        let new = Allocation { base, size, name, owner, freed: None, constant: false, storage, shadow };
        if table.list.last().is_none_or(|last| last.base < base) {
            table.list.push(new);
        } else {
            // Mapped memory lies above, or a place is reused.
            let at = table.list.partition_point(|allocation| allocation.base < base);
            table.list.insert(at, new);
            table.reshaped += 1;
        }
        Some(base)
    }

    /// Allocates constant memory at a place in the constant window that the caller chose.
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

    /// Frees memory, for a thread or else for the host. References of running workers stay valid until the launch ends.
    ///
    /// # Errors
    /// [`FreeError`] says why the allocation cannot be freed.
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
        table.was_freed(base);
        Ok(())
    }

    /// Enables or disables tracking of initialisation; memory allocated without it counts as written.
    pub fn track(&self, tracked: bool) {
        let mut table = self.write();
        table.tracked = tracked;
        table.reshaped += 1;
        if !tracked {
            table.list.iter_mut().for_each(|allocation| allocation.shadow = None);
        }
    }

    /// Marks bytes as written by the host.
    pub fn define(&self, address: u64, bytes: u64) {
        let table = self.read();
        if let Some(allocation) = table.at_or_before(address)
            && let Some(shadow) = &allocation.shadow
        {
            define_range(shadow, address - allocation.base, bytes);
        }
    }

    /// Calls `look` with the shadow of the allocation that contains an address, and the offset there, if initialisation
    /// is tracked.
    pub fn with_shadow<R>(&self, address: u64, look: impl FnOnce(&Storage, u64) -> R) -> Option<R> {
        let table = self.read();
        let allocation = table.at_or_before(address)?;
        Some(look(allocation.shadow.as_deref()?, address - allocation.base))
    }

    /// Returns the live allocation that contains `size` bytes at `address`, and the offset there.
    pub fn find(&self, address: u64, size: u64) -> Option<(Arc<Storage>, u64)> {
        let table = self.read();
        let allocation = table.at_or_before(address)?;
        let offset = address - allocation.base;
        let fits = offset.checked_add(size)? <= allocation.size;
        let storage = allocation.storage.as_ref().filter(|_| fits)?;
        Some((storage.clone(), offset))
    }

    /// Returns the live allocation that contains an address; one without bytes contains its start.
    pub fn live_at(&self, address: u64) -> Option<Allocation> {
        let table = self.read();
        let allocation = table.at_or_before(address)?;
        let inside = address - allocation.base < allocation.size.max(1);
        (inside && allocation.storage.is_some()).then(|| allocation.clone())
    }

    /// Returns the freed allocation that contains an address.
    pub fn freed_at(&self, address: u64) -> Option<Allocation> {
        let table = self.read();
        let allocation = table.at_or_before(address)?;
        let inside = address - allocation.base < allocation.size;
        (inside && allocation.storage.is_none()).then(|| allocation.clone())
    }

    /// Calls `show` for the live allocations, in the order of their addresses.
    pub fn each_live(&self, show: impl FnMut(&Allocation)) {
        self.read().list.iter().filter(|allocation| allocation.storage.is_some()).for_each(show);
    }

    /// Returns the bytes of all live allocations.
    pub fn live_bytes(&self) -> u64 {
        let mut bytes = 0_u64;
        self.each_live(|allocation| bytes = bytes.saturating_add(allocation.size));
        bytes
    }

    /// Calls `show` for the live allocations with a byte in a range of addresses, in the order of their addresses.
    pub fn each_live_in(&self, range: &Range<u64>, show: impl FnMut(&Allocation)) {
        let table = self.read();
        let first = table.list.partition_point(|allocation| allocation.base + allocation.size <= range.start);
        let inside = table.list[first..].iter().take_while(|allocation| allocation.base < range.end);
        inside.filter(|allocation| allocation.storage.is_some()).for_each(show);
    }

    /// Creates a snapshot for a worker.
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

    /// Called for an allocation that was freed.
    fn was_freed(&mut self, base: u64) {
        self.reshaped += 1;
        self.freed.push_back(base);
        if self.freed.len() > 2 * KEPT_FREED {
            self.drop_oldest_freed();
        }
    }

    /// Drops the records of the allocations that were freed first. Their addresses may be reused.
    fn drop_oldest_freed(&mut self) {
        let dropped: HashSet<u64> = self.freed.drain(..self.freed.len() - KEPT_FREED).collect();
        let places = &mut self.places;
        self.list.retain(|allocation| {
            let drop = allocation.storage.is_none() && dropped.contains(&allocation.base);
            if drop {
                places.release(allocation.base);
            }
            !drop
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_say_where_they_lie() {
        let memory = Memory::new(GLOBAL, None, false);
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
        let memory = Memory::new(GLOBAL, None, false);
        let allocated: Vec<(u64, u64)> =
            (0..1500).map(|size| (memory.alloc(size, "a").expect("alloc"), size)).collect();
        for &(base, size) in &allocated {
            let mut around = (size..size + 512).map(|at| base + at).chain(base - 512..base);
            assert!(around.all(|address| memory.find(address, 1).is_none()), "{size}");
        }
    }

    /// Small buffers of a range are used up thousands of frees before an address is used again.
    #[test]
    fn freed_addresses_are_reused_late() {
        let memory = Memory::new(GLOBAL, Some(16 << 30), false);
        let first = memory.alloc(8, "first").expect("alloc");
        memory.free(first, None).expect("free");
        let kept = memory.alloc(8, "kept").expect("alloc");
        let reused = (0..5 * KEPT_FREED).find(|_| {
            let base = memory.alloc(8, "next").expect("alloc");
            memory.free(base, None).expect("free");
            base == first
        });
        assert!(reused.is_some_and(|count| count > KEPT_FREED), "{reused:?}");
        assert!(memory.find(kept, 8).is_some());
        let now = memory.freed_at(first).expect("freed again");
        assert_eq!(&*now.name, "next");
    }

    #[test]
    fn no_allocation_lies_close_to_another() {
        let memory = Memory::new(GLOBAL, Some(1 << 30), false);
        let mut bases: Vec<u64> = std::iter::from_fn(|| memory.alloc(8, "a")).collect();
        bases.sort_unstable();
        assert!(bases.len() > 900 && bases.windows(2).all(|pair| pair[1] - pair[0] > 1 << 20));
        let reserved = Memory::new(GLOBAL, None, false);
        let first = reserved.reserve(1 << 40, 4096).expect("addresses");
        let next = reserved.alloc(8, "next").expect("alloc");
        assert!(next - first > (1 << 40) + (1 << 30) && reserved.alloc(8, "a").expect("alloc") - next > 1 << 20);
    }

    #[test]
    fn who_allocated_frees() {
        let memory = Memory::new(GLOBAL, None, false);
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
        let memory = Memory::new(GLOBAL, None, false);
        let a = memory.alloc(100, "a").expect("alloc");
        let mut snapshot = memory.snapshot();
        assert!(snapshot.find(a + 99).is_some() && snapshot.find(a + 100).is_none());
        assert!(!snapshot.refresh(&memory));
        memory.free(a, None).expect("free");
        assert!(snapshot.refresh(&memory) && snapshot.find(a).is_none());
    }
}
