//! External functions that the driver provides: `vprintf`, `malloc`, `free`, `__assertfail`.

use super::history;
use super::printf;
use super::step::Step;
use super::warp::Warp;
use crate::lanes::{self, lanes_of, load_local, load_words, store_local};
use crate::memory::Event;
use crate::memory::FreeError;
use crate::memory::address;
use crate::observe::{Observer, Shadow};
use crate::program::{FrameCopy, Space};
use crate::stop::{Diagnostic, Stop, StopKind};
use std::sync::atomic::Ordering::Relaxed;

/// Maximum number of bytes read from a string, and of the output of one `vprintf`.
const MAX_STRING: u64 = 1 << 16;
/// Maximum bytes of text that a launch may print.
const MAX_PRINTED: u64 = 64 << 20;

/// Executes a driver function for the lanes, one after the other.
///
/// # Errors
/// A stop if the call faults, or the simulator does not provide the function.
pub fn execute<O: Observer>(
    step: &mut Step<'_, '_, O>,
    name: &str,
    params: &[FrameCopy],
    returns: &[FrameCopy],
) -> Result<(), Stop> {
    step.worker.acted = true;
    let base = step.warp.frames[step.at.frame as usize].base;
    for lane in lanes_of(step.mask) {
        let params: Vec<u64> =
            params.iter().map(|copy| read_frame(step.warp, lane, base + copy.caller, copy.size)).collect();
        let param = |index: usize| params.get(index).copied().unwrap_or_default();
        let result = match name {
            "vprintf" => print(step, lane, param(0), param(1))?,
            "malloc" => malloc(step, lane, param(0)),
            "free" => free(step, lane, param(0))?,
            "__assertfail" => return Err(assertion(step, lane, &params)),
            _ => {
                let title = format!("the simulator does not provide the external function `{name}`");
                let mut diagnostic = Diagnostic::new("unknown-function", title);
                diagnostic.help = Some("link its definition into the PTX".to_owned());
                return Err(step.context().stop(StopKind::Unsupported, step.who(lane), diagnostic));
            }
        };
        if let Some(copy) = returns.first() {
            for byte in 0..copy.size.min(8) {
                store_local(&mut step.warp.local, lane, base + copy.caller + byte, 1, result >> (byte * 8));
            }
            if O::Shadow::ON {
                let (shadow, mut scene) = step.shadow();
                shadow.writes(&mut scene, Space::Frame, lane, base + copy.caller, copy.size.min(8));
            }
        }
    }
    Ok(())
}

fn print<O: Observer>(step: &mut Step<'_, '_, O>, lane: usize, format: u64, arguments: u64) -> Result<u64, Stop> {
    let format_address = format;
    let Some(format) = string(step, lane, format, MAX_STRING) else {
        let title = format!("vprintf's format string at {format:#x} cannot be read");
        return Err(step.fault(lane, "printf", title));
    };
    let mut next = arguments;
    let mut unreadable = None;
    let (mut shown, mut strings) = (vec![(format_address, format.len() as u64)], Vec::new());
    let mut left = MAX_STRING;
    let seen: &Step<'_, '_, O> = step;
    let text = printf::format(
        &format,
        &mut |bytes| {
            next = next.checked_next_multiple_of(bytes).unwrap_or(next);
            let value = generic_bytes(seen, lane, next, bytes);
            if value.is_none() {
                unreadable.get_or_insert(next);
            }
            shown.push((next, bytes));
            next = next.wrapping_add(bytes);
            value.unwrap_or_default()
        },
        &mut |address, most| {
            let text = string(seen, lane, address, most.min(left));
            let bytes = text.as_ref().map_or(0, |text| text.len() as u64);
            strings.push((address, bytes));
            left -= bytes;
            text
        },
    );
    if let Some(address) = unreadable {
        let title = format!("vprintf's arguments at {address:#x} cannot be read");
        return Err(step.fault(lane, "printf", title));
    }
    if O::Shadow::ON {
        let (shadow, mut scene) = step.shadow();
        for (address, bytes) in shown.into_iter().chain(strings) {
            shadow.shows(&mut scene, lane, address, bytes);
        }
    }
    let new = text.text.len() as u64;
    if step.context().printed.fetch_add(new, Relaxed) + new > MAX_PRINTED {
        let title = format!("the kernel printed more than {MAX_PRINTED} bytes");
        return Err(step.fault(lane, "printf", title));
    }
    step.block.printed.push_str(&text.text);
    Ok(text.arguments)
}

