//! Privatisation: every block has counters of its own in shared memory, where only the block's threads contend. At the
//! end each of them is combined with the grid's counter by one atomic.
//!
//! It pays off when a block has many more elements than counters: the grid fills the device once and each thread has
//! many elements.

use super::{Add, Cas, Dec, Exch, Inc, MAX_ADDRESSES, Max, Min, Op, Sub};
use crate::number::Number;
use core::mem::MaybeUninit;
use cuda_std::{
    address_space,
    atomic::{Atomic, Block, Device},
    kernel, thread,
};

/// The idea in one line.
pub const IDEA: &str = "each block has counters in shared memory, and combines them with the grid's once";

/// The block's counters, wide enough for any `Number`.
#[address_space(shared)]
static mut COUNTERS: [MaybeUninit<u64>; MAX_ADDRESSES as usize] = [MaybeUninit::uninit(); MAX_ADDRESSES as usize];

/// For each of the block's counters the element that found it in its initial state: an exchange still has to return the
/// grid's counter to that element.
#[address_space(shared)]
static mut FIRST: [MaybeUninit<usize>; MAX_ADDRESSES as usize] = [MaybeUninit::uninit(); MAX_ADDRESSES as usize];

/// Applies element `i` to counter `i % addresses`. The value that an exchange returns is written after the counters, to
/// `addresses + i`.
///
/// # Safety
/// The requirements are those of [`atomics_global`](super::global::atomics_global()), with at most `MAX_ADDRESSES`
/// counters.
#[kernel(for O in [Add, Sub, Min, Max, Exch, Cas], for T in [i32, u32, i64, u64, f32, f64])]
pub unsafe fn atomics_shared<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { apply_all::<O, T>(input, addresses, counters) };
}

/// Counts around the ring, which PTX supports for `u32` only.
///
/// # Safety
/// The requirements are those of [`atomics_shared`](atomics_shared()).
#[kernel(for O in [Inc, Dec])]
pub unsafe fn atomics_shared_ring<O: Op<u32>>(input: &[u32], addresses: u32, counters: *mut u32) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { apply_all::<O, u32>(input, addresses, counters) };
}

#[inline(always)]
unsafe fn apply_all<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    const { assert!(size_of::<T>() <= size_of::<u64>()) };
    let addresses = addresses.max(1) as usize;
    let (own, first) = ((&raw mut COUNTERS).cast::<T>(), (&raw mut FIRST).cast::<usize>());
    let (tid, block) = (thread::thread_idx_x() as usize, thread::block_dim_x() as usize);
    let mut c = tid;
    while c < addresses {
        // SAFETY: no other thread accesses this counter of the block before the barrier.
        unsafe { own.add(c).write(O::start()) };
        c += block;
    }
    thread::sync_threads(); // separates the counters' initialisation from their use

    let mut i = thread::global_index();
    while i < input.len() {
        let c = i % addresses;
        // SAFETY: all threads of the block access its counters atomically between the barriers.
        let old = O::apply::<Block>(unsafe { Atomic::from_ptr(own.add(c)) }, input[i]);
        if O::RETURNS {
            // SAFETY: this element's place after the counters; only one element of the block finds its counter at the
            // start.
            unsafe {
                if old.same(O::start()) {
                    first.add(c).write(i);
                } else {
                    counters.add(addresses + i).write(old);
                }
            }
        }
        i += thread::grid_stride();
    }
    thread::sync_threads(); // separates the last update of the block's counters from their reads

    let mut c = tid;
    while c < addresses {
        // SAFETY: the block's counters are no longer written. All threads access the grid's counters atomically.
        unsafe {
            let part = own.add(c).read();
            if !part.same(O::start()) {
                let old = O::apply_part::<Device>(Atomic::from_ptr(counters.add(c)), part);
                if O::RETURNS {
                    // The counter has changed, so some element found it in its initial state and recorded its index.
                    counters.add(addresses + first.add(c).read()).write(old);
                }
            }
        }
        c += block;
    }
}
