//! Results that are copied to the host and written while the device works.

use super::crew::Crew;
use super::sink::Sink;
use crate::backend::View;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::pending::Pending;
use crate::pinned::PinnedBuffer;
use bytemuck::Pod;
use std::thread::Scope;

/// Chunks of results on the device: one is computed while another one is copied to the host.
pub(super) const RESULTS: usize = 2;

/// Index of a piece's first element, and the piece on its way to the host.
type Copied<T> = (u64, Pending<PinnedBuffer<T>>);

/// Threads that write results, which a stream of its own copies to pinned memory.
pub(super) struct Results<'a, T> {
    device: &'a Device,
    copies: Device,
    writers: Crew<Copied<T>, Result<PinnedBuffer<T>>>,
    /// Elements of a piece.
    piece: usize,
    /// Pieces of pinned memory that may still be allocated.
    unallocated: usize,
}

impl<'a, T: Pod + Send> Results<'a, T> {
    /// Starts the threads.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if the system starts no more threads, and the errors of the device.
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        device: &'a Device,
        sink: &'scope dyn Sink,
        piece: usize,
        writers: usize,
    ) -> Result<Self>
    where
        T: 'scope,
    {
        let write = |(first, pending): Copied<T>| drain(sink, first, pending);
        let (copies, unallocated) = (device.stream()?, 2 * writers + 2);
        let writers = Crew::start(scope, writers, "writer", write)?;
        Ok(Self { device, copies, writers, piece: piece.max(1), unallocated })
    }

    /// Copies results once the work so far has ended, and writes them as the elements from `first` on.
    ///
    /// # Errors
    /// [`Error::Stream`] for earlier pieces that could not be written, [`Error::OutOfMemory`] if this machine cannot
    /// pin as much, and the errors of the device.
    pub fn send(&mut self, first: u64, results: View<'_, T>) -> Result<()> {
        for start in (0..results.len()).step_by(self.piece) {
            let range = start..(start + self.piece).min(results.len());
            let memory = match self.unallocated {
                0 => self.writers.take().unwrap_or_else(|| Err(ended()))?,
                _ => PinnedBuffer::unspecified(self.device, self.piece)?,
            };
            self.unallocated = self.unallocated.saturating_sub(1);
            let memory = memory.with_len(range.len());
            let pending = self.copies.download_pinned(results.view(range)?, memory)?;
            self.writers.give((first + start as u64, pending));
        }
        Ok(())
    }

    /// Waits until everything is written.
    ///
    /// # Errors
    /// [`Error::Stream`] for pieces that could not be written.
    pub fn finish(mut self) -> Result<()> {
        while let Some(written) = self.writers.take() {
            written?;
        }
        Ok(())
    }
}

/// Waits for a piece, and writes it.
fn drain<T: Pod>(sink: &dyn Sink, first: u64, pending: Pending<PinnedBuffer<T>>) -> Result<PinnedBuffer<T>> {
    let memory = pending.wait()?;
    let bytes: &[u8] = bytemuck::cast_slice(&memory);
    let (offset, len) = (first * size_of::<T>() as u64, bytes.len());
    let error = |source| Error::Stream { attempt: "write", bytes: len, offset, source };
    sink.write_at(offset, bytes).map_err(error)?;
    Ok(memory)
}

fn ended() -> Error {
    Error::Device("the threads that write have ended early".to_owned())
}
