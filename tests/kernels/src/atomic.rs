//! Every atomic operation, for every type, scope and ordering, in global and in shared memory.

use cuda_std::atomic::*;
use cuda_std::prelude::*;

/// Small integers as values of every type, so that a sum does not depend on the order.
pub trait Small: Value {
    /// The value of `i`.
    fn small(i: i32) -> Self;
}
macro_rules! small {
    ($($t:ident)*) => { $( impl Small for $t {
        #[inline(always)]
        fn small(i: i32) -> Self {
            i as $t
        }
    } )* };
}
small!(u32 i32 u64 i64 f32 f64);

/// The operations of every thread on the cells: add, subtract, minimum, maximum, add by compare-and-swap, and a swap of
/// its own value into the last cell.
#[inline(always)]
unsafe fn arithmetic<T: Small + core::ops::Add<Output = T>, S: Scope>(cells: *mut T, swapped: *mut T, i: i32) {
    use Ordering::*;
    // SAFETY: by contract the cells are initialised, and all threads access them with scope `S`.
    unsafe {
        let cell = |k: usize| Atomic::<T, S>::from_ptr(cells.add(k));
        cell(0).fetch_add(T::small(i), Relaxed);
        cell(1).fetch_sub(T::small(i), Acquire);
        cell(2).fetch_min(T::small(50 - i), Release);
        cell(3).fetch_max(T::small(i + 3), AcqRel);
        let mut seen = cell(4).load(Relaxed);
        while let Err(now) = cell(4).compare_exchange(seen, seen + T::small(2), AcqRel) {
            seen = now;
        }
        *swapped = cell(5).swap(T::small(i), SeqCst);
    }
}

/// The operations on cells in global memory, by one block for block scope, else by any grid.
#[kernel(for S in [Block, Device, System], for T in [u32, i32, u64, i64, f32, f64])]
pub unsafe fn atomic_global<S: Scope, T: Small + core::ops::Add<Output = T>>(cells: *mut T, swapped: *mut T) {
    let i = thread::global_index();
    // SAFETY: the launch has six cells, and one value of `swapped` per thread.
    unsafe { arithmetic::<T, S>(cells, swapped.add(i), i as i32) };
}

/// The operations on cells in shared memory, which the block then writes out.
#[kernel(for S in [Block, Device, System], for T in [u32, i32, u64, i64, f32, f64])]
pub unsafe fn atomic_shared<S: Scope, T: Small + core::ops::Add<Output = T>>(cells: *mut T, swapped: *mut T) {
    let t = thread::thread_idx_x() as usize;
    let cache = shared::dynamic_shared_mem::<T>();
    // SAFETY: the launch has one block of at least six threads, six cells in both memories, and one value of `swapped`
    // per thread.
    unsafe {
        if t < 6 {
            *cache.add(t) = *cells.add(t);
        }
        thread::sync_threads(); // the cells are initialised before any thread changes them
        arithmetic::<T, S>(cache, swapped.add(t), t as i32);
        thread::sync_threads(); // all threads have finished before the cells are read
        if t < 6 {
            *cells.add(t) = *cache.add(t);
        }
    }
}

/// AND, OR and XOR on three cells.
#[kernel(for S in [Block, Device, System])]
pub unsafe fn atomic_bits<S: Scope>(words: *mut u32, longs: *mut i64) {
    let i = thread::thread_idx_x();
    // SAFETY: the launch has three cells, which all threads access with scope `S`.
    unsafe {
        let word = |k: usize| Atomic::<u32, S>::from_ptr(words.add(k));
        word(0).fetch_and(!(1 << i), Ordering::Relaxed);
        word(1).fetch_or(1 << i, Ordering::Relaxed);
        word(2).fetch_xor(i, Ordering::Relaxed);
        let long = |k: usize| Atomic::<i64, S>::from_ptr(longs.add(k));
        long(0).fetch_and(!(1 << (i + 20)), Ordering::Relaxed);
        long(1).fetch_or(1 << (i + 20), Ordering::Relaxed);
        long(2).fetch_xor(i64::from(i) << 32, Ordering::Relaxed);
    }
}

