//! Location of each state space in the 64-bit generic address space.
//!
//! A generic address encodes its space in the bits above 2^40, so `cvta` is an addition, and an address used in the
//! wrong space is detected. Global addresses are generic addresses, as on hardware.

use crate::program::Space;

/// Size in bytes of the unused range at address 0: small offsets from a null pointer fall into it and fault.
pub const NULL_PAGE: u64 = 1 << 16;
/// First address of device memory. From here to 2^47 lie, on Linux, only mappings of shared libraries and large blocks
/// of the host, at the end: addresses of the host and of the device differ.
pub const GLOBAL: u64 = 0x7000_0000_0000;
/// End of the addresses that device memory uses: those behind are left to the host.
pub const GLOBAL_END: u64 = 0x7e00_0000_0000;
/// First byte of a thread's stack that is used, so that local address 0 stays invalid.
pub const STACK_START: u64 = 64;

const WINDOW_BITS: u32 = 40;
const SHARED: u64 = 1 << WINDOW_BITS;
const LOCAL: u64 = 2 << WINDOW_BITS;
const CONST: u64 = 3 << WINDOW_BITS;
const PARAM: u64 = 4 << WINDOW_BITS;
const CODE: u64 = 5 << WINDOW_BITS;
const FUNCTION_STRIDE: u64 = 16;

/// Returns the offset that makes an address of `space` generic.
pub fn window(space: Space) -> u64 {
    match space {
        Space::Generic | Space::Global => 0,
        Space::Shared => SHARED,
        Space::Local | Space::Frame => LOCAL,
        Space::Const => CONST,
        Space::Param => PARAM,
    }
}

/// Returns the state space of a generic address.
#[inline]
pub fn space_of(generic: u64) -> Space {
    match generic >> WINDOW_BITS {
        1 => Space::Shared,
        2 => Space::Local,
        3 => Space::Const,
        4 => Space::Param,
        _ => Space::Global,
    }
}

/// Splits a generic address into its state space and the address there. Constant memory is part of device memory and
/// keeps its generic addresses.
pub fn split(generic: u64) -> (Space, u64) {
    match space_of(generic) {
        Space::Const => (Space::Const, generic),
        space => (space, generic.wrapping_sub(window(space))),
    }
}

/// Returns the address of a function, which is a handle and not readable memory.
pub fn of_function(index: u32) -> u64 {
    CODE + (u64::from(index) + 1) * FUNCTION_STRIDE
}

/// Returns the index of the function at an address.
pub fn function_at(address: u64) -> Option<u32> {
    let offset = address.checked_sub(CODE + FUNCTION_STRIDE)?;
    (offset % FUNCTION_STRIDE == 0).then_some(offset / FUNCTION_STRIDE).and_then(|index| u32::try_from(index).ok())
}

/// Returns the name of a state space for messages.
pub fn name(space: Space) -> &'static str {
    match space {
        Space::Generic => "generic",
        Space::Global => "global",
        Space::Shared => "shared",
        Space::Local | Space::Frame => "local",
        Space::Const => "constant",
        Space::Param => "parameter",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_and_functions_are_told_apart() {
        for space in [Space::Shared, Space::Local, Space::Const, Space::Param] {
            assert_eq!(space_of(window(space)), space);
            assert_eq!(space_of(window(space) + 0xff_ffff), space);
            let start = if space == Space::Const { window(space) } else { 0 };
            assert_eq!(split(window(space) + 8), (space, start + 8));
        }
        assert_eq!(space_of(GLOBAL), Space::Global);
        assert_eq!(space_of(0), Space::Global);
        assert_eq!(function_at(of_function(7)), Some(7));
        assert_eq!(function_at(of_function(7) + 1), None);
    }
}
