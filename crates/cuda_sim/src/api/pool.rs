//! Memory that is allocated and freed in stream order, and pools.

use crate::code::{Answer, Code};
use crate::entry::{api, get, list, put, put_made};
use crate::model::{Handle, Held, Operation, Pool};
use crate::state::{State, state};
use std::ffi::c_void;
use std::sync::Arc;

/// Attributes of a pool.
const REUSE: std::ops::RangeInclusive<u32> = 1..=3;
const THRESHOLD: u32 = 4;
const RESERVED: u32 = 5;
const RESERVED_HIGH: u32 = 6;
const USED: u32 = 7;
const USED_HIGH: u32 = 8;

/// Types of allocations and of locations: pinned memory, and a device's.
const PINNED: u32 = 1;
const DEVICE: u32 = 1;
/// Kinds of access: none, and reads and writes.
const NO_ACCESS: u32 = 0;
const READ_WRITE: u32 = 3;

/// The start of `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Properties {
    allocation: u32,
    handles: u32,
    location: Location,
}

/// `CUmemLocation`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Location {
    kind: u32,
    id: i32,
}

/// `CUmemAccessDesc`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Access {
    location: Location,
    flags: u32,
}

api! {
    cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Handle) or cuMemAllocAsync_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let context = state.streams.get(&stream).map_or(0, |stream| stream.context);
        let device = state.contexts.get(&context).map_or(0, |context| context.device);
        let pool = state.devices[device].pool;
        put_made(address, || allocate(&mut state, stream, pool, bytes))
    }

    cuMemAllocFromPoolAsync(
        address: *mut u64, bytes: usize, pool: Handle, stream: Handle,
    ) or cuMemAllocFromPoolAsync_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        put_made(address, || allocate(&mut state, stream, pool, bytes))
    }

    cuMemFreeAsync(address: u64, stream: Handle) or cuMemFreeAsync_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        if address == 0 {
            return Ok(());
        }
        let (start, block) = state.block_at(address).ok_or(Code::INVALID_VALUE)?;
        if start != address || !matches!(block.held, Held::Device | Held::Pool(_)) {
            return Err(Code::INVALID_VALUE);
        }
        if state.streams.get(&stream).is_some_and(|stream| stream.capture.is_some()) {
            return state.enqueue(stream, Operation::Ended { address });
        }
        state.enqueue(stream, Operation::Free { address })
    }

    cuMemPoolCreate(pool: *mut Handle, properties: *const Properties) {
        let Properties { allocation, handles, location } = get(properties)?;
        let mut state = state()?;
        // Memory of the host, and handles for other processes, are not there.
        if allocation != PINNED || handles != 0 {
            return Err(match allocation {
                0 => Code::INVALID_VALUE,
                _ => crate::log::unsupported("cuMemPoolCreate with handles for other processes"),
            });
        }
        let device = device_at(&mut state, location)?;
        let new = state.handle();
        state.pools.insert(new, Pool { device, ..Pool::default() });
        put(pool, new)
    }

    cuMemPoolDestroy(pool: Handle) {
        let mut state = state()?;
        if state.devices.iter().any(|device| device.default_pool == pool) {
            return Err(Code::INVALID_VALUE);
        }
        state.pools.remove(&pool).ok_or(Code::INVALID_VALUE)?;
        let users = state.devices.iter_mut().filter(|device| device.pool == pool);
        users.for_each(|device| device.pool = device.default_pool);
        Ok(())
    }

    cuMemPoolTrimTo(pool: Handle, _keep: usize) {
        if state()?.pools.contains_key(&pool) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    cuMemPoolSetAttribute(pool: Handle, attribute: u32, value: *const c_void) {
        let mut state = state()?;
        let known = state.pools.get_mut(&pool).ok_or(Code::INVALID_VALUE)?;
        // Freed memory is returned at once, whatever the threshold, and addresses are reused late.
        match attribute {
            THRESHOLD => drop(known.set.insert(attribute, get(value.cast::<u64>())?)),
            attribute if REUSE.contains(&attribute) => {
                known.set.insert(attribute, u64::from(get(value.cast::<i32>())? != 0));
            }
            RESERVED_HIGH | USED_HIGH if get(value.cast::<u64>())? == 0 => known.high = known.used,
            _ => return Err(Code::INVALID_VALUE),
        }
        Ok(())
    }

    cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut c_void) {
        let state = state()?;
        let known = state.pools.get(&pool).ok_or(Code::INVALID_VALUE)?;
        let set = known.set.get(&attribute).copied();
        match attribute {
            attribute if REUSE.contains(&attribute) => put(value.cast::<i32>(), set.unwrap_or(1) as i32),
            THRESHOLD => put(value.cast::<u64>(), set.unwrap_or(0)),
            RESERVED | USED => put(value.cast::<u64>(), known.used),
            RESERVED_HIGH | USED_HIGH => put(value.cast::<u64>(), known.high),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    cuMemPoolSetAccess(pool: Handle, access: *const Access, count: usize) {
        let mut state = state()?;
        let home = state.pools.get(&pool).ok_or(Code::INVALID_VALUE)?.device;
        for Access { location, flags } in list(access, count)? {
            let device = device_at(&mut state, location)?;
            match flags {
                READ_WRITE => state.share_pool(pool, device),
                // A pool's own device always has access.
                NO_ACCESS if device != home => state.unshare_pool(pool, device),
                _ => return Err(Code::INVALID_VALUE),
            }
        }
        Ok(())
    }

    cuMemPoolGetAccess(flags: *mut u32, pool: Handle, location: *const Location) {
        let mut state = state()?;
        let device = device_at(&mut state, get(location)?)?;
        let known = state.pools.get(&pool).ok_or(Code::INVALID_VALUE)?;
        put(flags, if device == known.device || known.access.contains(&device) { READ_WRITE } else { NO_ACCESS })
    }
}

/// Returns the number of the device that a location names.
///
/// # Errors
/// `NOT_SUPPORTED` for memory of the host, `INVALID_VALUE` for what is no location.
fn device_at(state: &mut State, location: Location) -> Answer<usize> {
    match location.kind {
        DEVICE => Ok(state.device(location.id).map_err(|_| Code::INVALID_VALUE)?.number),
        2..=6 => Err(crate::log::unsupported("a memory pool of the host")),
        _ => Err(Code::INVALID_VALUE),
    }
}

/// Allocates at once: addresses are reused late, so that an order of streams is not needed for it.
fn allocate(state: &mut State, stream: Handle, pool: Handle, bytes: usize) -> Answer<u64> {
    let device = state.pools.get(&pool).ok_or(Code::INVALID_VALUE)?.device;
    let known = state.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?;
    let (context, capture) = (known.context, known.capture.as_ref().map(|capture| capture.graph));
    let address = state.allocate(device, context, bytes as u64, Held::Pool(pool))?;
    if let Some(pool) = state.pools.get_mut(&pool) {
        pool.used += bytes as u64;
        pool.high = pool.high.max(pool.used);
    }
    match capture.and_then(|graph| state.graphs.get_mut(&graph)) {
        Some(graph) => {
            graph.memory.push(Arc::new(address));
            state.enqueue(stream, Operation::Empty)?;
        }
        // Without an order after this call, other streams must not use it yet.
        None => state.enqueue(stream, Operation::Allocated { address }).inspect_err(|_| {
            // It exists, so that it can be freed.
            let _ = state.free_block(address);
        })?,
    }
    Ok(address)
}
