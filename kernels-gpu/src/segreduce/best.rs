//! The rung to use: any mix of lengths at the speed of memory, in one launch, with the same bits on every run.
//!
//! - Elements and segment ends are merged into one list (an end comes behind its segment's last element) and every block gets an
//!   equal part of it, whether that is one segment's middle or a thousand empty ones: see `split`.
//! - A block walks through its part in tiles of 16 KiB. A tile in which no segment ends is only loaded and added up, each thread
//!   for itself, without a barrier. Otherwise each thread takes 64 neighbouring bytes of the tile, and a segmented scan over the
//!   threads hands on what is left of a segment that began before: see `tile_totals`.
//! - The next tile's loads start before the tile's work does.
//! - A segment may end blocks later than it began. Each block leaves what it has of the segment that is open at its end, and the last
//!   block to finish combines these in the order of the blocks.

use super::scan::{block_scan, block_total};
use crate::{
    number::Number,
    reduce::{Max, Min, Op, Sum, WARP, collective::draw_last},
};
use core::mem::MaybeUninit;
use cuda_std::{
    address_space,
    atomic::{BlockAtomicU32, Ordering},
    kernel,
    memory::{U64x2, Vector},
    thread, warp,
};

/// Threads per block: tiles are made for it.
pub const BLOCK: u32 = 256;

/// Blocks per multiprocessor.
pub const BLOCKS_PER_SM: u32 = 3;

/// 16-byte chunks of a tile per thread.
const EACH: usize = 4;

/// Segments per thread whose ends are looked at between two barriers.
const LOOK: u32 = 2;

/// Elements in a tile.
pub const fn tile(bytes: usize) -> u32 {
    BLOCK * (EACH * 16 / bytes) as u32
}

/// The tile's elements, then at a segment's last element the total of the segment.
#[address_space(shared)]
static mut SLOTS: [MaybeUninit<U64x2>; BLOCK as usize * EACH] = [MaybeUninit::uninit(); BLOCK as usize * EACH];

/// For each thread, at which of its elements a segment ends: a bit each. 0 between tiles.
#[address_space(shared)]
static mut ENDS: [MaybeUninit<u32>; BLOCK as usize] = [MaybeUninit::uninit(); BLOCK as usize];

/// Where the block's part begins and ends: segments that have ended before.
#[address_space(shared)]
static mut SPLIT: [MaybeUninit<u64>; 2] = [MaybeUninit::uninit(); 2];

/// The first segment that does not end in the tile.
#[address_space(shared)]
static mut OPEN: [MaybeUninit<u64>; 1] = [MaybeUninit::uninit(); 1];

const _: () = assert!(EACH == 4 && BLOCK >= 2 * WARP);

/// Reduces segment `k` to `results[k]`.
///
/// # Safety
/// `BLOCK` threads; `offsets` has at least one entry, ascends, and ends within `values`; `results` has one element per segment;
/// `carries` and `keys` have one per block and are used by this launch only; `ticket` is 0.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn segreduce_best<O: Op<T>, T: Number>(
    values: &[T],
    offsets: &[u64],
    results: *mut T,
    carries: *mut T,
    keys: *mut u64,
    ticket: *mut u32,
) {
    // SAFETY: the caller's promise.
    unsafe {
        let (carry, key) = match size_of::<T>() {
            4 => part::<O, T, 4>(values, offsets, results),
            _ => part::<O, T, 2>(values, offsets, results),
        };
        if thread::thread_idx_x() == 0 {
            let block = thread::block_idx_x() as usize;
            carries.add(block).write(carry);
            keys.add(block).write(key);
        }
        join::<O, T>(offsets, results, carries, keys, ticket);
    }
}

