//! Memory that exists outside the table: the host's, and that of other machines.

use super::storage::Storage;
use super::{Allocation, Memory, Owner, Table};
use std::sync::Arc;

impl Memory {
    /// Returns the start of `bytes` addresses that no allocation gets, a multiple of `align`; `None` if there are none
    /// left. Memory that is mapped at that start, and freed, returns the addresses.
    pub fn reserve(&self, bytes: u64, align: u64) -> Option<u64> {
        self.write().places.take(bytes, align, false)
    }

    /// Adds memory that exists outside this table. All of it counts as written. Returns whether its addresses were
    /// free.
    pub fn map(&self, base: u64, size: u64, name: &str, storage: Arc<Storage>) -> bool {
        let mut table = self.write();
        let at = table.list.partition_point(|allocation| allocation.base < base);
        let live = |allocation: &&Allocation| allocation.storage.is_some();
        let before = table.list[..at].iter().rfind(live).is_none_or(|before| before.base + before.size <= base);
        let after = table.list[at..].iter().find(live).is_none_or(|after| base + size <= after.base);
        if !before || !after {
            return false;
        }
        // The host may use the same addresses again.
        table.list.retain(|old| old.storage.is_some() || old.base + old.size <= base || base + size <= old.base);
        let at = table.list.partition_point(|allocation| allocation.base < base);
        let (name, owner) = (name.into(), Owner::Host);
        let storage = Some(storage);
        let mapped = Allocation { base, size, name, owner, freed: None, constant: false, storage, shadow: None };
        table.list.insert(at, mapped);
        table.places.occupy(base, size);
        let Table { list, freed, .. } = &mut *table;
        freed.retain(|freed| {
            list.binary_search_by_key(freed, |old| old.base).is_ok_and(|at| list[at].storage.is_none())
        });
        table.reshaped += 1;
        true
    }

    /// Frees a variable of a program that is unloaded.
    pub fn free_variable(&self, base: u64) {
        let mut table = self.write();
        if let Ok(at) = table.list.binary_search_by_key(&base, |allocation| allocation.base)
            && table.list[at].owner == Owner::Program
            && table.list[at].storage.take().is_some()
        {
            table.was_freed(base);
        }
    }
}
