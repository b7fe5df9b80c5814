//! The kernels. For the device, each `#[kernel]` is an entry of the PTX. On the host, the function of the same name
//! takes the kernel's arguments and returns a call that can be launched.

use cuda_std::prelude::*;

/// Computes `y = a * x + y`, an element per thread.
#[kernel]
pub fn saxpy(a: f32, x: &[f32], mut y: DisjointSlice<f32>) {
    // No other thread has this index, so `y` lets this thread write its element `i`.
    let i = thread::unique_index();
    // The last block may have more threads than there are elements.
    if let (Some(x), Some(y)) = (x.get(i.get()), y.get_mut(i)) {
        *y += a * x;
    }
}
