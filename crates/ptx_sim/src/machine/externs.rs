//! External functions that the driver provides: `vprintf`, `malloc`, `free`, `__assertfail`.

use super::block::Block;
use super::faults::At;
use super::history;
use super::printf;
use super::warp::{Split, Warp};
use super::worker::Worker;
use crate::lanes::{self, load_local, load_words, store_local};
use crate::memory::Event;
use crate::memory::FreeError;
use crate::memory::address;
use crate::observe::{Observer, Shadow, Site};
use crate::program::{FrameCopy, Space};
use crate::stop::{Diagnostic, Stop, StopKind};
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of bytes read from a string, and of the output of one `vprintf`.
const MAX_STRING: u64 = 1 << 16;
/// Maximum bytes of text that a launch may print.
const MAX_PRINTED: u64 = 64 << 20;

impl<O: Observer> Worker<'_, O> {
    /// Executes a driver function for the lanes of `split`, one after the other.
    ///
    /// # Errors
    /// A stop if the call faults, or the simulator does not provide the function.
    #[expect(clippy::too_many_arguments, reason = "the parts of one instruction")]
    pub fn external(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        split: &Split,
        name: &str,
        params: &[FrameCopy],
        returns: &[FrameCopy],
        site: Site,
    ) -> Result<(), Stop> {
        self.acted = true;
        let base = warp.frames[split.frame as usize].base;
        for lane in (0..32).filter(|lane| split.mask >> lane & 1 != 0) {
            let params: Vec<u64> =
                params.iter().map(|copy| read_frame(warp, lane, base + copy.caller, copy.size)).collect();
            let param = |index: usize| params.get(index).copied().unwrap_or_default();
            let result = match name {
                "vprintf" => self.print(block, warp, lane, param(0), param(1), At { site, frame: split.frame })?,
                "malloc" => self.malloc(block, warp, lane, param(0), site),
                "free" => self.release(block, warp, lane, param(0), site)?,
                "__assertfail" => return Err(self.assertion(block, warp, lane, &params, site)),
                _ => {
                    let title = format!("the simulator does not provide the external function `{name}`");
                    let mut diagnostic = Diagnostic::new("unknown-function", title);
                    diagnostic.help = Some("link its definition into the PTX".to_owned());
                    return Err(self.stop(StopKind::Unsupported, block, warp.index, lane, site, diagnostic));
                }
            };
            if let Some(copy) = returns.first() {
                for byte in 0..copy.size.min(8) {
                    store_local(&mut warp.local, lane, base + copy.caller + byte, 1, result >> (byte * 8));
                }
                if O::Shadow::ON {
                    let (shadow, mut scene) = self.shadow(block, warp, site);
                    shadow.writes(&mut scene, Space::Frame, lane, base + copy.caller, copy.size.min(8));
                }
            }
        }
        Ok(())
    }

    fn print(
        &mut self,
        block: &mut Block<O::Block>,
        warp: &mut Warp,
        lane: usize,
        format: u64,
        arguments: u64,
        at: At,
    ) -> Result<u64, Stop> {
        let (format_address, site) = (format, at.site);
        let Some(format) = self.string(block, warp, lane, format, MAX_STRING) else {
            let title = format!("vprintf's format string at {format:#x} cannot be read");
            return Err(self.fault(block, warp.index, lane, site, "printf", title));
        };
        let mut next = arguments;
        let mut unreadable = None;
        let (mut shown, mut strings) = (vec![(format_address, format.len() as u64)], Vec::new());
        let mut left = MAX_STRING;
        let shared: &Block<O::Block> = block;
        let text = printf::format(
            &format,
            &mut |bytes| {
                next = next.checked_next_multiple_of(bytes).unwrap_or(next);
                let value = self.generic_bytes(shared, warp, lane, next, bytes);
                if value.is_none() {
                    unreadable.get_or_insert(next);
                }
                shown.push((next, bytes));
                next = next.wrapping_add(bytes);
                value.unwrap_or_default()
            },
            &mut |address, most| {
                let text = self.string(shared, warp, lane, address, most.min(left));
                let bytes = text.as_ref().map_or(0, |text| text.len() as u64);
                strings.push((address, bytes));
                left -= bytes;
                text
            },
        );
        if let Some(address) = unreadable {
            let title = format!("vprintf's arguments at {address:#x} cannot be read");
            return Err(self.fault(block, warp.index, lane, site, "printf", title));
        }
        if O::Shadow::ON {
            let (shadow, mut scene) = self.shadow(block, warp, at.site);
            for (address, bytes) in shown.into_iter().chain(strings) {
                shadow.shows(&mut scene, lane, address, bytes);
            }
        }
        let new = text.text.len() as u64;
        if self.context.printed.fetch_add(new, Relaxed) + new > MAX_PRINTED {
            let title = format!("the kernel printed more than {MAX_PRINTED} bytes");
            return Err(self.fault(block, warp.index, lane, site, "printf", title));
        }
        block.printed.push_str(&text.text);
        Ok(text.arguments)
    }

    fn malloc(&mut self, block: &Block<O::Block>, warp: &Warp, lane: usize, bytes: u64, site: Site) -> u64 {
        let event = self.event(block, warp, lane, site);
        // The device's malloc returns null when it has no memory.
        let memory = self.context.memory;
        let address = memory.alloc_on_heap(bytes, "device malloc", event).unwrap_or(0);
        self.snapshot.refresh(memory);
        address
    }

    fn release(
        &mut self,
        block: &Block<O::Block>,
        warp: &Warp,
        lane: usize,
        address: u64,
        site: Site,
    ) -> Result<u64, Stop> {
        let event = self.event(block, warp, lane, site);
        if address != 0
            && let Err(error) = self.context.memory.free(address, Some(event))
        {
            return Err(self.bad_free(block, warp, lane, address, site, error));
        }
        self.snapshot.refresh(self.context.memory);
        Ok(0)
    }

    #[cold]
    fn bad_free(
        &self,
        block: &Block<O::Block>,
        warp: &Warp,
        lane: usize,
        address: u64,
        site: Site,
        error: FreeError,
    ) -> Stop {
        let (code, title, allocation) = match error {
            FreeError::Twice(allocation) => {
                let (name, size) = (&allocation.name, allocation.size);
                let title = format!("free of {address:#x}, `{name}` ({size} bytes), which was freed before");
                ("double-free", title, Some(allocation))
            }
            FreeError::Foreign(allocation) => {
                let (name, size) = (&allocation.name, allocation.size);
                let title = format!("free of {address:#x}, `{name}` ({size} bytes), which did not come from `malloc`");
                ("bad-free", title, Some(allocation))
            }
            FreeError::Unknown => {
                let near = self.context.memory.describe(address);
                let title = format!("free of {address:#x}, which is not the start of an allocation: {near}");
                ("bad-free", title, self.context.memory.nearest(address).map(Box::new))
            }
        };
        let mut diagnostic = Diagnostic::new(code, title);
        if let Some(allocation) = allocation {
            history::tell(self.context, &allocation, &mut diagnostic);
        }
        self.stop(StopKind::Fault, block, warp.index, lane, site, diagnostic)
    }

    fn event(&self, block: &Block<O::Block>, warp: &Warp, lane: usize, site: Site) -> Event {
        let thread = self.context.thread(block.id, warp.index, lane);
        Event { program: self.context.module, launch: self.context.memory.launch, site, thread }
    }

    fn assertion(&self, block: &Block<O::Block>, warp: &Warp, lane: usize, params: &[u64], site: Site) -> Stop {
        let text = |index: usize| {
            let bytes = params.get(index).and_then(|address| self.string(block, warp, lane, *address, MAX_STRING));
            String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
        };
        let line = params.get(2).copied().unwrap_or_default() as u32;
        let title = format!("assertion `{}` failed at {}:{line} in {}", text(0), text(1), text(3));
        self.fault(block, warp.index, lane, site, "assert", title)
    }

    /// Returns the bytes before a NUL at a generic address, at most `most`.
    fn string(&self, block: &Block<O::Block>, warp: &Warp, lane: usize, address: u64, most: u64) -> Option<Vec<u8>> {
        let mut bytes = Vec::new();
        for offset in 0..most {
            match self.generic_bytes(block, warp, lane, address.checked_add(offset)?, 1)? as u8 {
                0 => break,
                byte => bytes.push(byte),
            }
        }
        Some(bytes)
    }

    /// Returns 1, 4 or 8 aligned bytes at a generic address, as one lane sees them.
    fn generic_bytes(
        &self,
        block: &Block<O::Block>,
        warp: &Warp,
        lane: usize,
        address: u64,
        bytes: u64,
    ) -> Option<u64> {
        let (space, offset) = address::split(address);
        let inside =
            |end: u64| offset.is_multiple_of(bytes) && offset.checked_add(bytes).is_some_and(|last| last <= end);
        let size = bytes as u8;
        match space {
            Space::Shared => inside(self.context.shared_bytes).then(|| load_words(&block.shared, offset, size)),
            Space::Param => inside(self.context.param_bytes).then(|| load_words(&self.context.params, offset, size)),
            Space::Local => inside(warp.local.len() as u64 * 4).then(|| load_local(&warp.local, lane, offset, size)),
            _ => {
                let (storage, offset) = self.context.memory.find(address, bytes)?;
                (offset.is_multiple_of(bytes)).then(|| storage.load(offset, size))
            }
        }
    }
}

fn read_frame(warp: &Warp, lane: usize, offset: u64, size: u64) -> u64 {
    let bytes = (0..size.min(8)).rev();
    bytes.fold(0, |value, byte| value << 8 | lanes::load_local(&warp.local, lane, offset + byte, 1))
}
