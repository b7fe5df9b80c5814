//! Address spaces of pointers, and a function that no kernel calls.

use core::mem::MaybeUninit;

use cuda_std::prelude::*;
use cuda_std::ptr::{
    AddressSpace, convert_generic_to_specific_address_space, convert_specific_address_space_to_generic,
    is_in_address_space,
};
use cuda_std::{address_space, externally_visible};

#[address_space(shared)]
static mut SHARED: [MaybeUninit<u32>; 32] = [const { MaybeUninit::uninit() }; 32];

#[address_space(constant)]
static CONSTANT: [u32; 4] = [1, 2, 3, 4];

const SPACES: [AddressSpace; 4] =
    [AddressSpace::Global, AddressSpace::Shared, AddressSpace::Constant, AddressSpace::Local];

/// Writes, for a pointer into each address space, which spaces it is in, and the value behind the pointer after it was
/// converted to an address of its space and back.
#[kernel]
pub unsafe fn pointer_spaces(value: *const u32, index: u32, out: *mut u32) {
    let at = index as usize;
    let shared = (&raw mut SHARED).cast::<u32>();
    // An array that is indexed at run time is in local memory.
    let mut local = [0_u32; 4];
    local[at] = 300;
    // SAFETY: one thread is launched; `index` is below 4, and `out` has eight values.
    unsafe {
        shared.add(at).write(200);
        let pointers = [value, shared.add(at).cast_const(), &raw const CONSTANT[at], &raw const local[at]];
        for (k, (pointer, own)) in pointers.into_iter().zip(SPACES).enumerate() {
            let is_in = |(bit, &space)| u32::from(is_in_address_space(pointer, space)) << bit;
            let bits = SPACES.iter().enumerate().map(is_in);
            out.add(2 * k).write(bits.sum());
            let specific = convert_generic_to_specific_address_space(pointer, own);
            out.add(2 * k + 1).write(*convert_specific_address_space_to_generic(specific, own));
        }
    }
}

/// A device function for other PTX, which the test finds in the module.
#[externally_visible]
#[unsafe(no_mangle)]
pub extern "C" fn pointer_test_twice(x: u32) -> u32 {
    2 * x
}

/// Launches of the kernels above with their expected results.
#[cfg(not(target_arch = "nvptx64"))]
pub fn cases() -> std::vec::Vec<crate::case::Case> {
    use crate::case::{Case, out, ptr};

    std::vec![
        Case::new("pointer_spaces", 1, 1)
            .input(&[100_u32])
            .output(&[1, 100, 2, 200, 4, 3, 8, 300_u32])
            .calls(|b| pointer_spaces(ptr(b[0]), 2, out(b[1])))
    ]
}
