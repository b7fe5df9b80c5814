//! Memory of the host that kernels access: page-locked, registered and managed.

use crate::code::{Answer, Code};
use crate::entry::{api, put, put_made};
use crate::log::unsupported;
use crate::model::{Handle, Held, Operation};
use crate::state::state;

/// Flags of page-locked memory: for all contexts, mapped, write-combined.
const FLAGS: u32 = 7;
/// Flags of a registration: for all contexts, and mapped, have no effect; the memory is that of an I/O device, or
/// kernels only read it. Device attributes say that those two are not supported.
const IO_MEMORY: u32 = 4;
const READ_ONLY: u32 = 8;
const REGISTER_FLAGS: u32 = 16;
/// Flags of managed memory: attached to all streams, or to the host.
const GLOBAL: u32 = 1;
const HOST: u32 = 2;

api! {
    cuMemHostAlloc(address: *mut u64, bytes: usize, flags: u32) {
        if flags & !FLAGS != 0 {
            return Err(Code::INVALID_VALUE);
        }
        put_made(address, || allocate(bytes, Held::Pinned(flags)))
    }

    cuMemAllocHost_v2(address: *mut u64, bytes: usize) { put_made(address, || allocate(bytes, Held::Pinned(2))) }

    cuMemFreeHost(address: u64) {
        if address == 0 {
            return Ok(());
        }
        free(address, |held| matches!(held, Held::Pinned(_)), Code::INVALID_VALUE)
    }

    cuMemHostRegister_v2(address: u64, bytes: usize, flags: u32) {
        let mut state = state()?;
        let context = state.current()?;
        let device = state.current_device()?.number;
        match flags {
            REGISTER_FLAGS.. => Err(Code::INVALID_VALUE),
            _ if flags & IO_MEMORY != 0 => Err(unsupported("cuMemHostRegister of I/O memory")),
            _ if flags & READ_ONLY != 0 => Err(unsupported("cuMemHostRegister of memory that is only read")),
            _ => state.register(device, context, address, bytes as u64, flags),
        }
    }

    cuMemHostUnregister(address: u64) {
        free(address, |held| matches!(held, Held::Registered(_)), Code::HOST_MEMORY_NOT_REGISTERED)
    }

    cuMemHostGetDevicePointer_v2(device: *mut u64, address: u64, flags: u32) {
        let state = state()?;
        state.current()?;
        let known = state.block_at(address).filter(|(_, block)| block.held.is_on_host() && flags == 0);
        // Kernels access it at the host's address.
        put(device, known.map(|_| address).ok_or(Code::INVALID_VALUE)?)
    }

    cuMemHostGetFlags(flags: *mut u32, address: u64) {
        let state = state()?;
        match state.block_at(address).map(|(_, block)| block.held) {
            Some(Held::Pinned(known) | Held::Registered(known)) => put(flags, known),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    cuMemAllocManaged(address: *mut u64, bytes: usize, flags: u32) {
        if flags != GLOBAL && flags != HOST {
            return Err(Code::INVALID_VALUE);
        }
        put_made(address, || allocate(bytes, Held::Managed))
    }

    cuMemPrefetchAsync(address: u64, bytes: usize, _device: i32, stream: Handle) or cuMemPrefetchAsync_ptsz {
        prefetch(address, bytes, stream)
    }

    cuMemPrefetchAsync_v2(
        address: u64, bytes: usize, _location: u64, _flags: u32, stream: Handle,
    ) or cuMemPrefetchAsync_v2_ptsz {
        prefetch(address, bytes, stream)
    }

    cuMemAdvise(address: u64, bytes: usize, _advice: u32, _device: i32) { managed(address, bytes) }

    cuMemAdvise_v2(address: u64, bytes: usize, _advice: u32, _location: u64) { managed(address, bytes) }
}

fn allocate(bytes: usize, held: Held) -> Answer<u64> {
    let mut state = state()?;
    let context = state.current()?;
    let device = state.current_device()?.number;
    state.allocate_host(device, context, bytes as u64, held)
}

fn free(address: u64, is_right: impl Fn(Held) -> bool, otherwise: Code) -> Answer {
    let guard = state()?;
    let (_, block) = guard.block_at(address).filter(|(start, _)| *start == address).ok_or(otherwise)?;
    if !is_right(block.held) {
        return Err(otherwise);
    }
    // Work that uses it ends first, as the driver's own functions wait.
    let mut state = super::context::finish(guard, block.context);
    state.free_block(address).map(|_| ())
}

/// Managed memory is where every device and the host access it, so that moving it has no effect.
fn prefetch(address: u64, bytes: usize, stream: Handle) -> Answer {
    managed(address, bytes)?;
    let mut state = state()?;
    let stream = state.stream(stream)?;
    state.enqueue(stream, Operation::Empty)
}

fn managed(address: u64, bytes: usize) -> Answer {
    let state = state()?;
    let (start, block) = state.block_at(address).ok_or(Code::INVALID_VALUE)?;
    let inside = bytes as u64 <= block.bytes - (address - start);
    if inside && block.held.is_managed() { Ok(()) } else { Err(Code::INVALID_VALUE) }
}
