//! Keys as what ends runs: they are compared as they arrive, and become a bit for each element.

use crate::operator::{Pod, chunk::Chunk, shuffle};
use crate::reduce::WARP;
use crate::scan::best::{Runs, pitch};
use crate::unroll::unroll;
use cuda_std::memory::{Mbarrier, SharedAddress, copy_bulk};
use cuda_std::warp;

/// The keys of all elements: a run ends where a key differs from the one before.
#[derive(Clone, Copy)]
pub struct Keys<'a, K>(pub &'a [K]);

/// Bytes before a tile's keys in a stage: the last of them are the key before the tile.
const AHEAD: usize = 16;

impl<K: Pod + PartialEq> Runs for Keys<'_, K> {
    const KEYED: bool = true;
    const BYTES: u32 = size_of::<K>() as u32;

    #[inline(always)]
    fn in_chunks<const W: usize>(self) -> bool {
        let fits = const { fits::<K, W>() };
        fits && self.0.as_ptr().addr().is_multiple_of(16)
    }

    #[inline(always)]
    unsafe fn heads<const W: usize, const R: usize>(self, first: usize, whole: bool) -> u64 {
        let lane = warp::lane_id() as usize;
        // The key before the part goes around by way of the last lane.
        let before = if lane == WARP as usize - 1 { self.0.get(first.wrapping_sub(1)) } else { None };
        let before = before.copied().unwrap_or(K::zeroed());
        let own = first + lane * W;
        let keys = if whole {
            // SAFETY: the chunks lie inside, on boundaries of theirs.
            unsafe { load::<K, W, R>(self.0.as_ptr().wrapping_add(own)) }
        } else {
            core::array::from_fn(|row| core::array::from_fn(|k| self.or_last(own + row * pitch::<W>() + k)))
        };
        // SAFETY: the caller upholds this function's contract.
        unsafe { heads(&keys, before, first == 0) }
    }

    #[inline(always)]
    unsafe fn copy(self, to: SharedAddress, first: usize, elements: u32, barrier: Mbarrier) {
        const { assert!(AHEAD.is_multiple_of(size_of::<K>()), "keys before a tile lie on boundaries of their size") };
        // SAFETY: the caller upholds this function's contract; every tile but the first has the keys of another
        // one before it.
        unsafe {
            let from = self.0.as_ptr().add(first).cast::<u8>();
            let bytes = self.copied(first, elements);
            if first == 0 {
                copy_bulk(to.add(AHEAD as u32), from, bytes, barrier);
            } else {
                copy_bulk(to, from.sub(AHEAD), bytes, barrier);
            }
        }
    }

    #[inline(always)]
    fn copied(self, first: usize, elements: u32) -> u32 {
        elements * Self::BYTES + if first == 0 { 0 } else { AHEAD as u32 }
    }

    #[inline(always)]
    unsafe fn heads_in_stage<const W: usize, const R: usize>(
        self,
        stage: *const u8,
        first: usize,
        place: usize,
    ) -> u64 {
        let lane = warp::lane_id();
        // SAFETY: the tile's keys are in the stage, behind those of the tile before if there is one.
        unsafe {
            let part = stage.add(AHEAD).cast::<K>().add(place);
            let reads = first > 0 && lane == WARP - 1;
            let before = if reads { part.sub(1).read() } else { K::zeroed() };
            heads(&load::<K, W, R>(part.add(lane as usize * W)), before, first == 0)
        }
    }
}

impl<K: Pod> Keys<'_, K> {
    /// Key `at`, or past the end the last one. Heads past the end do not matter: no value there is stored.
    #[inline(always)]
    fn or_last(self, at: usize) -> K {
        let last = self.0.len().wrapping_sub(1);
        self.0.get(if at < last { at } else { last }).copied().unwrap_or(K::zeroed())
    }
}

/// Whether a chunk's keys fill 8 bytes or a few times 16.
const fn fits<K, const W: usize>() -> bool {
    let bytes = size_of::<K>() * W;
    bytes == 8 || bytes.is_multiple_of(16) && bytes <= 64
}

/// Keys that fill 8 bytes, on such a boundary.
#[derive(Clone, Copy)]
#[repr(C, align(8))]
struct Short<K, const W: usize>([K; W]);

/// Loads the keys of the thread's chunks, with all loads in flight at once.
///
/// # Safety
/// The chunks are there, on boundaries of 8 or 16 bytes, and [`fits`].
#[inline(always)]
unsafe fn load<K: Pod, const W: usize, const R: usize>(first: *const K) -> [[K; W]; R] {
    core::array::from_fn(|row| {
        // SAFETY: the caller upholds this function's contract.
        unsafe {
            let at = first.add(row * pitch::<W>());
            if const { size_of::<K>() * W == 8 } {
                at.cast::<Short<K, W>>().read().0
            } else {
                Chunk::load(at.cast::<Chunk<K, W>>()).0
            }
        }
    })
}

/// The heads among a thread's chunks. Row `r` of the warp's part has the chunks of all lanes; `before` is the key
/// before the part, in the last lane, and `starts` says that there is none.
///
/// # Safety
/// All lanes of the warp call it together.
#[inline(always)]
unsafe fn heads<K: Pod + PartialEq, const W: usize, const R: usize>(
    keys: &[[K; W]; R],
    before: K,
    starts: bool,
) -> u64 {
    const { assert!(size_of::<K>() <= AHEAD, "keys have at most 16 bytes") };
    let lane = warp::lane_id();
    let mut heads = 0;
    unroll!(row < R => {
        // What the last lane passes on to the first is the last key of the row before.
        let row_before = if row == 0 { before } else { keys[row.saturating_sub(1)][const { W - 1 }] };
        let passed = if lane == WARP - 1 { row_before } else { keys[row][const { W - 1 }] };
        // SAFETY: the caller upholds this function's contract.
        let previous = unsafe { shuffle::idx(passed, lane.wrapping_sub(1) % WARP) };
        heads |= u64::from(of_chunk(&keys[row], previous)).wrapping_shl((row * W) as u32);
    });
    if starts && lane == 0 {
        heads |= 1;
    }
    heads
}

/// The heads of one chunk that the key `previous` precedes.
#[inline(always)]
fn of_chunk<K: PartialEq + Copy, const W: usize>(keys: &[K; W], previous: K) -> u32 {
    let mut heads = 0;
    unroll!(k < W => {
        let before = if k == 0 { previous } else { keys[k.saturating_sub(1)] };
        heads |= u32::from(keys[k] != before) << k;
    });
    heads
}