fn malloc<O: Observer>(step: &mut Step<'_, '_, O>, lane: usize, bytes: u64) -> u64 {
    let event = event(step, lane);
    // The device's malloc returns null when it has no memory.
    let memory = step.context().memory;
    let address = memory.alloc_on_heap(bytes, "device malloc", event).unwrap_or(0);
    step.worker.snapshot.refresh(memory);
    address
}

fn free<O: Observer>(step: &mut Step<'_, '_, O>, lane: usize, address: u64) -> Result<u64, Stop> {
    let event = event(step, lane);
    if address != 0
        && let Err(error) = step.context().memory.free(address, Some(event))
    {
        return Err(bad_free(step, lane, address, error));
    }
    step.worker.snapshot.refresh(step.context().memory);
    Ok(0)
}

#[cold]
fn bad_free<O: Observer>(step: &Step<'_, '_, O>, lane: usize, address: u64, error: FreeError) -> Stop {
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
            let near = step.context().memory.describe(address);
            let title = format!("free of {address:#x}, which is not the start of an allocation: {near}");
            ("bad-free", title, step.context().memory.nearest(address).map(Box::new))
        }
    };
    let mut diagnostic = Diagnostic::new(code, title);
    if let Some(allocation) = allocation {
        history::describe(step.context(), &allocation, &mut diagnostic);
    }
    step.context().fault(step.who(lane), diagnostic)
}

fn event<O: Observer>(step: &Step<'_, '_, O>, lane: usize) -> Event {
    let thread = step.context().thread(step.block.id, step.warp.index, lane);
    Event { program: step.context().module, launch: step.context().memory.launch, site: step.at.site, thread }
}

fn assertion<O: Observer>(step: &Step<'_, '_, O>, lane: usize, params: &[u64]) -> Stop {
    let text = |index: usize| {
        let bytes = params.get(index).and_then(|address| string(step, lane, *address, MAX_STRING));
        String::from_utf8_lossy(&bytes.unwrap_or_default()).into_owned()
    };
    let line = params.get(2).copied().unwrap_or_default() as u32;
    let title = format!("assertion `{}` failed at {}:{line} in {}", text(0), text(1), text(3));
    step.fault(lane, "assert", title)
}

/// Returns the bytes before a NUL at a generic address, at most `most`.
fn string<O: Observer>(step: &Step<'_, '_, O>, lane: usize, address: u64, most: u64) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    for offset in 0..most {
        match generic_bytes(step, lane, address.checked_add(offset)?, 1)? as u8 {
            0 => break,
            byte => bytes.push(byte),
        }
    }
    Some(bytes)
}

/// Returns 1, 4 or 8 aligned bytes at a generic address, as one lane sees them.
fn generic_bytes<O: Observer>(step: &Step<'_, '_, O>, lane: usize, address: u64, bytes: u64) -> Option<u64> {
    let (space, offset) = address::split(address);
    let inside = |end: u64| offset.is_multiple_of(bytes) && offset.checked_add(bytes).is_some_and(|last| last <= end);
    let size = bytes as u8;
    match space {
        Space::Shared => inside(step.context().shared_bytes).then(|| load_words(&step.block.shared, offset, size)),
        Space::Param => inside(step.context().param_bytes).then(|| load_words(&step.context().params, offset, size)),
        Space::Local => {
            inside(step.warp.local.len() as u64 * 4).then(|| load_local(&step.warp.local, lane, offset, size))
        }
        _ => {
            let (storage, offset) = step.context().memory.find(address, bytes)?;
            (offset.is_multiple_of(bytes)).then(|| storage.load(offset, size))
        }
    }
}

fn read_frame(warp: &Warp, lane: usize, offset: u64, size: u64) -> u64 {
    let bytes = (0..size.min(8)).rev();
    bytes.fold(0, |value, byte| value << 8 | lanes::load_local(&warp.local, lane, offset + byte, 1))
}
