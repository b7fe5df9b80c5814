//! Keys as what ends runs: each is compared with the one before, and becomes a bit.

use crate::operator::{Pod, shuffle};
use crate::reduce::WARP;
use crate::scan::best::{Runs, gather, load_rows, pitch};
use crate::unroll::unroll;
use cuda_std::warp;

/// The keys of all elements: a run ends where a key differs from the one before.
#[derive(Clone, Copy)]
pub struct Keys<'a, K>(pub &'a [K]);

impl<K: Pod + PartialEq> Runs for Keys<'_, K> {
    const KEYED: bool = true;
    const BYTES: usize = size_of::<K>();

    #[inline(always)]
    fn in_chunks<const W: usize>(self) -> bool {
        let fits = const { fits::<K, W>() };
        fits && self.0.as_ptr().addr().is_multiple_of(16)
    }

    #[inline(always)]
    unsafe fn heads<const W: usize, const R: usize, const V: usize, const S: usize>(
        self,
        first: usize,
        whole: bool,
        scratch: *mut u8,
    ) -> u64 {
        let before = self.before(first);
        let own = first + warp::lane_id() as usize * W;
        let keys = if whole {
            // SAFETY: the chunks lie inside, on boundaries of theirs.
            unsafe { load_rows::<K, W, R>(self.0.as_ptr().wrapping_add(own), |keys| keys) }
        } else {
            self.load_singly::<W, R>(own)
        };
        // SAFETY: the caller upholds this function's contract; keys are not longer than 8 bytes if lanes have
        // neighbours.
        unsafe { heads(&gather::<K, W, R, V, S>(keys, scratch.cast()), before, first == 0) }
    }
}

impl<K: Pod> Keys<'_, K> {
    /// The key before the warp's part, in its last lane: from there it goes around.
    #[inline(always)]
    fn before(self, first: usize) -> K {
        let last = warp::lane_id() == WARP - 1;
        let before = if last { self.0.get(first.wrapping_sub(1)) } else { None };
        before.copied().unwrap_or(K::zeroed())
    }

    /// The thread's keys, one by one. Past the end they do not matter: no value there is stored.
    #[inline(always)]
    fn load_singly<const W: usize, const R: usize>(self, own: usize) -> [[K; W]; R] {
        let rest = self.0.get(own..).unwrap_or(&[]);
        let key = |at: usize| rest.get(at).copied().unwrap_or(K::zeroed());
        core::array::from_fn(|row| core::array::from_fn(|k| key(row * pitch::<W>() + k)))
    }
}

/// Whether a chunk's keys fill 8 bytes or a few times 16.
const fn fits<K, const W: usize>() -> bool {
    let bytes = size_of::<K>() * W;
    bytes == 8 || bytes.is_multiple_of(16) && bytes <= 64
}

/// The heads among a lane's keys. Row `r` of the warp's part has the neighbours of all lanes; `before` is the key
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
    const { assert!(size_of::<K>() <= 16, "keys have at most 16 bytes") };
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