/// AND, OR and XOR on the bits of floats, three cells of each type.
#[kernel(for S in [Block, Device, System])]
pub unsafe fn atomic_float_bits<S: Scope>(floats: *mut f32, doubles: *mut f64) {
    let i = thread::thread_idx_x();
    // SAFETY: the launch has three cells of each, which all threads access with scope `S`.
    unsafe {
        let float = |k: usize| Atomic::<f32, S>::from_ptr(floats.add(k));
        float(0).fetch_and(f32::from_bits(!(1 << i)), Ordering::Relaxed);
        float(1).fetch_or(f32::from_bits(1 << i), Ordering::Relaxed);
        float(2).fetch_xor(f32::from_bits(i), Ordering::Relaxed);
        let double = |k: usize| Atomic::<f64, S>::from_ptr(doubles.add(k));
        double(0).fetch_and(f64::from_bits(!(1 << (i + 20))), Ordering::Relaxed);
        double(1).fetch_or(f64::from_bits(1 << (i + 20)), Ordering::Relaxed);
        double(2).fetch_xor(f64::from_bits(u64::from(i) << 32), Ordering::Relaxed);
    }
}

/// Wrapping tickets: counts how often each is drawn.
#[kernel(for S in [Block, Device, System])]
pub unsafe fn atomic_tickets<S: Scope>(tickets: *mut u32, drawn: *mut u32, last: u32) {
    // SAFETY: the launch has two tickets, and `last + 1` counters for each.
    unsafe {
        let up = Atomic::<u32, S>::from_ptr(tickets).fetch_inc(last, Ordering::Relaxed);
        Atomic::<u32, S>::from_ptr(drawn.add(up as usize)).fetch_add(1, Ordering::Relaxed);
        let down = Atomic::<u32, S>::from_ptr(tickets.add(1)).fetch_dec(last, Ordering::Relaxed);
        Atomic::<u32, S>::from_ptr(drawn.add((last + 1 + down) as usize)).fetch_add(1, Ordering::Relaxed);
    }
}

/// Minimum and maximum of floats of every class.
#[kernel(for T in [f32, f64])]
pub unsafe fn atomic_float_order<T: Value>(input: &[T], cells: *mut T) {
    let value = input[thread::thread_idx_x() as usize];
    // SAFETY: the launch has two cells.
    unsafe {
        Atomic::<T, Device>::from_ptr(cells).fetch_min(value, Ordering::Relaxed);
        Atomic::<T, Device>::from_ptr(cells.add(1)).fetch_max(value, Ordering::Relaxed);
    }
}

/// Each block writes a partial result; the block that draws the last ticket adds them up, and must observe them all.
#[kernel(for S in [Device, System])]
pub unsafe fn atomic_last_block<S: Scope>(partial: *mut u64, ticket: *mut u32, out: *mut u64) {
    if thread::thread_idx_x() != 0 {
        return;
    }
    let (b, blocks) = (thread::block_idx_x(), thread::grid_dim_x());
    // SAFETY: the launch has one partial result per block, written by its first thread only and read after the last
    // ticket.
    unsafe {
        *partial.add(b as usize) = u64::from(b) * 3 + 1;
        if Atomic::<u32, S>::from_ptr(ticket).fetch_inc(blocks - 1, Ordering::AcqRel) == blocks - 1 {
            let mut sum = 0;
            for k in 0..blocks {
                sum += *partial.add(k as usize);
            }
            *out = sum;
        }
    }
}

/// A value passed from thread to thread of one block by release stores and acquire loads.
#[kernel(for S in [Block, Device, System], for T in [u32, u64, f32, f64])]
pub unsafe fn atomic_hand_over<S: Scope, T: Small>(data: *mut u32, flag: *mut T, out: *mut u32) {
    let t = thread::thread_idx_x();
    // SAFETY: the launch has two warps in one block; `data` is written before the flag is released and read after it is
    // acquired.
    unsafe {
        let flag = Atomic::<T, S>::from_ptr(flag);
        if t == 0 {
            *data = 42;
            flag.store(T::small(1), Ordering::Release);
        } else if t == 32 {
            while flag.load(Ordering::Acquire).to_raw() != T::small(1).to_raw() {
                thread::nanosleep(20);
            }
            *out = *data;
        }
    }
}

