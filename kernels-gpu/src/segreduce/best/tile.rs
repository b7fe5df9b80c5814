//! Loading of a tile, and its sums if no segment ends in it, if one does, and if several do.

use super::{
    BLOCK, EACH,
    split::{Lead, Part},
    tile,
};
use crate::{
    operator::{Operator, Pod, chunk::Chunk},
    segreduce::scan::block_scan,
    unroll::unroll,
};
use core::mem::MaybeUninit;
use cuda_std::{
    address_space,
    atomic::{BlockAtomicU32, Ordering},
    memory::U64x2,
    thread,
};

/// Segments per thread whose ends are read between two barriers.
// tune: 1 2 4
const LOOK: u32 = 2;

/// The tile's elements; later, at the place of each segment's last element, the total of that segment.
#[address_space(shared)]
static mut SLOTS: [MaybeUninit<U64x2>; BLOCK as usize * EACH] = [MaybeUninit::uninit(); BLOCK as usize * EACH];

/// The same for elements of more than 16 bytes.
#[address_space(shared)]
static mut WIDE_SLOTS: [MaybeUninit<[U64x2; 2]>; BLOCK as usize * EACH] =
    [MaybeUninit::uninit(); BLOCK as usize * EACH];

/// For each thread, a bit per element, set if a segment ends there. All bits are 0 between tiles.
#[address_space(shared)]
static mut ENDS: [MaybeUninit<u32>; BLOCK as usize] = [MaybeUninit::uninit(); BLOCK as usize];

/// The first segment that does not end in the tile.
#[address_space(shared)]
static mut OPEN: [MaybeUninit<u64>; 1] = [MaybeUninit::uninit(); 1];

/// Clears the marks of segment ends. It is called before the first tile, with a barrier after it.
///
/// # Safety
/// Every thread of the block calls it with its number.
#[inline(always)]
pub unsafe fn clear_ends(tid: u32) {
    // SAFETY: each thread has a word.
    unsafe { (&raw mut ENDS).cast::<u32>().add(tid as usize).write(0) };
}

/// Whether vectors of these values lie on boundaries of 16 bytes, in values that begin on a boundary of their own size.
const fn fills<T, const W: usize>() -> bool {
    (size_of::<T>() * W).is_multiple_of(16)
}

/// Whether the values begin on a boundary of their own size, or of 16 bytes if they are larger.
#[inline(always)]
fn on_boundary<T>(values: &[T]) -> bool {
    size_of::<T>() == align_of::<T>() || values.as_ptr().addr().is_multiple_of(size_of::<T>().min(16))
}

/// Number of elements from the last boundary of 16 bytes to the first element; 0 if they are not loaded as vectors.
#[inline(always)]
pub fn start<T, const W: usize>(values: &[T]) -> Lead {
    let vectors = fills::<T, W>() && on_boundary(values);
    let elements = if vectors { values.as_ptr().addr() % 16 / size_of::<T>() } else { 0 };
    Lead { elements: elements as u64, vectors }
}

/// The thread's vectors of the tile at `start`: vector `j` is number `tid + j * BLOCK`. Elements outside the block's
/// part are the identity.
///
/// # Safety
/// The part lies within the values; `start` is a multiple of `W`.
#[inline(always)]
pub unsafe fn load<O: Operator<T>, T: Pod, const W: usize>(
    values: &[T],
    part: &Part,
    start: u64,
) -> [Chunk<T, W>; EACH] {
    let at = |j: usize| start + u64::from((thread::thread_idx_x() + j as u32 * BLOCK) * W as u32);
    if start >= part.begin && start + u64::from(tile(size_of::<T>())) <= part.end {
        // SAFETY: the vector belongs to the part, and is on a boundary, because it is a multiple of `W` elements behind
        // one.
        core::array::from_fn(|j| unsafe {
            let first = values.as_ptr().wrapping_add((at(j) - part.lead) as usize);
            if part.vectors { Chunk::load(first.cast()) } else { Chunk(core::array::from_fn(|w| first.add(w).read())) }
        })
    } else {
        core::array::from_fn(|j| {
            Chunk(core::array::from_fn(|w| {
                let i = at(j) + w as u64;
                let inside = i >= part.begin && i < part.end;
                // SAFETY: the element belongs to the part.
                if inside { unsafe { *values.get_unchecked((i - part.lead) as usize) } } else { O::identity() }
            }))
        })
    }
}

/// Combines the vectors of a round pairwise.
#[inline(always)]
pub fn tree<O: Operator<T>, T: Pod, const W: usize>(round: [Chunk<T, W>; EACH]) -> T {
    let mut sums = round[0].0;
    let mut w = 0;
    while w < W {
        let (low, high) = (O::combine(round[0].0[w], round[1].0[w]), O::combine(round[2].0[w], round[3].0[w]));
        sums[w] = O::combine(low, high);
        w += 1;
    }
    match W {
        4 => O::combine(O::combine(sums[0], sums[W / 4]), O::combine(sums[W / 2], sums[W - 1])),
        _ => {
            let mut sum = sums[0];
            let mut w = 1;
            while w < W {
                sum = O::combine(sum, sums[w]);
                w += 1;
            }
            sum
        }
    }
}

