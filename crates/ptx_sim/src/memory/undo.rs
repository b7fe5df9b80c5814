//! What a launch has overwritten, to take the launch back.

use super::storage::Storage;
use super::{Allocation, Memory};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

/// Bytes that are saved together.
pub const PAGE: u64 = 4096;

/// The contents of device memory before the first write to each page, with the initialisation state.
#[derive(Debug)]
pub struct Undo<'a> {
    memory: &'a Memory,
    /// By the number of the page.
    pages: Mutex<HashMap<u64, Vec<Saved>>>,
}

/// A part of an allocation, or of its shadow.
#[derive(Debug)]
struct Saved {
    storage: Arc<Storage>,
    offset: u64,
    bytes: Box<[u8]>,
}

impl<'a> Undo<'a> {
    /// Creates the record of a launch that has written nothing.
    pub fn new(memory: &'a Memory) -> Self {
        Self { memory, pages: Mutex::default() }
    }

    /// Saves the page of an address, unless it has been saved. Each worker calls it before its first write to the page,
    /// so none writes before the page is saved.
    #[cold]
    pub fn save(&self, address: u64) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let number = address / PAGE;
        pages.entry(number).or_insert_with(|| {
            let page = number * PAGE..(number + 1).saturating_mul(PAGE);
            let mut saved = Vec::new();
            self.memory.each_live_in(&page, |allocation| saved.extend(parts(allocation, &page)));
            saved
        });
    }

    /// Writes all that was saved back.
    pub fn restore(self) {
        let pages = self.pages.into_inner().unwrap_or_else(PoisonError::into_inner);
        for saved in pages.into_values().flatten() {
            saved.storage.write(saved.offset as usize, &saved.bytes);
        }
    }
}

/// Returns the parts of an allocation and its shadow for a page.
fn parts(allocation: &Allocation, page: &Range<u64>) -> impl Iterator<Item = Saved> {
    let start = page.start.max(allocation.base) - allocation.base;
    let end = page.end.min(allocation.base + allocation.size) - allocation.base;
    let of = |storage: &Option<Arc<Storage>>, range: Range<u64>| {
        let storage = storage.clone()?;
        let mut bytes = vec![0; (range.end - range.start) as usize].into_boxed_slice();
        storage.read(range.start as usize, &mut bytes);
        Some(Saved { storage, offset: range.start, bytes })
    };
    let contents = of(&allocation.storage, start..end);
    // A byte for each word.
    let state = of(&allocation.shadow, start / 4..end.div_ceil(4));
    contents.into_iter().chain(state)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn written_pages_come_back_with_their_state() {
        let memory = Memory::new(0, None, true);
        let [a, b] = [5000, 300].map(|size| memory.alloc(size, "buffer").expect("memory"));
        let at = |address: u64| memory.find(address, 1).expect("live");
        let state = |address: u64| memory.with_shadow(address, |shadow, at| shadow.load(at / 4, 1)).expect("a shadow");
        for (address, bytes) in [(a, 5000), (b, 100)] {
            let (storage, _) = at(address);
            storage.write(0, &vec![7; bytes]);
            memory.define(address, bytes as u64);
        }
        let undo = Undo::new(&memory);
        for address in [a + 4096, b + 10, a + 4999] {
            undo.save(address);
            let (storage, offset) = at(address);
            storage.store(offset, 1, 9);
        }
        memory.define(b, 300);
        // A page is saved once, before the first write.
        undo.save(b);
        at(a).0.store(1, 1, 9);
        undo.restore();
        let byte = |address: u64| at(address).0.load(at(address).1, 1);
        assert_eq!([a + 4096, a + 4999, b + 10, a + 1].map(byte), [7, 7, 7, 9], "the first page was not saved");
        assert_eq!([b, b + 99, b + 100, b + 296].map(state), [0x0f, 0x0f, 0, 0]);
    }
}
