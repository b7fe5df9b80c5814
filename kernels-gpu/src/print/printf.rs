//! The driver's own `printf`: the thread stores its arguments as a C structure, and the text is formatted on the host.
//! The kernel has no formatting code, so its registers and stack stay known; but the types are not checked against the
//! format.

use super::{double, prints};
use cuda_std::{io::vprintf, kernel, thread, view::DisjointSlice};

/// The idea in one line.
pub const IDEA: &str = "C's `printf`: the thread stores the format and its arguments, and the host formats";

/// Arguments of the format, in order.
#[repr(C)]
struct Arguments {
    block: u32,
    thread: u32,
    value: i32,
}

/// Doubles all elements; threads `first` to `first + count - 1` of the grid print. The launch has a thread for each
/// element.
#[kernel]
pub fn print_printf(input: &[i32], first: u32, count: u32, output: DisjointSlice<i32>) {
    if let Some((i, value)) = double(input, output)
        && prints(i, first, count)
    {
        let mut arguments = Arguments { block: thread::block_idx_x(), thread: thread::thread_idx_x(), value };
        let format = c"block %u thread %u: value is %d\n";
        // SAFETY: the arguments match the format, which is zero-terminated.
        unsafe { vprintf(format.as_ptr(), (&raw mut arguments).cast()) };
    }
}
