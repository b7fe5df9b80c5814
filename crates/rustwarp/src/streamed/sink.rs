//! Sinks: bytes that are written at positions, by several threads.

use super::source::{FilePart, ended};
use crate::sync::lock;
use std::io;
use std::sync::Mutex;

/// Memory or a file that several threads write at positions. Every byte is written once, and pieces come in any order.
pub trait Sink: Sync {
    /// Writes all the bytes from `offset` on.
    ///
    /// # Errors
    /// The operating system's error.
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()>;
}

impl Sink for FilePart {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let place = self.place(offset, bytes.len()).ok_or_else(|| ended(self.len(), "part of the file"))?;
        self.write(place, bytes)
    }
}

/// A slice or a vector that is long enough.
impl<B: AsMut<[u8]> + Send> Sink for Mutex<B> {
    fn write_at(&self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut memory = lock(self);
        let memory = memory.as_mut();
        let len = memory.len() as u64;
        let start = usize::try_from(offset).ok();
        let part = start.and_then(|start| memory.get_mut(start..start.checked_add(bytes.len())?));
        part.ok_or_else(|| ended(len, "memory"))?.copy_from_slice(bytes);
        Ok(())
    }
}
