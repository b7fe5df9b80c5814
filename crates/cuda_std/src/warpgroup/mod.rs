//! Warpgroups: four warps, the first with a number divisible by four, that use the tensor cores together. For the GPUs
//! of sm_90 only: PTX with these instructions is for `sm_90a` and runs on no later GPU.
//!
//! A product reads its factors from shared memory, where [`Tile`]s describe them, and adds to [`Sums`] in the
//! registers of the 128 threads. It runs asynchronously:
//!
//! 1. `Sums::fence`: what the threads did to the sums' registers is done.
//! 2. Any number of products, `Sums::add_f16` and its like.
//! 3. [`commit`] closes a group of products.
//! 4. `Sums::wait` before the sums are used; [`wait_but`] before the shared memory of older groups is written.
//!
//! All 128 threads of the warpgroup call each function together, with the same tiles.

use crate::memory::SharedAddress;
use cuda_std_macros::gpu_only;

mod sums;

pub use sums::{Sum, Sums};

/// A factor of a product in shared memory, in rows of 128 bytes (64 elements of 16 bits) from an address that is a
/// multiple of 1024. The eight runs of 16 bytes of row `r` are exchanged: run `c` is at place `c ^ (r % 8)` (the
/// 128-byte swizzle), so that no two rows of eight share a bank.
///
/// The rows lie along the depth `k`, one for each row of A or column of B; or, if `ACROSS`, along the rows of A or the
/// columns of B, 64 of them, one row for each of the depth. Only elements of 16 bits can be `ACROSS`.
///
/// The instruction's matrix descriptor (PTX ISA, "Matrix descriptor"), K-major or MN-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile<const ACROSS: bool = false>(u64);

impl<const ACROSS: bool> Tile<ACROSS> {
    /// Bytes of a row.
    pub const ROW: u32 = 128;

    /// A descriptor with `stride` bytes from one part of 64 rows or columns to the next, where the layout has parts.
    const fn described(address: SharedAddress, stride: u32) -> Self {
        /// Bytes from eight rows to the next eight, in units of 16.
        const EIGHT_ROWS: u64 = 8 * 128 / 16;
        const SWIZZLE_128: u64 = 1 << 62;
        Self((address.0 as u64 & 0x3_ffff) >> 4 | (stride as u64 / 16) << 16 | EIGHT_ROWS << 32 | SWIZZLE_128)
    }
}

impl Tile {
    /// The tile whose first row is at an address that is a multiple of 1024.
    #[must_use]
    #[inline(always)]
    pub const fn at(address: SharedAddress) -> Self {
        Self::described(address, 16)
    }

    /// The same rows from element `bytes / size` of the depth on; `bytes` is a multiple of 32 below 128.
    #[must_use]
    #[inline(always)]
    pub const fn from_byte(self, bytes: u32) -> Self {
        Self(self.0 + bytes as u64 / 16)
    }
}

impl Tile<true> {
    /// The tile whose first row is at an address that is a multiple of 1024. Each 64 rows of A or columns of B are a
    /// part with `depth` rows of 128 bytes; the parts follow each other.
    #[must_use]
    #[inline(always)]
    pub const fn across(address: SharedAddress, depth: u32) -> Self {
        Self::described(address, depth * Self::ROW)
    }

    /// The same tile from element `k` of the depth on, a multiple of 8.
    #[must_use]
    #[inline(always)]
    pub const fn from_row(self, k: u32) -> Self {
        Self(self.0 + (k * Self::ROW) as u64 / 16)
    }
}

/// Number of the thread's warpgroup in its block: the same in all lanes, which the compiler could not see without the
/// shuffle that this takes.
///
/// # Safety
/// All lanes of the warp call it together.
#[must_use]
#[gpu_only]
pub unsafe fn index() -> u32 {
    // SAFETY: by contract all lanes are here.
    unsafe { crate::warp::shuffle_idx(crate::warp::ALL, crate::thread::thread_idx_x() / 128, 0) }
}

/// Closes a group: the products that were started since the last one.
///
/// # Safety
/// All threads of the warpgroup call it together.
#[gpu_only]
pub unsafe fn commit() {
    // SAFETY: the instruction only counts.
    unsafe {
        core::arch::asm!("wgmma.commit_group.sync.aligned;", options(nostack, preserves_flags));
    }
}

/// Waits until at most the `PENDING` youngest groups are incomplete: the factors of the others have been read. For the
/// sums there is `Sums::wait`.
///
/// # Safety
/// All threads of the warpgroup call it together.
#[gpu_only]
pub unsafe fn wait_but<const PENDING: u32>() {
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("wgmma.wait_group.sync.aligned {pending};", pending = const PENDING,
            options(nostack, preserves_flags));
    }
}

/// Gives registers of each thread back to the multiprocessor, down to `REGISTERS`: for warpgroups that only copy.
///
/// # Safety
/// All threads of the warpgroup call it together. `REGISTERS` is a multiple of 8 from 24 to 256, not more than the
/// threads have and enough for what follows; the kernel has `launch_bounds` with both numbers.
#[gpu_only]
pub unsafe fn shrink_registers<const REGISTERS: u32>() {
    // SAFETY: by contract the rest of the thread needs no more.
    unsafe {
        core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {registers};", registers = const REGISTERS,
            options(nostack, preserves_flags));
    }
}

/// Takes registers that other warpgroups have given back, up to `REGISTERS` for each thread; waits until there are
/// enough.
///
/// # Safety
/// As for [`shrink_registers`], but not fewer than the threads have.
#[gpu_only]
pub unsafe fn grow_registers<const REGISTERS: u32>() {
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {registers};", registers = const REGISTERS,
            options(nostack, preserves_flags));
    }
}
