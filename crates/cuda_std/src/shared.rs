//! Shared memory: one copy per block, on the chip.
//!
//! Static:
//! `#[address_space(shared)] static mut TILE: [MaybeUninit<f32>; 256] = [const { MaybeUninit::uninit() }; 256];`, then
//! `(&raw mut TILE).cast::<f32>()`. Dynamic, its size chosen at launch: [`dynamic_shared_mem`]. Both are handed out as
//! raw pointers: all threads of the block write there, so nobody may hold a `&mut` to the whole.

use core::mem::MaybeUninit;

use cuda_std_macros::gpu_only;

/// `cuda_builder` makes this `.extern .shared .align 16 .b8 x[]`, whose size is the launch's.
#[cfg(target_arch = "nvptx64")]
#[unsafe(link_section = ".shared.dynamic")]
static mut DYNAMIC: Dynamic = Dynamic([]);

#[cfg(target_arch = "nvptx64")]
#[repr(C, align(16))]
struct Dynamic([MaybeUninit<u8>; 0]);

/// Types whose values may start uninitialised, as shared memory does.
#[diagnostic::on_unimplemented(
    message = "a shared static can't have an initial value: each block's shared memory starts uninitialised",
    label = "use `[MaybeUninit<T>; N] = [const {{ MaybeUninit::uninit() }}; N]`, and write before you read"
)]
pub trait Uninit {}
impl<T> Uninit for MaybeUninit<T> {}
impl<T: Uninit, const N: usize> Uninit for [T; N] {}

/// Compiles only for types that start uninitialised. `#[address_space(shared)]` uses it.
#[doc(hidden)]
pub const fn assert_uninit<T: Uninit>() {}

/// Address of the block's dynamic shared memory, whose size in bytes is chosen at launch. Aligned to 16 bytes.
///
/// There is one such region per block: every call, whatever `T`, gives the same address.
#[gpu_only]
pub fn dynamic_shared_mem<T>() -> *mut T {
    const { assert!(align_of::<T>() <= 16, "dynamic shared memory is aligned to 16 bytes only") };
    (&raw mut DYNAMIC).cast()
}
