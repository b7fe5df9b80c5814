//! The end of a reduction by one launch: the block that starts last gathers the results of all others.
//!
//! Every block draws a ticket when it starts, while its first loads are under way. The one that draws the last ticket
//! knows that all others have started, so that it may wait for them in any order of execution; none of them waits. They
//! give their results as records, which arrive whole, so that nothing has to be ordered. A ticket that is drawn at the
//! end instead, as in `fixed_tree`, takes a store, a fence, an atomic operation and a load, one after the other.
//!
//! (Sum of f32 on an H200, us at 2^18 and 2^22: a ticket at the end, 6.1 and 11.3; the block that starts last gathers,
//! 5.4 and 10.5; the same with a barrier before it reads records, 5.8 and 10.9; one warp of it, 5.6 and 10.7; the first
//! block, 5.4 and 10.4; no end at all, 4.6 and 9.8. The gathering block takes its own result from a record, too.)

use super::collective::{block_reduce_by, warp_reduce};
use crate::operator::{Operator, Pod, record, record::Records};
use core::mem::MaybeUninit;
use cuda_std::{
    address_space,
    atomic::{AtomicU32, Ordering},
    thread,
};

/// Words of 8 bytes that a launch of this many blocks with results of this size needs: the ticket, and a record for
/// each block.
pub const fn words(blocks: u32, bytes: usize) -> usize {
    1 + blocks as usize * record::words(bytes)
}

/// Whether this block gathers, which one thread finds out for all.
#[address_space(shared)]
static mut GATHERS: MaybeUninit<bool> = MaybeUninit::uninit();

/// A block's part in the end of the reduction.
pub struct Gather {
    words: *mut u64,
    started_last: bool,
}

impl Gather {
    /// Draws the block's ticket. A block alone needs none.
    ///
    /// # Safety
    /// All threads of the grid call it once; blocks that have started go on while another one waits. `words` are [as
    /// many](words()) as the launch needs, all 0 before the first launch, and used by one launch at a time, which
    /// leaves them at 0.
    #[inline(always)]
    pub unsafe fn start(words: *mut u64) -> Self {
        let last = thread::grid_dim_x() - 1;
        let mut started_last = false;
        if last > 0 && thread::thread_idx_x() == 0 {
            // SAFETY: every access to the ticket is one of these atomics. It orders nothing: that the block has started
            // is all that it says.
            let ticket = unsafe { AtomicU32::from_ptr(words.cast()) };
            started_last = ticket.fetch_inc(last, Ordering::Relaxed) == last;
        }
        Self { words, started_last }
    }

    /// Reduces the values of all threads of the grid, in the order of the threads if the operator does not commute; one
    /// thread gets the result, all others `None`. The order does not depend on which block gathers.
    ///
    /// # Safety
    /// All threads of the grid call it together, and blocks are a multiple of 32 threads.
    #[inline(always)]
    pub unsafe fn reduce<O: Operator<T>, T: Pod>(self, value: T) -> Option<T> {
        let reduce_warp = |value| {
            // SAFETY: whole warps call it.
            unsafe { warp_reduce::<O, T>(value) }
        };
        // SAFETY: the caller upholds this function's contract.
        unsafe { self.reduce_by(value, reduce_warp, O::identity(), (O::combine, O::COMMUTATIVE), reduce_warp) }
    }

    /// The same for the values that lane 0 of each warp gets from `share` by `of_warp`. `reduce_warp` combines a warp's
    /// 32 values by `combine`, which `commutes` or not; `identity` does not change a value.
    ///
    /// # Safety
    /// That of [`reduce`](Gather::reduce). (Whole warps call `of_warp` and `reduce_warp`.)
    #[inline(always)]
    pub unsafe fn reduce_by<S, V: Pod>(
        self,
        share: S,
        of_warp: impl FnOnce(S) -> V,
        identity: V,
        (combine, commutes): (impl Fn(V, V) -> V, bool),
        reduce_warp: impl Fn(V) -> V + Copy,
    ) -> Option<V> {
        let (tid, blocks) = (thread::thread_idx_x(), thread::grid_dim_x());
        let gathers = (&raw mut GATHERS).cast::<bool>();
        if tid == 0 {
            // SAFETY: only this thread writes it, once.
            unsafe { gathers.write(self.started_last) };
        }
        // SAFETY: every thread of the block reaches this call, and the block consists of whole warps.
        let of_block = unsafe { block_reduce_by(share, of_warp, identity, reduce_warp) };
        if blocks == 1 {
            return (tid == 0).then_some(of_block);
        }
        // SAFETY: after the ticket there are only records.
        let records = unsafe { Records::interleaved(self.words.add(1), blocks as usize) };
        if tid == 0 {
            // SAFETY: each block has its own record.
            unsafe { records.give(thread::block_idx_x() as usize, of_block) };
        }
        // SAFETY: it was written before the barrier of `block_reduce_by`.
        if !unsafe { gathers.read() } {
            return None;
        }
        // Neighbouring results go to neighbouring threads, or to one thread if their order matters.
        let each = blocks.div_ceil(thread::block_dim_x());
        let (first, end, step) = match commutes {
            true => (tid, blocks, thread::block_dim_x()),
            false => (tid * each, blocks.min((tid + 1) * each), 1),
        };
        let (mut value, mut i) = (identity, first);
        while i < end {
            // SAFETY: every block has started, and gives its value before it waits for any other.
            value = combine(value, unsafe { records.take(i as usize) });
            i += step;
        }
        thread::sync_threads(); // separates the two uses of the shared memory in `block_reduce_by`
        // SAFETY: the whole block reaches this call.
        let value = unsafe { block_reduce_by(value, reduce_warp, identity, reduce_warp) };
        (tid == 0).then_some(value)
    }
}
