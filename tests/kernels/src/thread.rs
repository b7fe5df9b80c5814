//! Indices, barriers, fences, clocks.

use cuda_std::prelude::*;
use cuda_std::{misc, thread::*};

/// Writes the indices, dimensions and ranks of every thread: 19 values.
#[kernel]
pub unsafe fn thread_indices(out: *mut u32) {
    let (t, b, bd, gd) = (thread_idx(), block_idx(), block_dim(), grid_dim());
    let row = [
        t.x,
        t.y,
        t.z,
        b.x,
        b.y,
        b.z,
        bd.x,
        bd.y,
        bd.z,
        gd.x,
        gd.y,
        gd.z,
        index_1d(),
        index_2d().y,
        index_3d().z,
        rank_in_block(),
        index(),
        first() as u32,
        warp_size(),
    ];
    for (i, value) in row.into_iter().enumerate() {
        // SAFETY: `out` has a row of 19 values for each thread.
        unsafe { *out.add(index() as usize * 19 + i) = value };
    }
}

/// Writes `out[i] = i` for `i < n`, opaque to the compiler, with any launch shape.
#[kernel]
pub unsafe fn thread_grid_stride(out: *mut u64, n: u64) {
    let mut i = global_index();
    while (i as u64) < n {
        // SAFETY: `out` has `n` values, each written by one thread.
        unsafe { *out.add(i) = misc::opaque(i as u64) };
        i += grid_stride();
    }
}

/// Passes each thread's value to the thread at the mirrored index of the block, across a barrier.
#[kernel]
pub unsafe fn thread_sync_threads(out: *mut u32) {
    let cache = shared::dynamic_shared_mem::<u32>();
    let (t, n) = (thread_idx_x(), block_dim_x());
    // SAFETY: the launch has `n` words of shared memory, and `out` one per thread.
    unsafe {
        *cache.add(t as usize) = t * 10;
        sync_threads(); // all values are written before any is read
        *out.add(index_1d() as usize) = *cache.add((n - 1 - t) as usize);
    }
}

/// Passes values to the mirrored thread of the same half of the block. Each half has a barrier of its own, and the
/// second one twice as many rounds.
#[kernel]
pub unsafe fn thread_sync_some(out: *mut u32) {
    let cache = shared::dynamic_shared_mem::<u32>();
    let (t, half) = (thread_idx_x(), block_dim_x() / 2);
    let (group, place) = (t / half, t % half);
    let mut value = t * 10;
    for _ in 0..=group {
        // SAFETY: the launch has a word of shared memory for each thread. All threads of a half come here equally
        // often, whole warps, and access the words of their half between its barriers.
        unsafe {
            *cache.add(t as usize) = value;
            sync_some(1 + group, half);
            value = *cache.add((group * half + half - 1 - place) as usize) + 1;
            sync_some(1 + group, half);
        }
    }
    // SAFETY: `out` has a word for each thread.
    unsafe { *out.add(index_1d() as usize) = value };
}

/// The three voting barriers on the predicate "index below `limit`".
#[kernel]
pub unsafe fn thread_sync_votes(out: *mut u32, limit: u32) {
    let below = u32::from(thread_idx_x() < limit);
    let votes = [sync_threads_count(below), sync_threads_and(below), sync_threads_or(below)];
    for (i, vote) in votes.into_iter().enumerate() {
        // SAFETY: `out` has three words for each thread.
        unsafe { *out.add(index_1d() as usize * 3 + i) = vote };
    }
}

/// All fences, which must not change the result.
#[kernel]
pub unsafe fn thread_fences(out: *mut u32) {
    // SAFETY: `out` has one word for each thread.
    unsafe {
        let mine = out.add(index_1d() as usize);
        *mine = 1;
        block_fence();
        *mine += 1;
        grid_fence();
        *mine += 1;
        device_fence();
        *mine += 1;
        system_fence();
        *mine += 1;
    }
}

/// Two readings of each clock around a sleep.
#[kernel]
pub unsafe fn thread_clocks(out: *mut u64) {
    let (cycles, nanoseconds) = (misc::clock(), misc::global_timer());
    nanosleep(2000);
    misc::profiler_counter::<3>();
    // SAFETY: the launch has one thread, and `out` four words.
    unsafe {
        *out = cycles;
        *out.add(1) = misc::clock();
        *out.add(2) = nanoseconds;
        *out.add(3) = misc::global_timer();
    }
}