/// Reduces the block's part. Returns what it has of the segment that is open at its end, and which segment that is; the number of
/// segments when all have ended.
///
/// # Safety
/// As [`segreduce_best()`].
#[inline(always)]
unsafe fn part<O: Op<T>, T: Number, const W: usize>(values: &[T], offsets: &[u64], results: *mut T) -> (T, u64) {
    let tid = thread::thread_idx_x();
    // SAFETY: each thread clears its own word; `split` is for all threads.
    let (part, mut k) = unsafe {
        (&raw mut ENDS).cast::<u32>().add(tid as usize).write(0);
        split(offsets, (values.as_ptr().addr() % 16 / size_of::<T>()) as u64)
    };
    let tile = u64::from(tile(size_of::<T>()));
    // What the block has of the open segment: of tiles where a segment ends, the same in all threads; of tiles since then, each
    // thread's own part.
    let (mut carry, mut private, mut streamed) = (O::identity(), O::identity(), false);
    let mut start = part.begin / W as u64 * W as u64;
    // SAFETY: the part lies within the values.
    let mut round = unsafe { load::<O, T, W>(values, &part, start) };
    loop {
        let more = start + tile < part.end;
        let next = if more {
            // SAFETY: as above.
            unsafe { load::<O, T, W>(values, &part, start + tile) }
        } else {
            [Vector([O::identity(); W]); EACH]
        };
        // SAFETY: a segment that ends in the part.
        if k < part.last && unsafe { part.end_of(offsets, k) } <= start + tile {
            if streamed {
                // SAFETY: all threads are here. Its barrier also lets nobody overwrite slots that others still read.
                carry = O::combine(carry, unsafe { block_total::<O, T>(private) });
                (private, streamed) = (O::identity(), false);
            } else {
                thread::sync_threads(); // everyone has read the last tile's totals before its slots are written
            }
            // SAFETY: all threads are here, behind a barrier that separates them from the last use of the slots.
            k = unsafe { tile_totals::<O, T, W>(offsets, &part, start, k, round, &mut carry, results) };
        } else {
            private = O::combine(private, tree::<O, T, W>(round));
            streamed = true;
        }
        if !more {
            break;
        }
        (start, round) = (start + tile, next);
    }
    if streamed {
        // SAFETY: all threads are here.
        carry = O::combine(carry, unsafe { block_total::<O, T>(private) });
    }
    (carry, part.last)
}

/// A block's part of the list of elements and ends. Elements count from the last 16-byte boundary before the first one: what is a
/// multiple of 16 bytes there is one in memory.
struct Part {
    /// From the boundary to the first element.
    lead: u64,
    /// The part's first element.
    begin: u64,
    /// Behind its last.
    end: u64,
    /// The first segment that ends behind the part.
    last: u64,
}

impl Part {
    /// Behind the last element of segment `k`.
    ///
    /// # Safety
    /// There is a segment `k`.
    #[inline(always)]
    unsafe fn end_of(&self, offsets: &[u64], k: u64) -> u64 {
        // SAFETY: a segment has two entries.
        self.lead + unsafe { *offsets.get_unchecked(k as usize + 1) }
    }

    /// The first element of segment `k`.
    ///
    /// # Safety
    /// There is a segment `k` or `k - 1`.
    #[inline(always)]
    unsafe fn start_of(&self, offsets: &[u64], k: u64) -> u64 {
        // SAFETY: there are as many entries.
        self.lead + unsafe { *offsets.get_unchecked(k as usize) }
    }
}

/// The calling block's part, and the first segment that ends in it. Warps 0 and 1 look for its two ends.
///
/// # Safety
/// All threads of the block call it.
#[inline(always)]
unsafe fn split(offsets: &[u64], lead: u64) -> (Part, u64) {
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
        // SAFETY: the whole warp is here; both write a slot of their own (all lanes the same value: one does it).
        unsafe {
            let ended = ended_before(offsets, base, cut(block + warp));
            if thread::thread_idx_x().is_multiple_of(WARP) {
                splits.add(warp as usize).write(ended);
            }
        }
    }
    thread::sync_threads(); // both ends are found, and the words of `ENDS` are clear
    // SAFETY: written before the barrier.
    let (first, last) = unsafe { (splits.read(), splits.add(1).read()) };
    let part = Part { lead, begin: lead + base + cut(block) - first, end: lead + base + cut(block + 1) - last, last };
    (part, first)
}

/// How many segments' ends are among the first `cut` entries of the list. The end of segment `k` comes behind all elements before
/// it, and `k` ends: that grows with `k`. A warp probes 32 places at once.
///
/// # Safety
/// All lanes of the warp call it with the same values.
#[inline(always)]
unsafe fn ended_before(offsets: &[u64], base: u64, cut: u64) -> u64 {
    let lane = u64::from(thread::thread_idx_x() % WARP);
    // Below `low` all are, from `high` on none is.
    let (mut low, mut high) = (0, cut.min(offsets.len() as u64 - 1));
    while low < high {
        let step = (high - low).div_ceil(u64::from(WARP));
        let k = low + (lane + 1) * step - 1;
        // SAFETY: `k < high`, which is at most the number of segments.
        let inside = k < high && unsafe { *offsets.get_unchecked(k as usize + 1) } - base + k < cut;
        // SAFETY: the whole warp is here: `low` and `high` are the same in all lanes.
        let count = u64::from(unsafe { warp::ballot(warp::ALL, inside) }.count_ones());
        high = high.min(low + (count + 1) * step - 1);
        low += count * step;
    }
    low
}

