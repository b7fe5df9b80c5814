//! Division of the work: elements and segment ends form one list, which is cut into one part of equal size per block.

use crate::reduce::WARP;
use core::mem::MaybeUninit;
use cuda_std::{address_space, thread, warp};

/// Start and end of the block's part, as numbers of segments that have ended before.
#[address_space(shared)]
static mut SPLIT: [MaybeUninit<u64>; 2] = [MaybeUninit::uninit(); 2];

/// A block's part of the list of elements and ends. Elements count from the last 16-byte boundary before the first one:
/// a multiple of 16 bytes in this count is one in memory.
pub struct Part {
    /// Distance from the boundary to the first element.
    pub lead: u64,
    /// Whether vectors of elements lie on boundaries of 16 bytes.
    pub vectors: bool,
    /// The part's first element.
    pub begin: u64,
    /// One past the part's last element.
    pub end: u64,
    /// The first segment that ends after the part.
    pub last: u64,
}

impl Part {
    /// One past the last element of segment `k`.
    ///
    /// # Safety
    /// There is a segment `k`.
    #[inline(always)]
    pub unsafe fn end_of(&self, offsets: &[u64], k: u64) -> u64 {
        // SAFETY: segment `k` has the entries `k` and `k + 1`.
        self.lead + unsafe { *offsets.get_unchecked(k as usize + 1) }
    }

    /// The first element of segment `k`.
    ///
    /// # Safety
    /// There is a segment `k` or `k - 1`.
    #[inline(always)]
    pub unsafe fn start_of(&self, offsets: &[u64], k: u64) -> u64 {
        // SAFETY: there are as many entries.
        self.lead + unsafe { *offsets.get_unchecked(k as usize) }
    }
}

/// Where the values begin.
#[derive(Clone, Copy)]
pub struct Lead {
    /// Distance from the last boundary of 16 bytes to the first element.
    pub elements: u64,
    /// Whether vectors of elements lie on boundaries of 16 bytes.
    pub vectors: bool,
}

/// The calling block's part, and the first segment that ends in it. Warps 0 and 1 search for its two ends.
///
/// # Safety
/// All threads of the block call it.
#[inline(always)]
pub unsafe fn split(offsets: &[u64], Lead { elements: lead, vectors }: Lead) -> (Part, u64) {
    let warp = thread::thread_idx_x() / WARP;
    let segments = offsets.len() as u64 - 1;
    // SAFETY: there is at least one entry.
    let (base, end) = unsafe { (*offsets.get_unchecked(0), *offsets.get_unchecked(segments as usize)) };
    let work = end - base + segments;
    let each = work.div_ceil(u64::from(thread::grid_dim_x()).max(1));
    let cut = |block: u32| (u64::from(block) * each).min(work);
    let block = thread::block_idx_x();
    let splits = (&raw mut SPLIT).cast::<u64>();
    if warp < 2 {
        // SAFETY: the whole warp reaches this call; both write a slot of their own (all lanes the same value: one does
        // it).
        unsafe {
            let ended = ended_before(offsets, base, cut(block + warp));
            if thread::thread_idx_x().is_multiple_of(WARP) {
                splits.add(warp as usize).write(ended);
            }
        }
    }
    thread::sync_threads(); // separates the writes of both ends, and earlier ones, from the reads below
    // SAFETY: the slot was written before the barrier.
    let (first, last) = unsafe { (splits.read(), splits.add(1).read()) };
    let (begin, end) = (lead + base + cut(block) - first, lead + base + cut(block + 1) - last);
    let part = Part { lead, vectors, begin, end, last };
    (part, first)
}

/// Number of segment ends among the first `cut` entries of the list. The end of segment `k` comes after all
/// elements before it, and `k` ends: that grows with `k`. A warp probes 32 places at once.
///
/// # Safety
/// All lanes of the warp call it with the same values.
#[inline(always)]
unsafe fn ended_before(offsets: &[u64], base: u64, cut: u64) -> u64 {
    let lane = u64::from(thread::thread_idx_x() % WARP);
    // All segments below `low` end before the cut, and none from `high` on.
    let (mut low, mut high) = (0, cut.min(offsets.len() as u64 - 1));
    while low < high {
        let step = (high - low).div_ceil(u64::from(WARP));
        let k = low + (lane + 1) * step - 1;
        // SAFETY: `k < high`, which is at most the number of segments.
        let inside = k < high && unsafe { *offsets.get_unchecked(k as usize + 1) } - base + k < cut;
        // SAFETY: the whole warp reaches this call: `low` and `high` are the same in all lanes.
        let count = u64::from(unsafe { warp::ballot(warp::ALL, inside) }.count_ones());
        high = high.min(low + (count + 1) * step - 1);
        low += count * step;
    }
    low
}
