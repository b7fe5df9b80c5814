//! Asynchronous copies from global to shared memory (`cp.async`, since sm_80).
//!
//! A thread starts copies, closes a group of them with [`copy_async_commit`], continues computing, and later calls
//! [`copy_async_wait`], which waits until at most a given number of its groups are pending. A copy occupies no
//! register, so more copies than loads can be in flight. Other threads may read the destination after the copying
//! thread has waited and all of them have passed a barrier.
//!
//! On GPUs before sm_80 the same calls copy at once, through registers.

use super::SharedAddress;
#[cfg(target_feature = "sm_80")]
use super::sm_80;
use cuda_std_macros::gpu_only;

/// Starts the copy of one `T` of 4, 8 or 16 bytes.
///
/// # Safety
/// `to` and `from` must be aligned to the size of `T`. `from` must point to an initialised `T` in global memory that is
/// not written until the copy has completed, and `to` to room for a `T` in shared memory that no other access touches
/// until a wait has covered the copy.
#[gpu_only]
pub unsafe fn copy_async<T>(to: SharedAddress, from: *const T) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async moves 4, 8 or 16 bytes") };
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the caller upholds this function's contract. Copies of 16 bytes bypass the L1 cache (`.cg`), which would
    // only hold the data a second time.
    unsafe {
        if size_of::<T>() == 16 {
            core::arch::asm!(
                "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; cp.async.cg.shared.global [{to}], [global], \
                 16; }}",
                to = in(reg32) to.0, from = in(reg64) from, options(nostack, preserves_flags)
            );
        } else {
            core::arch::asm!(
                "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; cp.async.ca.shared.global [{to}], [global], \
                 {bytes}; }}",
                to = in(reg32) to.0, from = in(reg64) from, bytes = const size_of::<T>(),
                options(nostack, preserves_flags)
            );
        }
    }
    #[cfg(not(target_feature = "sm_80"))]
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        at_once::<T>(to, from, true);
    }
}

/// Starts the copy of one `T` if `there`, else fills the destination with zeros; `from` is then not read and may be any
/// address.
///
/// # Safety
/// As for [`copy_async`]; the conditions on `from` apply if `there`.
#[gpu_only]
pub unsafe fn copy_async_or_zero<T>(to: SharedAddress, from: *const T, there: bool) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async moves 4, 8 or 16 bytes") };
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the caller upholds this function's contract; with 0 bytes to read the source is not accessed.
    unsafe {
        let read = if there { size_of::<T>() as u32 } else { 0 };
        core::arch::asm!(
            "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; cp.async.ca.shared.global [{to}], [global], \
             {bytes}, {read}; }}",
            to = in(reg32) to.0, from = in(reg64) from, bytes = const size_of::<T>(), read = in(reg32) read,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_feature = "sm_80"))]
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        at_once::<T>(to, from, there);
    }
}

/// Starts the copy of one `T` if `there`; else nothing happens, and `from` may be any address. Since sm_80 this is a
/// predicate of the instruction, not a branch, which would keep other instructions from moving across it.
///
/// # Safety
/// As for [`copy_async`], if `there`.
#[gpu_only]
pub unsafe fn copy_async_if<T>(to: SharedAddress, from: *const T, there: bool) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async moves 4, 8 or 16 bytes") };
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the caller upholds this function's contract.
    unsafe {
        if size_of::<T>() == 16 {
            core::arch::asm!(
                "{{ .reg .u64 global; .reg .pred there; cvta.to.global.u64 global, {from}; setp.ne.u32 there, \
                 {there}, 0; @there cp.async.cg.shared.global [{to}], [global], 16; }}",
                to = in(reg32) to.0, from = in(reg64) from, there = in(reg32) u32::from(there),
                options(nostack, preserves_flags)
            );
        } else {
            core::arch::asm!(
                "{{ .reg .u64 global; .reg .pred there; cvta.to.global.u64 global, {from}; setp.ne.u32 there, \
                 {there}, 0; @there cp.async.ca.shared.global [{to}], [global], {bytes}; }}",
                to = in(reg32) to.0, from = in(reg64) from, there = in(reg32) u32::from(there),
                bytes = const size_of::<T>(), options(nostack, preserves_flags)
            );
        }
    }
    #[cfg(not(target_feature = "sm_80"))]
    if there {
        // SAFETY: the caller upholds this function's contract.
        unsafe { at_once::<T>(to, from, true) };
    }
}

/// Closes a group of copies: those that this thread has started since it closed the last group.
#[gpu_only]
pub fn copy_async_commit() {
    #[cfg(target_feature = "sm_80")]
    sm_80::commit();
}

/// Waits until at most the `PENDING` youngest groups of this thread are incomplete.
#[gpu_only]
pub fn copy_async_wait<const PENDING: u32>() {
    #[cfg(target_feature = "sm_80")]
    sm_80::wait::<PENDING>();
}

/// Copies at once through registers, in words of 4 or 8 bytes.
///
/// # Safety
/// As for [`copy_async_or_zero`].
#[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
#[inline(always)]
unsafe fn at_once<T>(to: SharedAddress, from: *const T, there: bool) {
    macro_rules! words {
        ($word:ident $class:ident $type:literal $count:expr) => {{
            let mut i = 0;
            while i < $count {
                // SAFETY: the word lies in the `T` that `from` and `to` point to by contract.
                unsafe {
                    let word: $word = if there { from.cast::<$word>().add(i).read() } else { 0 };
                    core::arch::asm!(concat!("st.shared.", $type, " [{to}], {word};"),
                        to = in(reg32) to.add((i * size_of::<$word>()) as u32).0, word = in($class) word,
                        options(nostack, preserves_flags));
                }
                i += 1;
            }
        }};
    }
    if size_of::<T>() == 4 {
        words!(u32 reg32 "b32" 1);
    } else {
        words!(u64 reg64 "b64" size_of::<T>() / 8);
    }
}