/// The thread's sums of the tile's first `end` elements, and of the others.
#[inline(always)]
pub fn cut<O: Operator<T>, T: Pod, const W: usize>(round: [Chunk<T, W>; EACH], end: u32) -> (T, T) {
    // Counted from the thread's first element, so that places are constants: 16 of their own would take as many
    // registers.
    let end = end as i32 - (thread::thread_idx_x() * W as u32) as i32;
    let (mut before, mut behind) = (round, round);
    unroll!(j < EACH => {
        let mut w = 0;
        while w < W {
            let out = if ((j * BLOCK as usize * W + w) as i32) < end { &mut behind } else { &mut before };
            out[j].0[w] = O::identity();
            w += 1;
        }
    });
    (tree::<O, T, W>(before), tree::<O, T, W>(behind))
}

/// The slot of vector `v`. Threads write vectors that are neighbours and read vectors that are `EACH` apart; exchanged
/// within groups of eight, neither has bank conflicts.
#[inline(always)]
const fn place(v: u32) -> u32 {
    v ^ (v / 8 % 8)
}

/// Writes the totals of the segments that end in the tile, from `first` on. Returns the first that does not; `carry` is
/// what the block has of the segment that is open before the tile, and then after it.
///
/// # Safety
/// All threads of the block call it after a barrier since the last call, with the same values but for `round`, which
/// is what [`load`] gave; segment `first` ends in the tile, and those before it don't.
#[inline(always)]
pub unsafe fn totals<O: Operator<T>, T: Pod, const W: usize>(
    offsets: &[u64],
    part: &Part,
    start: u64,
    first: u64,
    round: [Chunk<T, W>; EACH],
    carry: &mut T,
    results: *mut T,
) -> u64 {
    let tid = thread::thread_idx_x();
    let vectors = if const { size_of::<Chunk<T, W>>() <= 16 } {
        (&raw mut SLOTS).cast::<Chunk<T, W>>()
    } else {
        (&raw mut WIDE_SLOTS).cast::<Chunk<T, W>>()
    };
    let slot = |i: u32| {
        // SAFETY: an element of the tile has a slot.
        unsafe { vectors.add(place(i / W as u32) as usize).cast::<T>().add((i % W as u32) as usize) }
    };
    let front = start.max(part.begin);

    let mut j = 0;
    while j < EACH {
        // SAFETY: each vector has one slot and one thread.
        unsafe { round[j].store(vectors.add(place(tid + j as u32 * BLOCK) as usize)) };
        j += 1;
    }
    // SAFETY: the caller upholds this function's contract.
    let last = unsafe { mark_ends::<T, W>(offsets, part, start, first) };

    // The thread's own elements, one after the other. The first total lacks what came before the thread.
    let own_ends = (&raw mut ENDS).cast::<u32>();
    // SAFETY: each thread has a word, complete since the barrier in `mark_ends`.
    let ends = unsafe {
        let word = own_ends.add(tid as usize);
        let ends = word.read();
        word.write(0);
        ends
    };
    let mut tail = O::identity();
    let mut walk = |j: usize| {
        // SAFETY: `EACH` vectors per thread, complete since the same barrier.
        let Chunk(values) = unsafe { Chunk::load(vectors.add(place(tid * EACH as u32 + j as u32) as usize)) };
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
    // The code is written out, because LLVM would keep a loop of this length and compute with its counter.
    walk(0);
    walk(1);
    walk(2);
    walk(3);
    // SAFETY: all threads of the block reach this call; the last use of its shared memory lies after a barrier.
    let before = unsafe { block_scan::<O, T>(ends != 0, tail, carry) };
    if ends != 0 {
        let total = slot(tid * (EACH * W) as u32 + ends.trailing_zeros());
        // SAFETY: as above.
        unsafe { total.write(O::combine(before, total.read())) };
    }
    thread::sync_threads(); // separates the writes of the totals from their reads

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

/// Marks where segments end in the tile, from segment `first` on; returns the first that does not end there. Its last
/// barrier completes what the block has written to shared memory.
///
/// # Safety
/// The requirements are those of [`totals`].
#[inline(always)]
unsafe fn mark_ends<T: Pod, const W: usize>(offsets: &[u64], part: &Part, start: u64, first: u64) -> u64 {
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
                // SAFETY: segment `k` ends in the part, or is the first that does not; then segment `k - 1` is there,
                // or there is an entry for the end of all.
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
                    // SAFETY: each element of the tile has a bit; until the next barrier all accesses are these
                    // atomics.
                    unsafe { BlockAtomicU32::from_ptr(ends.add(word as usize)) }.fetch_or(1 << bit, Ordering::Relaxed);
                }
            }
            look += 1;
        }
        // The barrier separates writes of the tile's elements, ends and first open segment from all reads of them.
        if thread::sync_threads_or(found) != 0 {
            // SAFETY: the slot was written before the barrier.
            return unsafe { open.read() };
        }
        from += u64::from(LOOK * BLOCK);
    }
}
