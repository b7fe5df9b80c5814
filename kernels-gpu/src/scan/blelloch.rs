//! Blelloch's work-efficient scan: a balanced tree, swept up and down in place.
//!
//! The up-sweep is a reduction. Then the root becomes the identity, and on the way down each node passes its value to
//! the left child, and its value combined with the left child's to the right child: the exclusive scan, after n - 1
//! additions up and n - 1 down. (Brent and Kung only add; the swap is the price of an exclusive scan.) Each thread has
//! two neighbouring elements; their slots, and the strides of the sweeps, are in the same banks: 2, 4, 8, … threads are
//! served one after the other.

use super::element_or_identity;
use crate::number::Number;
use crate::reduce::{Max, Min, Op, Sum};
use cuda_std::{kernel, shared::dynamic_shared_mem, thread};

/// The idea in one line.
pub const IDEA: &str = "up-sweep, identity at the root, down-sweep: exclusive and work-efficient, with bank conflicts";

/// Default number of threads per block; a power of two from 1 to 1024.
pub const BLOCK: u32 = 256;

/// Elements of a block's section.
pub const fn section(block: u32) -> u32 {
    2 * block
}

/// Scans each block's section of the input and writes its total to `sums[block index]`. `exclusive` is 0 or 1.
///
/// # Safety
/// One block per section, a power of two; dynamic shared memory holds two `T` per thread; `output` has as many elements
/// as `input` and does not overlap it; `sums` has one per block.
#[kernel(for O in [Sum, Max, Min], for T in [f32, f64, i32, u32, i64, u64])]
pub unsafe fn scan_blelloch<O: Op<T>, T: Number>(input: &[T], exclusive: u32, output: *mut T, sums: *mut T) {
    let tid = thread::thread_idx_x();
    // SAFETY: two neighbouring places per thread; the caller upholds the rest of the contract.
    unsafe { scan_pairs::<O, T>(input, exclusive, output, sums, [2 * tid, 2 * tid + 1], |place| place) };
}

/// Scans the block's section, of which this thread loads and stores the elements `places`. Place `i` of the tree is in
/// slot `slot(i)`.
///
/// # Safety
/// All threads of a power-of-two block call it together, and their `places` are the places of the section, once each;
/// dynamic shared memory has `slot(last place) + 1` slots, and `slot` gives each place its own; otherwise as
/// [`scan_blelloch()`].
#[inline(always)]
pub(super) unsafe fn scan_pairs<O: Op<T>, T: Number>(
    input: &[T],
    exclusive: u32,
    output: *mut T,
    sums: *mut T,
    places: [u32; 2],
    slot: impl Fn(u32) -> u32,
) {
    let values = dynamic_shared_mem::<T>();
    let at = |place: u32| values.wrapping_add(slot(place) as usize);
    let first = thread::block_idx_x() as usize * section(thread::block_dim_x()) as usize;

    let own = places.map(|place| element_or_identity::<O, T>(input, first + place as usize));
    // SAFETY: each place is one thread's.
    unsafe {
        at(places[0]).write(own[0]);
        at(places[1]).write(own[1]);
    }
    // SAFETY: all threads reach this call, and all places are written, each by the thread that now waits for the
    // others.
    let total = unsafe { sweep::<O, T>(&at) };

    let mut k = 0;
    while k < 2 {
        let i = first + places[k] as usize;
        if i < input.len() {
            // SAFETY: written before the last barrier; `output` is as long as `input`, and each element is one
            // thread's.
            unsafe {
                let before = at(places[k]).read();
                output.add(i).write(if exclusive != 0 { before } else { O::combine(before, own[k]) });
            }
        }
        k += 1;
    }
    if thread::thread_idx_x() == 0 {
        // SAFETY: one total per block.
        unsafe { sums.add(thread::block_idx_x() as usize).write(total) };
    }
}

/// Sweeps the tree over two places per thread up and down, and ends with a barrier. Thread 0 gets the total.
///
/// # Safety
/// All threads of a power-of-two block call it together; `at` gives each place its own slot; slots may have been
/// written just before.
#[inline(always)]
unsafe fn sweep<O: Op<T>, T: Number>(at: &impl Fn(u32) -> *mut T) -> T {
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    // The ends of the left and the right child's part, of a node whose children span `span` places.
    let children = |span: u32| (at(span * (2 * tid + 1) - 1), at(span * (2 * tid + 2) - 1));

    let mut span = 1;
    let mut nodes = block;
    while nodes > 0 {
        thread::sync_threads(); // the section, or the level below, is there before this level reads it
        if tid < nodes {
            let (left, right) = children(span);
            // SAFETY: each node is one thread's, and so are its children.
            unsafe { right.write(O::combine(left.read(), right.read())) };
        }
        span *= 2;
        nodes /= 2;
    }

    let mut total = O::identity();
    if tid == 0 {
        let root = at(2 * block - 1);
        // SAFETY: this thread has written the root, and no other reads it before the next barrier.
        unsafe {
            total = root.read();
            root.write(O::identity());
        }
    }
    nodes = 1;
    while nodes <= block {
        span /= 2;
        thread::sync_threads(); // the level above is there before this level reads it
        if tid < nodes {
            let (left, right) = children(span);
            // SAFETY: as on the way up.
            unsafe {
                let (below, before) = (left.read(), right.read());
                left.write(before);
                right.write(O::combine(before, below));
            }
        }
        nodes *= 2;
    }
    thread::sync_threads(); // the scan is complete before it is read
    total
}
