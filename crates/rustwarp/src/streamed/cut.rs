//! How a range is cut: chunks on which the device works, and pieces that a thread reads at a time.

use super::settings::Settings;
use super::source::Source;
use crate::backend::{Handle, human, require_memory};
use crate::device::Device;
use crate::error::{Error, Result};
use std::ops::Range;

/// Bytes of a chunk where memory suffices: the bus needs a millisecond for it, and a launch a hundredth of that.
const CHUNK: u64 = 64 << 20;
/// Most bytes of a piece: large enough that reading and copying it take longer than starting both, and so small that
/// all pinned memory stays in the processors' caches, and is pinned in milliseconds (`docs/decisions/streams.md`).
const PIECE: usize = 2 << 20;
/// Most threads that read by default.
const READERS: usize = 12;
/// Bytes below which a chunk is not cut into more pieces.
const LEAST_PIECE: usize = 64 << 10;
/// Bytes to which chunks are rounded, so that those of device memory start where kernels read 16 bytes at a time.
const ALIGN: u64 = 16;

/// Bytes of a chunk that [`Settings::chunk`] leaves open, where the device has memory for `chunks` of them: 64 MiB, or
/// less if they would take more than half of the free device memory.
///
/// # Errors
/// [`Error::Device`] if the driver fails.
pub fn default_chunk(device: &Device, chunks: usize) -> Result<u64> {
    let most = device.free_memory()? / 2 / chunks.max(1) as u64;
    Ok((most.min(CHUNK) / ALIGN * ALIGN).max(ALIGN))
}

/// The chunks and pieces of a range of elements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cut {
    /// The elements.
    pub range: Range<u64>,
    /// Elements of a chunk but the last one, which may be shorter.
    pub chunk: usize,
    /// Elements of a chunk if the range were longer.
    pub most: usize,
    /// Elements of a piece; the last one of a chunk may be shorter.
    pub piece: usize,
    /// Chunks that are on the device at a time.
    pub slots: usize,
    /// Threads that read.
    pub readers: usize,
    /// Threads that write.
    pub writers: usize,
}

impl Cut {
    /// Cuts a range of elements of `T` of all sources; `results` is the number of further chunks on the device.
    ///
    /// # Errors
    /// [`Error::Mismatch`] for elements that a source lacks, [`Error::Argument`] for a chunk that is too small,
    /// [`Error::OutOfMemory`] if the device has too little memory for the chunks.
    pub fn new<T>(
        device: &Device,
        sources: &[&dyn Source],
        range: Range<u64>,
        settings: &Settings<'_>,
        results: usize,
    ) -> Result<Self> {
        const { assert!(size_of::<T>() > 0, "elements have bytes") };
        let size = size_of::<T>() as u64;
        let bytes = range.end.checked_mul(size).filter(|_| range.start <= range.end);
        for source in sources {
            let there = source.bytes();
            if bytes.is_none_or(|bytes| bytes > there) {
                let Range { start, end } = range;
                return Err(Error::Mismatch(format!(
                    "the elements {start}..{end} of {size} bytes of a source of {there} bytes: \
                     pass a range within 0..{}",
                    there / size
                )));
            }
        }
        let slots = settings.slots.unwrap_or(3).max(2);
        let chunks = slots * sources.len() + results;
        let asked = match settings.chunk {
            Some(bytes) if bytes < ALIGN.max(size) => {
                return Err(Error::Argument(format!("a chunk of {bytes} bytes: use at least {}", ALIGN.max(size))));
            }
            Some(bytes) => bytes,
            None => default_chunk(device, chunks)?,
        };
        let all = (range.end - range.start) * size;
        // One chunk for all is rounded up, so that nothing is left for another.
        let most = (asked / ALIGN * ALIGN).max(size);
        let chunk = most.min(all.div_ceil(ALIGN) * ALIGN);
        if settings.chunk.is_some() {
            let what = format!("{chunks} chunks of {}", human(chunk));
            require_memory(device.backend(), chunk.checked_mul(chunks as u64), &what, "use smaller chunks")?;
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let readers = settings.readers.unwrap_or(processors.min(READERS)).max(1);
        let writers = settings.writers.unwrap_or(processors.min(4)).max(1);
        let (chunk, most) = ((chunk / size) as usize, (most / size) as usize);
        let pieces = (chunk * size as usize).div_ceil(PIECE).max(readers.min(chunk * size as usize / LEAST_PIECE));
        Ok(Self { range, chunk, most, piece: chunk.div_ceil(pieces.max(1)), slots, readers, writers })
    }

    /// The same range in chunks of whole rows, as many as fit the chunk, but no more than `most`, and at least one.
    pub fn of_rows(self, row: usize, most: usize) -> Self {
        let row = row.max(1);
        Self { chunk: (self.chunk / row).min(most).max(1) * row, ..self }
    }

    /// Number of chunks.
    pub fn chunks(&self) -> u64 {
        if self.chunk == 0 { 0 } else { (self.range.end - self.range.start).div_ceil(self.chunk as u64) }
    }

    /// Bytes of the elements of `T` of one source.
    pub fn bytes<T>(&self) -> u64 {
        (self.range.end - self.range.start) * size_of::<T>() as u64
    }

    /// The first element of a chunk, and the number of its elements.
    pub fn of_chunk(&self, chunk: u64) -> (u64, usize) {
        let first = self.range.start + chunk * self.chunk as u64;
        (first, (self.range.end - first).min(self.chunk as u64) as usize)
    }

    /// The pieces of a chunk of `len` elements.
    pub fn pieces(&self, len: usize) -> impl Iterator<Item = Range<usize>> + use<> {
        let piece = self.piece;
        (0..len).step_by(piece.max(1)).map(move |start| start..(start + piece).min(len))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_and_pieces_cover_the_range_once() {
        let device = Device::sim().expect("the simulator");
        let bytes = vec![0_u8; 300_001 * 4];
        let source: &dyn Source = &&bytes[..];
        for (chunk, readers) in [(16, 1), (40, 3), (200_000, 3), (1 << 30, 2)] {
            let settings = Settings { chunk: Some(chunk), readers: Some(readers), ..Settings::default() };
            let cut = Cut::new::<u32>(&device, &[source], 5..300_001, &settings, 0).expect("a cut");
            let mut next = 5;
            for chunk in 0..cut.chunks() {
                let (first, len) = cut.of_chunk(chunk);
                assert!(first == next && len > 0 && len <= cut.chunk);
                let ends: usize = cut.pieces(len).map(|piece| piece.len()).sum();
                assert_eq!(ends, len);
                next += len as u64;
            }
            assert_eq!(next, 300_001, "{cut:?}");
        }
        let settings = Settings { chunk: Some(15), ..Settings::default() };
        assert!(matches!(Cut::new::<u32>(&device, &[source], 0..1, &settings, 0), Err(Error::Argument(_))));
        let cut = |range| Cut::new::<u32>(&device, &[source], range, &Settings::default(), 0);
        assert_eq!(cut(7..7).expect("nothing").chunks(), 0);
        for (start, end) in [(0, 300_002), (2, 1), (0, u64::MAX)] {
            assert!(matches!(cut(start..end), Err(Error::Mismatch(_))), "{start}..{end}");
        }
    }
}
