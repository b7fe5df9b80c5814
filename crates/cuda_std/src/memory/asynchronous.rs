//! Copies from global to shared memory that run beside the thread (`cp.async`, since sm_80).
//!
//! A thread starts copies, closes a group of them by [`copy_async_commit`], goes on computing, and later waits until no
//! more than so many of its groups are under way by [`copy_async_wait`]. A copy needs no register for what it moves, so
//! more of them can be in flight than loads could be. Other threads see what was copied after the copying thread has
//! waited and both have met at a barrier.
//!
//! GPUs before sm_80 copy at once, through a register; the calls mean the same there.

use cuda_std_macros::gpu_only;

/// An address in shared memory: 32 bits, so that arithmetic on it costs half of what it costs on a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SharedAddress(u32);

impl SharedAddress {
    /// Where `at` points to.
    ///
    /// # Safety
    /// `at` must point into shared memory.
    #[must_use]
    #[gpu_only]
    pub unsafe fn of<T>(at: *const T) -> Self {
        let address;
        // SAFETY: arithmetic; that the address lies in shared memory is the caller's promise.
        unsafe {
            core::arch::asm!(
                "{{ .reg .u64 shared; cvta.to.shared.u64 shared, {at}; cvt.u32.u64 {address}, shared; }}",
                at = in(reg64) at, address = out(reg32) address, options(pure, nomem, nostack, preserves_flags)
            );
        }
        Self(address)
    }

    /// So many bytes further on.
    #[must_use]
    #[inline(always)]
    pub const fn add(self, bytes: u32) -> Self {
        Self(self.0.wrapping_add(bytes))
    }
}

/// Starts the copy of one `T` of 4, 8 or 16 bytes.
///
/// # Safety
/// `to` and `from` must be aligned to the size of `T`; `from` points to an initialised `T` in global memory that nobody
/// writes meanwhile, `to` to room for one in shared memory that nobody else accesses until the copy was waited for.
#[gpu_only]
pub unsafe fn copy_async<T>(to: SharedAddress, from: *const T) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async moves 4, 8 or 16 bytes") };
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the caller's promise. 16 bytes go past the L1 cache, which could only hold them a second time.
    unsafe {
        if size_of::<T>() == 16 {
            core::arch::asm!(
                "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; cp.async.cg.shared.global [{to}], [global], 16; }}",
                to = in(reg32) to.0, from = in(reg64) from, options(nostack, preserves_flags)
            );
        } else {
            core::arch::asm!(
                "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; cp.async.ca.shared.global [{to}], [global], {bytes}; }}",
                to = in(reg32) to.0, from = in(reg64) from, bytes = const size_of::<T>(), options(nostack, preserves_flags)
            );
        }
    }
    #[cfg(not(target_feature = "sm_80"))]
    // SAFETY: the caller's promise.
    unsafe {
        at_once::<T>(to, from, true);
    }
}

/// The same, or zeros where nothing is `there`: then `from` is not read and may be any address.
///
/// # Safety
/// As [`copy_async`], as far as it is read.
#[gpu_only]
pub unsafe fn copy_async_or_zero<T>(to: SharedAddress, from: *const T, there: bool) {
    const { assert!(matches!(size_of::<T>(), 4 | 8 | 16), "cp.async moves 4, 8 or 16 bytes") };
    #[cfg(target_feature = "sm_80")]
    // SAFETY: the caller's promise; with 0 bytes to read, the address is not used.
    unsafe {
        let read = if there { size_of::<T>() as u32 } else { 0 };
        core::arch::asm!(
            "{{ .reg .u64 global; cvta.to.global.u64 global, {from}; cp.async.ca.shared.global [{to}], [global], {bytes}, {read}; }}",
            to = in(reg32) to.0, from = in(reg64) from, bytes = const size_of::<T>(), read = in(reg32) read,
            options(nostack, preserves_flags)
        );
    }
    #[cfg(not(target_feature = "sm_80"))]
    // SAFETY: the caller's promise.
    unsafe {
        at_once::<T>(to, from, there);
    }
}

/// Closes a group of this thread's copies: those since the last group.
#[gpu_only]
pub fn copy_async_commit() {
    #[cfg(target_feature = "sm_80")]
    // SAFETY: it touches no memory of Rust's.
    unsafe {
        core::arch::asm!("cp.async.commit_group;", options(nostack, preserves_flags));
    }
}

/// Waits until at most the `PENDING` youngest groups of this thread are still under way.
#[gpu_only]
pub fn copy_async_wait<const PENDING: u32>() {
    #[cfg(target_feature = "sm_80")]
    // SAFETY: it only waits.
    unsafe {
        core::arch::asm!("cp.async.wait_group {pending};", pending = const PENDING, options(nostack, preserves_flags));
    }
}

/// Through registers, in words as large as the size allows.
///
/// # Safety
/// As [`copy_async_or_zero`].
#[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
#[inline(always)]
unsafe fn at_once<T>(to: SharedAddress, from: *const T, there: bool) {
    macro_rules! words {
        ($word:ident $class:ident $type:literal $count:expr) => {{
            let mut i = 0;
            while i < $count {
                // SAFETY: inside the `T` that the caller promises.
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
