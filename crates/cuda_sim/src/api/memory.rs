//! Device memory.

use crate::code::{Answer, Code};
use crate::entry::{api, put, put_if, put_made};
use crate::model::Held;
use crate::state::state;

/// Alignment of the rows of pitched memory in bytes.
const PITCH: usize = 512;

api! {
    cuMemAlloc_v2(address: *mut u64, bytes: usize) { put_made(address, || allocate(bytes)) }

    cuMemAllocPitch_v2(address: *mut u64, pitch: *mut usize, width: usize, height: usize, element: u32) {
        if !matches!(element, 4 | 8 | 16) || address.is_null() || pitch.is_null() {
            return Err(Code::INVALID_VALUE);
        }
        let row = width.checked_next_multiple_of(PITCH).ok_or(Code::OUT_OF_MEMORY)?;
        put(address, allocate(row.checked_mul(height).ok_or(Code::OUT_OF_MEMORY)?)?)?;
        put(pitch, row)
    }

    cuMemFree_v2(address: u64) {
        if address == 0 {
            return Ok(());
        }
        // A free waits for all work of the memory's context, as the driver's does.
        let guard = state()?;
        let current = guard.current()?;
        let context = guard.block_at(address).map_or(current, |(_, block)| block.context);
        let mut state = super::context::finish(guard, context);
        // It may have waited for a kernel that faults.
        state.check(current)?;
        let is_ours = |held| matches!(held, Held::Device | Held::Pool(_) | Held::Managed);
        match state.block_at(address) {
            Some((start, block)) if start == address && is_ours(block.held) => state.free_block(address).map(|_| ()),
            _ => {
                let near = state.devices.first().map(|device| device.machine.describe(address)).unwrap_or_default();
                state.report.note(&format!("cuMemFree: {address:#x} is not the start of an allocation: {near}"));
                Err(Code::INVALID_VALUE)
            }
        }
    }

    cuMemGetAddressRange_v2(start: *mut u64, bytes: *mut usize, address: u64) {
        let state = state()?;
        state.current()?;
        let known = state.block_at(address).map(|(start, block)| (start, block.bytes));
        let known = known.or_else(|| state.devices.iter().find_map(|device| device.machine.allocation(address)));
        let (base, size) = known.ok_or(Code::NOT_FOUND)?;
        put_if(start, base);
        put_if(bytes, size as usize);
        Ok(())
    }
}

fn allocate(bytes: usize) -> Answer<u64> {
    let mut state = state()?;
    let context = state.current()?;
    let device = state.current_device()?.number;
    state.allocate(device, context, bytes as u64, Held::Device)
}
