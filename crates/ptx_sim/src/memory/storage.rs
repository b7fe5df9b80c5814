//! The bytes of one allocation of device memory, shared by all workers.
//!
//! Threads of a simulated kernel may race. To keep this from being a race of the simulator's own threads, every access
//! is a relaxed atomic, which has no cost on the supported processors.
//!
//! Simulated threads may race on the same bytes with accesses of different sizes. Rust does not define mixed-size
//! atomic accesses, but the processors do: each access is performed as a whole, and reads bytes that some stores have
//! written.

use std::alloc::{Layout, alloc_zeroed};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

#[cfg(target_endian = "big")]
compile_error!("device memory is little-endian and is accessed in place: port `Storage` first");

/// Atomic integers of less than 8 bytes. `Storage::view` relies on there being no other implementations.
trait Atomic {}
impl Atomic for AtomicU8 {}
impl Atomic for AtomicU16 {}
impl Atomic for AtomicU32 {}

/// Memory in units of 8 bytes: its own, or a part of the host's.
#[derive(Debug)]
pub struct Storage {
    words: NonNull<[AtomicU64]>,
    /// Whether `words` is a box of this storage.
    owned: bool,
}

// SAFETY: the words are atomics, which any thread may access; by the contract of `Storage::over` the host's memory
// stays valid as long as the storage.
unsafe impl Send for Storage {}
// SAFETY: as for `Send`.
unsafe impl Sync for Storage {}

impl Drop for Storage {
    fn drop(&mut self) {
        if self.owned {
            // SAFETY: `zeroed` made the words from a box, and nothing else frees them.
            drop(unsafe { Box::from_raw(self.words.as_ptr()) });
        }
    }
}

impl Storage {
    /// Returns a storage whose bytes are memory of the host, rounded up to words.
    ///
    /// # Safety
    /// As long as the storage exists, `memory` must be readable and writable for `bytes` bytes rounded up to a multiple
    /// of 8, and aligned to 8. The host accesses it in the same way as another thread's memory.
    pub unsafe fn over(memory: NonNull<u8>, bytes: u64) -> Self {
        let words = usize::try_from(bytes.div_ceil(8)).unwrap_or(usize::MAX / 8);
        Self { words: NonNull::slice_from_raw_parts(memory.cast(), words), owned: false }
    }

    /// Allocates room for `bytes`; `None` if the host has not enough memory. Pages are not touched before they are
    /// used.
    pub fn zeroed(bytes: u64) -> Option<Self> {
        let words = usize::try_from(bytes.div_ceil(8).max(1)).ok()?;
        let layout = Layout::array::<AtomicU64>(words).ok()?;
        // SAFETY: the layout is not empty: there is at least one word.
        let start = unsafe { alloc_zeroed(layout) }.cast::<AtomicU64>();
        if start.is_null() {
            return None;
        }
        // SAFETY: `start` comes from the global allocator with the layout of exactly this slice, it is not aliased, and
        // all-zero bytes are valid `AtomicU64`s.
        let words = unsafe { Box::from_raw(std::ptr::slice_from_raw_parts_mut(start, words)) };
        // Kept as a pointer, so that a storage of the host's memory has the same form.
        Some(Self { words: NonNull::from(Box::leak(words)), owned: true })
    }

    /// Returns all bytes.
    #[inline(always)]
    pub fn u8(&self) -> &[AtomicU8] {
        self.view()
    }

    /// Returns all aligned 16-bit words.
    #[inline(always)]
    pub fn u16(&self) -> &[AtomicU16] {
        self.view()
    }

    /// Returns all aligned 32-bit words.
    #[inline(always)]
    pub fn u32(&self) -> &[AtomicU32] {
        self.view()
    }

    /// Returns all aligned 64-bit words.
    #[inline(always)]
    pub fn u64(&self) -> &[AtomicU64] {
        // SAFETY: the words are valid as long as `self`: its own, or by the contract of `over`.
        unsafe { self.words.as_ref() }
    }

    /// Returns the same memory as smaller atomics.
    #[inline(always)]
    fn view<T: Atomic>(&self) -> &[T] {
        const { assert!(size_of::<T>() <= 8 && align_of::<T>() <= 8 && 8 % size_of::<T>() == 0) };
        let len = self.words.len() * (8 / size_of::<T>());
        debug_assert_eq!(len * size_of::<T>(), size_of_val(self.u64()));
        // SAFETY: `T` is an atomic integer: any bytes are valid, and shared writes are allowed. The memory is aligned
        // for u64, `len` elements of `T` fill it exactly, and it lives as long as `self` is borrowed.
        unsafe { std::slice::from_raw_parts(self.words.as_ptr().cast::<T>(), len) }
    }

    /// Reads the little-endian value of 1, 2, 4 or 8 bytes at an aligned offset in range.
    #[inline(always)]
    pub fn load(&self, offset: u64, bytes: u8) -> u64 {
        match bytes {
            1 => u64::from(self.u8()[offset as usize].load(Relaxed)),
            2 => u64::from(self.u16()[offset as usize >> 1].load(Relaxed)),
            4 => u64::from(self.u32()[offset as usize >> 2].load(Relaxed)),
            _ => self.u64()[offset as usize >> 3].load(Relaxed),
        }
    }

