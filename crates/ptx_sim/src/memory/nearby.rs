//! The allocation near an address, for reports.

use super::address::NULL_PAGE;
use super::{Allocation, Memory, Table};

impl Memory {
    /// Returns the allocation that [`Memory::describe`] refers to.
    pub fn nearest(&self, address: u64) -> Option<Allocation> {
        (address >= NULL_PAGE).then(|| self.read().near(address).cloned()).flatten()
    }

    /// Returns how far an address is from the start of the allocation that contains it.
    pub fn offset(&self, address: u64) -> Option<u64> {
        let near = self.nearest(address)?;
        address.checked_sub(near.base).filter(|offset| *offset < near.size)
    }

    /// Describes an address relative to the nearest allocation.
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
}

impl Table {
    /// Returns the allocation that contains an address, or else the nearest one; at equal distance the one before.
    fn near(&self, address: u64) -> Option<&Allocation> {
        let at = self.list.partition_point(|allocation| allocation.base <= address);
        let before = at.checked_sub(1).and_then(|at| self.list.get(at));
        let after = self.list.get(at);
        let behind = before.map_or(u64::MAX, |allocation| (address - allocation.base).saturating_sub(allocation.size));
        let ahead = after.map_or(u64::MAX, |allocation| allocation.base - address);
        if before.is_some() && behind <= ahead { before } else { after }
    }
}