/// A static atomic, a local atomic, and `fence` by itself.
#[kernel]
pub unsafe fn atomic_static(out: *mut u32) {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let old = COUNT.fetch_add(1, Ordering::Relaxed);
    fence::<Block>(Ordering::SeqCst);
    fence::<Device>(Ordering::SeqCst);
    fence::<System>(Ordering::SeqCst);
    fence::<Device>(Ordering::Relaxed);
    let now = COUNT.load(Ordering::SeqCst);
    COUNT.fetch_sub(1, Ordering::Relaxed);
    let own = AtomicU32::new(now).into_inner();
    // Other threads may have subtracted theirs in between, but not this thread's.
    // SAFETY: `out` has one value per thread.
    unsafe { *out.add(thread::global_index()) = u32::from(own > 0 && old < 80) };
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, Expected, Initial, bytes, out, slice, values};
    use std::boxed::Box;
    use std::string::String;
    use std::vec::Vec;

    let mut cases = Vec::new();
    macro_rules! arithmetic {
        ($($kernel:ident $scope:ident $t:ident $grid:literal $block:literal;)*) => { $(
            let n = $grid * $block;
            let sum = n * (n - 1) / 2;
            let before: [$t; 6] = [5, 30000, 100, 0, 7, n].map(|i: i32| i as $t);
            // The last cell holds the value of the thread that swapped last.
            let after: [$t; 5] = [5 + sum, 30000 - sum, 51 - n, n + 2, 7 + 2 * n].map(|i: i32| i as $t);
            let cells = move |found: &[u8]| -> Result<(), String> {
                let found = values::<$t>(found);
                if found[..5] == after { Ok(()) } else { Err(std::format!("{:?} instead of {after:?}", &found[..5])) }
            };
            // Each thread got the value swapped in before its own: each of `0..=n` except one appears, once each.
            let swapped = move |found: &[$t]| -> Result<(), String> {
                let mut found: Vec<i32> = found.iter().map(|&x| x as i32).collect();
                found.sort_unstable();
                let (initial, others) = (found.pop(), &found);
                let distinct = others.windows(2).all(|w| w[0] < w[1]) && others.iter().all(|&x| x >= 0 && x < n);
                if initial == Some(n) && distinct { Ok(()) } else { Err(std::format!("swapped {found:?}")) }
            };
            let name = std::concat!(stringify!($kernel), " of ", stringify!($scope), " ", stringify!($t));
            cases.push(
                Case::new(name, $grid, $block)
                    .shared(6 * 8)
                    .buffer(Initial::Bytes(bytes(&before)), Expected::Holds(Box::new(cells)))
                    .holds::<$t>(n as usize, swapped)
                    .calls(|b| $kernel::<$scope, $t>(out(b[0]), out(b[1]))),
            );
        )* };
    }
    macro_rules! each_type {
        ($($t:ident)*) => { $( arithmetic! {
            atomic_global Block $t 1 48;
            atomic_global Device $t 3 16;
            atomic_global System $t 3 16;
            atomic_shared Block $t 1 48;
            atomic_shared Device $t 1 48;
            atomic_shared System $t 1 48;
        } )* };
    }
    // `51 - n` stays positive for the unsigned types.
    each_type!(u32 i32 u64 i64 f32 f64);
    macro_rules! each_scope {
        ($($scope:ident)*) => { $(
            cases.push(
                Case::new(std::concat!("atomic_bits of ", stringify!($scope)), 1, 32)
                    .updated(&[!0u32, 0, 1000], &[0u32, !0, 1000])
                    .updated(&[!0i64, 0, 1000], &[!(0xffff_ffff << 20), 0xffff_ffff << 20, 1000i64])
                    .calls(|b| atomic_bits::<$scope>(out(b[0]), out(b[1]))),
            );
            cases.push(
                Case::new(std::concat!("atomic_float_bits of ", stringify!($scope)), 1, 32)
                    .updated(&[!0u32, 0, 1000], &[0u32, !0, 1000])
                    .updated(&[!0u64, 0, 1000], &[!(0xffff_ffff << 20), 0xffff_ffff << 20, 1000u64])
                    .calls(|b| atomic_float_bits::<$scope>(out(b[0]), out(b[1]))),
            );
            cases.push(
                Case::new(std::concat!("atomic_tickets of ", stringify!($scope)), 1, 70)
                    .updated(&[0u32, 6], &[0u32, 6])
                    .updated(&[0u32; 14], &[10u32; 14])
                    .calls(|b| atomic_tickets::<$scope>(out(b[0]), out(b[1]), 6)),
            );
        )* };
    }
    each_scope!(Block Device System);
    macro_rules! order {
        ($($t:ident)*) => { $( for (what, input, min, max) in [
            ("mixed", std::vec![3.5, -2.0, 7.25, -8.5, 0.0, $t::INFINITY, $t::MIN_POSITIVE], -8.5, $t::INFINITY),
            ("zeros", std::vec![0.0, -0.0, 0.0], -0.0, 0.0),
            ("negative", std::vec![-1.0, -2.0, $t::NEG_INFINITY, -0.5], $t::NEG_INFINITY, -0.5),
        ] {
            let (n, start) = (input.len(), [$t::INFINITY, $t::NEG_INFINITY]);
            cases.push(
                Case::new(&std::format!("atomic_float_order of {what} {}", stringify!($t)), 1, n as u32)
                    .input::<$t>(&input)
                    .updated(&start, &[min, max])
                    .calls(move |b| atomic_float_order::<$t>(slice(b[0], n), out(b[1]))),
            );
        }
        let nans = |found: &[u8]| -> Result<(), String> {
            let found = values::<$t>(found);
            if found.iter().all(|x| x.is_nan()) { Ok(()) } else { Err(std::format!("{found:?} instead of NaN")) }
        };
        cases.push(
            Case::new(std::concat!("atomic_float_order of NaN ", stringify!($t)), 1, 4)
                .input::<$t>(&[1.0, -$t::NAN, $t::INFINITY, -3.0])
                .buffer(Initial::Bytes(bytes::<$t>(&[0.0, 0.0])), Expected::Holds(Box::new(nans)))
                .calls(|b| atomic_float_order::<$t>(slice(b[0], 4), out(b[1]))),
        );
        )* };
    }
    order!(f32 f64);
    let partial: Vec<u64> = (0..40).map(|b| b * 3 + 1).collect();
    let sum = [partial.iter().sum::<u64>()];
    macro_rules! last_block {
        ($($scope:ident)*) => { $( cases.push(
            Case::new(std::concat!("atomic_last_block of ", stringify!($scope)), 40, 32)
                .output(&partial)
                .updated(&[0u32], &[0u32])
                .output(&sum)
                .calls(|b| atomic_last_block::<$scope>(out(b[0]), out(b[1]), out(b[2]))),
        ); )* };
    }
    last_block!(Device System);
    macro_rules! hand_over {
        ($($scope:ident $t:ident;)*) => { $( cases.push(
            Case::new(std::concat!("atomic_hand_over of ", stringify!($scope), " ", stringify!($t)), 1, 64)
                .output(&[42u32])
                .updated(&[0 as $t], &[1 as $t])
                .output(&[42u32])
                .calls(|b| atomic_hand_over::<$scope, $t>(out(b[0]), out(b[1]), out(b[2]))),
        ); )* };
    }
    hand_over! {
        Block u32; Device u32; System u32; Block u64; Device u64; System u64;
        Block f32; Device f32; System f32; Block f64; Device f64; System f64;
    }
    cases.push(Case::new("atomic_static", 2, 40).output(&[1u32; 80]).calls(|b| atomic_static(out(b[0]))));
    cases
}
