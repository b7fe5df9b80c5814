//! Pointers and address spaces.
//!
//! A pointer in Rust is generic: it can point to any memory of the thread. Some instructions take addresses within one
//! address space instead.

#[cfg(target_arch = "nvptx64")]
use core::arch::asm;

use cuda_std_macros::gpu_only;

/// Memory that a pointer can point to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AddressSpace {
    /// The device's memory, which all threads read and write.
    Global,
    /// Memory of the block.
    Shared,
    /// Memory of the device that kernels only read.
    Constant,
    /// Memory of the thread.
    Local,
}

/// Whether a generic pointer points into an address space (PTX `isspacep`).
///
/// # Safety
/// As upstream's, the function is `unsafe`; it accesses no memory, and any pointer may be passed.
#[must_use]
#[gpu_only]
pub unsafe fn is_in_address_space<T>(ptr: *const T, address_space: AddressSpace) -> bool {
    macro_rules! is_in {
        ($space:literal) => {{
            let found: u32;
            // SAFETY: the instructions use registers only.
            unsafe {
                asm!(
                    concat!("{{ .reg .pred p; isspacep.", $space, " p, {at}; selp.u32 {found}, 1, 0, p; }}"),
                    at = in(reg64) ptr, found = out(reg32) found, options(pure, nomem, nostack, preserves_flags)
                );
            }
            found != 0
        }};
    }
    match address_space {
        AddressSpace::Global => is_in!("global"),
        AddressSpace::Shared => is_in!("shared"),
        AddressSpace::Constant => is_in!("const"),
        AddressSpace::Local => is_in!("local"),
    }
}

#[cfg(target_arch = "nvptx64")]
macro_rules! convert {
    ($ptr:ident $text:literal) => {{
        let address;
        // SAFETY: the instruction uses registers only.
        unsafe {
            asm!(concat!($text, ".u64 {}, {};"), out(reg64) address, in(reg64) $ptr,
                options(pure, nomem, nostack, preserves_flags));
        }
        address
    }};
}

/// Converts a generic pointer to an address within an address space (PTX `cvta.to`). The result can be used by
/// instructions of that address space, in `asm!`, and not as a pointer.
///
/// # Safety
/// `ptr` must point into the address space.
#[must_use]
#[gpu_only]
pub unsafe fn convert_generic_to_specific_address_space<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
    match address_space {
        AddressSpace::Global => convert!(ptr "cvta.to.global"),
        AddressSpace::Shared => convert!(ptr "cvta.to.shared"),
        AddressSpace::Constant => convert!(ptr "cvta.to.const"),
        AddressSpace::Local => convert!(ptr "cvta.to.local"),
    }
}

/// Converts an address within an address space to a generic pointer (PTX `cvta`).
///
/// # Safety
/// `ptr` must be the address of a `T` within the address space.
#[must_use]
#[gpu_only]
pub unsafe fn convert_specific_address_space_to_generic<T>(ptr: *const T, address_space: AddressSpace) -> *const T {
    match address_space {
        AddressSpace::Global => convert!(ptr "cvta.global"),
        AddressSpace::Shared => convert!(ptr "cvta.shared"),
        AddressSpace::Constant => convert!(ptr "cvta.const"),
        AddressSpace::Local => convert!(ptr "cvta.local"),
    }
}
