//! Blelloch's work-efficient scan: a balanced tree, swept up and down in place.
//!
//! The up-sweep is a reduction. Then the root is set to the identity. In the down-sweep each node's value moves to its
//! left child, and its value combined with the left child's old value to its right child. The result is the exclusive
//! scan, after n - 1 additions up and n - 1 down. (Brent and Kung's tree only adds; an exclusive scan needs the swap.)
//! Each thread has two neighbouring elements. The slots that a sweep accesses are 2, 4, 8, … apart, so that 2, 4, 8, …
//! threads conflict in one bank.

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

/// Scans each block's section of the input and writes its total to `sums[block index]`. `exclusive` is 0 or 1. The
/// result is the same in every run; [`scan`](crate::scan) states the error bound of float sums.
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
/// All threads of a power-of-two block call it together, and their `places` are the places of the section, once each.
/// Dynamic shared memory has `slot(last place) + 1` slots, and `slot` maps different places to different slots.
/// Otherwise the requirements of [`scan_blelloch()`] hold.
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
    // SAFETY: each place belongs to one thread.
    unsafe {
        at(places[0]).write(own[0]);
        at(places[1]).write(own[1]);
    }
    // SAFETY: all threads reach this call, and every place has been written by one of them.
    let total = unsafe { sweep::<O, T>(&at) };

    let mut k = 0;
    while k < 2 {
        let i = first + places[k] as usize;
        if i < input.len() {
            // SAFETY: the slot was written before the last barrier; `output` is as long as `input`, and each element
            // belongs to one thread.
            unsafe {
                let before = at(places[k]).read();
                output.add(i).write(if exclusive != 0 { before } else { O::combine(before, own[k]) });
            }
        }
        k += 1;
    }
    if thread::thread_idx_x() == 0 {
        // SAFETY: each block writes its own total only.
        unsafe { sums.add(thread::block_idx_x() as usize).write(total) };
    }
}

/// Performs the up-sweep and the down-sweep over two places per thread; the last step is a barrier. Returns the total
/// in thread 0.
///
/// # Safety
/// All threads of a power-of-two block call it together; `at` maps different places to different slots. No barrier is
/// needed between writing the slots and this call.
#[inline(always)]
unsafe fn sweep<O: Op<T>, T: Number>(at: &impl Fn(u32) -> *mut T) -> T {
    let (tid, block) = (thread::thread_idx_x(), thread::block_dim_x());
    // Last slots of the left and the right child of a node whose children span `span` places each.
    let children = |span: u32| (at(span * (2 * tid + 1) - 1), at(span * (2 * tid + 2) - 1));

    let mut span = 1;
    let mut nodes = block;
    while nodes > 0 {
        thread::sync_threads(); // separates the writes of the level below from this level's reads
        if tid < nodes {
            let (left, right) = children(span);
            // SAFETY: each node belongs to one thread, and so do its children.
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
        thread::sync_threads(); // separates the writes of the level above from this level's reads
        if tid < nodes {
            let (left, right) = children(span);
            // SAFETY: as in the up-sweep, each node and its children belong to one thread.
            unsafe {
                let (below, before) = (left.read(), right.read());
                left.write(before);
                right.write(O::combine(before, below));
            }
        }
        nodes *= 2;
    }
    thread::sync_threads(); // separates the writes of the scan from the caller's reads
    total
}
