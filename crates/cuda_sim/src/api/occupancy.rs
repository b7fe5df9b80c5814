//! Occupancy.

use super::function::{cluster, most_blocks};
use super::launch::{Config, Shape};
use crate::code::{Answer, Code};
use crate::entry::{api, get, put};
use crate::model::Handle;
use crate::state::{State, state};
use ptx_sim::occupancy::{Demand, occupancy};

/// Computes a block's dynamic shared memory in bytes from its threads.
type Shared = Option<extern "C" fn(i32) -> usize>;

api! {
    cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut i32, function: Handle, threads: i32, shared: usize) {
        put(blocks, resident(&*state()?, function, threads, shared)? as i32)
    }

    cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks: *mut i32, function: Handle, threads: i32, shared: usize, _flags: u32,
    ) {
        put(blocks, resident(&*state()?, function, threads, shared)? as i32)
    }

    cuOccupancyMaxPotentialBlockSize(
        grid: *mut i32, block: *mut i32, function: Handle, of_block: Shared, shared: usize, most: i32,
    ) {
        potential(grid, block, function, of_block, shared, most)
    }

    cuOccupancyMaxPotentialBlockSizeWithFlags(
        grid: *mut i32, block: *mut i32, function: Handle, of_block: Shared, shared: usize, most: i32, _flags: u32,
    ) {
        potential(grid, block, function, of_block, shared, most)
    }

    cuOccupancyAvailableDynamicSMemPerBlock(bytes: *mut usize, function: Handle, blocks: i32, threads: i32) {
        let state = state()?;
        let most = state.settings.profile.shared_per_block as usize;
        let wanted = u32::try_from(blocks).ok().filter(|blocks| *blocks > 0).ok_or(Code::INVALID_VALUE)?;
        let unit = state.settings.profile.shared_unit.max(1) as usize;
        let fits = |bytes: &usize| resident(&state, function, threads, *bytes).is_ok_and(|blocks| blocks >= wanted);
        let found = (0..=most / unit).rev().map(|units| units * unit).find(fits);
        put(bytes, found.ok_or(Code::INVALID_VALUE)?)
    }

    cuOccupancyMaxPotentialClusterSize(blocks: *mut i32, function: Handle, _config: *const Config) {
        let state = state()?;
        let known = state.functions.get(&function).ok_or(Code::INVALID_HANDLE)?;
        put(blocks, most_blocks(&state, known) as i32)
    }

    cuOccupancyMaxActiveClusters(clusters: *mut i32, function: Handle, config: *const Config) {
        let config = get(config)?;
        let state = state()?;
        let threads = config.block.into_iter().try_fold(1, u32::checked_mul).ok_or(Code::INVALID_VALUE)?;
        let threads = i32::try_from(threads).map_err(|_| Code::INVALID_VALUE)?;
        let blocks = resident(&state, function, threads, config.shared as usize)?;
        let known = state.functions.get(&function).ok_or(Code::INVALID_HANDLE)?;
        let cluster = cluster(&state, known, Shape::of(&config)?.cluster)?.ok_or(Code::INVALID_VALUE)?;
        let of_cluster = cluster.iter().product::<u32>().max(1);
        put(clusters, (blocks * state.settings.profile.multiprocessors / of_cluster) as i32)
    }
}

/// Returns the blocks of a kernel that are resident on a multiprocessor.
fn resident(state: &State, function: Handle, threads: i32, shared: usize) -> Answer<u32> {
    let facts = state.functions.get(&function).ok_or(Code::INVALID_HANDLE)?.facts;
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0).ok_or(Code::INVALID_VALUE)?;
    let shared_bytes = facts.static_shared + shared as u64;
    let demand = Demand { threads, registers: facts.registers, shared_bytes };
    Ok(occupancy(&state.settings.profile, &demand).blocks)
}

/// Finds the block with the most resident threads, the largest of equal ones, as CUDA's own function does.
unsafe fn potential(
    grid: *mut i32,
    block: *mut i32,
    function: Handle,
    of_block: Shared,
    shared: usize,
    most: i32,
) -> Answer {
    let (limit, multiprocessors) = {
        let state = state()?;
        let facts = state.functions.get(&function).ok_or(Code::INVALID_HANDLE)?.facts;
        let limit = facts.max_threads.min(state.settings.profile.threads_per_block) as i32;
        (if most > 0 { limit.min(most) } else { limit }, state.settings.profile.multiprocessors as i32)
    };
    let mut best = (0, 0, 0);
    for threads in (1..=limit).rev().filter(|threads| threads % 32 == 0 || *threads == limit) {
        // The program's function runs without the lock.
        let bytes = of_block.map_or(shared, |of_block| of_block(threads));
        let blocks = resident(&*state()?, function, threads, bytes)? as i32;
        if blocks * threads > best.0 {
            best = (blocks * threads, threads, blocks);
        }
    }
    // SAFETY: the caller's pointers.
    unsafe {
        put(grid, best.2 * multiprocessors)?;
        put(block, best.1)
    }
}
