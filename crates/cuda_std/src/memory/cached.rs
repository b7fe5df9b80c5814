//! Loads and stores with cache hints.

use cuda_std_macros::gpu_only;

use super::Vector;

/// Cache hint of a load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Uses the read-only data cache, which requires that the memory is not written during the launch.
    ReadOnly,
    /// Caches in the device's L2 cache, not in the multiprocessor's L1.
    CacheGlobal,
    /// Marks the line as likely to be used once: the first to be evicted.
    Streaming,
    /// Marks the line as not needed any more: a cached copy need not be kept.
    LastUse,
}

/// Cache hint of a store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Store {
    /// Caches in the device's L2 cache, not in the multiprocessor's L1.
    CacheGlobal,
    /// Marks the line as unlikely to be used soon: the first to be evicted.
    Streaming,
    /// Writes through the L2 cache to memory.
    WriteThrough,
}

/// Types that [`load_as`] and [`store_as`] move: 32- and 64-bit numbers, and [`Vector`]s of them.
pub trait Cached: Copy {
    #[doc(hidden)]
    unsafe fn load(at: *const Self, how: Load) -> Self;
    #[doc(hidden)]
    unsafe fn store(at: *mut Self, value: Self, how: Store);
}

/// Reads global memory in one instruction, with a cache hint.
///
/// # Safety
/// `at` must be aligned and point to an initialised value in global memory; for [`Load::ReadOnly`] that memory must not
/// be written during the launch.
#[inline(always)]
pub unsafe fn load_as<T: Cached>(how: Load, at: *const T) -> T {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::load(at, how) }
}

/// Writes global memory in one instruction, with a cache hint.
///
/// # Safety
/// `at` must be aligned and point to global memory that may be written.
#[inline(always)]
pub unsafe fn store_as<T: Cached>(how: Store, at: *mut T, value: T) {
    // SAFETY: the caller upholds this function's contract.
    unsafe { T::store(at, value, how) }
}

/// Emits one instruction on a global address. The conversion from a generic address disappears in the machine code.
#[cfg(target_arch = "nvptx64")]
macro_rules! global {
    ($instruction:expr, $at:ident, $($operands:tt)*) => {
        core::arch::asm!(
            concat!("{{ .reg .u64 global; cvta.to.global.u64 global, {at}; ", $instruction, "; }}"),
            at = in(reg64) $at, $($operands)*
        )
    };
}

macro_rules! scalar {
    ($($t:ident $type:literal $class:ident),* $(,)?) => { $(
        impl Cached for $t {
            #[gpu_only]
            unsafe fn load(at: *const Self, how: Load) -> Self {
                macro_rules! ld {
                    ($qualifier:literal) => {{
                        let value;
                        global!(concat!("ld.global.", $qualifier, ".", $type, " {value}, [global]"), at,
                            value = out($class) value, options(readonly, nostack, preserves_flags));
                        value
                    }};
                }
                // SAFETY: the caller upholds this function's contract.
                unsafe {
                    match how {
                        Load::ReadOnly => ld!("nc"),
                        Load::CacheGlobal => ld!("cg"),
                        Load::Streaming => ld!("cs"),
                        Load::LastUse => ld!("lu"),
                    }
                }
            }

            #[gpu_only]
            unsafe fn store(at: *mut Self, value: Self, how: Store) {
                macro_rules! st {
                    ($qualifier:literal) => {
                        global!(concat!("st.global.", $qualifier, ".", $type, " [global], {value}"), at,
                            value = in($class) value, options(nostack, preserves_flags))
                    };
                }
                // SAFETY: the caller upholds this function's contract.
                unsafe {
                    match how {
                        Store::CacheGlobal => st!("cg"),
                        Store::Streaming => st!("cs"),
                        Store::WriteThrough => st!("wt"),
                    }
                }
            }
        }
    )* };
}
scalar!(u32 "b32" reg32, i32 "b32" reg32, f32 "b32" reg32, u64 "b64" reg64, i64 "b64" reg64, f64 "b64" reg64);

macro_rules! vector {
    ($($t:ident $n:literal $type:literal $class:ident $list:literal: $($part:ident)*),* $(,)?) => { $(
        impl Cached for Vector<$t, $n> {
            #[gpu_only]
            unsafe fn load(at: *const Self, how: Load) -> Self {
                macro_rules! ld {
                    ($qualifier:literal) => {{
                        $( let $part; )*
                        global!(concat!("ld.global.", $qualifier, ".", $type, " {{", $list, "}}, [global]"), at,
                            $( $part = out($class) $part, )* options(readonly, nostack, preserves_flags));
                        Self([$($part),*])
                    }};
                }
                // SAFETY: the caller upholds this function's contract.
                unsafe {
                    match how {
                        Load::ReadOnly => ld!("nc"),
                        Load::CacheGlobal => ld!("cg"),
                        Load::Streaming => ld!("cs"),
                        Load::LastUse => ld!("lu"),
                    }
                }
            }

            #[gpu_only]
            unsafe fn store(at: *mut Self, value: Self, how: Store) {
                let Self([$($part),*]) = value;
                macro_rules! st {
                    ($qualifier:literal) => {
                        global!(concat!("st.global.", $qualifier, ".", $type, " [global], {{", $list, "}}"), at,
                            $( $part = in($class) $part, )* options(nostack, preserves_flags))
                    };
                }
                // SAFETY: the caller upholds this function's contract.
                unsafe {
                    match how {
                        Store::CacheGlobal => st!("cg"),
                        Store::Streaming => st!("cs"),
                        Store::WriteThrough => st!("wt"),
                    }
                }
            }
        }
    )* };
}
vector! {
    u32 4 "v4.b32" reg32 "{a}, {b}, {c}, {d}": a b c d,
    i32 4 "v4.b32" reg32 "{a}, {b}, {c}, {d}": a b c d,
    f32 4 "v4.b32" reg32 "{a}, {b}, {c}, {d}": a b c d,
    u64 2 "v2.b64" reg64 "{a}, {b}": a b,
    i64 2 "v2.b64" reg64 "{a}, {b}": a b,
    f64 2 "v2.b64" reg64 "{a}, {b}": a b,
}
