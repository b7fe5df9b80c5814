//! The pipeline: pieces are read and copied while the device works on earlier chunks.

use super::crew::Crew;
use super::cut::Cut;
use super::settings::{Progress, Settings};
use super::source::Source;
use crate::backend::View;
use crate::buffer::Buffer;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::pending::Pending;
use crate::pinned::PinnedBuffer;
use bytemuck::Pod;
use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

/// Elements on the device.
#[non_exhaustive]
#[derive(Debug)]
pub struct Chunk<'a, T> {
    /// Index of the first element.
    pub first: u64,
    /// The elements, in memory that is overwritten after the work that uses it.
    pub view: View<'a, T>,
}

/// Calls `work` for each chunk of the elements in the range, in order, with the chunk on the device.
///
/// `work` starts asynchronous work, through `device` or another stream of the same device: later chunks overwrite the
/// memory after it, as for all memory that streams share. (Kernels that [`Module::launch`](crate::Module::launch)
/// starts are announced by [`Device::will_read`](crate::Device::will_read).) The work of the last chunks may be under
/// way when the function returns.
///
/// # Errors
/// [`Error::Stream`] for bytes that cannot be read, [`Error::Mismatch`] for elements that the source lacks,
/// [`Error::Argument`] for a chunk of fewer than 16 bytes, [`Error::OutOfMemory`] if the device or this machine has too
/// little memory for the chunks, the first error of `work`, and the errors of the device.
pub fn for_each_chunk<T: Pod + Send>(
    device: &Device,
    source: &dyn Source,
    elements: Range<u64>,
    settings: &Settings<'_>,
    mut work: impl FnMut(Chunk<'_, T>) -> Result<()>,
) -> Result<()> {
    let sources = [source];
    let cut = Cut::new::<T>(device, &sources, elements, settings, 0)?;
    run::<T>(device, &sources, &cut, &[], settings, |slots| {
        work(Chunk { first: slots.first, view: slots.memory[0].view(..slots.len)? })
    })
}

/// A chunk of each source, in device memory.
pub(super) struct Slots<'a, T> {
    /// Number of the chunk.
    pub number: u64,
    /// Index of the first element.
    pub first: u64,
    /// Number of elements.
    pub len: usize,
    /// For each source the head and the elements, which may be followed by others.
    pub memory: &'a [Buffer<T>],
}

/// A piece of a chunk.
#[derive(Clone)]
struct Piece {
    chunk: u64,
    source: usize,
    /// Index in the source of the piece's first element.
    first: u64,
    /// The elements in the chunk.
    range: Range<usize>,
}