    /// Writes the low bytes of `value` at an aligned offset in range.
    #[inline(always)]
    pub fn store(&self, offset: u64, bytes: u8, value: u64) {
        match bytes {
            1 => self.u8()[offset as usize].store(value as u8, Relaxed),
            2 => self.u16()[offset as usize >> 1].store(value as u16, Relaxed),
            4 => self.u32()[offset as usize >> 2].store(value as u32, Relaxed),
            _ => self.u64()[offset as usize >> 3].store(value, Relaxed),
        }
    }

    /// Replaces the value at an aligned offset in range by `next(old)` atomically, and returns the old value.
    #[inline]
    pub fn update(&self, offset: u64, bytes: u8, mut next: impl FnMut(u64) -> u64) -> u64 {
        macro_rules! update {
            ($cells:expr, $shift:literal, $t:ty) => {{
                let cell = &$cells[offset as usize >> $shift];
                let mut old = cell.load(Relaxed);
                loop {
                    // SeqCst, because the simulated order may be as strong as seq_cst; on x86 it is the same
                    // instruction.
                    let order = std::sync::atomic::Ordering::SeqCst;
                    match cell.compare_exchange_weak(old, next(u64::from(old)) as $t, order, Relaxed) {
                        Ok(_) => return u64::from(old),
                        Err(now) => old = now,
                    }
                }
            }};
        }
        match bytes {
            1 => update!(self.u8(), 0, u8),
            2 => update!(self.u16(), 1, u16),
            4 => update!(self.u32(), 2, u32),
            _ => update!(self.u64(), 3, u64),
        }
    }

    /// Copies bytes into the allocation.
    pub fn write(&self, offset: usize, bytes: &[u8]) {
        let head = bytes.len().min(offset.wrapping_neg() % 8);
        let (head, rest) = bytes.split_at(head);
        let words = rest.chunks_exact(8);
        let tail = words.remainder();
        for (cell, byte) in self.u8()[offset..].iter().zip(head) {
            cell.store(*byte, Relaxed);
        }
        let start = offset + head.len();
        for (cell, word) in self.u64()[start / 8..].iter().zip(words) {
            cell.store(word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)), Relaxed);
        }
        for (cell, byte) in self.u8()[offset + bytes.len() - tail.len()..].iter().zip(tail) {
            cell.store(*byte, Relaxed);
        }
    }

    /// Copies bytes out of the allocation.
    pub fn read(&self, offset: usize, bytes: &mut [u8]) {
        let head = bytes.len().min(offset.wrapping_neg() % 8);
        let end = offset + bytes.len();
        let (head, rest) = bytes.split_at_mut(head);
        for (byte, cell) in head.iter_mut().zip(&self.u8()[offset..]) {
            *byte = cell.load(Relaxed);
        }
        let start = offset + head.len();
        let mut words = rest.chunks_exact_mut(8);
        for (word, cell) in words.by_ref().zip(&self.u64()[start / 8..]) {
            word.copy_from_slice(&cell.load(Relaxed).to_le_bytes());
        }
        let tail = words.into_remainder();
        let start = end - tail.len();
        for (byte, cell) in tail.iter_mut().zip(&self.u8()[start..]) {
            *byte = cell.load(Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unaligned_copies_come_back() {
        let storage = Storage::zeroed(64).expect("64 bytes");
        let data: Vec<u8> = (1..=37).collect();
        for offset in 0..20 {
            storage.write(offset, &data);
            let mut back = vec![0; data.len()];
            storage.read(offset, &mut back);
            assert_eq!(back, data);
            assert_eq!(storage.u8()[offset + 36].load(Relaxed), 37);
        }
    }

    #[test]
    fn views_end_where_the_memory_ends() {
        for bytes in [0, 1, 7, 8, 9, 4096] {
            let storage = Storage::zeroed(bytes).expect("memory");
            let words = storage.u64().len();
            assert_eq!(words as u64, bytes.div_ceil(8).max(1));
            let lengths = (storage.u8().len(), storage.u16().len(), storage.u32().len());
            assert_eq!(lengths, (8 * words, 4 * words, 2 * words));
            let range = storage.u64().as_ptr_range();
            let range = range.start.cast::<u8>()..range.end.cast::<u8>();
            assert_eq!(storage.u8().as_ptr_range(), range.start.cast()..range.end.cast());
            assert_eq!(storage.u16().as_ptr_range(), range.start.cast()..range.end.cast());
            assert_eq!(storage.u32().as_ptr_range(), range.start.cast()..range.end.cast());
            assert!(storage.u64().iter().all(|word| word.load(Relaxed) == 0));
            // Access one element past the end panics in every width.
            for size in [1, 2, 4, 8] {
                storage.store(8 * words as u64 - u64::from(size), size, u64::MAX);
                let beyond = std::panic::AssertUnwindSafe(|| storage.load(8 * words as u64, size));
                assert!(std::panic::catch_unwind(beyond).is_err());
            }
        }
        // The black box keeps the compiler from removing an unused allocation.
        let refused = |bytes| std::hint::black_box(Storage::zeroed(std::hint::black_box(bytes))).is_none();
        assert!(refused(u64::MAX) && refused(1 << 62));
    }

    #[test]
    fn views_agree_on_the_bytes() {
        let storage = Storage::zeroed(16).expect("16 bytes");
        storage.store(8, 4, 0x0403_0201);
        assert_eq!(storage.load(8, 1), 1);
        assert_eq!(storage.load(10, 2), 0x0403);
        assert_eq!(storage.load(8, 8), 0x0403_0201);
        assert_eq!(storage.update(8, 4, |old| old + 1), 0x0403_0201);
        assert_eq!(storage.load(8, 4), 0x0403_0202);
    }
}