/// Writes the number of threads of its block, which is at most `B`.
#[kernel(for B in [64, 128], launch_bounds(B, 2), max_registers(32))]
pub fn thread_launch_bounds<const B: u32>(mut out: DisjointSlice<u32>) {
    if let Some(out) = out.get_mut(thread::unique_index()) {
        *out = thread::block_dim_x();
    }
}

/// Writes each thread's row in a block of 16 by 4.
#[kernel(block(16, 4))]
pub fn thread_required_block(mut out: DisjointMatrix<u32>) {
    if let Some(out) = out.get_mut(thread::unique_index_2d()) {
        *out = thread::thread_idx_y();
    }
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, view};
    use std::vec::Vec;

    let (grid, block) = ([2u32, 3, 2], [4u32, 2, 3]);
    let mut rows = Vec::new();
    for b in 0..grid.iter().product::<u32>() {
        let (bx, by, bz) = (b % grid[0], b / grid[0] % grid[1], b / grid[0] / grid[1]);
        for t in 0..block.iter().product::<u32>() {
            let (tx, ty, tz) = (t % block[0], t / block[0] % block[1], t / block[0] / block[1]);
            rows.extend([tx, ty, tz, bx, by, bz]);
            rows.extend(block);
            rows.extend(grid);
            rows.extend([bx * block[0] + tx, by * block[1] + ty, bz * block[2] + tz]);
            rows.extend([t, b * 24 + t, u32::from(b + t == 0), 32]);
        }
    }
    let mirrored: Vec<u32> = (0..3).flat_map(|_| (0..96).map(|t| (95 - t) * 10)).collect();
    let halves: Vec<u32> =
        (0..2).flat_map(|_| (0..128).map(|t| if t < 64 { (63 - t) * 10 + 1 } else { t * 10 + 2 })).collect();
    let votes = |limit: u32| -> Vec<u32> {
        (0..70).flat_map(|_| [limit.min(70), u32::from(limit >= 70), u32::from(limit > 0)]).collect()
    };
    let forward = |found: &[u64]| match found {
        [a, b, c, d] if a <= b && c <= d => Ok(()),
        other => Err(std::format!("clocks went back: {other:?}")),
    };
    let mut cases = std::vec![
        Case::in_space("thread_indices", grid, block).output(&rows).calls(|b| thread_indices(out(b[0]))),
        Case::new("thread_sync_threads", 3, 96)
            .shared(96 * 4)
            .output(&mirrored)
            .calls(|b| thread_sync_threads(out(b[0]))),
        Case::new("thread_sync_some", 2, 128).shared(128 * 4).output(&halves).calls(|b| thread_sync_some(out(b[0]))),
        Case::new("thread_fences", 2, 33).output(&[5u32; 66]).calls(|b| thread_fences(out(b[0]))),
        Case::new("thread_launch_bounds of 64", 1, 64)
            .output(&[64u32; 64])
            .calls(|b| thread_launch_bounds::<64>(view(b[0], 64))),
        Case::new("thread_launch_bounds of 128", 2, 96)
            .output(&[96u32; 192])
            .calls(|b| thread_launch_bounds::<128>(view(b[0], 192))),
        Case::in_space("thread_required_block", [1, 1, 1], [16, 4, 1])
            .output(&(0..64).map(|i| i / 16).collect::<Vec<u32>>())
            .calls(|b| thread_required_block(view(b[0], 64).matrix(4, 16))),
        Case::new("thread_clocks", 1, 1).holds(4, forward).calls(|b| thread_clocks(out(b[0]))),
    ];
    for n in [0u64, 1, 31, 64, 1000] {
        let expected: Vec<u64> = (0..n).collect();
        let name = std::format!("thread_grid_stride of {n}");
        cases.push(Case::new(&name, 3, 32).output(&expected).calls(move |b| thread_grid_stride(out(b[0]), n)));
    }
    for limit in [0, 1, 33, 69, 70] {
        let name = std::format!("thread_sync_votes below {limit}");
        cases.push(Case::new(&name, 1, 70).output(&votes(limit)).calls(move |b| thread_sync_votes(out(b[0]), limit)));
    }
    cases
}
