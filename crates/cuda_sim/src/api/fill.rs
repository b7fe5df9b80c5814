//! Fills of device memory.

use crate::code::{Answer, Code};
use crate::entry::api;
use crate::model::{Handle, Operation, Set};
use crate::state::{state, wait_for};

api! {
    cuMemsetD8_v2(address: u64, value: u8, count: usize) or cuMemsetD8_v2_ptds {
        row(address, u32::from(value), 1, count)
    }

    cuMemsetD16_v2(address: u64, value: u16, count: usize) or cuMemsetD16_v2_ptds {
        row(address, u32::from(value), 2, count)
    }

    cuMemsetD32_v2(address: u64, value: u32, count: usize) or cuMemsetD32_v2_ptds { row(address, value, 4, count) }

    cuMemsetD8Async(address: u64, value: u8, count: usize, stream: Handle) or cuMemsetD8Async_ptsz {
        row_async(address, u32::from(value), 1, count, stream)
    }

    cuMemsetD16Async(address: u64, value: u16, count: usize, stream: Handle) or cuMemsetD16Async_ptsz {
        row_async(address, u32::from(value), 2, count, stream)
    }

    cuMemsetD32Async(address: u64, value: u32, count: usize, stream: Handle) or cuMemsetD32Async_ptsz {
        row_async(address, value, 4, count, stream)
    }

    cuMemsetD2D8_v2(address: u64, pitch: usize, value: u8, width: usize, height: usize) or cuMemsetD2D8_v2_ptds {
        rows(&set(address, pitch, (u32::from(value), 1), width, height)?)
    }

    cuMemsetD2D16_v2(address: u64, pitch: usize, value: u16, width: usize, height: usize) or cuMemsetD2D16_v2_ptds {
        rows(&set(address, pitch, (u32::from(value), 2), width, height)?)
    }

    cuMemsetD2D32_v2(address: u64, pitch: usize, value: u32, width: usize, height: usize) or cuMemsetD2D32_v2_ptds {
        rows(&set(address, pitch, (value, 4), width, height)?)
    }

    cuMemsetD2D8Async(
        address: u64, pitch: usize, value: u8, width: usize, height: usize, stream: Handle,
    ) or cuMemsetD2D8Async_ptsz {
        enqueue(&set(address, pitch, (u32::from(value), 1), width, height)?, stream).map(|_| ())
    }

    cuMemsetD2D16Async(
        address: u64, pitch: usize, value: u16, width: usize, height: usize, stream: Handle,
    ) or cuMemsetD2D16Async_ptsz {
        enqueue(&set(address, pitch, (u32::from(value), 2), width, height)?, stream).map(|_| ())
    }

    cuMemsetD2D32Async(
        address: u64, pitch: usize, value: u32, width: usize, height: usize, stream: Handle,
    ) or cuMemsetD2D32Async_ptsz {
        enqueue(&set(address, pitch, (value, 4), width, height)?, stream).map(|_| ())
    }
}

/// Describes a fill.
///
/// # Errors
/// `INVALID_VALUE` for rows that are longer than the pitch, and for sizes that no memory has.
pub(super) fn set(address: u64, pitch: usize, (value, bytes): (u32, u64), width: usize, height: usize) -> Answer<Set> {
    let (pitch, width, height) = (pitch as u64, width as u64, height as u64);
    if width == 0 || height == 0 {
        return Ok(Set { address, pitch, value, bytes, width: 0, height: 0 });
    }
    let row = width.checked_mul(bytes).ok_or(Code::INVALID_VALUE)?;
    let end = pitch.checked_mul(height - 1).and_then(|start| start.checked_add(row)?.checked_add(address));
    if height > 1 && pitch < row || end.is_none() {
        return Err(Code::INVALID_VALUE);
    }
    Ok(Set { address, pitch, value, bytes, width, height })
}

fn row(address: u64, value: u32, bytes: u64, count: usize) -> Answer {
    rows(&set(address, 0, (value, bytes), count, 1)?)
}

fn row_async(address: u64, value: u32, bytes: u64, count: usize, stream: Handle) -> Answer {
    enqueue(&set(address, 0, (value, bytes), count, 1)?, stream).map(|_| ())
}

fn rows(set: &Set) -> Answer {
    let stream = enqueue(set, 0)?;
    let state = state()?;
    // As documented, the host does not wait for a fill of device memory.
    if state.block_at(set.address).is_some_and(|(_, block)| block.held.is_on_host()) {
        return wait_for(state, stream).outcome(stream);
    }
    Ok(())
}

fn enqueue(set: &Set, stream: Handle) -> Answer<Handle> {
    let mut state = state()?;
    let stream = state.stream(stream)?;
    state.enqueue(stream, Operation::Set(set.clone()))?;
    Ok(stream)
}
