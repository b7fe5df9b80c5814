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
//!
//! Types of elements, order in shared memory, and shape of the sums are parts of the Rust types:
//!
//! ```
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! unsafe fn product(sums: &mut Sums<32>, a: Tile<F16>, b: Tile<F16, true>) {
//!     unsafe { sums.add_f16(a, b, true) };
//! }
//! ```
//!
//! Elements of another type than the instruction's, or of two types:
//!
//! ```compile_fail,E0308
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! unsafe fn product(sums: &mut Sums<32>, a: Tile<Bf16>, b: Tile<Bf16>) {
//!     unsafe { sums.add_f16(a, b, true) };
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! unsafe fn product(sums: &mut Sums<32>, a: Tile<F16>, b: Tile<Bf16>) {
//!     unsafe { sums.add_f16(a, b, true) };
//! }
//! ```
//!
//! Elements of 32 or 8 bits across the depth, which the instruction does not read and a tile cannot have:
//!
//! ```compile_fail,E0308
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! unsafe fn product(sums: &mut Sums<32>, a: Tile<Tf32, true>, b: Tile<Tf32>) {
//!     unsafe { sums.add_tf32(a, b, true) };
//! }
//! ```
//!
//! ```compile_fail,E0277
//! # use cuda_std::memory::SharedAddress;
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! fn tile(at: SharedAddress) -> Tile<Tf32, true> {
//!     Tile::across(at, 32)
//! }
//! ```
//!
//! Sums of another type, and of another number of columns, or of one that the instruction does not have:
//!
//! ```compile_fail,E0599
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! unsafe fn product(sums: &mut Sums<32, f32>, a: Tile<S8>, b: Tile<S8>) {
//!     unsafe { sums.add_s8(a, b, true) };
//! }
//! ```
//!
//! ```compile_fail,E0308
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! fn total(of_64_columns: &Sums<32>) -> &[f32; 64] {
//!     of_64_columns.get()
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! unsafe fn product(sums: &mut Sums<33>, a: Tile<F16>, b: Tile<F16>) {
//!     unsafe { sums.add_f16(a, b, true) };
//! }
//! ```
//!
//! A step along the depth in the unit of the other order:
//!
//! ```compile_fail,E0599
//! # use cuda_std::warpgroup::{Bf16, F16, S8, Sums, Tf32, Tile};
//! fn next(across: Tile<F16, true>) -> Tile<F16, true> {
//!     across.from_byte(32)
//! }
//! ```

use crate::memory::SharedAddress;
use crate::mma::Half;
use core::marker::PhantomData;
use cuda_std_macros::gpu_only;

mod sums;

pub use crate::mma::{Bf16, F16, S8, Tf32};
pub use sums::{Sum, Sums};

/// Floats of 8 bits, with 4 of an exponent and 3 of a fraction, without infinities; sums are f32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct E4m3;

/// A factor of a product, with elements of type `T`, in shared memory, in rows of 128 bytes (64 elements of 16 bits)
/// from an address that is a multiple of 1024. The eight runs of 16 bytes of row `r` are exchanged: run `c` is at place
/// `c ^ (r % 8)` (the 128-byte swizzle), so that no two rows of eight share a bank.
///
/// The rows lie along the depth `k`, one for each row of A or column of B; or, if `ACROSS`, along the rows of A or the
/// columns of B, 64 of them, one row for each of the depth. Only elements of 16 bits can be `ACROSS`.
///
/// The instruction's matrix descriptor (PTX ISA, "Matrix descriptor"), K-major or MN-major.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tile<T, const ACROSS: bool = false>(u64, PhantomData<T>);

/// Bytes of a row of a [`Tile`].
pub const ROW: u32 = 128;

impl<T, const ACROSS: bool> Tile<T, ACROSS> {
    /// A descriptor with `stride` bytes from one part of 64 rows or columns to the next, where the layout has parts.
    const fn described(address: SharedAddress, stride: u32) -> Self {
        /// Bytes from eight rows to the next eight, in units of 16.
        const EIGHT_ROWS: u64 = 8 * 128 / 16;
        const SWIZZLE_128: u64 = 1 << 62;
        let bits = (address.0 as u64 & 0x3_ffff) >> 4 | (stride as u64 / 16) << 16 | EIGHT_ROWS << 32 | SWIZZLE_128;
        Self(bits, PhantomData)
    }
}

impl<T> Tile<T> {
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
        Self(self.0 + bytes as u64 / 16, PhantomData)
    }
}

impl<T: Half> Tile<T, true> {
    /// The tile whose first row is at an address that is a multiple of 1024. Each 64 rows of A or columns of B are a
    /// part with `depth` rows of 128 bytes; the parts follow each other.
    #[must_use]
    #[inline(always)]
    pub const fn across(address: SharedAddress, depth: u32) -> Self {
        Self::described(address, depth * ROW)
    }

    /// The same tile from element `k` of the depth on, a multiple of 8.
    #[must_use]
    #[inline(always)]
    pub const fn from_row(self, k: u32) -> Self {
        Self(self.0 + (k * ROW) as u64 / 16, PhantomData)
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

/// Waits until at most the `PENDING` youngest groups, up to 7, are incomplete: the factors of the others have been
/// read. For the sums there is `Sums::wait`.
///
/// # Safety
/// All threads of the warpgroup call it together.
#[gpu_only]
pub unsafe fn wait_but<const PENDING: u32>() {
    const { assert!(PENDING < 8, "at most 7 groups can be pending") };
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("wgmma.wait_group.sync.aligned {pending};", pending = const PENDING,
            options(nostack, preserves_flags));
    }
}

/// Gives registers of each thread back to the multiprocessor, down to `REGISTERS`: for warpgroups that only copy. Their
/// number is a multiple of 8 from 24 to 256; others do not compile:
///
/// ```compile_fail,E0080
/// unsafe { cuda_std::warpgroup::shrink_registers::<41>() };
/// ```
///
/// # Safety
/// All threads of the warpgroup call it together. `REGISTERS` is not more than the threads have and enough for what
/// follows; the kernel has `launch_bounds` with both numbers.
#[inline(always)]
pub unsafe fn shrink_registers<const REGISTERS: u32>() {
    const { require_registers(REGISTERS) };
    // SAFETY: the caller upholds this function's contract.
    unsafe { decrease::<REGISTERS>() };
}

/// Takes registers that other warpgroups have given back, up to `REGISTERS` for each thread; waits until there are
/// enough.
///
/// # Safety
/// As for [`shrink_registers`], but not fewer than the threads have.
#[inline(always)]
pub unsafe fn grow_registers<const REGISTERS: u32>() {
    const { require_registers(REGISTERS) };
    // SAFETY: the caller upholds this function's contract.
    unsafe { increase::<REGISTERS>() };
}

const fn require_registers(registers: u32) {
    assert!(registers.is_multiple_of(8) && registers >= 24 && registers <= 256, "a multiple of 8 from 24 to 256");
}

/// # Safety
/// That of [`shrink_registers`].
#[gpu_only]
unsafe fn decrease<const REGISTERS: u32>() {
    // SAFETY: by contract the rest of the thread needs no more.
    unsafe {
        core::arch::asm!("setmaxnreg.dec.sync.aligned.u32 {registers};", registers = const REGISTERS,
            options(nostack, preserves_flags));
    }
}

/// # Safety
/// That of [`grow_registers`].
#[gpu_only]
unsafe fn increase<const REGISTERS: u32>() {
    // SAFETY: the instruction only waits.
    unsafe {
        core::arch::asm!("setmaxnreg.inc.sync.aligned.u32 {registers};", registers = const REGISTERS,
            options(nostack, preserves_flags));
    }
}
