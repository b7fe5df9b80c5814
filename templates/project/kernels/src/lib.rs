//! The kernels. For the device, each `#[kernel]` is an entry of the PTX. On the host, the function of the same name
//! takes the kernel's arguments and returns a call that can be launched.
#![cfg_attr(target_arch = "nvptx64", no_std, feature(abi_ptx))]

use cuda_std::{kernel, thread};

/// Computes `y = a * x + y`, an element per thread.
///
/// # Safety
/// `y` points to as many elements as `x` has and does not overlap it.
#[kernel]
pub unsafe fn saxpy(a: f32, x: &[f32], y: *mut f32) {
    let i = thread::index_1d() as usize;
    // The last block may have more threads than there are elements.
    if i < x.len() {
        // SAFETY: `y` has an element `i`, which no other thread accesses.
        unsafe { y.add(i).write(a * x[i] + y.add(i).read()) };
    }
}