/// The thread's chunks of the tile at `start`: chunk `j` is number `tid + j * BLOCK`. What is not the block's is the identity.
///
/// # Safety
/// The part lies within the values; `start` is a multiple of `W`.
#[inline(always)]
unsafe fn load<O: Op<T>, T: Number, const W: usize>(values: &[T], part: &Part, start: u64) -> [Vector<T, W>; EACH] {
    let at = |j: usize| start + u64::from((thread::thread_idx_x() + j as u32 * BLOCK) * W as u32);
    if start >= part.begin && start + u64::from(tile(size_of::<T>())) <= part.end {
        // SAFETY: a chunk of the part, and on a boundary, because it is a multiple of `W` elements behind one.
        core::array::from_fn(|j| unsafe {
            Vector::load(values.as_ptr().wrapping_add((at(j) - part.lead) as usize).cast())
        })
    } else {
        core::array::from_fn(|j| {
            Vector(core::array::from_fn(|w| {
                let i = at(j) + w as u64;
                let inside = i >= part.begin && i < part.end;
                // SAFETY: an element of the part.
                if inside { unsafe { *values.get_unchecked((i - part.lead) as usize) } } else { O::identity() }
            }))
        })
    }
}

/// Combines the chunks of a round pairwise.
#[inline(always)]
fn tree<O: Op<T>, T: Number, const W: usize>(round: [Vector<T, W>; EACH]) -> T {
    let mut sums = round[0].0;
    let mut w = 0;
    while w < W {
        let (low, high) = (O::combine(round[0].0[w], round[1].0[w]), O::combine(round[2].0[w], round[3].0[w]));
        sums[w] = O::combine(low, high);
        w += 1;
    }
    match W {
        4 => O::combine(O::combine(sums[0], sums[1]), O::combine(sums[W / 2], sums[W - 1])),
        _ => O::combine(sums[0], sums[1]),
    }
}

/// The slot of chunk `c`. Threads write chunks that are neighbours and read chunks that are `EACH` apart; exchanged within groups of
/// eight, neither has bank conflicts.
#[inline(always)]
const fn place(c: u32) -> u32 {
    c ^ (c / 8 % 8)
}

/// Writes the totals of the segments that end in the tile, from `first` on. Returns the first that does not; `carry` is what the
/// block has of the segment that is open in front of the tile, and then behind it.
///
/// # Safety
/// All threads of the block call it behind a barrier since the last call, with the same values but for `round`, which is what
/// [`load`] gave; segment `first` ends in the tile, and those before it don't.
#[inline(always)]
unsafe fn tile_totals<O: Op<T>, T: Number, const W: usize>(
    offsets: &[u64],
    part: &Part,
    start: u64,
    first: u64,
    round: [Vector<T, W>; EACH],
    carry: &mut T,
    results: *mut T,
) -> u64 {
    let tid = thread::thread_idx_x();
    let chunks = (&raw mut SLOTS).cast::<Vector<T, W>>();
    let slot = |i: u32| {
        // SAFETY: an element of the tile has a slot.
        unsafe { chunks.add(place(i / W as u32) as usize).cast::<T>().add((i % W as u32) as usize) }
    };
    let front = start.max(part.begin);

    let mut j = 0;
    while j < EACH {
        // SAFETY: a slot for each chunk, and each chunk has one thread.
        unsafe { round[j].store(chunks.add(place(tid + j as u32 * BLOCK) as usize)) };
        j += 1;
    }
    // SAFETY: the caller's promise.
    let last = unsafe { mark_ends::<T, W>(offsets, part, start, first) };

    // The thread's own elements, one after the other. The first total lacks what came before the thread.
    let own_ends = (&raw mut ENDS).cast::<u32>();
    // SAFETY: a word per thread, complete since the barrier in `mark_ends`.
    let ends = unsafe {
        let word = own_ends.add(tid as usize);
        let ends = word.read();
        word.write(0);
        ends
    };
    let mut tail = O::identity();
    let mut walk = |j: usize| {
        // SAFETY: `EACH` chunks per thread, complete since the same barrier.
        let Vector(values) = unsafe { Vector::load(chunks.add(place(tid * EACH as u32 + j as u32) as usize)) };
        let mut w = 0;
        while w < W {
            let i = j * W + w;
            tail = O::combine(tail, values[w]);
            if ends >> i & 1 != 0 {
                // SAFETY: this thread alone uses the slots of its own elements until the next barrier but one.
                unsafe { slot(tid * (EACH * W) as u32 + i as u32).write(tail) };
                tail = O::identity();
            }
            w += 1;
        }
    };
    // Written out: LLVM keeps a loop of this length, and its counter's uses with it.
    walk(0);
    walk(1);
    walk(2);
    walk(3);
    // SAFETY: all threads of the block are here; the last use of its shared memory lies behind a barrier.
    let before = unsafe { block_scan::<O, T>(ends != 0, tail, carry) };
    if ends != 0 {
        let total = slot(tid * (EACH * W) as u32 + ends.trailing_zeros());
        // SAFETY: as above.
        unsafe { total.write(O::combine(before, total.read())) };
    }
    thread::sync_threads(); // the totals are in their slots before others look for them

    let mut k = first + u64::from(tid);
    while k < last {
        // SAFETY: a segment of the block's part; its last element, if it is in the tile, has a slot with its total.
        unsafe {
            let (begin, end) = (part.start_of(offsets, k), part.end_of(offsets, k));
            let here = begin < end && end > front;
            let total = if here { slot((end - 1 - start) as u32).read() } else { O::identity() };
            results.add(k as usize).write(total);
        }
        k += u64::from(BLOCK);
    }
    last
}