/// Calls `work` for each chunk, as [`for_each_chunk`] does. The memory of each chunk starts with the elements of
/// `head`, which `work` may overwrite in the device's stream.
pub(super) fn run<T: Pod + Send>(
    device: &Device,
    sources: &[&dyn Source],
    cut: &Cut,
    head: &[T],
    settings: &Settings<'_>,
    mut work: impl FnMut(Slots<'_, T>) -> Result<()>,
) -> Result<()> {
    device.refuse_in_capture("streaming")?;
    // The memory belongs to the stream of the copies: a copy into one slot does not wait for work on another.
    let copies = device.stream()?;
    let of_sources = |_| sources.iter().map(|_| slot(&copies, head, cut.chunk)).collect();
    let mut slots = (0..cut.chunks().min(cut.slots as u64)).map(of_sources).collect::<Result<Vec<Vec<_>>>>()?;
    let (mut done, total) = (0, cut.bytes::<T>() * sources.len() as u64);

    std::thread::scope(|scope| {
        let read = |(piece, mut memory): (Piece, PinnedBuffer<T>)| {
            let outcome = fill(sources[piece.source], piece.first, &mut memory).map(|()| memory);
            (piece, outcome)
        };
        let mut readers = Crew::start(scope, cut.readers, "reader", read)?;
        let mut pinned = Pinned { device, capacity: cut.piece, left: 2 * cut.readers + 2, sent: VecDeque::new() };
        let mut pieces = pieces(cut, sources.len()).peekable();
        // The first chunk that has not been worked on, and the number of elements that are there of it and of others.
        let (mut next, mut there) = (0, BTreeMap::<u64, usize>::new());
        while next < cut.chunks() {
            while let Some(piece) = pieces.peek().filter(|piece| piece.chunk < next + slots.len() as u64) {
                let Some(memory) = pinned.take(readers.busy() == 0)? else { break };
                readers.give((piece.clone(), memory.with_len(piece.range.len())));
                pieces.next();
            }
            let Some((piece, outcome)) = readers.take() else {
                return Err(Error::Device("the threads that read have ended early".to_owned()));
            };
            let memory = outcome?;
            done += size_of_val(&*memory) as u64;
            let number = slots.len() as u64;
            let slot = &mut slots[(piece.chunk % number) as usize][piece.source];
            let place = slot.view_mut(head.len() + piece.range.start..head.len() + piece.range.end)?;
            pinned.sent.push_back(copies.upload_pinned(memory, place)?);
            if let Some(report) = settings.progress {
                report(Progress { done, total });
            }
            *there.entry(piece.chunk).or_default() += piece.range.len();
            while let Some(elements) = there.get(&next) {
                let (first, len) = cut.of_chunk(next);
                if *elements < len * sources.len() {
                    break;
                }
                work(Slots { number: next, first, len, memory: &slots[(next % number) as usize] })?;
                there.remove(&next);
                next += 1;
            }
        }
        // Errors of the last copies are reported here.
        pinned.sent.into_iter().try_for_each(|sent| sent.wait().map(drop))
    })
}

/// Device memory for a chunk behind its head.
fn slot<T: Pod>(copies: &Device, head: &[T], chunk: usize) -> Result<Buffer<T>> {
    let buffer = copies.uninit(head.len() + chunk)?;
    if !head.is_empty() {
        buffer.write(head)?;
    }
    Ok(buffer)
}

/// The pieces of all chunks, in the order in which they are read.
fn pieces(cut: &Cut, sources: usize) -> impl Iterator<Item = Piece> + '_ {
    (0..cut.chunks()).flat_map(move |chunk| {
        let (first, len) = cut.of_chunk(chunk);
        (0..sources).flat_map(move |source| {
            let piece = move |range: Range<usize>| Piece { chunk, source, first: first + range.start as u64, range };
            cut.pieces(len).map(piece)
        })
    })
}

/// Reads the elements from `first` on.
fn fill<T: Pod>(source: &dyn Source, first: u64, into: &mut [T]) -> Result<()> {
    let into: &mut [u8] = bytemuck::cast_slice_mut(into);
    let (offset, bytes) = (first * size_of::<T>() as u64, into.len());
    let error = |source| Error::Stream { attempt: "read", bytes, offset, source };
    source.read_at(offset, into).map_err(error)
}

/// Pinned memory for pieces, which take turns.
struct Pinned<'d, T> {
    device: &'d Device,
    /// Elements of each.
    capacity: usize,
    /// Number that may still be allocated.
    left: usize,
    /// Those that are being copied to the device, in the order of the copies.
    sent: VecDeque<Pending<PinnedBuffer<T>>>,
}

impl<T: Pod + Send> Pinned<'_, T> {
    /// Memory that is not in use; `None` if there is none at present and `wait` is false.
    fn take(&mut self, wait: bool) -> Result<Option<PinnedBuffer<T>>> {
        let ready = self.sent.front().map_or(Ok(false), Pending::is_ready)?;
        if !ready && self.left > 0 {
            self.left -= 1;
            return PinnedBuffer::unspecified(self.device, self.capacity).map(Some);
        }
        let sent = if ready || wait { self.sent.pop_front() } else { None };
        sent.map(Pending::wait).transpose()
    }
}
