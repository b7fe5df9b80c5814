//! Memory that is allocated and freed in stream order, and pools.

use crate::code::{Answer, Code};
use crate::entry::{api, get, put};
use crate::model::{Handle, Held, Operation};
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

/// The start of `CUmemPoolProps`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct Properties {
    allocation: u32,
    handles: u32,
    location: u32,
    device: i32,
}

api! {
    cuMemAllocAsync(address: *mut u64, bytes: usize, stream: Handle) or cuMemAllocAsync_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        let context = state.streams.get(&stream).map_or(0, |stream| stream.context);
        let device = state.contexts.get(&context).map_or(0, |context| context.device);
        let pool = state.devices[device].pool;
        put(address, allocate(&mut state, stream, pool, bytes)?)
    }

    cuMemAllocFromPoolAsync(
        address: *mut u64, bytes: usize, pool: Handle, stream: Handle,
    ) or cuMemAllocFromPoolAsync_ptsz {
        let mut state = state()?;
        let stream = state.stream(stream)?;
        put(address, allocate(&mut state, stream, pool, bytes)?)
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
            // The memory of a graph lives as long as the graph, so that each launch finds it.
            return state.enqueue(stream, Operation::Empty);
        }
        state.enqueue(stream, Operation::Free { address })
    }

    cuMemPoolCreate(pool: *mut Handle, properties: *const Properties) {
        let properties = get(properties)?;
        let mut state = state()?;
        let device = state.device(properties.device)?.number;
        let new = state.handle();
        state.pools.insert(new, device);
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

    cuMemPoolSetAttribute(pool: Handle, attribute: u32, _value: *const c_void) {
        let known = state()?.pools.contains_key(&pool);
        // Freed memory is returned at once, whatever the threshold.
        if known && attribute <= USED_HIGH { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    cuMemPoolGetAttribute(pool: Handle, attribute: u32, value: *mut c_void) {
        let state = state()?;
        if !state.pools.contains_key(&pool) {
            return Err(Code::INVALID_VALUE);
        }
        let used: u64 =
            state.blocks.values().filter(|block| block.held == Held::Pool(pool)).map(|block| block.bytes).sum();
        match attribute {
            attribute if REUSE.contains(&attribute) => put(value.cast::<i32>(), 1),
            THRESHOLD => put(value.cast::<u64>(), 0),
            RESERVED | RESERVED_HIGH | USED | USED_HIGH => put(value.cast::<u64>(), used),
            _ => Err(Code::INVALID_VALUE),
        }
    }

    cuMemPoolSetAccess(pool: Handle, _access: *const c_void, _count: usize) {
        if state()?.pools.contains_key(&pool) { Ok(()) } else { Err(Code::INVALID_VALUE) }
    }

    cuMemPoolGetAccess(flags: *mut u32, pool: Handle, _location: *const c_void) {
        if !state()?.pools.contains_key(&pool) {
            return Err(Code::INVALID_VALUE);
        }
        put(flags, 3)
    }
}

/// Allocates at once: addresses are never reused, so that an order of streams is not needed for it.
fn allocate(state: &mut State, stream: Handle, pool: Handle, bytes: usize) -> Answer<u64> {
    let device = *state.pools.get(&pool).ok_or(Code::INVALID_VALUE)?;
    let known = state.streams.get(&stream).ok_or(Code::INVALID_HANDLE)?;
    let (context, capture) = (known.context, known.capture.as_ref().map(|capture| capture.graph));
    let address = state.allocate(device, context, bytes as u64, Held::Pool(pool))?;
    match capture.and_then(|graph| state.graphs.get_mut(&graph)) {
        Some(graph) => {
            graph.memory.push(Arc::new(address));
            state.enqueue(stream, Operation::Empty)?;
        }
        // Without an order after this call, other streams must not use it yet.
        None => state.enqueue(stream, Operation::Allocated { address })?,
    }
    Ok(address)
}