/// Marks where segments end in the tile, from segment `first` on; returns the first that does not end there. Its last barrier
/// completes what the block has written to shared memory.
///
/// # Safety
/// As [`tile_totals`].
#[inline(always)]
unsafe fn mark_ends<T: Number, const W: usize>(offsets: &[u64], part: &Part, start: u64, first: u64) -> u64 {
    let ends = (&raw mut ENDS).cast::<u32>();
    let open = (&raw mut OPEN).cast::<u64>();
    let stop = start + u64::from(tile(size_of::<T>()));
    let front = start.max(part.begin);
    let mut from = first;
    loop {
        let mut found = 0;
        let mut look = 0;
        while look < LOOK {
            let k = from + u64::from(look * BLOCK + thread::thread_idx_x());
            if k <= part.last {
                // SAFETY: segment `k` ends in the part, or is the first that does not; then segment `k - 1` is there, or there is
                // an entry for the end of all.
                let (begin, end) = unsafe {
                    let end = if k < part.last { part.end_of(offsets, k) } else { u64::MAX };
                    (part.start_of(offsets, k), end)
                };
                if end > stop && begin <= stop {
                    // SAFETY: offsets ascend, so one thread finds the place where they leave the tile.
                    unsafe { open.write(k) };
                    found = 1;
                }
                if end <= stop && begin < end && end > front {
                    let i = (end - 1 - start) as u32;
                    let (word, bit) = (i / (EACH * W) as u32, i % (EACH * W) as u32);
                    // SAFETY: an element of the tile has a bit; until the next barrier all accesses are these.
                    unsafe { BlockAtomicU32::from_ptr(ends.add(word as usize)) }.fetch_or(1 << bit, Ordering::Relaxed);
                }
            }
            look += 1;
        }
        // The barrier separates writes of the tile's elements, ends and first open segment from all reads of them.
        if thread::sync_threads_or(found) != 0 {
            // SAFETY: written before the barrier.
            return unsafe { open.read() };
        }
        from += u64::from(LOOK * BLOCK);
    }
}

/// The last block to finish completes the segments that end in a later block than they began in.
///
/// # Safety
/// All threads of the grid call it, when their block's part is done; otherwise as [`segreduce_best()`].
#[inline(always)]
unsafe fn join<O: Op<T>, T: Number>(
    offsets: &[u64],
    results: *mut T,
    carries: *mut T,
    keys: *mut u64,
    ticket: *mut u32,
) {
    let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
    thread::sync_threads(); // the block's results are written before its ticket releases them
    // SAFETY: one thread per block.
    let last = if tid == 0 { u32::from(unsafe { draw_last(ticket) }) } else { 0 };
    // The barrier hands thread 0's view of the other blocks' results to the whole block.
    if thread::sync_threads_or(last) == 0 {
        return;
    }
    let mut carry = O::identity();
    let mut from = 0;
    while from < blocks {
        let block = from + tid;
        let key = |block: u32| {
            // SAFETY: one key per block, and no one writes them any more.
            if block < blocks { unsafe { keys.add(block as usize).read() } } else { offsets.len() as u64 - 1 }
        };
        // SAFETY: as above.
        let value = if block < blocks { unsafe { carries.add(block as usize).read() } } else { O::identity() };
        // The segment that is open behind this block ends in the next one.
        let ends = key(block) != key(block + 1);
        // SAFETY: the whole block is here: the last block, with the same `from` in all threads.
        let before = unsafe { block_scan::<O, T>(ends, if ends { O::identity() } else { value }, &mut carry) };
        if ends {
            // SAFETY: the next block has written this result, and no other thread completes it.
            unsafe {
                let result = results.add(key(block) as usize);
                result.write(O::combine(O::combine(before, value), result.read()));
            }
        }
        thread::sync_threads(); // `block_scan` has been read by all before it is used again
        from += BLOCK;
    }
}
