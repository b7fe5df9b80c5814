//! Shared memory: one copy per block, on the chip.
//!
//! A static array is declared as
//! `#[address_space(shared)] static mut TILE: [MaybeUninit<f32>; 256] = [const { MaybeUninit::uninit() }; 256];`
//! and reached through `(&raw mut TILE).cast::<f32>()`. Dynamic shared memory, whose size the launch chooses, is
//! reached through [`dynamic_shared_mem`]. Both are raw pointers: all threads of the block access the memory, so a
//! `&mut` to the whole would alias.

use core::mem::MaybeUninit;

use cuda_std_macros::gpu_only;

/// Start of the dynamic shared memory: `cuda_builder` turns it into `.extern .shared .align 16 .b8 x[]`, whose size is
/// chosen at launch.
#[cfg(target_arch = "nvptx64")]
#[unsafe(link_section = ".shared.dynamic")]
static mut DYNAMIC: Dynamic = Dynamic([]);

#[cfg(target_arch = "nvptx64")]
#[repr(C, align(16))]
struct Dynamic([MaybeUninit<u8>; 0]);

/// Types whose values may be uninitialised, as those in shared memory are at first.
#[diagnostic::on_unimplemented(
    message = "a shared static can't have an initial value: each block's shared memory starts uninitialised",
    label = "use `[MaybeUninit<T>; N] = [const {{ MaybeUninit::uninit() }}; N]`, and write an element before reading it"
)]
pub trait Uninit {}
impl<T> Uninit for MaybeUninit<T> {}
impl<T: Uninit, const N: usize> Uninit for [T; N] {}

/// Compiles only for types whose values may be uninitialised; used by `#[address_space(shared)]`.
#[doc(hidden)]
pub const fn assert_uninit<T: Uninit>() {}

/// Returns the address of the block's dynamic shared memory, aligned to 16 bytes. Its size in bytes is chosen at
/// launch.
///
/// A block has one such region: every call returns the same address, for any `T`.
#[gpu_only]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 16, "dynamic shared memory is aligned to 16 bytes only") };
    (&raw mut DYNAMIC).cast()
}
