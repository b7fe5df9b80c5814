//! Privatisation: every block has counters of its own in shared memory, where an atomic is near and only the block's
//! threads meet. In the end each of them is joined with the grid's counter by one atomic.
//!
//! It pays when a block has many more elements than counters: the grid fills the device once and each thread takes many
//! elements.

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

/// Wide enough for any `Number`.
#[address_space(shared)]
static mut COUNTERS: [MaybeUninit<u64>; MAX_ADDRESSES as usize] = [MaybeUninit::uninit(); MAX_ADDRESSES as usize];

/// The element that found the block's counter untouched: an exchange still owes it what the grid's counter held.
#[address_space(shared)]
static mut FIRST: [MaybeUninit<usize>; MAX_ADDRESSES as usize] = [MaybeUninit::uninit(); MAX_ADDRESSES as usize];

/// Applies element `i` to counter `i % addresses`; what an exchange got back goes behind the counters, to
/// `addresses + i`.
///
/// # Safety
/// As [`atomics_global`](super::global::atomics_global()), with at most `MAX_ADDRESSES` counters.
#[kernel(for O in [Add, Sub, Min, Max, Exch, Cas], for T in [i32, u32, i64, u64, f32, f64])]
pub unsafe fn atomics_shared<O: Op<T>, T: Number>(input: &[T], addresses: u32, counters: *mut T) {
    // SAFETY: the caller's promise.
    unsafe { apply_all::<O, T>(input, addresses, counters) };
}

/// The same around the ring, which PTX has for u32 only.
///
/// # Safety
/// As [`atomics_shared`](atomics_shared()).
#[kernel(for O in [Inc, Dec])]
pub unsafe fn atomics_shared_ring<O: Op<u32>>(input: &[u32], addresses: u32, counters: *mut u32) {
    // SAFETY: the caller's promise.
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
        // SAFETY: one of the block's counters, of this thread alone until the barrier.
        unsafe { own.add(c).write(O::start()) };
        c += block;
    }
    thread::sync_threads(); // every counter is at its start before anyone counts

    let mut i = thread::global_index();
    while i < input.len() {
        let c = i % addresses;
        // SAFETY: one of the block's counters, which all its threads access atomically between the barriers.
        let old = O::apply::<Block>(unsafe { Atomic::from_ptr(own.add(c)) }, input[i]);
        if O::RETURNS {
            // SAFETY: this element's place behind the counters; only one element of the block finds its counter at the
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
    thread::sync_threads(); // the block has counted everything before its counters are read

    let mut c = tid;
    while c < addresses {
        // SAFETY: the block's counters are no longer written. The grid's are accessed atomically by all.
        unsafe {
            let part = own.add(c).read();
            if !part.same(O::start()) {
                let old = O::apply_part::<Device>(Atomic::from_ptr(counters.add(c)), part);
                if O::RETURNS {
                    // The counter is no longer at its start, so some element found it there and left its number.
                    counters.add(addresses + first.add(c).read()).write(old);
                }
            }
        }
        c += block;
    }
}
